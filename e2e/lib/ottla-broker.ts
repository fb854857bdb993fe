/** Ottla as the broker under test: the sources of this checkout, run by the Node that the checkout pins. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import type { BrokerOptions, BrokerProcess, StartOptions } from './broker.ts'
import { rootFolder } from './paths.ts'
import { type ExitStatus, LongProcess } from './process.ts'
import { waitUntilServing } from './probe.ts'

export class OttlaBroker implements BrokerProcess {
  readonly kind = 'ottla'
  readonly host = '127.0.0.1'
  readonly port: number
  readonly bootstrap: string
  readonly dataFolder: string
  readonly #dataDir: string
  readonly #httpPort: number
  readonly #config: Readonly<Record<string, string>>
  readonly #output: string[] = []
  #process: LongProcess | undefined

  constructor(options: BrokerOptions, port: number, httpPort: number) {
    this.port = port
    this.#httpPort = httpPort
    this.bootstrap = `${this.host}:${port}`
    this.#dataDir = join(options.folder, 'data')
    this.dataFolder = join(this.#dataDir, 'broker-0')
    this.#config = options.config ?? {}
    mkdirSync(this.#dataDir, { recursive: true })
  }

  /** Of the web port; without a slash at its end. */
  get webUrl(): string {
    return `http://${this.host}:${this.#httpPort}`
  }

  get pid(): number {
    return this.#running().pid
  }

  get exit(): Promise<ExitStatus> {
    return this.#running().exit
  }

  async start(options: StartOptions = {}): Promise<number> {
    if (this.#process !== undefined && this.#process.exited === undefined) throw new Error('Ottla runs already')
    const timeoutMs = options.timeoutMs ?? 60_000
    const startedMs = performance.now()
    let announceReady: () => void = () => undefined
    const ready = new Promise<'ready'>((resolve) => (announceReady = () => resolve('ready')))
    const started = new LongProcess(
      process.execPath,
      [
        join(rootFolder, 'cli', 'main.ts'),
        'start',
        ...['--port', String(this.port), '--http-port', String(this.#httpPort), '--host', this.host],
        ...['--data-dir', this.#dataDir],
        ...Object.entries(this.#config).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
      ],
      {
        cwd: rootFolder,
        onLine: (line) => {
          this.#output.push(line)
          if (line.includes('ready') && line.includes(this.bootstrap)) announceReady()
        },
      },
    )
    this.#process = started
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), timeoutMs)))
    const first = await Promise.race([ready, started.exit, late])
    clearTimeout(timer)
    if (first !== 'ready') {
      const what =
        first === 'late' ? `said nothing of being ready within ${timeoutMs} ms` : `ended (${JSON.stringify(first)})`
      if (first === 'late') await started.stop(1000)
      throw new Error(`Ottla ${what} while starting\n${this.logTail()}`)
    }
    await waitUntilServing(this.host, this.port, options.leaders ?? {}, timeoutMs, () => started.exited === undefined)
    return performance.now() - startedMs
  }

  async stop(): Promise<void> {
    const exit = await this.#running().stop()
    if (exit.code !== 0) throw new Error(`Ottla ended with ${JSON.stringify(exit)} on SIGTERM\n${this.logTail()}`)
  }

  async kill(): Promise<void> {
    const running = this.#running()
    running.signal('SIGKILL')
    const exit = await running.exit
    if (exit.signal !== 'SIGKILL') throw new Error(`Ottla ended by itself: ${JSON.stringify(exit)}\n${this.logTail()}`)
  }

  logTail(): string {
    return [...this.#output.slice(-10), this.#process?.recentErrors() ?? ''].join('\n')
  }

  #running(): LongProcess {
    if (this.#process === undefined) throw new Error('Ottla was not started')
    return this.#process
  }
}
