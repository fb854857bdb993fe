/**
 * Rates from counters that only grow: how fast each grew over the last seconds. A counter that went back was started anew.
 */

const WINDOW_MS = 15_000
const MIN_SPAN_MS = 800

/** @typedef {Readonly<Record<string, number>>} Counters */

export class Rates {
  /** @type {{ atMs: number, counters: Map<string, Counters> }[]} */
  #samples = []

  /**
   * Takes the counters of all things as of `atMs`, by the broker's monotonic clock.
   *
   * @param {number} atMs
   * @param {Iterable<readonly [string, Counters]>} counters
   */
  add(atMs, counters) {
    const last = this.#samples.at(-1)
    // The broker was started anew.
    if (last !== undefined && atMs < last.atMs) this.#samples = []
    this.#samples.push({ atMs, counters: new Map(counters) })
    while ((this.#samples[1]?.atMs ?? Infinity) <= atMs - WINDOW_MS) this.#samples.shift()
  }

  /**
   * Per second; undefined until there are two samples of it.
   *
   * @param {string} thing
   * @param {string} counter
   * @returns {number | undefined}
   */
  perSecond(thing, counter) {
    const newest = this.#samples.at(-1)
    const now = newest?.counters.get(thing)?.[counter]
    if (newest === undefined || now === undefined) return undefined
    for (const { atMs, counters } of this.#samples) {
      const spanMs = newest.atMs - atMs
      if (spanMs < MIN_SPAN_MS) return undefined
      const then = counters.get(thing)?.[counter]
      if (then !== undefined) return now < then ? 0 : ((now - then) * 1000) / spanMs
    }
    return undefined
  }
}
