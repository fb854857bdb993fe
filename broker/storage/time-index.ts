/**
 * The time index of one segment (`.timeindex`): 12-byte entries of (largest timestamp so far, last offset of the batch
 * that has it, relative to the segment's base). Both grow from entry to entry.
 *
 * It lives in memory in the form of the file. Entries that are not in the file yet are its tail; see `LogSegment`.
 */
import { IndexEntries } from './index-entries.ts'
import { readInt64, writeInt64 } from '../protocol/records/record-batch.ts'

export const TIME_INDEX_ENTRY_BYTES = 12

export class TimeIndex {
  readonly #baseOffset: number
  readonly #entries: IndexEntries

  /** `content`: the bytes of the file, which the index owns from now on. */
  constructor(baseOffset: number, content?: Buffer) {
    this.#baseOffset = baseOffset
    this.#entries = new IndexEntries(TIME_INDEX_ENTRY_BYTES, content)
  }

  get entryCount(): number {
    return this.#entries.count
  }

  get sizeBytes(): number {
    return this.#entries.sizeBytes
  }

  /** -1 when there is no entry. */
  get lastTimestamp(): number {
    return this.#entries.count === 0 ? -1 : this.#timestampAt(this.entryCount - 1)
  }

  /** `baseOffset - 1` when there is no entry. */
  get lastOffset(): number {
    return this.#entries.count === 0 ? this.#baseOffset - 1 : this.#offsetAt(this.entryCount - 1)
  }

  /** Adds an entry if it is news: a later timestamp at a later offset. */
  maybeAppend(timestamp: number, offset: number): void {
    if (timestamp <= this.lastTimestamp || offset <= this.lastOffset) return
    const at = this.#entries.add()
    writeInt64(this.#entries.buffer, timestamp, at)
    this.#entries.buffer.writeInt32BE(offset - this.#baseOffset, at + 8)
  }

  /**
   * The offset from which a scan finds the first batch with `timestamp` or later: that of the last entry whose timestamp
   * is smaller. (An entry of the very timestamp names the first batch that has it only if it is the largest so far.)
   */
  lookup(timestamp: number): number {
    const high = this.#entries.lastWhere((entry) => this.#timestampAt(entry) < timestamp)
    return high < 0 ? this.#baseOffset : this.#offsetAt(high)
  }

  /** Removes the entries at or above `offset`. */
  truncateTo(offset: number): void {
    this.#entries.truncateTo(this.#entries.lastWhere((entry) => this.#offsetAt(entry) < offset) + 1)
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

  /** The bytes of the file from `fromBytes`: a copy. */
  content(fromBytes = 0): Buffer {
    return this.#entries.content(fromBytes)
  }

  #timestampAt(entry: number): number {
    return readInt64(this.#entries.buffer, entry * TIME_INDEX_ENTRY_BYTES)
  }

  #offsetAt(entry: number): number {
    return this.#baseOffset + this.#entries.buffer.readInt32BE(entry * TIME_INDEX_ENTRY_BYTES + 8)
  }
}
