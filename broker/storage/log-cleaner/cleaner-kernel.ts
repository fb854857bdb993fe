/**
 * The work of a cleaning pass that takes the processor's time: decoding, hashing and recompressing batches. It sees chunks of
 * segment files and touches no disk, so that it runs as well in a thread of its own (`cleaner-worker.ts`) as in place.
 *
 * One pass at a time: `begin`, then the dirty section through {@link index}, `beginFilter`, then all segments of the pass
 * through {@link filter}, in offset order; the chunks are whole batches with perhaps a partial one at the end.
 */
import type { CompressionLevels } from '../../protocol/compression/compression.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { decompressedRecords } from '../../protocol/records/record.ts'
import { invariant } from '../../../common/invariant.ts'
import { BatchFilter, type LastRecord } from './batch-filter.ts'
import { CleanedTransactions, type AbortedTxn } from './cleaned-transactions.ts'
import { KeyHash } from './key-hash.ts'
import { OffsetMap } from './offset-map.ts'
import { RecordWalker } from './record-walker.ts'

export interface BeginPass {
  /** `log.cleaner.dedupe.buffer.size` */
  readonly maxMapBytes: number
  /** `log.cleaner.io.buffer.load.factor` */
  readonly maxLoad: number
  /** 16 random bytes. */
  readonly hashKey: Uint8Array
  /** Records below are not indexed. */
  readonly startOffset: number
}

export interface IndexChunk {
  readonly chunk: Buffer
  /** Of the segment, with its first chunk. */
  readonly abortedTxns: readonly AbortedTxn[]
}

export interface ChunkRead {
  /** Bytes of whole batches that were worked on. */
  readonly validBytes: number
  /** Where that is 0: how many bytes the first batch needs. */
  readonly neededBytes: number
}

export interface IndexedChunk extends ChunkRead {
  /** The map took all that it can. */
  readonly isFull: boolean
  /** The last offset that the map covers, -1: none yet. */
  readonly latestOffset: number
  readonly mapUtilization: number
}

export interface BeginFilter {
  readonly nowMs: number
  readonly deleteRetentionMs: number
  readonly roundEndOffset: number
  /** The map covers all up to here. */
  readonly latestOffset: number
  readonly compressionLevels: CompressionLevels
}

export interface FilterChunk {
  readonly chunk: Buffer
  /** Of the group of segments, with its first chunk. */
  readonly lastRecords?: readonly LastRecord[]
  /** Of the segment, with its first chunk. */
  readonly abortedTxns: readonly AbortedTxn[]
}

export interface FilteredChunk extends ChunkRead {
  /** What stays; a buffer of its own. */
  readonly output: Buffer
  /** Whether that is something else than what was there. */
  readonly isChanged: boolean
  readonly recordsRead: number
  readonly recordsRetained: number
  /** Aborted transactions that ended in the chunk, and of which something is left. */
  readonly retainedTxns: readonly AbortedTxn[]
}

export class CleanerKernel {
  #map: OffsetMap | undefined
  #hash: KeyHash | undefined
  #startOffset = 0
  #latestOffset = -1
  #transactions = new CleanedTransactions()
  #rules: BeginFilter | undefined
  #filter: BatchFilter | undefined
  readonly #walker = new RecordWalker()

  begin({ maxMapBytes, maxLoad, hashKey, startOffset }: BeginPass): void {
    this.#map = new OffsetMap(maxMapBytes, maxLoad)
    this.#hash = new KeyHash(hashKey)
    this.#startOffset = startOffset
    this.#latestOffset = -1
    this.#transactions = new CleanedTransactions()
    this.#filter = undefined
  }

