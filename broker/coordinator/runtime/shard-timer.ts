/** The timers of one shard: by key, until the shard ends. */
import type { TimerHandle, Timers } from '../../../common/timers.ts'
import type { CoordinatorResult, CoordinatorTimer } from './coordinator-shard.ts'

export type TimerOperation<R> = () => CoordinatorResult<R, unknown>

export class ShardTimer<R> implements CoordinatorTimer<R> {
  readonly #timers: Timers
  readonly #run: (key: string, operation: TimerOperation<R>, attempt: number) => void
  readonly #scheduled = new Map<string, TimerHandle>()
  #isClosed = false

  /** `run` runs an operation as any other; `attempt` counts its retries. */
  constructor(timers: Timers, run: (key: string, operation: TimerOperation<R>, attempt: number) => void) {
    this.#timers = timers
    this.#run = run
  }

  schedule(key: string, delayMs: number, operation: TimerOperation<R>): void {
    this.retry(key, delayMs, operation, 0)
  }

  /** As {@link schedule}, for an operation that failed `attempt` times. */
  retry(key: string, delayMs: number, operation: TimerOperation<R>, attempt: number): void {
    if (this.#isClosed) return
    this.#scheduled.get(key)?.cancel()
    const handle = this.#timers.schedule(delayMs, () => {
      if (this.#scheduled.get(key) !== handle) return
      this.#scheduled.delete(key)
      this.#run(key, operation, attempt)
    })
    this.#scheduled.set(key, handle)
  }

  cancel(key: string): void {
    this.#scheduled.get(key)?.cancel()
    this.#scheduled.delete(key)
  }

  isScheduled(key: string): boolean {
    return this.#scheduled.has(key)
  }

  close(): void {
    this.#isClosed = true
    for (const handle of this.#scheduled.values()) handle.cancel()
    this.#scheduled.clear()
  }
}
