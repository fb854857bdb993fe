/**
 * Bytes of requests that are not admitted yet: unfinished frames, and whole ones that wait for their turn.
 *
 * They can't be bounded by waiting, since an unfinished frame is of use only once its client sends the rest, which it may
 * never do. So when they exceed their limit, a client has to go: the oldest of those that hold no less than the average.
 * An honest frame is complete soon, so it is young; and who holds little is not the cause.
 */
export interface FrameHolder {
  /** Closes the client's connection, which lets go of its bytes before it returns. */
  evict(reason: string): void
}

export class ReceiveBudget {
  readonly limitBytes: number
  #usedBytes = 0
  /** In the order in which they last made progress, the oldest first. */
  readonly #held = new Map<FrameHolder, number>()

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /** What `holder` holds now; `hasProgressed`: a frame of it was completed, so that it counts as young again. */
  set(holder: FrameHolder, bytes: number, hasProgressed: boolean): void {
    const before = this.#held.get(holder) ?? 0
    if (bytes === 0) {
      if (before !== 0) this.#held.delete(holder)
    } else {
      if (hasProgressed) this.#held.delete(holder)
      this.#held.set(holder, bytes)
    }
    this.#usedBytes += bytes - before
    if (bytes > before) this.#makeRoom()
  }

  #makeRoom(): void {
    while (this.#usedBytes > this.limitBytes) {
      const averageBytes = this.#usedBytes / this.#held.size
      for (const [holder, bytes] of this.#held) {
        if (bytes < averageBytes) continue
        holder.evict('the memory for unfinished requests is exhausted, and this one waits the longest')
        // Its bytes are let go even if the holder does not say so, or this would never end.
        this.set(holder, 0, false)
        break
      }
    }
  }
}
