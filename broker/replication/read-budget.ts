/**
 * Bytes of records that reads hold, from before they are read until their response was sent. Without it a few dozen
 * clients that catch up, each allowed a response of many megabytes, would fill the memory before the first byte is sent.
 *
 * A read never waits: when the budget is short it gets less, in the end as little as {@link MIN_GRANT_BYTES}, so that
 * everybody goes on, only in smaller steps.
 */
import { invariant } from '../../common/invariant.ts'

const MIN_GRANT_BYTES = 64 * 1024

export class ReadBudget {
  readonly limitBytes: number
  #usedBytes = 0

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Reserves up to `wantedBytes`. */
  grant(wantedBytes: number): ReadGrant {
    const leftBytes = Math.max(MIN_GRANT_BYTES, this.limitBytes - this.#usedBytes)
    return new ReadGrant(this, Math.max(0, Math.min(wantedBytes, leftBytes)))
  }

  /** Called by grants. */
  changed(bytes: number): void {
    this.#usedBytes += bytes
  }
}

export class ReadGrant {
  readonly #budget: ReadBudget
  #bytes: number
  #isReleased = false

  constructor(budget: ReadBudget, bytes: number) {
    this.#budget = budget
    this.#bytes = bytes
    budget.changed(bytes)
  }

  /** What the read may take. */
  get bytes(): number {
    return this.#bytes
  }

  /** The read is done and took this much: maybe less than it might, or more, when the first batch was larger. */
  settle(bytes: number): void {
    this.#budget.changed(bytes - this.#bytes)
    this.#bytes = bytes
  }

  /** The records are not held any more. */
  release(): void {
    invariant(!this.#isReleased, 'a read grant is released twice')
    this.#isReleased = true
    this.#budget.changed(-this.#bytes)
  }
}
