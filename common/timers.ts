/** Timers as a constructor parameter; `TimingWheel` serves a process, a simulation serves its own. */
export interface Timers {
  /** Runs `fire` once after about `delayMs` (never early). */
  schedule(delayMs: number, fire: () => void): TimerHandle
}

export interface TimerHandle {
  /** O(1); no effect once fired or cancelled. */
  cancel(): void
}
