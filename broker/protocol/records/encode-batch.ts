/** Makes record batches: for coordinators, transaction markers, compaction and tests. */
import type { CompressionLevels, CompressionType } from '../compression/compression.ts'
import { compress, compressionIdOf } from '../compression/compression.ts'
import { invariant } from '../../../common/invariant.ts'
import * as recordBatch from './record-batch.ts'
import { sizeOfVarint, sizeOfVarlong, writeVarint, writeVarlong } from './varint.ts'

/** A record to encode. Strings are written as UTF-8. */
export interface RecordToEncode {
  /** Milliseconds since the Unix epoch; -1 for none. */
  readonly timestamp: number
  readonly key: Buffer | string | null
  readonly value: Buffer | string | null
  readonly headers?: readonly { readonly key: string; readonly value: Buffer | string | null }[]
  /** For batches with gaps (compaction); default: one more than that of the record before. */
  readonly offset?: number
}

export interface EncodeBatchOptions {
  readonly records: readonly RecordToEncode[]
  /** The offset of the first record; default 0, as producers send. */
  readonly baseOffset?: number
  /** For batches from which compaction took the last records; default: that of the last record. */
  readonly lastOffset?: number
  readonly partitionLeaderEpoch?: number
  readonly compression?: CompressionType
  readonly compressionLevels?: CompressionLevels
  /** Makes a LogAppendTime batch of that time, whatever the records' timestamps are. */
  readonly logAppendTimeMs?: number
  readonly producerId?: number
  readonly producerEpoch?: number
  readonly baseSequence?: number
  readonly isTransactional?: boolean
  readonly isControl?: boolean
}

interface EncodedRecord {
  readonly offsetDelta: number
  readonly timestampDelta: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly { readonly key: Buffer; readonly value: Buffer | null }[]
  readonly bodyBytes: number
}

/** Encodes one batch. The records' timestamps must be within ±2^52, offsets must grow. */
export function encodeBatch(options: EncodeBatchOptions): Buffer {
  const baseOffset = options.baseOffset ?? 0
  const baseTimestamp = options.records[0]?.timestamp ?? recordBatch.NO_TIMESTAMP
  let maxTimestamp = recordBatch.NO_TIMESTAMP
  let nextOffset = baseOffset
  let sectionBytes = 0
  const encoded: EncodedRecord[] = []
  for (const record of options.records) {
    const offset = record.offset ?? nextOffset
    invariant(offset >= nextOffset, `offset ${offset} of a record is less than ${nextOffset}`)
    nextOffset = offset + 1
    maxTimestamp = Math.max(maxTimestamp, record.timestamp)
    const one = prepareRecord(record, offset - baseOffset, record.timestamp - baseTimestamp)
    encoded.push(one)
    sectionBytes += sizeOfVarint(one.bodyBytes) + one.bodyBytes
  }
  const type = options.compression ?? 'none'
  const plain = Buffer.allocUnsafe(recordBatch.RECORD_BATCH_OVERHEAD + sectionBytes)
  let position = recordBatch.RECORD_BATCH_OVERHEAD
  for (const record of encoded) position = writeRecord(plain, record, position)
  invariant(position === plain.length, 'a batch has the size computed for it')
  const batch = type === 'none' ? plain : compressed(plain, type, options.compressionLevels)
  recordBatch.writeHeader(batch, 0, {
    baseOffset,
    sizeInBytes: batch.length,
    partitionLeaderEpoch: options.partitionLeaderEpoch ?? recordBatch.NO_PARTITION_LEADER_EPOCH,
    attributes:
      compressionIdOf(type) |
      (options.logAppendTimeMs === undefined ? 0 : recordBatch.TIMESTAMP_TYPE_MASK) |
      (options.isTransactional === true ? recordBatch.TRANSACTIONAL_MASK : 0) |
      (options.isControl === true ? recordBatch.CONTROL_MASK : 0),
    lastOffsetDelta: (options.lastOffset ?? Math.max(nextOffset - 1, baseOffset)) - baseOffset,
    baseTimestamp,
    maxTimestamp: options.logAppendTimeMs ?? maxTimestamp,
    producerId: options.producerId ?? recordBatch.NO_PRODUCER_ID,
    producerEpoch: options.producerEpoch ?? recordBatch.NO_PRODUCER_EPOCH,
    baseSequence: options.baseSequence ?? recordBatch.NO_SEQUENCE,
    recordsCount: encoded.length,
  })
  return batch
}

/** A batch-sized buffer with room for the header and the compressed records of `plain`. */
function compressed(plain: Buffer, type: CompressionType, levels: CompressionLevels | undefined): Buffer {
  const section = compress(type, plain.subarray(recordBatch.RECORD_BATCH_OVERHEAD), levels)
  const batch = Buffer.allocUnsafe(recordBatch.RECORD_BATCH_OVERHEAD + section.length)
  section.copy(batch, recordBatch.RECORD_BATCH_OVERHEAD)
  return batch
}

function prepareRecord(record: RecordToEncode, offsetDelta: number, timestampDelta: number): EncodedRecord {
  const key = toBytes(record.key)
  const value = toBytes(record.value)
  const headers = (record.headers ?? []).map((header) => ({
    key: Buffer.from(header.key),
    value: toBytes(header.value),
  }))
  let bodyBytes = 1 + sizeOfVarlong(timestampDelta) + sizeOfVarint(offsetDelta) + sizeOfBytes(key) + sizeOfBytes(value)
  bodyBytes += sizeOfVarint(headers.length)
  for (const header of headers) bodyBytes += sizeOfBytes(header.key) + sizeOfBytes(header.value)
  return { offsetDelta, timestampDelta, key, value, headers, bodyBytes }
}

function writeRecord(target: Buffer, record: EncodedRecord, start: number): number {
  let position = writeVarint(target, record.bodyBytes, start)
  target[position++] = 0
  position = writeVarlong(target, record.timestampDelta, position)
  position = writeVarint(target, record.offsetDelta, position)
  position = writeBytes(target, record.key, position)
  position = writeBytes(target, record.value, position)
  position = writeVarint(target, record.headers.length, position)
  for (const header of record.headers) {
    position = writeBytes(target, header.key, position)
    position = writeBytes(target, header.value, position)
  }
  return position
}

function toBytes(value: Buffer | string | null): Buffer | null {
  return typeof value === 'string' ? Buffer.from(value) : value
}

function sizeOfBytes(value: Buffer | null): number {
  return value === null ? 1 : sizeOfVarint(value.length) + value.length
}

function writeBytes(target: Buffer, value: Buffer | null, position: number): number {
  const start = writeVarint(target, value?.length ?? -1, position)
  return value === null ? start : start + value.copy(target, start)
}
