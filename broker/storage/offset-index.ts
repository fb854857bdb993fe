/**
 * The offset index of one segment (`.index`): 8-byte entries of (offset relative to the segment's base, position of the
 * batch), one about every `index.interval.bytes`. The offset is the last one of the batch, as Kafka writes it.
 *
 * It lives in memory in the form of the file. Entries that are not in the file yet are its tail; see `LogSegment`.
 */
import { invariant } from '../../common/invariant.ts'
import { IndexEntries } from './index-entries.ts'

export const OFFSET_INDEX_ENTRY_BYTES = 8

export class OffsetIndex {
  readonly #baseOffset: number
  readonly #entries: IndexEntries

  /** `content`: the bytes of the file, which the index owns from now on. */
  constructor(baseOffset: number, content?: Buffer) {
    this.#baseOffset = baseOffset
    this.#entries = new IndexEntries(OFFSET_INDEX_ENTRY_BYTES, content)
  }

  get entryCount(): number {
    return this.#entries.count
  }

  get sizeBytes(): number {
    return this.#entries.sizeBytes
  }

  /** The last offset that is indexed; `baseOffset - 1` when none is. */
  get lastOffset(): number {
    return this.#entries.count === 0 ? this.#baseOffset - 1 : this.#offsetAt(this.entryCount - 1)
  }

  /** The position of the last entry; 0 when there is none. */
  get lastPosition(): number {
    return this.#entries.count === 0 ? 0 : this.#positionAt(this.entryCount - 1)
  }

  append(offset: number, position: number): void {
    invariant(offset > this.lastOffset, `index offsets must grow: ${offset} after ${this.lastOffset}`)
    const at = this.#entries.add()
    this.#entries.buffer.writeInt32BE(offset - this.#baseOffset, at)
    this.#entries.buffer.writeInt32BE(position, at + 4)
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
    this.#entries.truncateTo(this.#floor(offset - 1) + 1)
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

  /** The bytes of the file from `fromBytes`: a copy. */
  content(fromBytes = 0): Buffer {
    return this.#entries.content(fromBytes)
  }

  /** The last entry whose offset is at most `offset`; -1 when there is none. */
  #floor(offset: number): number {
    return this.#entries.lastWhere((entry) => this.#offsetAt(entry) <= offset)
  }

  #entry(entry: number): { offset: number; position: number } | undefined {
    if (entry < 0 || entry >= this.entryCount) return undefined
    return { offset: this.#offsetAt(entry), position: this.#positionAt(entry) }
  }

  #offsetAt(entry: number): number {
    return this.#baseOffset + this.#entries.buffer.readInt32BE(entry * OFFSET_INDEX_ENTRY_BYTES)
  }

  #positionAt(entry: number): number {
    return this.#entries.buffer.readInt32BE(entry * OFFSET_INDEX_ENTRY_BYTES + 4)
  }
}
