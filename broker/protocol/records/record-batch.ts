/**
 * Kafka's record batch, magic 2, as a view: functions over a buffer and the position of a batch in it, so that nothing
 * is allocated per batch. Import it as a namespace: `import * as recordBatch from '.../record-batch.ts'`.
 *
 * The 61-byte header, big endian (Kafka documentation, "Record Batch"):
 *
 * ```
 *  0 baseOffset int64            21 attributes int16         43 producerId int64
 *  8 batchLength int32           23 lastOffsetDelta int32    51 producerEpoch int16
 * 12 partitionLeaderEpoch int32  27 baseTimestamp int64      53 baseSequence int32
 * 16 magic int8                  35 maxTimestamp int64       57 recordsCount int32
 * 17 crc uint32                                              61 records
 * ```
 *
 * The CRC-32C covers everything from `attributes` to the end, so `baseOffset` and `partitionLeaderEpoch` may be written
 * in place. int64 is `number` here: exact up to 2^53, and the validator refuses what is larger.
 *
 * Only {@link batchEnd} and {@link isValid} look at bytes that nobody checked yet. The other accessors expect a batch
 * that lies in the buffer whole and is at least 61 bytes long.
 */
import { crc32c } from '@node-rs/crc32'
import { invariant } from '../../../common/invariant.ts'
import { RecordsError } from './records-error.ts'

/** Bytes before `batchLength` starts to count: baseOffset and batchLength themselves. */
export const LOG_OVERHEAD = 12
/** Bytes up to and including `magic`: what must be there to know the size and format of the next batch. */
export const HEADER_SIZE_UP_TO_MAGIC = 17
/** Bytes of a batch without records. */
export const RECORD_BATCH_OVERHEAD = 61
export const CURRENT_MAGIC = 2
/** The smallest `batchLength` of any format (that of magic 0). Less is corruption, whatever follows. */
const MIN_BATCH_LENGTH = 14

const BASE_OFFSET = 0
const BATCH_LENGTH = 8
const PARTITION_LEADER_EPOCH = 12
const MAGIC = 16
const CRC = 17
const ATTRIBUTES = 21
const LAST_OFFSET_DELTA = 23
const BASE_TIMESTAMP = 27
const MAX_TIMESTAMP = 35
const PRODUCER_ID = 43
const PRODUCER_EPOCH = 51
const BASE_SEQUENCE = 53
const RECORDS_COUNT = 57

export const NO_TIMESTAMP = -1
export const NO_PRODUCER_ID = -1
export const NO_PRODUCER_EPOCH = -1
export const NO_SEQUENCE = -1
export const NO_PARTITION_LEADER_EPOCH = -1

export const COMPRESSION_MASK = 0x07
export const TIMESTAMP_TYPE_MASK = 0x08
export const TRANSACTIONAL_MASK = 0x10
export const CONTROL_MASK = 0x20
export const DELETE_HORIZON_MASK = 0x40

const TWO_POW_32 = 0x1_0000_0000
const MAX_SEQUENCE = 0x7fff_ffff

/** An int64 as a number: the nearest one beyond 2^53. */
export function readInt64(buffer: Buffer, position: number): number {
  return buffer.readInt32BE(position) * TWO_POW_32 + buffer.readUInt32BE(position + 4)
}

/** Writes an integer in the safe range as int64. */
export function writeInt64(buffer: Buffer, value: number, position: number): void {
  // The message is made only when it is needed: this runs for each batch.
  if (!Number.isSafeInteger(value)) invariant(false, `not an exact integer: ${value}`)
  const high = Math.floor(value / TWO_POW_32)
  buffer.writeInt32BE(high, position)
  buffer.writeUInt32BE(value - high * TWO_POW_32, position + 4)
}

/**
 * The position after the batch at `position`, or -1 when the buffer ends before it does (a partial batch, which
 * a Fetch response may end with). Batches of the old formats are measured too; see {@link magic}.
 *
 * @throws {@link RecordsError} `CORRUPT_MESSAGE` when the length or the magic can't be one.
 */
export function batchEnd(buffer: Buffer, position: number): number {
  const remaining = buffer.length - position
  if (remaining < LOG_OVERHEAD) return -1
  const length = buffer.readInt32BE(position + BATCH_LENGTH)
  if (length < MIN_BATCH_LENGTH) {
    throw new RecordsError('CORRUPT_MESSAGE', `batch length ${length} is less than the least possible one`)
  }
  if (remaining < HEADER_SIZE_UP_TO_MAGIC) return -1
  const found = buffer.readInt8(position + MAGIC)
  if (found < 0 || found > CURRENT_MAGIC) throw new RecordsError('CORRUPT_MESSAGE', `unknown magic ${found}`)
  const size = LOG_OVERHEAD + length
  return size > remaining ? -1 : position + size
}

