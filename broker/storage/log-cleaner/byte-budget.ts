/** Holds work to a number of bytes a second, with short rests: what `log.cleaner.io.max.bytes.per.second` asks for. */
import type { Clock } from '../../../common/clock.ts'
import type { Timers } from '../../../common/timers.ts'

/** Rests shorter than this are not worth a timer: they are saved up. */
const LEAST_REST_MS = 20
/** After so long a rest, it is asked again whether there is still a reason for it. */
const MOST_REST_MS = 500
/** A pause in the work earns no more than this. */
const MOST_CREDIT_MS = 100

export class ByteBudget {
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #bytesPerSecond: () => number
  /** Bytes ahead of the rate; negative: behind it. */
  #aheadBytes = 0
  #lastMs = 0

  constructor(clock: Clock, timers: Timers, bytesPerSecond: () => number) {
    this.#clock = clock
    this.#timers = timers
    this.#bytesPerSecond = bytesPerSecond
    this.#lastMs = clock.monotonicMs()
  }

  /** Notes that `bytes` were read or written; resolves when more may be. `checkAborted` may throw to end the rest. */
  async spend(bytes: number, checkAborted: () => void): Promise<void> {
    this.#aheadBytes += bytes
    for (;;) {
      // Kafka's default is the largest double: no limit.
      const bytesPerMs = Math.min(this.#bytesPerSecond() / 1000, 1e12)
      const nowMs = this.#clock.monotonicMs()
      const dueBytes = (nowMs - this.#lastMs) * bytesPerMs
      this.#lastMs = nowMs
      this.#aheadBytes = Math.max(this.#aheadBytes - dueBytes, -MOST_CREDIT_MS * bytesPerMs)
      const restMs = this.#aheadBytes / bytesPerMs
      if (restMs < LEAST_REST_MS) return
      await new Promise<void>((resolve) => this.#timers.schedule(Math.min(restMs, MOST_REST_MS), resolve))
      checkAborted()
    }
  }
}
