/**
 * Where the end-to-end suites keep things: everything that is fetched or built lies in one cache folder outside git,
 * everything that one run makes lies in a temporary folder of its own.
 */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder `e2e` of this checkout. */
export const e2eFolder = join(dirname(fileURLToPath(import.meta.url)), '..')

/** The root of this checkout. */
export const rootFolder = join(e2eFolder, '..')

/** Fetched jars, clients and compiled helpers: `OTTLA_E2E_CACHE`, or `ottla/e2e` in the user's cache folder. */
export function cacheFolder(): string {
  const chosen = process.env['OTTLA_E2E_CACHE']
  const folder = chosen ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'ottla', 'e2e')
  mkdirSync(folder, { recursive: true })
  return folder
}

/** A new empty folder for one run, below `OTTLA_E2E_TMP` or the system's temporary folder. */
export function makeRunFolder(name: string): string {
  const parent = process.env['OTTLA_E2E_TMP'] ?? tmpdir()
  mkdirSync(parent, { recursive: true })
  return mkdtempSync(join(parent, `ottla-e2e-${name}-`))
}
