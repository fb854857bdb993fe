/** Who waits for an offset of one partition to be passed, in the order of the offsets. */
export interface OffsetWaiter {
  /** The awaited offset was passed. */
  offsetPassed(): void
  /** It can't be awaited any longer: the partition failed or its leadership ended. */
  waitFailed(errorCode: number): void
}

interface Waiting {
  readonly offset: number
  readonly waiter: OffsetWaiter
}

/**
 * A queue ordered by offset. Appends come in order, so inserting looks only at the end; a duplicate's older offset walks
 * back a little.
 */
export class OffsetWaiters {
  #queue: Waiting[] = []
  /** Entries before it were served; the array is compacted now and then. */
  #head = 0

  get size(): number {
    return this.#queue.length - this.#head
  }

  /** `offset` is exclusive: the waiter is served once the watched offset is at least `offset`. */
  add(offset: number, waiter: OffsetWaiter): void {
    let at = this.#queue.length
    while (at > this.#head && (this.#queue[at - 1]?.offset ?? 0) > offset) at--
    if (at === this.#queue.length) this.#queue.push({ offset, waiter })
    else this.#queue.splice(at, 0, { offset, waiter })
  }

  /** Serves all that wait for `offset` or less. */
  advance(offset: number): void {
    for (
      let next = this.#queue[this.#head];
      next !== undefined && next.offset <= offset;
      next = this.#queue[this.#head]
    ) {
      this.#head++
      next.waiter.offsetPassed()
    }
    if (this.#head > 1024 || this.#head === this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
  }

  failAll(errorCode: number): void {
    const failed = this.#queue.slice(this.#head)
    this.#queue = []
    this.#head = 0
    for (const { waiter } of failed) waiter.waitFailed(errorCode)
  }
}
