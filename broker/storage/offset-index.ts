/**
 * The offset index of one segment (`.index`): 8-byte entries of (offset relative to the segment's base, position of the
 * batch), one about every `index.interval.bytes`. The offset is the last one of the batch, as Kafka writes it.
 *
 * It lives in memory in the form of the file. Entries that are not in the file yet are its tail; see `LogSegment`.
 */
import { invariant } from '../../common/invariant.ts'

export const OFFSET_INDEX_ENTRY_BYTES = 8

const EMPTY = Buffer.alloc(0)
const FIRST_CAPACITY = 32 * OFFSET_INDEX_ENTRY_BYTES

export class OffsetIndex {
  readonly #baseOffset: number
  #buffer: Buffer
  #sizeBytes: number

  /** `content`: the bytes of the file, which the index owns from now on. */
  constructor(baseOffset: number, content: Buffer = EMPTY) {
    this.#baseOffset = baseOffset
    this.#buffer = content
    this.#sizeBytes = content.length - (content.length % OFFSET_INDEX_ENTRY_BYTES)
  }

  get entryCount(): number {
    return this.#sizeBytes / OFFSET_INDEX_ENTRY_BYTES
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** The last offset that is indexed; `baseOffset - 1` when none is. */
  get lastOffset(): number {
    return this.#sizeBytes === 0 ? this.#baseOffset - 1 : this.#offsetAt(this.entryCount - 1)
  }

  /** The position of the last entry; 0 when there is none. */
  get lastPosition(): number {
    return this.#sizeBytes === 0 ? 0 : this.#positionAt(this.entryCount - 1)
  }

  append(offset: number, position: number): void {
    invariant(offset > this.lastOffset, `index offsets must grow: ${offset} after ${this.lastOffset}`)
    if (this.#sizeBytes + OFFSET_INDEX_ENTRY_BYTES > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY, this.#buffer.length * 2))
      this.#buffer.copy(grown, 0, 0, this.#sizeBytes)
      this.#buffer = grown
    }
    this.#buffer.writeInt32BE(offset - this.#baseOffset, this.#sizeBytes)
    this.#buffer.writeInt32BE(position, this.#sizeBytes + 4)
    this.#sizeBytes += OFFSET_INDEX_ENTRY_BYTES
  }

  /** The position from which a scan finds the batch that holds `offset`: that of the last batch that ends at or before. */
  lookup(offset: number): number {
    const entry = this.#floor(offset)
    return entry < 0 ? 0 : this.#positionAt(entry)
  }

  /** The offset of the entry that {@link lookup} takes: the last one of the batch there; undefined if it takes none. */
  lookupOffset(offset: number): number | undefined {
    const entry = this.#floor(offset)
    return entry < 0 ? undefined : this.#offsetAt(entry)
  }

  /** The last entry at or below `offset`. */
  entryBefore(offset: number): { offset: number; position: number } | undefined {
    return this.#entry(this.#floor(offset))
  }

  /** The first entry above `offset`. */
  entryAfter(offset: number): { offset: number; position: number } | undefined {
    return this.#entry(this.#floor(offset) + 1)
  }

  /** Removes the entries at or above `offset`. */
  truncateTo(offset: number): void {
    this.#sizeBytes = (this.#floor(offset - 1) + 1) * OFFSET_INDEX_ENTRY_BYTES
  }

  /** Whether offsets and positions grow and stay within a segment of `segmentSizeBytes`. */
  isSane(segmentSizeBytes: number): boolean {
    let lastOffset = this.#baseOffset - 1
    let lastPosition = -1
    for (let entry = 0; entry < this.entryCount; entry++) {
      const offset = this.#offsetAt(entry)
      const position = this.#positionAt(entry)
      if (offset <= lastOffset || position <= lastPosition || position >= segmentSizeBytes) return false
      lastOffset = offset
      lastPosition = position
    }
    return true
  }

  /** The bytes of the file from `fromBytes`: a copy, since truncation and appends change the buffer in place. */
  content(fromBytes = 0): Buffer {
    return Buffer.from(this.#buffer.subarray(fromBytes, this.#sizeBytes))
  }

  /** The last entry whose offset is at most `offset`; -1 when there is none. */
  #floor(offset: number): number {
    let low = 0
    let high = this.entryCount - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      if (this.#offsetAt(middle) <= offset) low = middle + 1
      else high = middle - 1
    }
    return high
  }

  #entry(entry: number): { offset: number; position: number } | undefined {
    if (entry < 0 || entry >= this.entryCount) return undefined
    return { offset: this.#offsetAt(entry), position: this.#positionAt(entry) }
  }

  #offsetAt(entry: number): number {
    return this.#baseOffset + this.#buffer.readInt32BE(entry * OFFSET_INDEX_ENTRY_BYTES)
  }

  #positionAt(entry: number): number {
    return this.#buffer.readInt32BE(entry * OFFSET_INDEX_ENTRY_BYTES + 4)
  }
}
