/**
 * Compaction of the logs of a data dir, in the background: chooses the log that is worth it most, makes a pass over it
 * (`cleaning-pass.ts`), and goes on until none is due; then rests for `log.cleaner.backoff.ms`.
 *
 * Invariants:
 * - One pass at a time. Its heavy work runs in a thread (`worker-kernel.ts`) that exists only while there is work; its disk
 *   traffic keeps to `log.cleaner.io.max.bytes.per.second`, and its memory to `log.cleaner.dedupe.buffer.size` and a few
 *   chunks.
 * - It never ends by itself. A log whose pass fails is marked uncleanable, which is logged once and shown in the metrics, and
 *   tried again after a while that doubles with each failure; the other logs go on.
 * - {@link LogCleaner.abort} resolves when nothing of the log is touched any more.
 */
import type { Clock } from '../../../common/clock.ts'
import type { Logger } from '../../../common/logger.ts'
import type { Random } from '../../../common/random.ts'
import type { TimerHandle, Timers } from '../../../common/timers.ts'
import type { FilePool } from '../file-pool.ts'
import type { UnifiedLog } from '../unified-log.ts'
import { ByteBudget } from './byte-budget.ts'
import { cleanablePart, isDue, type LogToClean } from './cleanable.ts'
import type { CleanerConfig } from './cleaner-config.ts'
import { cleanLog, CleaningAbortedError, type PassResult } from './cleaning-pass.ts'
import type { KernelHost } from './kernel-host.ts'

/** The keeper of the logs, as far as the cleaner needs it. */
export interface CleanerHost {
  logs(): Iterable<UnifiedLog>
  /** Whether this log is still one of the data dir. */
  holds(log: UnifiedLog): boolean
  /** Neither closed nor offline. */
  isServing(): boolean
  /** Makes the checkpoints of all logs durable as they are now. */
  persistCheckpoints(): Promise<void>
}

export interface CleanerDependencies {
  readonly pool: FilePool
  readonly kernel: KernelHost
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly logger: Logger
  readonly config: () => CleanerConfig
}

/** What metrics show. Percentages are whole numbers, as Kafka's. */
export interface CleanerStats {
  readonly maxDirtyPercent: number
  readonly maxCompactionDelaySecs: number
  readonly maxCleanTimeSecs: number
  readonly cleanerRecopyPercent: number
  readonly maxBufferUtilizationPercent: number
  readonly timeSinceLastRunMs: number
  readonly uncleanablePartitionsCount: number
  readonly uncleanableBytes: number
  /** 1 while the last attempt to run the cleaner failed as a whole. */
  readonly deadThreadCount: number
}

interface Failure {
  readonly count: number
  readonly retryAtMs: number
}

const FIRST_RETRY_MS = 30_000
const MAX_RETRY_MS = 3_600_000

export class LogCleaner {
  readonly #host: CleanerHost
  readonly #dependencies: CleanerDependencies
  readonly #budget: ByteBudget
  readonly #failures = new Map<UnifiedLog, Failure>()
  #timer: TimerHandle | undefined
  #isStopped = false
  #running: Promise<void> | undefined
  /** The log of the pass under way, and whether it is to be given up. */
  #current: { readonly log: UnifiedLog; isAborted: boolean; readonly done: Promise<void> } | undefined
  #lastPass: { readonly result: PassResult; readonly elapsedMs: number } | undefined
  #lastRunMs: number
  #maxDirtyRatio = 0
  #maxCompactionDelayMs = 0
  #runError: string | undefined

  constructor(host: CleanerHost, dependencies: CleanerDependencies) {
    const { clock, timers, config } = dependencies
    this.#host = host
    this.#dependencies = dependencies
    this.#budget = new ByteBudget(clock, timers, () => config().maxBytesPerSecond)
    this.#lastRunMs = clock.monotonicMs()
  }