/** The positions of the whole batches from `start`; stops at a partial one. Throws as {@link batchEnd} does. */
export function* batchPositions(buffer: Buffer, start = 0): Generator<number, void> {
  let position = start
  for (;;) {
    const end = batchEnd(buffer, position)
    if (end < 0) return
    yield position
    position = end
  }
}

/** Whether the batch at `position`, whole in the buffer, is long enough for a header and its CRC-32C is right. */
export function isValid(buffer: Buffer, position: number): boolean {
  return (
    sizeInBytes(buffer, position) >= RECORD_BATCH_OVERHEAD && crc(buffer, position) === computeCrc(buffer, position)
  )
}

export function baseOffset(buffer: Buffer, position: number): number {
  return readInt64(buffer, position + BASE_OFFSET)
}

/** The whole size of the batch, header included. */
export function sizeInBytes(buffer: Buffer, position: number): number {
  return LOG_OVERHEAD + buffer.readInt32BE(position + BATCH_LENGTH)
}

export function partitionLeaderEpoch(buffer: Buffer, position: number): number {
  return buffer.readInt32BE(position + PARTITION_LEADER_EPOCH)
}

export function magic(buffer: Buffer, position: number): number {
  return buffer.readInt8(position + MAGIC)
}

/** The CRC-32C that the batch states, unsigned. */
export function crc(buffer: Buffer, position: number): number {
  return buffer.readUInt32BE(position + CRC)
}

/** The CRC-32C that the batch should state. */
export function computeCrc(buffer: Buffer, position: number): number {
  return crc32c(buffer.subarray(position + ATTRIBUTES, position + sizeInBytes(buffer, position)))
}

export function attributes(buffer: Buffer, position: number): number {
  return buffer.readInt16BE(position + ATTRIBUTES)
}

/** The compression id: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd; 5 to 7 are not assigned. */
export function compressionId(buffer: Buffer, position: number): number {
  return attributes(buffer, position) & COMPRESSION_MASK
}

export function isLogAppendTime(buffer: Buffer, position: number): boolean {
  return (attributes(buffer, position) & TIMESTAMP_TYPE_MASK) !== 0
}

export function isTransactional(buffer: Buffer, position: number): boolean {
  return (attributes(buffer, position) & TRANSACTIONAL_MASK) !== 0
}

export function isControlBatch(buffer: Buffer, position: number): boolean {
  return (attributes(buffer, position) & CONTROL_MASK) !== 0
}

/** Whether the base timestamp is the time from which compaction may drop the tombstones (KIP-534). */
export function hasDeleteHorizon(buffer: Buffer, position: number): boolean {
  return (attributes(buffer, position) & DELETE_HORIZON_MASK) !== 0
}

export function lastOffsetDelta(buffer: Buffer, position: number): number {
  return buffer.readInt32BE(position + LAST_OFFSET_DELTA)
}

export function lastOffset(buffer: Buffer, position: number): number {
  return baseOffset(buffer, position) + lastOffsetDelta(buffer, position)
}

/** The offset after the batch. */
export function nextOffset(buffer: Buffer, position: number): number {
  return lastOffset(buffer, position) + 1
}

export function baseTimestamp(buffer: Buffer, position: number): number {
  return readInt64(buffer, position + BASE_TIMESTAMP)
}

export function maxTimestamp(buffer: Buffer, position: number): number {
  return readInt64(buffer, position + MAX_TIMESTAMP)
}

export function producerId(buffer: Buffer, position: number): number {
  return readInt64(buffer, position + PRODUCER_ID)
}

/** Whether the batch comes from an idempotent or transactional producer. */
export function hasProducerId(buffer: Buffer, position: number): boolean {
  return producerId(buffer, position) > NO_PRODUCER_ID
}

export function producerEpoch(buffer: Buffer, position: number): number {
  return buffer.readInt16BE(position + PRODUCER_EPOCH)
}

export function baseSequence(buffer: Buffer, position: number): number {
  return buffer.readInt32BE(position + BASE_SEQUENCE)
}

/** The sequence number of the last record, wrapping after 2^31 - 1; -1 where there is none. */
export function lastSequence(buffer: Buffer, position: number): number {
  const first = baseSequence(buffer, position)
  return first === NO_SEQUENCE ? NO_SEQUENCE : incrementSequence(first, lastOffsetDelta(buffer, position))
}

export function recordsCount(buffer: Buffer, position: number): number {
  return buffer.readInt32BE(position + RECORDS_COUNT)
}

