import type { Logger } from '../../common/logger.ts'
import type { Random } from '../../common/random.ts'
import type { TimerHandle, Timers } from '../../common/timers.ts'

/**
 * A level-based queue of keys: adding a key means "look at it again", however often it is added. Keys that were added
 * while others are worked on are worked on together, next. A key is never worked on twice at once.
 *
 * A key that failed comes back after a back-off that doubles, with jitter, up to a bound; adding it meanwhile brings it
 * back at once, since something has changed.
 */
export type Outcome =
  /** Nothing left to do. */
  | 'done'
  /** Something else changed it meanwhile: look again at once (a few times, then as `retry`). */
  | 'again'
  /** Failed for now. */
  | 'retry'

export interface WorkQueueOptions {
  readonly name: string
  /** Works on some keys; those missing from the answer are done. A rejection is a `retry` of all. */
  readonly process: (keys: readonly string[]) => Promise<ReadonlyMap<string, Outcome>>
  readonly timers: Timers
  readonly random: Random
  readonly logger: Logger
  readonly maxBatch?: number
  readonly minBackoffMs?: number
  readonly maxBackoffMs?: number
}

const IMMEDIATE_ATTEMPTS = 5

export class WorkQueue {
  readonly #options: Required<WorkQueueOptions>
  readonly #due = new Set<string>()
  readonly #waiting = new Map<string, TimerHandle>()
  readonly #attempts = new Map<string, number>()
  #running: Promise<void> | undefined
  #isClosed = false

  constructor(options: WorkQueueOptions) {
    this.#options = { maxBatch: 1_000, minBackoffMs: 20, maxBackoffMs: 10_000, ...options }
  }

  add(key: string): void {
    if (this.#isClosed) return
    this.#waiting.get(key)?.cancel()
    this.#waiting.delete(key)
    this.#due.add(key)
    this.#running ??= this.#run()
  }

  /** Keys that are due, waiting for their back-off, or were never brought to an end. */
  get size(): number {
    return this.#due.size + this.#waiting.size
  }

  /** Drops what is queued and waits for what is being worked on. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#due.clear()
    for (const timer of this.#waiting.values()) timer.cancel()
    this.#waiting.clear()
    await this.#running
  }

  async #run(): Promise<void> {
    // All that is added in this turn of the event loop is one batch.
    await Promise.resolve()
    while (this.#due.size > 0) {
      const keys = [...this.#due].slice(0, this.#options.maxBatch)
      for (const key of keys) this.#due.delete(key)
      let outcomes: ReadonlyMap<string, Outcome>
      try {
        outcomes = await this.#options.process(keys)
      } catch (error) {
        if (!this.#isClosed)
          this.#options.logger.warn(
            { err: error, queue: this.#options.name, keys: keys.length },
            'failed; will try again',
          )
        outcomes = new Map(keys.map((key) => [key, 'retry']))
      }
      for (const key of keys) this.#settle(key, outcomes.get(key) ?? 'done')
    }
    this.#running = undefined
  }

  #settle(key: string, outcome: Outcome): void {
    if (this.#isClosed) return
    if (outcome === 'done') {
      this.#attempts.delete(key)
      return
    }
    const attempts = (this.#attempts.get(key) ?? 0) + 1
    this.#attempts.set(key, attempts)
    if (this.#due.has(key)) return
    if (outcome === 'again' && attempts <= IMMEDIATE_ATTEMPTS) {
      this.#due.add(key)
      return
    }
    const { minBackoffMs, maxBackoffMs, random, timers } = this.#options
    const backoffMs =
      Math.min(maxBackoffMs, minBackoffMs * 2 ** Math.min(attempts - 1, 20)) * (0.75 + random.next() / 2)
    const timer = timers.schedule(backoffMs, () => this.add(key))
    this.#waiting.set(key, timer)
  }
}
