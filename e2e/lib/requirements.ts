/**
 * Programs that must be on the machine. A missing one fails the suite with a sentence that says what to install: a test
 * that quietly skips proves nothing.
 */
import { spawnSync } from 'node:child_process'

export class MissingRequirementError extends Error {
  override readonly name = 'MissingRequirementError'
}

/** Throws unless `program args` can be run and ends with status 0. `why`: half a sentence for people. */
export function requireProgram(program: string, why: string, args: readonly string[] = ['--version']): void {
  const result = spawnSync(program, args, { stdio: 'ignore' })
  if (result.error === undefined && result.status === 0) return
  throw new MissingRequirementError(
    `${program} is missing or does not run: ${why}. Run \`npm run e2e:setup\` (it installs Debian packages when it runs as root), or see e2e/README.md for what to install by hand.`,
  )
}
