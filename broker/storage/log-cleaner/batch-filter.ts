/**
 * What compaction leaves of one batch: Kafka's rules (LogCleaner, MemoryRecords.filterTo), for batches of magic 2.
 *
 * 1. A record stays if it lies past what the offset map covers, or if no newer record of its key is known and it either
 *    has a value or its batch's delete horizon is not over. Records without a key go.
 * 2. A batch in which a tombstone stays, or the marker of a transaction of which nothing is left, gets a delete horizon,
 *    once: now + `delete.retention.ms`, kept in the base timestamp (KIP-534).
 * 3. Markers go once their transaction is gone and the horizon is over; records of aborted transactions go at once.
 * 4. A batch keeps its base offset, last offset, producer and sequence whatever goes from it, so that offsets don't move
 *    and a replay finds the sequence numbers that the producers had.
 * 5. A batch without records stays, as a header, if it holds the last sequence of a producer that is known, or ends the
 *    range of the pass; the log end offset and the producer state are read from it after a restart. Else it goes.
 */
import type { CompressionLevels } from '../../protocol/compression/compression.ts'
import { compress, compressionTypeOf } from '../../protocol/compression/compression.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { decompressedRecords } from '../../protocol/records/record.ts'
import { sizeOfVarlong, writeVarint, writeVarlong } from '../../protocol/records/varint.ts'
import type { CleanedTransactions } from './cleaned-transactions.ts'
import type { KeyHash } from './key-hash.ts'
import type { OffsetMap } from './offset-map.ts'
import { RecordWalker } from './record-walker.ts'

/** What the producer state says of a producer: which of its batches must stay. */
export interface LastRecord {
  readonly producerId: number
  /** -1: its last entry is a marker. */
  readonly lastDataOffset: number
  readonly producerEpoch: number
}

export interface FilterRules {
  readonly nowMs: number
  readonly deleteRetentionMs: number
  /** The pass covers what is below: the batch that ends there stays. */
  readonly roundEndOffset: number
  readonly lastRecords: ReadonlyMap<number, LastRecord>
  readonly compressionLevels: CompressionLevels
}

/** The map of a pass: newest offsets of keys, complete for all offsets up to `latestOffset`. */
export interface PassMap {
  readonly map: OffsetMap
  readonly latestOffset: number
}

/** Timestamps less the horizon must fit a varlong of ±2^52. */
const MAX_HORIZON_MS = 2 ** 51

export class BatchFilter {
  readonly #rules: FilterRules
  readonly #passMap: PassMap
  readonly #hash: KeyHash
  readonly #transactions: CleanedTransactions
  readonly #walker = new RecordWalker()
  /** Start and end of the runs of records that stay. */
  #runs: number[] = []
  #retainedCount = 0
  #retainsTombstone = false
  #maxTimestamp = 0
  recordsRead = 0
  recordsRetained = 0

  constructor(rules: FilterRules, passMap: PassMap, hash: KeyHash, transactions: CleanedTransactions) {
    this.#rules = rules
    this.#passMap = passMap
    this.#hash = hash
    this.#transactions = transactions
  }

