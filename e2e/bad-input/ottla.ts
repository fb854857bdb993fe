/** The broker under attack, as a process of its own: its log lines, its memory, and how it ends. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../lib/net.ts'
import { makeRunFolder, rootFolder } from '../lib/paths.ts'
import { waitUntilServing } from '../lib/probe.ts'
import { LongProcess, type ExitStatus } from '../lib/process.ts'

export interface LogLine {
  readonly level: string
  readonly text: string
}

export class Ottla {
  readonly port: number
  readonly #process: LongProcess
  readonly #lines: LogLine[] = []

  private constructor(port: number, process: LongProcess, lines: LogLine[]) {
    this.port = port
    this.#process = process
    this.#lines = lines
  }

  static async start(config: Readonly<Record<string, string>> = {}): Promise<Ottla> {
    const port = await freePort(2)
    const dataDir = join(makeRunFolder('bad-input'), 'data')
    mkdirSync(dataDir, { recursive: true })
    const lines: LogLine[] = []
    const onLine = (text: string): void => {
      lines.push({ level: levelOf(text), text })
    }
    const started = new LongProcess(
      process.execPath,
      [
        join(rootFolder, 'cli', 'main.ts'),
        'start',
        ...['--port', String(port), '--http-port', String(port + 1), '--data-dir', dataDir],
        ...Object.entries(config).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
      ],
      { cwd: rootFolder, onLine, onErrorLine: onLine },
    )
    await waitUntilServing('127.0.0.1', port, {}, 30_000, () => started.exited === undefined)
    return new Ottla(port, started, lines)
  }

  get isRunning(): boolean {
    return this.#process.exited === undefined
  }

  /** Number of lines so far, to pass to {@link problemsSince}. */
  get lineCount(): number {
    return this.#lines.length
  }

  /** Lines of level warn and above, and what is no log line at all. */
  problemsSince(lineCount: number): string[] {
    return this.#lines
      .slice(lineCount)
      .filter(({ level }) => level !== 'info' && level !== 'debug' && level !== 'trace')
      .map(({ text }) => text)
  }

  tail(): string {
    return this.#lines
      .slice(-20)
      .map(({ text }) => text)
      .join('\n')
  }

  /** Resident memory, in MiB. */
  residentMib(): number {
    const status = readFileSync(`/proc/${this.#process.pid}/status`, 'utf8')
    const match = /^VmRSS:\s+(\d+) kB$/m.exec(status)
    if (match === null) throw new Error(`the process tells no VmRSS\n${this.tail()}`)
    return Number(match[1]) / 1024
  }

  /** The most that was ever resident, in MiB. */
  peakMib(): number {
    const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.#process.pid}/status`, 'utf8'))
    if (match === null) throw new Error(`the process tells no VmHWM\n${this.tail()}`)
    return Number(match[1]) / 1024
  }

  stop(): Promise<ExitStatus> {
    return this.#process.stop(20_000)
  }
}

function levelOf(line: string): string {
  try {
    const parsed = JSON.parse(line) as { level?: string | number }
    return typeof parsed.level === 'number' ? (LEVELS[parsed.level] ?? 'unknown') : (parsed.level ?? 'unknown')
  } catch {
    // The line that says that the broker is ready is for people.
    return line.startsWith('Ottla ') ? 'info' : 'unknown'
  }
}

const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}
