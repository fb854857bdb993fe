/** The commands of the `ottla` program, and how what ends one becomes an exit code. */
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

async function runCommand(args: readonly string[]): Promise<number> {
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

/** Runs the command that `args` name; resolves with the exit code. */
export async function runProgram(args: readonly string[]): Promise<number> {
  try {
    return await runCommand(args)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`ottla: ${error.message}\n`)
    return EXIT_USAGE
  }
}
