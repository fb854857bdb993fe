/**
 * Runs real programs: to their end (`runProgram`), or as long-lived processes whose output is read line by line
 * (`LongProcess`). A program's exit status and output are values; only a program that can't be started, or that does
 * not end in time, throws.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface ProgramOptions {
  readonly input?: string | Buffer
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** The program is killed, and the call throws, after this time. Default: 120 s. */
  readonly timeoutMs?: number
}

export interface ProgramResult {
  /** Exit status, or -1 when a signal ended the program. */
  readonly status: number
  readonly stdout: string
  readonly stdoutBytes: Buffer
  readonly stderr: string
  readonly wallMs: number
}

/** Runs a program to its end. */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  const startedMs = performance.now()
  const timeoutMs = options.timeoutMs ?? 120_000
  const child = spawn(command, args, {
    env: { ...process.env, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
  // A program may end without reading all its input (EPIPE); its status tells whether that was right.
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input ?? '')
  const late = new AbortController()
  const timer = setTimeout(() => {
    late.abort()
    child.kill('SIGKILL')
  }, timeoutMs)
  try {
    const [status] = (await once(child, 'close')) as [number | null]
    const stdoutBytes = Buffer.concat(out)
    const stderr = Buffer.concat(err).toString()
    if (late.signal.aborted) {
      throw new Error(
        `${command} ${args.join(' ')}\ndid not end within ${timeoutMs} ms; its output ends with\n${tail(stdoutBytes.toString())}\n${tail(stderr)}`,
      )
    }
    const wallMs = performance.now() - startedMs
    return { status: status ?? -1, stdout: stdoutBytes.toString(), stdoutBytes, stderr, wallMs }
  } finally {
    clearTimeout(timer)
  }
}

/** As {@link runProgram}, but an exit status other than 0 throws, with the end of the program's output. */
export async function runProgramOk(
  command: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  const result = await runProgram(command, args, options)
  if (result.status !== 0) throw new Error(describeFailure(command, args, result))
  return result
}

/** One readable text about a program that failed. */
export function describeFailure(command: string, args: readonly string[], result: ProgramResult): string {
  return `${command} ${args.join(' ')}\nended with status ${result.status}\n${tail(result.stdout)}\n${tail(result.stderr)}`
}

function tail(text: string): string {
  return text.length <= 4000 ? text : `...${text.slice(-4000)}`
}

export interface ExitStatus {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface LongProcessOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly onLine?: (line: string) => void
  readonly onErrorLine?: (line: string) => void
}

/** A process that lives on, with its output line by line. */
export class LongProcess {
  readonly #child: ChildProcess
  readonly #exit: Promise<ExitStatus>
  readonly #recentErrors: string[] = []
  #exited: ExitStatus | undefined

  constructor(command: string, args: readonly string[], options: LongProcessOptions = {}) {
    const child = spawn(command, args, {
      env: { ...process.env, ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#child = child
    child.stdin.on('error', () => undefined)
    createInterface({ input: child.stdout }).on('line', (line) => options.onLine?.(line))
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.#recentErrors.push(line)
      if (this.#recentErrors.length > 60) this.#recentErrors.shift()
      options.onErrorLine?.(line)
    })
    this.#exit = new Promise((resolve) => {
      const finish = (exit: ExitStatus): void => {
        this.#exited ??= exit
        resolve(this.#exited)
      }
      child.once('error', (error) => {
        this.#recentErrors.push(String(error))
        finish({ code: -1, signal: null })
      })
      // `close`, not `exit`: all output has been read by then.
      child.once('close', (code, signal) => finish({ code, signal }))
    })
  }

  get pid(): number {
    const pid = this.#child.pid
    if (pid === undefined) throw new Error(`the process could not be started: ${this.recentErrors()}`)
    return pid
  }

  /** How it ended; undefined while it lives. */
  get exited(): ExitStatus | undefined {
    return this.#exited
  }

  /** Resolves once it has ended and its output was read. */
  get exit(): Promise<ExitStatus> {
    return this.#exit
  }

  /** The last lines of its standard error. */
  recentErrors(): string {
    return this.#recentErrors.join('\n')
  }

  writeLine(line: string): void {
    this.#child.stdin?.write(`${line}\n`)
  }

  closeInput(): void {
    this.#child.stdin?.end()
  }

  signal(name: NodeJS.Signals): void {
    if (this.#exited === undefined) this.#child.kill(name)
  }

  /** Sends SIGTERM, after `graceMs` SIGKILL, and waits for the end. */
  async stop(graceMs = 60_000): Promise<ExitStatus> {
    this.signal('SIGTERM')
    const timer = setTimeout(() => this.signal('SIGKILL'), graceMs)
    try {
      return await this.#exit
    } finally {
      clearTimeout(timer)
    }
  }
}
