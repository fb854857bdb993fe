/** Tokens that come back at a steady rate, up to a burst, and that may be overdrawn once (KIP-599). */
export class TokenBucket {
  #tokens = Infinity
  #lastMs = 0

  /** What is left, given what came back by now; below zero: overdrawn. */
  left(ratePerSecond: number, burst: number, nowMs: number): number {
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#lastMs) / 1000) * ratePerSecond)
    this.#lastMs = nowMs
    return this.#tokens
  }

  /** Takes tokens that may not be there. After {@link left}. */
  take(count: number): void {
    this.#tokens -= count
  }
}