  index({ chunk, abortedTxns }: IndexChunk): IndexedChunk {
    invariant(this.#map !== undefined, 'a pass has begun')
    this.#transactions.addAborted(abortedTxns)
    let position = 0
    let isFull = false
    for (;;) {
      const end = recordBatch.batchEnd(chunk, position)
      if (end < 0) break
      isFull = !this.#indexBatch(chunk, position)
      if (isFull) break
      const lastOffset = recordBatch.lastOffset(chunk, position)
      if (lastOffset >= this.#startOffset) this.#latestOffset = lastOffset
      position = end
    }
    return {
      ...chunkRead(chunk, position),
      isFull,
      latestOffset: this.#latestOffset,
      mapUtilization: this.#map.utilization,
    }
  }

  beginFilter(rules: BeginFilter): void {
    this.#rules = rules
    this.#transactions = new CleanedTransactions()
    this.#filter = undefined
  }

  filter({ chunk, lastRecords, abortedTxns }: FilterChunk): FilteredChunk {
    this.#transactions.addAborted(abortedTxns)
    if (lastRecords !== undefined) this.#filter = this.#newFilter(lastRecords)
    const filter = this.#filter
    invariant(filter !== undefined, 'the last records of producers come with the first chunk')
    filter.recordsRead = 0
    filter.recordsRetained = 0
    const kept: Buffer[] = []
    let isChanged = false
    let position = 0
    for (;;) {
      const end = recordBatch.batchEnd(chunk, position)
      if (end < 0) break
      const left = filter.filter(chunk, position)
      if (left !== undefined) kept.push(left)
      if (left?.buffer !== chunk.buffer || left.length !== end - position) isChanged = true
      position = end
    }
    return {
      ...chunkRead(chunk, position),
      output: isChanged ? ownConcat(kept) : ownConcat([chunk.subarray(0, position)]),
      isChanged,
      recordsRead: filter.recordsRead,
      recordsRetained: filter.recordsRetained,
      retainedTxns: this.#transactions.takeRetained(),
    }
  }

  /** Lets go of the memory of the pass. */
  end(): void {
    this.#map = undefined
    this.#hash = undefined
    this.#filter = undefined
  }

  #newFilter(lastRecords: readonly LastRecord[]): BatchFilter {
    invariant(this.#map !== undefined && this.#hash !== undefined, 'a pass has begun')
    invariant(this.#rules !== undefined, 'filtering has begun')
    const byProducer = new Map(lastRecords.map((last) => [last.producerId, last]))
    return new BatchFilter(
      { ...this.#rules, lastRecords: byProducer },
      { map: this.#map, latestOffset: this.#rules.latestOffset },
      this.#hash,
      this.#transactions,
    )
  }

  /** False: the map is full, and the batch is not or not wholly in it. */
  #indexBatch(chunk: Buffer, position: number): boolean {
    const map = this.#map
    const hash = this.#hash
    invariant(map !== undefined && hash !== undefined, 'a pass has begun')
    if (recordBatch.isControlBatch(chunk, position)) {
      this.#transactions.onControlBatch(chunk, position)
      return true
    }
    if (this.#transactions.onBatch(chunk, position)) return true
    const count = recordBatch.recordsCount(chunk, position)
    if (count === 0 || recordBatch.lastOffset(chunk, position) < this.#startOffset) return true
    const records = decompressedRecords(chunk, position)
    const baseOffset = recordBatch.baseOffset(chunk, position)
    const walker = this.#walker
    walker.begin(records, count)
    while (walker.next()) {
      const offset = baseOffset + walker.offsetDelta
      if (walker.keyLength < 0 || offset < this.#startOffset) continue
      hash.update(records, walker.keyStart, walker.keyLength)
      if (!map.put(hash, offset)) return false
    }
    return true
  }
}

function chunkRead(chunk: Buffer, validBytes: number): ChunkRead {
  const isSized = chunk.length >= recordBatch.LOG_OVERHEAD
  return { validBytes, neededBytes: isSized ? recordBatch.sizeInBytes(chunk, 0) : recordBatch.HEADER_SIZE_UP_TO_MAGIC }
}

/** A copy that shares its memory with nobody, so that it can be handed to another thread. */
function ownConcat(parts: readonly Buffer[]): Buffer {
  let bytes = 0
  for (const part of parts) bytes += part.length
  const whole = Buffer.allocUnsafeSlow(bytes)
  let position = 0
  for (const part of parts) position += part.copy(whole, position)
  return whole
}
