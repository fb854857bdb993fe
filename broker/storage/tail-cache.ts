/**
 * What was appended last, in memory, by reference: followers and tailing consumers read it without a disk read.
 *
 * One budget for all logs of a broker; when it is exceeded, the oldest appends go first, whichever log they are of.
 * Invariants: the tail of a log is contiguous and ends at its log end offset (only what was written whole is added); the
 * bytes are those of the segment file. Each append holds a reference to the block that its
 * bytes lie in; a reader gets references of its own.
 */
import type { Block } from '../../common/block-pool.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'

interface CachedAppend {
  /** Empty once it was removed, so that nothing that still lists the append pins its bytes. */
  records: Buffer
  readonly nextOffset: number
  /** Bytes of this append and of all that the tail was given before. */
  readonly endBytes: number
  readonly block: Block
  /** The log whose tail this is in; undefined once it was removed. */
  tail: LogTail | undefined
}

const NOTHING = Buffer.alloc(0)

export class TailCache {
  readonly #budgetBytes: number
  #sizeBytes = 0
  /** All cached appends from the oldest to the newest, removed ones included until they come to the front. */
  #queue: CachedAppend[] = []
  #head = 0

  constructor(budgetBytes: number) {
    this.#budgetBytes = budgetBytes
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  get budgetBytes(): number {
    return this.#budgetBytes
  }

  /** Called by a tail that grew. */
  added(append: CachedAppend): void {
    this.#sizeBytes += append.records.length
    this.#queue.push(append)
    while (this.#sizeBytes > this.#budgetBytes) {
      const oldest = this.#queue[this.#head++]
      if (oldest === undefined) break
      oldest.tail?.removeOldest()
    }
    if (this.#head > 64 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
  }

  /** Called by a tail that let go of an append. */
  removed(append: CachedAppend): void {
    append.tail = undefined
    this.#sizeBytes -= append.records.length
    append.records = NOTHING
    append.block.release()
  }
}

/** The tail of one log. */
export class LogTail {
  readonly #cache: TailCache
  #appends: CachedAppend[] = []
  #head = 0
  #addedBytes = 0

  constructor(cache: TailCache) {
    this.#cache = cache
  }

  /**
   * Adds what was just written: whole batches that follow what was added before. The caller's reference to the block goes
   * over to the cache.
   */
  add(records: Buffer, nextOffset: number, block: Block): void {
    if (records.length > this.#cache.budgetBytes) {
      this.clear()
      block.release()
      return
    }
    this.#addedBytes += records.length
    const append: CachedAppend = { records, nextOffset, endBytes: this.#addedBytes, block, tail: this }
    this.#appends.push(append)
    this.#cache.added(append)
  }

  /** Whether `offset` is in the tail: a batch that holds it, or that follows where it was compacted away. */
  holds(offset: number): boolean {
    const oldest = this.#appends[this.#head]
    const newest = this.#appends.at(-1)
    if (oldest === undefined || newest === undefined) return false
    return offset >= recordBatch.baseOffset(oldest.records, 0) && offset < newest.nextOffset
  }

  /**
   * Adds whole batches from the one that holds `startOffset` to `out`: at most `maxBytes` (but at least one batch if
   * `minOneMessage`), and none that reaches `upperBoundOffset`. Adds a reference to each block that they lie in to
   * `blocks`, which the caller has to release. Returns the offset after the last.
   */
  collect(
    startOffset: number,
    upperBoundOffset: number,
    maxBytes: number,
    minOneMessage: boolean,
    out: Buffer[],
    blocks: Block[],
  ): number {
    let nextOffset = startOffset
    let remaining = maxBytes
    let mustAdd = minOneMessage
    for (let i = this.#find(startOffset); i < this.#appends.length; i++) {
      const append = this.#appends[i]
      if (append === undefined) break
      const { records } = append
      const start = nextOffset === startOffset ? positionOf(records, startOffset) : 0
      if (append.nextOffset <= upperBoundOffset && records.length - start <= remaining) {
        out.push(start === 0 ? records : records.subarray(start))
        retainOnce(append.block, blocks)
        remaining -= records.length - start
        nextOffset = append.nextOffset
        mustAdd = false
        continue
      }
      let end = start
      while (end < records.length) {
        const size = recordBatch.sizeInBytes(records, end)
        const after = recordBatch.nextOffset(records, end)
        if (after > upperBoundOffset || (size > remaining && !mustAdd)) break
        mustAdd = false
        remaining -= size
        end += size
        nextOffset = after
      }
      if (end > start) {
        out.push(records.subarray(start, end))
        retainOnce(append.block, blocks)
      }
      break
    }
    return nextOffset
  }

  /** Bytes of the batches from the one that holds `startOffset`, which is in the tail, to the last that ends at or before `endOffset`. */
  bytesBetween(startOffset: number, endOffset: number): number {
    const first = this.#appends[this.#find(startOffset)]
    if (first === undefined) return 0
    const start = first.endBytes - first.records.length + positionOf(first.records, startOffset)
    const last = this.#appends[this.#find(endOffset)]
    if (last === undefined) return (this.#appends.at(-1)?.endBytes ?? start) - start
    const end = last.endBytes - last.records.length + positionOf(last.records, endOffset)
    return Math.max(end - start, 0)
  }

  /** Removes what is at or above `offset`; an append that straddles it goes as a whole. */
  truncateTo(offset: number): void {
    for (;;) {
      const newest = this.#appends.at(-1)
      if (this.#head === this.#appends.length || newest === undefined || newest.nextOffset <= offset) break
      this.#appends.pop()
      this.#addedBytes -= newest.records.length
      this.#cache.removed(newest)
    }
  }

  /** Removes the appends that end at or before `offset`: compaction has changed what is there. */
  dropBefore(offset: number): void {
    while ((this.#appends[this.#head]?.nextOffset ?? Infinity) <= offset) this.removeOldest()
  }

  clear(): void {
    for (let i = this.#head; i < this.#appends.length; i++) {
      const append = this.#appends[i]
      if (append !== undefined) this.#cache.removed(append)
    }
    this.#appends = []
    this.#head = 0
  }

  /** The cache's business: makes room. */
  removeOldest(): void {
    const oldest = this.#appends[this.#head]
    if (oldest === undefined) return
    this.#cache.removed(oldest)
    this.#head++
    if (this.#head === this.#appends.length) {
      this.#appends = []
      this.#head = 0
    } else if (this.#head > 64 && this.#head * 2 > this.#appends.length) {
      this.#appends = this.#appends.slice(this.#head)
      this.#head = 0
    }
  }

  /** Index of the first append that ends after `offset`. */
  #find(offset: number): number {
    let low = this.#head
    let high = this.#appends.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#appends[middle]?.nextOffset ?? Infinity) <= offset) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Position of the first batch that ends after `offset`. */
function positionOf(records: Buffer, offset: number): number {
  let position = 0
  while (position < records.length && recordBatch.nextOffset(records, position) <= offset) {
    position += recordBatch.sizeInBytes(records, position)
  }
  return position
}

/** Appends that follow each other are mostly in the same block, which then needs one reference only. */
function retainOnce(block: Block, blocks: Block[]): void {
  if (blocks.at(-1) === block) return
  block.retain()
  blocks.push(block)
}
