#!/usr/bin/env node
/** The `ottla` program: picks the command and turns what ends it into an exit code. */
import { UsageError } from './start-options.ts'
import { start } from './start.ts'
import { VERSION } from './version.ts'

const USAGE = `Usage: ottla COMMAND [options]

Commands:
  start      run brokers, controllers and their metadata store in one process

  --version  print the version
  --help     this text; 'ottla COMMAND --help' tells a command's options
`

/** Wrong usage, and anything else that the user has to change before another try makes sense. */
const EXIT_USAGE = 2

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args
  switch (command) {
    case 'start':
      return start(rest)
    case '--version':
      process.stdout.write(`${VERSION}\n`)
      return 0
    case '--help':
    case 'help':
      process.stdout.write(USAGE)
      return 0
    default:
      throw new UsageError(command === undefined ? USAGE : `unknown command '${command}' (see ottla --help)`)
  }
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`ottla: ${error.message}\n`)
  process.exitCode = EXIT_USAGE
}
