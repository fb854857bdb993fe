/**
 * The time index of one segment (`.timeindex`): 12-byte entries of (largest timestamp so far, last offset of the batch
 * that has it, relative to the segment's base). Both grow from entry to entry.
 *
 * It lives in memory in the form of the file. Entries that are not in the file yet are its tail; see `LogSegment`.
 */
import { readInt64, writeInt64 } from '../protocol/records/record-batch.ts'

export const TIME_INDEX_ENTRY_BYTES = 12

const EMPTY = Buffer.alloc(0)
const FIRST_CAPACITY = 32 * TIME_INDEX_ENTRY_BYTES

export class TimeIndex {
  readonly #baseOffset: number
  #buffer: Buffer
  #sizeBytes: number

  /** `content`: the bytes of the file, which the index owns from now on. */
  constructor(baseOffset: number, content: Buffer = EMPTY) {
    this.#baseOffset = baseOffset
    this.#buffer = content
    this.#sizeBytes = content.length - (content.length % TIME_INDEX_ENTRY_BYTES)
  }

  get entryCount(): number {
    return this.#sizeBytes / TIME_INDEX_ENTRY_BYTES
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** -1 when there is no entry. */
  get lastTimestamp(): number {
    return this.#sizeBytes === 0 ? -1 : this.#timestampAt(this.entryCount - 1)
  }

  /** `baseOffset - 1` when there is no entry. */
  get lastOffset(): number {
    return this.#sizeBytes === 0 ? this.#baseOffset - 1 : this.#offsetAt(this.entryCount - 1)
  }

  /** Adds an entry if it is news: a later timestamp at a later offset. */
  maybeAppend(timestamp: number, offset: number): void {
    if (timestamp <= this.lastTimestamp || offset <= this.lastOffset) return
    if (this.#sizeBytes + TIME_INDEX_ENTRY_BYTES > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY, this.#buffer.length * 2))
      this.#buffer.copy(grown, 0, 0, this.#sizeBytes)
      this.#buffer = grown
    }
    writeInt64(this.#buffer, timestamp, this.#sizeBytes)
    this.#buffer.writeInt32BE(offset - this.#baseOffset, this.#sizeBytes + 8)
    this.#sizeBytes += TIME_INDEX_ENTRY_BYTES
  }

  /**
   * The offset from which a scan finds the first batch with `timestamp` or later: that of the last entry whose timestamp
   * is smaller. (An entry of the very timestamp names the first batch that has it only if it is the largest so far.)
   */
  lookup(timestamp: number): number {
    let low = 0
    let high = this.entryCount - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      if (this.#timestampAt(middle) < timestamp) low = middle + 1
      else high = middle - 1
    }
    return high < 0 ? this.#baseOffset : this.#offsetAt(high)
  }

  /** Removes the entries at or above `offset`. */
  truncateTo(offset: number): void {
    while (this.#sizeBytes > 0 && this.lastOffset >= offset) this.#sizeBytes -= TIME_INDEX_ENTRY_BYTES
  }

  /** Whether timestamps and offsets grow. */
  isSane(): boolean {
    let lastTimestamp = -1
    let lastOffset = this.#baseOffset - 1
    for (let entry = 0; entry < this.entryCount; entry++) {
      const timestamp = this.#timestampAt(entry)
      const offset = this.#offsetAt(entry)
      // Kafka ends a segment with an entry that may repeat the one before.
      if (timestamp < lastTimestamp || offset < lastOffset) return false
      lastTimestamp = timestamp
      lastOffset = offset
    }
    return true
  }

  /** The bytes of the file from `fromBytes`: a copy, since truncation and appends change the buffer in place. */
  content(fromBytes = 0): Buffer {
    return Buffer.from(this.#buffer.subarray(fromBytes, this.#sizeBytes))
  }

  #timestampAt(entry: number): number {
    return readInt64(this.#buffer, entry * TIME_INDEX_ENTRY_BYTES)
  }

  #offsetAt(entry: number): number {
    return this.#baseOffset + this.#buffer.readInt32BE(entry * TIME_INDEX_ENTRY_BYTES + 8)
  }
}