/** Where the (perhaps compressed) records start. */
export function recordsPosition(position: number): number {
  return position + RECORD_BATCH_OVERHEAD
}

/** The (perhaps compressed) records: a view. */
export function recordsSection(buffer: Buffer, position: number): Buffer {
  return buffer.subarray(position + RECORD_BATCH_OVERHEAD, position + sizeInBytes(buffer, position))
}

/** Writes the base offset; outside the CRC. */
export function setBaseOffset(buffer: Buffer, position: number, value: number): void {
  writeInt64(buffer, value, position + BASE_OFFSET)
}

/** Writes the size; outside the CRC. */
export function setSizeInBytes(buffer: Buffer, position: number, value: number): void {
  buffer.writeInt32BE(value - LOG_OVERHEAD, position + BATCH_LENGTH)
}

/** Writes the leader epoch; outside the CRC. */
export function setPartitionLeaderEpoch(buffer: Buffer, position: number, value: number): void {
  buffer.writeInt32BE(value, position + PARTITION_LEADER_EPOCH)
}

/** Writes timestamp type and max timestamp, and the CRC if that changed anything. Returns whether it did. */
export function setMaxTimestamp(buffer: Buffer, position: number, logAppendTime: boolean, value: number): boolean {
  const before = attributes(buffer, position)
  const after = logAppendTime ? before | TIMESTAMP_TYPE_MASK : before & ~TIMESTAMP_TYPE_MASK
  if (before === after && maxTimestamp(buffer, position) === value) return false
  buffer.writeInt16BE(after, position + ATTRIBUTES)
  writeInt64(buffer, value, position + MAX_TIMESTAMP)
  updateCrc(buffer, position)
  return true
}

/** Writes the attributes and the CRC. */
export function setAttributes(buffer: Buffer, position: number, value: number): void {
  buffer.writeInt16BE(value, position + ATTRIBUTES)
  updateCrc(buffer, position)
}

/** Makes the stated CRC right. */
export function updateCrc(buffer: Buffer, position: number): void {
  buffer.writeUInt32BE(computeCrc(buffer, position), position + CRC)
}

/** The fields of a header; what is absent has the value of a batch without a producer, made just now. */
export interface BatchHeader {
  readonly baseOffset: number
  readonly sizeInBytes: number
  readonly partitionLeaderEpoch?: number
  readonly attributes?: number
  readonly lastOffsetDelta: number
  readonly baseTimestamp: number
  readonly maxTimestamp: number
  readonly producerId?: number
  readonly producerEpoch?: number
  readonly baseSequence?: number
  readonly recordsCount: number
}

/** Writes a header in front of records that are in place already, and the CRC over both. */
export function writeHeader(buffer: Buffer, position: number, header: BatchHeader): void {
  writeInt64(buffer, header.baseOffset, position + BASE_OFFSET)
  buffer.writeInt32BE(header.sizeInBytes - LOG_OVERHEAD, position + BATCH_LENGTH)
  buffer.writeInt32BE(header.partitionLeaderEpoch ?? NO_PARTITION_LEADER_EPOCH, position + PARTITION_LEADER_EPOCH)
  buffer.writeInt8(CURRENT_MAGIC, position + MAGIC)
  buffer.writeInt16BE(header.attributes ?? 0, position + ATTRIBUTES)
  buffer.writeInt32BE(header.lastOffsetDelta, position + LAST_OFFSET_DELTA)
  writeInt64(buffer, header.baseTimestamp, position + BASE_TIMESTAMP)
  writeInt64(buffer, header.maxTimestamp, position + MAX_TIMESTAMP)
  writeInt64(buffer, header.producerId ?? NO_PRODUCER_ID, position + PRODUCER_ID)
  buffer.writeInt16BE(header.producerEpoch ?? NO_PRODUCER_EPOCH, position + PRODUCER_EPOCH)
  buffer.writeInt32BE(header.baseSequence ?? NO_SEQUENCE, position + BASE_SEQUENCE)
  buffer.writeInt32BE(header.recordsCount, position + RECORDS_COUNT)
  updateCrc(buffer, position)
}

/** `sequence + increment`, where 0 follows 2^31 - 1. */
export function incrementSequence(sequence: number, increment: number): number {
  return sequence > MAX_SEQUENCE - increment ? increment - (MAX_SEQUENCE - sequence) - 1 : sequence + increment
}

/** `sequence - decrement`, where 2^31 - 1 precedes 0. */
export function decrementSequence(sequence: number, decrement: number): number {
  return sequence < decrement ? MAX_SEQUENCE - (decrement - sequence) + 1 : sequence - decrement
}
