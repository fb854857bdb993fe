/**
 * Bytes that a broker holds for its clients: frames that arrived, and responses that are not sent yet.
 *
 * Admission is soft: a request is admitted while less than the limit is used, so one that is larger than what is left
 * still runs and none can starve. Whoever is turned away waits in line and is called once memory is free.
 */
export class MemoryBudget {
  readonly limitBytes: number
  #usedBytes = 0
  #waiting = new Set<() => void>()

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  get isExhausted(): boolean {
    return this.#usedBytes >= this.limitBytes
  }

  take(bytes: number): void {
    this.#usedBytes += bytes
  }

  giveBack(bytes: number): void {
    this.#usedBytes -= bytes
    if (this.#waiting.size === 0 || this.isExhausted) return
    const waiting = this.#waiting
    this.#waiting = new Set()
    // After the caller is done: a resumed connection may take memory at once.
    queueMicrotask(() => {
      for (const resume of waiting) resume()
    })
  }

  /** Calls `resume` once, when memory is free again; asking twice is asking once. */
  whenFree(resume: () => void): void {
    this.#waiting.add(resume)
  }

  forget(resume: () => void): void {
    this.#waiting.delete(resume)
  }
}
