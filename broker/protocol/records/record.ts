/**
 * Single records of a batch, for whoever needs their meaning: coordinators, compaction, searches by time, tests.
 * {@link RecordCursor} walks them without allocating, {@link decodeRecords} makes plain objects. Views point into the
 * batch's buffer (or into the decompressed one) and pin it; copy what is kept.
 */
import type { CompressionType } from '../compression/compression.ts'
import { compressionTypeOf, decompress, DEFAULT_MAX_DECOMPRESSED_BYTES } from '../compression/compression.ts'
import * as recordBatch from './record-batch.ts'
import { RecordsError } from './records-error.ts'
import { readVarint, readVarlong, varintEnd } from './varint.ts'

const noHeaders: readonly RecordHeader[] = []
const noBytes = Buffer.alloc(0)

export interface RecordHeader {
  readonly key: string
  readonly value: Buffer | null
}

/** One record as an object. */
export interface DecodedRecord {
  readonly offset: number
  /** Milliseconds since the Unix epoch; -1 for none. */
  readonly timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
}

/** The records of a batch, decompressed: a view when they were not compressed. Throws as `decompress` does. */
export function decompressedRecords(
  buffer: Buffer,
  position: number,
  maxBytes: number = DEFAULT_MAX_DECOMPRESSED_BYTES,
): Buffer {
  const section = recordBatch.recordsSection(buffer, position)
  const type: CompressionType = compressionTypeOf(recordBatch.compressionId(buffer, position))
  return type === 'none' ? section : decompress(type, section, maxBytes)
}

/** Decompressed records and what of their batch's header gives them a meaning. */
export interface RecordsSection {
  readonly records: Buffer
  /** Where in `records` they are; default: all of it. */
  readonly start?: number
  readonly end?: number
  readonly count: number
  readonly baseOffset: number
  readonly baseTimestamp: number
  /** The time that all records share where the batch has LogAppendTime; else their own timestamps count. */
  readonly logAppendTime?: number | undefined
}

/**
 * Walks the records of one batch:
 *
 * ```
 * const cursor = RecordCursor.of(buffer, position)
 * while (cursor.next()) use(cursor.offset, cursor.timestamp)
 * ```
 *
 * Every length is checked against the record, and every record against the batch. `next` and `of` throw
 * {@link RecordsError} (`INVALID_RECORD`, or what decompression throws).
 */
export class RecordCursor {
  /** Holds the decompressed records: what {@link keyStart} and {@link valueStart} are positions of. */
  readonly records: Buffer
  readonly #end: number
  readonly #baseOffset: number
  readonly #baseTimestamp: number
  readonly #logAppendTime: number | undefined
  readonly #count: number
  #read = 0
  #position: number
  /** Where the key and the value begin, for who decodes them in place. */
  keyStart = 0
  valueStart = 0
  #headersStart = 0
  /** The record's offset. */
  offset = -1
  /** The record's timestamp in ms; -1 for none. */
  timestamp: number = recordBatch.NO_TIMESTAMP
  /** Bytes of the key; -1 for null. */
  keyLength = -1
  /** Bytes of the value; -1 for null. */
  valueLength = -1
  headerCount = 0
  /** Bytes of the whole record in the uncompressed batch. */
  sizeInBytes = 0

  constructor(section: RecordsSection) {
    this.records = section.records
    this.#position = section.start ?? 0
    this.#end = section.end ?? section.records.length
    this.#count = section.count
    this.#baseOffset = section.baseOffset
    this.#baseTimestamp = section.baseTimestamp
    this.#logAppendTime = section.logAppendTime
  }

  /** Over the records of the batch at `position`, which it decompresses if need be. */
  static of(buffer: Buffer, position: number, maxDecompressedBytes?: number): RecordCursor {
    const count = recordBatch.recordsCount(buffer, position)
    if (count < 0) throw new RecordsError('INVALID_RECORD', `a batch of ${count} records`)
    // Records that are not compressed are read where they are: a view of them would cost more than a small batch.
    const isPlain = count > 0 && recordBatch.compressionId(buffer, position) === 0
    const records = isPlain
      ? buffer
      : count === 0
        ? noBytes
        : decompressedRecords(buffer, position, maxDecompressedBytes)
    return new RecordCursor({
      records,
      start: isPlain ? position + recordBatch.RECORD_BATCH_OVERHEAD : 0,
      end: isPlain ? position + recordBatch.sizeInBytes(buffer, position) : records.length,
      count,
      baseOffset: recordBatch.baseOffset(buffer, position),
      baseTimestamp: recordBatch.baseTimestamp(buffer, position),
      logAppendTime: recordBatch.isLogAppendTime(buffer, position)
        ? recordBatch.maxTimestamp(buffer, position)
        : undefined,
    })
  }

