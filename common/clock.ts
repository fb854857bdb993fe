/**
 * Time as a constructor parameter. Wall-clock time is data (record timestamps); every timeout, lease and rate uses
 * monotonic time, so that a clock step can't expire or prolong anything.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch, as the machine believes; may step. */
  wallMs(): number
  /** Milliseconds from an arbitrary start; never goes back; fractional. */
  monotonicMs(): number
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
