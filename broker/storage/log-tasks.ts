/**
 * What the logs of a data dir need regularly: retention, checkpoints, flushes by age. A task starts again an interval
 * after its last end, so a slow disk is not asked for more and more.
 */
import type { Clock } from '../../common/clock.ts'
import { isNoSpace } from '../../common/disk.ts'
import type { TimerHandle, Timers } from '../../common/timers.ts'
import { forEachConcurrently } from './for-each-concurrently.ts'
import type { UnifiedLog } from './unified-log.ts'

/** The keeper of the logs, as far as the tasks need it. */
export interface TaskHost {
  /** Neither closed nor offline. */
  isServing(): boolean
  logs(): Iterable<UnifiedLog>
  /** Whether this log is still one of the data dir. */
  holds(log: UnifiedLog): boolean
  /** A task failed: the disk does. */
  taskFailed(error: unknown): void
  /** A task found no room on the disk, and tries again the next time. */
  taskPostponed(error: unknown): void
}

/** Logs that a periodic task works on at the same time. */
const CONCURRENT_TASKS = 4
const CHECKPOINTS_PER_ROUND = 500
const MAX_DELAY_MS = 0x7fff_ffff

export class LogTasks {
  readonly #host: TaskHost
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #scheduled = new Set<TimerHandle>()
  #isStopped = false

  constructor(host: TaskHost, clock: Clock, timers: Timers) {
    this.#host = host
    this.#clock = clock
    this.#timers = timers
  }

  /** Runs `task` again and again, `intervalMs` after its last end. */
  every(intervalMs: number, task: () => Promise<void>): void {
    this.later(intervalMs, async () => {
      try {
        if (this.#host.isServing()) await task()
      } finally {
        this.every(intervalMs, task)
      }
    })
  }

  /** Runs `task` once, unless {@link stop} comes first. */
  later(delayMs: number, task: () => Promise<void>): void {
    if (this.#isStopped) return
    const timer = this.#timers.schedule(Math.min(delayMs, MAX_DELAY_MS), () => {
      this.#scheduled.delete(timer)
      task().catch((error: unknown) => {
        // Checkpoints and the like only spare work at the next start; a disk that others have filled must not end the service.
        if (isNoSpace(error)) this.#host.taskPostponed(error)
        else this.#host.taskFailed(error)
      })
    })
    this.#scheduled.add(timer)
  }

  /** Begins nothing any more. */
  stop(): void {
    this.#isStopped = true
    for (const timer of this.#scheduled) timer.cancel()
    this.#scheduled.clear()
  }

  /** One round of retention over all logs. */
  async applyRetention(): Promise<void> {
    await this.#eachLog('retention', [...this.#host.logs()], (log) => log.deleteOldSegments())
  }

  async flushByAge(): Promise<void> {
    const nowMs = this.#clock.monotonicMs()
    await this.#eachLog('a flush', [...this.#host.logs()], async (log) => {
      const sinceMs = log.unflushedSinceMs
      if (sinceMs !== undefined && nowMs - sinceMs >= log.config.flushMs) await log.flush()
    })
  }

  /** Checkpoints all logs that changed. */
  async checkpointAll(): Promise<void> {
    await this.#checkpoint([...this.#host.logs()])
  }

  /**
   * Checkpoints the logs with the longest tails. A round is bounded, since each log costs a few fsyncs: with thousands of
   * logs that get a little each, short tails wait for a later round, and an unclean start has as much more to check.
   */
  async checkpointLongestTails(): Promise<void> {
    const changed = [...this.#host.logs()].filter((log) => log.needsCheckpoint)
    if (changed.length > CHECKPOINTS_PER_ROUND) changed.sort((a, b) => b.tailBytes - a.tailBytes)
    await this.#checkpoint(changed.slice(0, CHECKPOINTS_PER_ROUND))
  }

  async #checkpoint(logs: readonly UnifiedLog[]): Promise<void> {
    await this.#eachLog('a checkpoint', logs, async (log) => {
      if (log.needsCheckpoint) await log.checkpoint()
    })
  }

  async #eachLog(
    what: string,
    logs: readonly UnifiedLog[],
    work: (log: UnifiedLog) => Promise<unknown>,
  ): Promise<void> {
    await forEachConcurrently(logs, CONCURRENT_TASKS, async (log) => {
      if (log.failure !== undefined || !this.#host.holds(log)) return
      try {
        await work(log)
      } catch (error) {
        // The log was deleted meanwhile, or the disk fails.
        if (!this.#host.holds(log)) return
        throw new Error(`${what} of ${log.topicPartition} failed`, { cause: error })
      }
    })
  }
}
