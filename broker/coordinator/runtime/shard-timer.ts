/** The timers of one shard: by key, until the shard ends. */
import type { TimerHandle, Timers } from '../../../common/timers.ts'
import type { CoordinatorResult, CoordinatorTimer } from './coordinator-shard.ts'

export class ShardTimer<R> implements CoordinatorTimer<R> {
  readonly #timers: Timers
  readonly #run: (operation: () => CoordinatorResult<R, unknown>) => void
  readonly #scheduled = new Map<string, TimerHandle>()
  #isClosed = false

  /** `run` runs an operation as any other. */
  constructor(timers: Timers, run: (operation: () => CoordinatorResult<R, unknown>) => void) {
    this.#timers = timers
    this.#run = run
  }

  schedule(key: string, delayMs: number, operation: () => CoordinatorResult<R, unknown>): void {
    if (this.#isClosed) return
    this.#scheduled.get(key)?.cancel()
    const handle = this.#timers.schedule(delayMs, () => {
      if (this.#scheduled.get(key) !== handle) return
      this.#scheduled.delete(key)
      this.#run(operation)
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
