/**
 * The rate of something over the last seconds, as Kafka measures it for quotas: the sum of `samples` windows and the
 * running one, divided by the time they span. A client that was idle may so use up at once what it did not use before.
 *
 * Times are of the monotonic clock, in milliseconds; rates are a second.
 */
export interface RateWindow {
  /** `quota.window.num` */
  readonly samples: number
  readonly windowMs: number
}

export class RateSensor {
  readonly #window: RateWindow
  /** One sample more than the windows: the oldest may overlap the span that counts. */
  readonly #samples: Sample[] = []
  #current = 0

  constructor(window: RateWindow) {
    this.#window = window
  }

  /** Adds `value`; a negative one takes back what was added before. */
  record(value: number, nowMs: number): void {
    let sample = (this.#samples[this.#current] ??= { startMs: nowMs, lastMs: nowMs, value: 0 })
    if (nowMs - sample.startMs >= this.#window.windowMs) {
      this.#current = (this.#current + 1) % (this.#window.samples + 1)
      sample = { startMs: nowMs, lastMs: nowMs, value: 0 }
      this.#samples[this.#current] = sample
    }
    sample.value += value
    sample.lastMs = nowMs
  }

  /** The rate now, a second. */
  rate(nowMs: number): number {
    return (this.#sum(nowMs) / this.#spanMs(nowMs)) * 1000
  }

  /** How long nothing may be added until the rate is down to `limit`; 0 while it is not above it. */
  throttleMs(limit: number, nowMs: number): number {
    const rate = this.rate(nowMs)
    return rate <= limit ? 0 : Math.round(((rate - limit) / limit) * this.#spanMs(nowMs))
  }

  #sum(nowMs: number): number {
    const spanMs = this.#window.samples * this.#window.windowMs
    let sum = 0
    for (const sample of this.#samples) {
      if (nowMs - sample.lastMs >= spanMs) {
        sample.value = 0
        sample.startMs = nowMs
        sample.lastMs = nowMs
      }
      sum += sample.value
    }
    return sum
  }

  /** The time since the oldest sample began, but counted as at least all windows but one: a short start is no high rate. */
  #spanMs(nowMs: number): number {
    const { samples, windowMs } = this.#window
    let oldestMs = nowMs
    for (const { startMs } of this.#samples) oldestMs = Math.min(oldestMs, startMs)
    const elapsedMs = nowMs - oldestMs
    const missing = Math.max(0, samples - 1 - Math.floor(elapsedMs / windowMs))
    return Math.max(1, elapsedMs + missing * windowMs)
  }
}

interface Sample {
  startMs: number
  lastMs: number
  value: number
}
