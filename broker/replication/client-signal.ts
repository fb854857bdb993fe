/** Tells parked work that nobody waits for it any more. Lighter than an AbortSignal: one per connection, no events. */
export interface ClientSignal {
  readonly isClosed: boolean
  /** Calls `listener` when the client is gone; at once if it is. */
  onClose(listener: () => void): void
  offClose(listener: () => void): void
}