  /** What stays of the batch at `position`: a view if it stays as it is, undefined if nothing does. */
  filter(buffer: Buffer, position: number): Buffer | undefined {
    const isControl = recordBatch.isControlBatch(buffer, position)
    const isObsolete = isControl
      ? this.#transactions.onControlBatch(buffer, position)
      : this.#transactions.onBatch(buffer, position)
    const hasHorizon = recordBatch.hasDeleteHorizon(buffer, position)
    const isHorizonOver = hasHorizon && recordBatch.baseTimestamp(buffer, position) <= this.#rules.nowMs
    const dropsRecords = isObsolete && (!isControl || isHorizonOver)
    const staysEmpty = this.#staysEmpty(buffer, position, isControl)
    const count = recordBatch.recordsCount(buffer, position)
    const whole = buffer.subarray(position, position + recordBatch.sizeInBytes(buffer, position))
    this.recordsRead += count
    if (count === 0) return staysEmpty ? whole : undefined
    if (dropsRecords) return staysEmpty ? emptied(whole) : undefined
    if (recordBatch.baseOffset(buffer, position) > this.#passMap.latestOffset) {
      this.recordsRetained += count
      return whole
    }
    const records = decompressedRecords(buffer, position)
    this.#select(records, whole, isControl, isHorizonOver)
    this.recordsRetained += this.#retainedCount
    if (this.#retainedCount === 0) return staysEmpty ? emptied(whole) : undefined
    const setsHorizon = !hasHorizon && (this.#retainsTombstone || (isControl && isObsolete))
    if (this.#retainedCount === count && !setsHorizon) return whole
    return this.#rebuilt(whole, records, setsHorizon)
  }

  #staysEmpty(buffer: Buffer, position: number, isControl: boolean): boolean {
    if (recordBatch.nextOffset(buffer, position) === this.#rules.roundEndOffset) return true
    if (!recordBatch.hasProducerId(buffer, position)) return false
    const last = this.#rules.lastRecords.get(recordBatch.producerId(buffer, position))
    if (last === undefined) return false
    if (last.lastDataOffset >= 0) return recordBatch.lastOffset(buffer, position) === last.lastDataOffset
    return isControl && recordBatch.producerEpoch(buffer, position) === last.producerEpoch
  }

  /** Finds the runs of records that stay. */
  #select(records: Buffer, batch: Buffer, isControl: boolean, isHorizonOver: boolean): void {
    const walker = this.#walker
    const baseOffset = recordBatch.baseOffset(batch, 0)
    this.#runs.length = 0
    this.#retainedCount = 0
    this.#retainsTombstone = false
    let maxDelta = -Infinity
    walker.begin(records, recordBatch.recordsCount(batch, 0))
    while (walker.next()) {
      if (!isControl && !this.#retains(records, baseOffset + walker.offsetDelta, isHorizonOver)) continue
      this.#retainedCount++
      if (!walker.hasValue) this.#retainsTombstone = true
      if (walker.timestampDelta > maxDelta) maxDelta = walker.timestampDelta
      if (this.#runs.at(-1) === walker.start) this.#runs[this.#runs.length - 1] = walker.end
      else this.#runs.push(walker.start, walker.end)
    }
    this.#maxTimestamp = recordBatch.isLogAppendTime(batch, 0)
      ? recordBatch.maxTimestamp(batch, 0)
      : recordBatch.baseTimestamp(batch, 0) + maxDelta
  }

  #retains(records: Buffer, offset: number, isHorizonOver: boolean): boolean {
    const { map, latestOffset } = this.#passMap
    if (offset > latestOffset) return true
    const { keyStart, keyLength, hasValue } = this.#walker
    if (keyLength < 0) return false
    if (!hasValue && isHorizonOver) return false
    this.#hash.update(records, keyStart, keyLength)
    return offset >= map.get(this.#hash)
  }

  /** The batch with the runs of records only; with its delete horizon, if that is due. */
  #rebuilt(batch: Buffer, records: Buffer, setsHorizon: boolean): Buffer {
    const { nowMs, deleteRetentionMs, compressionLevels } = this.#rules
    const baseTimestamp = setsHorizon
      ? Math.min(nowMs + deleteRetentionMs, MAX_HORIZON_MS)
      : recordBatch.baseTimestamp(batch, 0)
    const section = setsHorizon ? this.#withBaseTimestamp(batch, records, baseTimestamp) : this.#copyRuns(records)
    const type = compressionTypeOf(recordBatch.compressionId(batch, 0))
    const stored = compress(type, section, compressionLevels)
    const rebuilt = Buffer.allocUnsafe(recordBatch.RECORD_BATCH_OVERHEAD + stored.length)
    stored.copy(rebuilt, recordBatch.RECORD_BATCH_OVERHEAD)
    const attributes = recordBatch.attributes(batch, 0)
    writeHeaderLike(rebuilt, batch, {
      attributes: setsHorizon ? attributes | recordBatch.DELETE_HORIZON_MASK : attributes,
      baseTimestamp,
      maxTimestamp: this.#maxTimestamp,
      recordsCount: this.#retainedCount,
    })
    return rebuilt
  }

  #copyRuns(records: Buffer): Buffer {
    const runs = this.#runs
    let bytes = 0
    for (let i = 0; i < runs.length; i += 2) bytes += (runs[i + 1] ?? 0) - (runs[i] ?? 0)
    const section = Buffer.allocUnsafe(bytes)
    let position = 0
    for (let i = 0; i < runs.length; i += 2) position += records.copy(section, position, runs[i], runs[i + 1])
    return section
  }

  /** The records of the runs, with timestamp deltas to another base. */
  #withBaseTimestamp(batch: Buffer, records: Buffer, baseTimestamp: number): Buffer {
    // A record's length and timestamp delta may take up to 5 and 10 bytes.
    const section = Buffer.allocUnsafe(records.length + this.#retainedCount * 15)
    const shift = recordBatch.isLogAppendTime(batch, 0)
      ? undefined
      : recordBatch.baseTimestamp(batch, 0) - baseTimestamp
    const sharedDelta = recordBatch.maxTimestamp(batch, 0) - baseTimestamp
    const walker = this.#walker
    let run = 0
    let position = 0
    walker.begin(records, recordBatch.recordsCount(batch, 0))
    while (walker.next()) {
      while ((this.#runs[run + 1] ?? Infinity) <= walker.start) run += 2
      if ((this.#runs[run] ?? Infinity) > walker.start) continue
      const timestampDelta = shift === undefined ? sharedDelta : walker.timestampDelta + shift
      const rest = walker.end - walker.offsetDeltaStart
      const bodyBytes = 1 + sizeOfVarlong(timestampDelta) + rest
      position = writeVarint(section, bodyBytes, position)
      section[position++] = records[walker.bodyStart] ?? 0
      position = writeVarlong(section, timestampDelta, position)
      position += records.copy(section, position, walker.offsetDeltaStart, walker.end)
    }
    return section.subarray(0, position)
  }
}

/** The header of a batch that has lost all its records. */
function emptied(batch: Buffer): Buffer {
  const kept = recordBatch.TIMESTAMP_TYPE_MASK | recordBatch.TRANSACTIONAL_MASK | recordBatch.CONTROL_MASK
  const header = Buffer.allocUnsafe(recordBatch.RECORD_BATCH_OVERHEAD)
  writeHeaderLike(header, batch, {
    attributes: recordBatch.attributes(batch, 0) & kept,
    baseTimestamp: recordBatch.NO_TIMESTAMP,
    maxTimestamp: recordBatch.maxTimestamp(batch, 0),
    recordsCount: 0,
  })
  return header
}

/** Writes the header of `batch` over `target`, which is the whole new batch, but for what `changed` says. */
function writeHeaderLike(
  target: Buffer,
  batch: Buffer,
  changed: Pick<recordBatch.BatchHeader, 'attributes' | 'baseTimestamp' | 'maxTimestamp' | 'recordsCount'>,
): void {
  recordBatch.writeHeader(target, 0, {
    baseOffset: recordBatch.baseOffset(batch, 0),
    sizeInBytes: target.length,
    partitionLeaderEpoch: recordBatch.partitionLeaderEpoch(batch, 0),
    lastOffsetDelta: recordBatch.lastOffsetDelta(batch, 0),
    producerId: recordBatch.producerId(batch, 0),
    producerEpoch: recordBatch.producerEpoch(batch, 0),
    baseSequence: recordBatch.baseSequence(batch, 0),
    ...changed,
  })
}
