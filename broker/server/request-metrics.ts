import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'

/** Times of one API's requests, in microseconds, over the current and the previous window. */
export class RequestTimes {
  /** From the frame's arrival to its response being ready to send. */
  readonly total = new WindowedHistogram()
  /** The part in which the handler ran before it first waited. */
  readonly local = new WindowedHistogram()
  count = 0
  errorCount = 0
}

/** Quantiles over the last one to two windows: old spikes leave, and a quiet API still shows its last values. */
export class WindowedHistogram {
  #current: RecordableHistogram = createHistogram()
  #previous: RecordableHistogram = createHistogram()

  /** Records a duration. */
  record(milliseconds: number): void {
    this.#current.record(Math.max(1, Math.round(milliseconds * 1000)))
  }

  /** Begins a new window. */
  rotate(): void {
    const oldest = this.#previous
    oldest.reset()
    this.#previous = this.#current
    this.#current = oldest
  }

  /** Milliseconds at each of `percents` (0-100); zeros when nothing was recorded. */
  percentilesMs(percents: readonly number[]): number[] {
    const merged = createHistogram()
    merged.add(this.#previous)
    merged.add(this.#current)
    return percents.map((percent) => (merged.count === 0 ? 0 : merged.percentile(percent) / 1000))
  }
}

/** All APIs' times, by API name. */
export class RequestMetrics {
  readonly #byName = new Map<string, RequestTimes>()

  of(apiName: string): RequestTimes {
    let times = this.#byName.get(apiName)
    if (times === undefined) this.#byName.set(apiName, (times = new RequestTimes()))
    return times
  }

  entries(): Iterable<[string, RequestTimes]> {
    return this.#byName
  }

  /** Called once a minute. */
  rotate(): void {
    for (const times of this.#byName.values()) {
      times.total.rotate()
      times.local.rotate()
    }
  }
}