  get stats(): CleanerStats {
    const { result, elapsedMs } = this.#lastPass ?? { result: undefined, elapsedMs: 0 }
    const bytesRead = Math.max(result?.bytesRead ?? 0, 1)
    let uncleanableBytes = 0
    for (const log of this.#failures.keys()) uncleanableBytes += log.sizeBytes
    return {
      maxDirtyPercent: Math.floor(this.#maxDirtyRatio * 100),
      maxCompactionDelaySecs: Math.floor(this.#maxCompactionDelayMs / 1000),
      maxCleanTimeSecs: Math.floor(elapsedMs / 1000),
      cleanerRecopyPercent: Math.floor(((result?.bytesWritten ?? 0) / bytesRead) * 100),
      maxBufferUtilizationPercent: Math.floor((result?.mapUtilization ?? 0) * 100),
      timeSinceLastRunMs: Math.floor(this.#dependencies.clock.monotonicMs() - this.#lastRunMs),
      uncleanablePartitionsCount: this.#failures.size,
      uncleanableBytes,
      deadThreadCount: this.#runError === undefined ? 0 : 1,
    }
  }

  /** Begins to work in the background. */
  start(): void {
    if (this.#isStopped || !this.#dependencies.config().isEnabled) return
    this.#timer = this.#dependencies.timers.schedule(this.#dependencies.config().backoffMs, () => {
      void this.run().finally(() => this.start())
    })
  }

  /** Ends what is under way and begins nothing any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    if (this.#current !== undefined) this.#current.isAborted = true
    await this.#running
  }

  /** Gives up the pass over this log, if there is one. */
  async abort(log: UnifiedLog): Promise<void> {
    const current = this.#current
    if (current?.log !== log) return
    current.isAborted = true
    await current.done
  }

  /** Compacts logs until none is due. Never rejects: what goes wrong is logged, and tried again another time. */
  async run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock, kernel, logger } = this.#dependencies
    try {
      const tried = new Set<UnifiedLog>()
      for (;;) {
        this.#lastRunMs = clock.monotonicMs()
        const target = await this.#filthiest(tried)
        if (target === undefined || !this.#isServing()) break
        if (!(await this.#clean(target))) tried.add(target.log)
      }
      await kernel.close()
      if (this.#runError !== undefined) logger.info({}, 'the log cleaner works again')
      this.#runError = undefined
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      if (message !== this.#runError) logger.error({ err: error }, 'the log cleaner failed; it tries again')
      this.#runError = message
    }
  }

  #isServing(): boolean {
    return !this.#isStopped && this.#host.isServing()
  }

  /** The log with the largest share of dirty bytes of those that are due. `tried`: logs that have had their turn. */
  async #filthiest(tried: ReadonlySet<UnifiedLog>): Promise<LogToClean | undefined> {
    const { clock } = this.#dependencies
    for (const log of this.#failures.keys()) if (!this.#host.holds(log)) this.#failures.delete(log)
    let best: LogToClean | undefined
    let maxDirtyRatio = 0
    let maxDelayMs = 0
    for (const log of [...this.#host.logs()]) {
      if (!this.#isServing()) return undefined
      if (!log.config.cleanupPolicy.compact || log.failure !== undefined) continue
      const retryAtMs = this.#failures.get(log)?.retryAtMs ?? 0
      if (retryAtMs > clock.monotonicMs()) continue
      const target = await this.#examine(log, clock.wallMs())
      if (target === undefined) continue
      maxDirtyRatio = Math.max(maxDirtyRatio, target.cleanableRatio)
      maxDelayMs = Math.max(maxDelayMs, target.compactionDelayMs)
      if (!isDue(target)) this.#failures.delete(log)
      else if (!tried.has(log) && target.cleanableRatio > (best?.cleanableRatio ?? -1)) best = target
    }
    this.#maxDirtyRatio = maxDirtyRatio
    this.#maxCompactionDelayMs = maxDelayMs
    return best
  }

  async #examine(log: UnifiedLog, nowMs: number): Promise<LogToClean | undefined> {
    try {
      await log.rollIfOld()
      // Its checkpoint is due, and compaction stays below the recovery point.
      if (log.recoveryPoint < (log.segments().at(-1)?.baseOffset ?? 0)) await log.checkpoint()
      return await cleanablePart(log, nowMs)
    } catch (error) {
      // Removed or deleted meanwhile, or its files can't be read.
      if (this.#host.holds(log) && !(error instanceof CleaningAbortedError)) this.#failed(log, error)
      return undefined
    }
  }

  /** Returns whether the pass went through. */
  async #clean(target: LogToClean): Promise<boolean> {
    const { clock } = this.#dependencies
    const { log } = target
    const startMs = clock.monotonicMs()
    let finished = (): void => undefined
    const done = new Promise<void>((resolve) => {
      finished = resolve
    })
    const current = { log, isAborted: false, done }
    this.#current = current
    try {
      const result = await this.#pass(target, () => current.isAborted || !this.#isServing())
      await this.#passed(target, result, clock.monotonicMs() - startMs)
      return true
    } catch (error) {
      if (!(error instanceof CleaningAbortedError) && this.#host.holds(log) && this.#isServing())
        this.#failed(log, error)
      return false
    } finally {
      this.#current = undefined
      finished()
    }
  }

  async #pass(target: LogToClean, isAborted: () => boolean): Promise<PassResult> {
    const { pool, kernel, random, clock, config } = this.#dependencies
    const { log } = target
    return await cleanLog(target, {
      pool,
      kernel,
      budget: this.#budget,
      random,
      config: config(),
      nowMs: clock.wallMs(),
      checkAborted: () => {
        if (isAborted() || !this.#host.holds(log)) throw new CleaningAbortedError('the log is not to be compacted now')
        if (!log.config.cleanupPolicy.compact) throw new CleaningAbortedError('the log is not compacted any more')
      },
    })
  }

  async #passed({ log, firstDirtyOffset }: LogToClean, result: PassResult, elapsedMs: number): Promise<void> {
    const { logger } = this.#dependencies
    const { topicPartition } = log
    log.noteCleaned(result.endOffset)
    await this.#host.persistCheckpoints()
    this.#lastPass = { result, elapsedMs }
    if (this.#failures.delete(log)) logger.info({ topicPartition }, 'a log that could not be compacted was compacted')
    const { endOffset, bytesRead, bytesWritten, recordsRead, recordsRetained } = result
    const fields = { bytesRead, bytesWritten, recordsRead, recordsRetained, elapsedMs: Math.round(elapsedMs) }
    logger.debug({ topicPartition, firstDirtyOffset, endOffset, ...fields }, 'a log was compacted')
  }

  #failed(log: UnifiedLog, error: unknown): void {
    const { clock, logger } = this.#dependencies
    const count = (this.#failures.get(log)?.count ?? 0) + 1
    const retryAfterMs = Math.min(FIRST_RETRY_MS * 2 ** (count - 1), MAX_RETRY_MS)
    this.#failures.set(log, { count, retryAtMs: clock.monotonicMs() + retryAfterMs })
    const fields = { topicPartition: log.topicPartition, err: error, retryAfterMs }
    if (count === 1) logger.error(fields, 'a log could not be compacted; it is tried again')
    else logger.debug({ ...fields, failures: count }, 'a log could not be compacted again')
  }
}