  /** Moves to the next record; false after the last. */
  next(): boolean {
    const records = this.records
    if (this.#read === this.#count) return false
    const start = this.#position
    const length = readVarint(records, start)
    const bodyStart = varintEnd
    const end = bodyStart + length
    if (length < 0 || end > this.#end) throw this.#malformed(`a size of ${length} bytes doesn't fit the batch`)
    const timestampDelta = readVarlong(records, bodyStart + 1)
    this.timestamp = this.#logAppendTime ?? this.#baseTimestamp + timestampDelta
    this.offset = this.#baseOffset + readVarint(records, varintEnd)
    this.keyLength = Math.max(readVarint(records, varintEnd), -1)
    this.keyStart = varintEnd
    this.valueLength = Math.max(readVarint(records, this.keyStart + Math.max(this.keyLength, 0)), -1)
    this.valueStart = varintEnd
    this.headerCount = readVarint(records, this.valueStart + Math.max(this.valueLength, 0))
    this.#headersStart = varintEnd
    this.#checkHeaders(end)
    this.sizeInBytes = end - start
    this.#position = end
    this.#read++
    if (this.#read === this.#count && end !== this.#end) {
      throw this.#malformed('bytes remain in the batch after it, and it is the last one')
    }
    return true
  }

  /** Index of the current record in its batch. */
  get index(): number {
    return this.#read - 1
  }

  /** The current record's key: a view. */
  key(): Buffer | null {
    return this.keyLength < 0 ? null : this.records.subarray(this.keyStart, this.keyStart + this.keyLength)
  }

  /** The current record's value: a view. */
  value(): Buffer | null {
    return this.valueLength < 0 ? null : this.records.subarray(this.valueStart, this.valueStart + this.valueLength)
  }

  /** The current record's headers, the first `limit` of them; their values are views. */
  headers(limit = Infinity): RecordHeader[] {
    const headers: RecordHeader[] = []
    let position = this.#headersStart
    const count = Math.min(this.headerCount, limit)
    for (let i = 0; i < count; i++) {
      const keyLength = readVarint(this.records, position)
      const keyEnd = varintEnd + keyLength
      const key = this.records.toString('utf8', varintEnd, keyEnd)
      const valueLength = readVarint(this.records, keyEnd)
      position = varintEnd + Math.max(valueLength, 0)
      headers.push({ key, value: valueLength < 0 ? null : this.records.subarray(varintEnd, position) })
    }
    return headers
  }

  /** The whole current record, its length included: a view, for whoever copies records as they are. */
  bytes(): Buffer {
    return this.records.subarray(this.#position - this.sizeInBytes, this.#position)
  }

  /** Checks that the headers are sound and end where the record does. */
  #checkHeaders(end: number): void {
    let position = this.#headersStart
    if (this.headerCount < 0 || this.headerCount > end - position) throw this.#malformed(`${this.headerCount} headers`)
    for (let i = 0; i < this.headerCount; i++) {
      const keyLength = readVarint(this.records, position)
      if (keyLength < 0) throw this.#malformed('a header without a key')
      const valueLength = readVarint(this.records, varintEnd + keyLength)
      position = varintEnd + Math.max(valueLength, 0)
      if (position > end) throw this.#malformed('a header reaches past the end of the record')
    }
    if (position !== end) throw this.#malformed("its fields don't end where its size says")
  }

  #malformed(what: string): RecordsError {
    return new RecordsError('INVALID_RECORD', `record ${this.#read} of the batch is malformed: ${what}`)
  }
}

/** The records of one batch as objects. Throws as {@link RecordCursor} does. */
export function decodeRecords(buffer: Buffer, position: number, maxDecompressedBytes?: number): DecodedRecord[] {
  const cursor = RecordCursor.of(buffer, position, maxDecompressedBytes)
  const records: DecodedRecord[] = []
  while (cursor.next()) {
    records.push({
      offset: cursor.offset,
      timestamp: cursor.timestamp,
      key: cursor.key(),
      value: cursor.value(),
      headers: cursor.headerCount === 0 ? noHeaders : cursor.headers(),
    })
  }
  return records
}

/**
 * The offset of the first record that has the batch's max timestamp (KIP-734), or undefined when no record has one.
 * Throws as {@link RecordCursor} does.
 */
export function offsetOfMaxTimestamp(buffer: Buffer, position: number): number | undefined {
  const maxTimestamp = recordBatch.maxTimestamp(buffer, position)
  if (maxTimestamp === recordBatch.NO_TIMESTAMP) return undefined
  const cursor = RecordCursor.of(buffer, position)
  while (cursor.next()) if (cursor.timestamp === maxTimestamp) return cursor.offset
  return undefined
}
