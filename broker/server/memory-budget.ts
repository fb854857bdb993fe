import { ReceiveBudget } from './receive-budget.ts'

/**
 * Bytes that a broker holds for its clients: requests that are worked on, and responses that are not sent yet. Requests
 * that are not admitted yet are counted apart ({@link ReceiveBudget}): were they part of the limit that keeps them from
 * being admitted, they could block each other for ever.
 *
 * Admission is soft: a request is admitted while less than the limit is used, so one that is larger than what is left
 * still runs and none can starve. Whoever is turned away waits in line and is called once memory is free.
 */
export class MemoryBudget {
  readonly limitBytes: number
  /** Requests that are not admitted yet. */
  readonly received: ReceiveBudget
  #usedBytes = 0
  #waiting = new Set<() => void>()

  /** `receiveLimitBytes`: for what is not admitted yet; no less than the largest request. */
  constructor(limitBytes: number, receiveLimitBytes = limitBytes) {
    this.limitBytes = limitBytes
    this.received = new ReceiveBudget(receiveLimitBytes)
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
