/**
 * The gate of the log: what clients, coordinators and leaders of other brokers want to append is checked here, given its
 * offsets, and, where the topic's configuration says so, stamped or compressed anew. The rules are Kafka's (LogValidator
 * and the checks around it), for magic 2 only.
 *
 * On the way of a produce request this is the work per byte and per record: one CRC and one pass over the records'
 * structure, in place, no allocation per record. Compressed batches are decompressed for that pass, as Kafka does: a
 * batch whose inside lies would stop every consumer of the partition.
 *
 * A batch is changed only after all checks have passed, so a refused one is as it came.
 */
import type { CompressionLevels, CompressionType } from '../protocol/compression/compression.ts'
import {
  compress,
  compressionIdOf,
  compressionTypeOf,
  decompress,
  DEFAULT_MAX_DECOMPRESSED_BYTES,
} from '../protocol/compression/compression.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import type { RecordError } from '../protocol/records/records-error.ts'
import { RecordsError } from '../protocol/records/records-error.ts'
import { RecordCursor } from '../protocol/records/record.ts'
import type { RecordsSummary } from '../protocol/records/scan-records.ts'
import { emptySummary, renumberRecords, scanRecords } from '../protocol/records/scan-records.ts'

export type { RecordError } from '../protocol/records/records-error.ts'

/** `compression.type` and the levels beside it. */
export interface CompressionConfig {
  /** `producer` keeps what the producer chose. */
  readonly type: 'producer' | 'uncompressed' | 'gzip' | 'snappy' | 'lz4' | 'zstd'
  readonly levels?: CompressionLevels
}

/** What the validator needs of a topic's configuration. */
export interface ValidatorConfig {
  readonly maxMessageBytes: number
  readonly messageTimestampType: 'CreateTime' | 'LogAppendTime'
  readonly messageTimestampBeforeMaxMs: number
  readonly messageTimestampAfterMaxMs: number
  readonly compression: CompressionConfig
  readonly cleanupPolicy: { readonly compact: boolean }
  /** Bound of a decompressed batch; default {@link DEFAULT_MAX_DECOMPRESSED_BYTES}. */
  readonly maxDecompressedBytes?: number
}

/** Who appends as a client of the leader: coordinators may write control batches and batches without a sequence. */
export type AppendOrigin = 'client' | 'coordinator'

/** One append to a leader. */
export interface LeaderAppend {
  /** `topic-partition`, for messages. */
  readonly topicPartition: string
  /** The offset of the first record: the log end offset. */
  readonly baseOffset: number
  readonly leaderEpoch: number
  /** Wall clock. */
  readonly nowMs: number
  readonly origin: AppendOrigin
  /** Version of the Produce request, where there is one. */
  readonly produceVersion?: number
}

/** What is to be written, and what the log must know about it. */
export interface LogAppendInfo {
  /** The bytes to write: whole batches. The buffer that came in, or a view of it, or a new one. */
  readonly records: Buffer
  readonly sizeInBytes: number
  readonly firstOffset: number
  readonly lastOffset: number
  /** Of all records; -1 when none has one. */
  readonly maxTimestamp: number
  /** The last offset of the batch that holds `maxTimestamp`: what the time index records. */
  readonly shallowOffsetOfMaxTimestamp: number
  /** The broker's time where the topic has LogAppendTime, else -1: for the Produce response. */
  readonly logAppendTimeMs: number
  readonly recordsCount: number
  readonly sourceCompression: CompressionType
  readonly producerId: number
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly lastSequence: number
  readonly isTransactional: boolean
  readonly isControl: boolean
}

/** Single refusals that one answer lists at most. */
const MAX_RECORD_ERRORS = 1000
/** Timestamps beyond are no times, and their arithmetic would not be exact. */
const MAX_ABSOLUTE_TIMESTAMP = 2 ** 51

/** Used again for each batch; nothing here is asynchronous. */
const summary: RecordsSummary = emptySummary()

/**
 * Checks the one batch in `records` for an append to a leader, gives it its offsets and leader epoch, and returns what to
 * write. What follows the batch and is no whole batch is cut off.
 *
 * @throws {@link RecordsError} with the code that answers the request and, for single records, `recordErrors`.
 */
export function validateAndAssignOffsets(
  records: Buffer,
  config: ValidatorConfig,
  append: LeaderAppend,
): LogAppendInfo {
  const batch = onlyBatch(records)
  checkHeader(batch, config, append)
  const source = compressionTypeOf(recordBatch.compressionId(batch, 0))
  const isControl = recordBatch.isControlBatch(batch, 0)
  const target = targetCompression(config.compression, source, isControl)
  const count = recordBatch.recordsCount(batch, 0)
  const plain =
    source === 'none'
      ? batch.subarray(recordBatch.RECORD_BATCH_OVERHEAD)
      : decompress(
          source,
          recordBatch.recordsSection(batch, 0),
          config.maxDecompressedBytes ?? DEFAULT_MAX_DECOMPRESSED_BYTES,
        )
  scanRecords(plain, 0, plain.length, count, recordBatch.baseTimestamp(batch, 0), summary)
  checkRecords(batch, plain, config, append)

  const { offsetsConsecutive } = summary
  const logAppendTime = config.messageTimestampType === 'LogAppendTime'
  const timestamp = logAppendTime ? append.nowMs : Math.max(summary.maxTimestamp, recordBatch.NO_TIMESTAMP)
  const result =
    source === target && offsetsConsecutive
      ? batch
      : rebuild(batch, offsetsConsecutive ? plain : renumberRecords(plain, 0, plain.length, count), target, config)
  if (result !== batch) checkSize(result, config, append)
  recordBatch.setMaxTimestamp(result, 0, logAppendTime, timestamp)
  recordBatch.setBaseOffset(result, 0, append.baseOffset)
  recordBatch.setPartitionLeaderEpoch(result, 0, append.leaderEpoch)
  const lastOffset = append.baseOffset + count - 1
  return {
    records: result,
    sizeInBytes: result.length,
    firstOffset: append.baseOffset,
    lastOffset,
    maxTimestamp: timestamp,
    shallowOffsetOfMaxTimestamp: lastOffset,
    logAppendTimeMs: logAppendTime ? append.nowMs : recordBatch.NO_TIMESTAMP,
    recordsCount: count,
    sourceCompression: source,
    producerId: Math.max(recordBatch.producerId(result, 0), recordBatch.NO_PRODUCER_ID),
    producerEpoch: recordBatch.producerEpoch(result, 0),
    baseSequence: recordBatch.baseSequence(result, 0),
    lastSequence: recordBatch.lastSequence(result, 0),
    isTransactional: recordBatch.isTransactional(result, 0),
    isControl,
  }
}

/** The one batch of an append, without what comes after it. */
function onlyBatch(records: Buffer): Buffer {
  const end = recordBatch.batchEnd(records, 0)
  if (end < 0) throw new RecordsError('INVALID_RECORD', 'a partition of a produce request must have one record batch')
  if (recordBatch.magic(records, 0) !== recordBatch.CURRENT_MAGIC) {
    throw new RecordsError('INVALID_RECORD', 'only record batches with magic 2 are allowed')
  }
  if (end === records.length) return records
  if (recordBatch.batchEnd(records, end) >= 0) {
    throw new RecordsError('INVALID_RECORD', 'a partition of a produce request must have exactly one record batch')
  }
  return records.subarray(0, end)
}

/** Everything that the header alone shows. */
function checkHeader(batch: Buffer, config: ValidatorConfig, append: LeaderAppend): void {
  const { topicPartition } = append
  if (batch.length < recordBatch.RECORD_BATCH_OVERHEAD) {
    throw new RecordsError('CORRUPT_MESSAGE', `a record batch of ${batch.length} bytes in ${topicPartition}`)
  }
  const isZstd = recordBatch.compressionId(batch, 0) === compressionIdOf('zstd')
  if (isZstd && append.produceVersion !== undefined && append.produceVersion < 7) {
    throw new RecordsError(
      'UNSUPPORTED_COMPRESSION_TYPE',
      `zstd needs Produce version 7, the request has ${append.produceVersion}`,
    )
  }
  const baseOffset = recordBatch.baseOffset(batch, 0)
  if (append.origin === 'client' && baseOffset !== 0) {
    throw new RecordsError(
      'INVALID_RECORD',
      `the base offset of a record batch sent to ${topicPartition} should be 0, but it is ${baseOffset}`,
    )
  }
  checkSize(batch, config, append)
  if (!recordBatch.isValid(batch, 0)) {
    throw new RecordsError(
      'CORRUPT_MESSAGE',
      `the CRC of a record batch for ${topicPartition} is wrong: stated ${recordBatch.crc(batch, 0)}, ` +
        `computed ${recordBatch.computeCrc(batch, 0)}`,
    )
  }
  checkCounts(batch, topicPartition)
  if (append.origin === 'client' && recordBatch.isControlBatch(batch, 0)) {
    throw new RecordsError('INVALID_RECORD', `clients may not write control records, as one tried in ${topicPartition}`)
  }
  checkProducer(batch, append)
}

function checkSize(batch: Buffer, config: ValidatorConfig, append: LeaderAppend): void {
  if (batch.length <= config.maxMessageBytes) return
  throw new RecordsError(
    'MESSAGE_TOO_LARGE',
    `a record batch for ${append.topicPartition} has ${batch.length} bytes, the limit (max.message.bytes) is ` +
      `${config.maxMessageBytes}`,
  )
}

function checkCounts(batch: Buffer, topicPartition: string): void {
  const count = recordBatch.recordsCount(batch, 0)
  const lastOffsetDelta = recordBatch.lastOffsetDelta(batch, 0)
  if (count > 0 && lastOffsetDelta === count - 1) return
  throw new RecordsError(
    'INVALID_RECORD',
    `a record batch for ${topicPartition} states ${count} records and the last offset delta ${lastOffsetDelta}`,
  )
}

function checkProducer(batch: Buffer, append: LeaderAppend): void {
  if (!recordBatch.hasProducerId(batch, 0)) return
  const producerId = recordBatch.producerId(batch, 0)
  const producerEpoch = recordBatch.producerEpoch(batch, 0)
  const baseSequence = recordBatch.baseSequence(batch, 0)
  const wantsSequence = append.origin === 'client'
  if (Number.isSafeInteger(producerId) && producerEpoch >= 0 && (baseSequence >= 0 || !wantsSequence)) return
  throw new RecordsError(
    'INVALID_RECORD',
    `a record batch for ${append.topicPartition} has producer id ${producerId} with the epoch ${producerEpoch} and the ` +
      `sequence ${baseSequence}`,
  )
}

function targetCompression(config: CompressionConfig, source: CompressionType, isControl: boolean): CompressionType {
  // Markers are tiny, and a coordinator that writes them uncompressed means it.
  if (config.type === 'producer' || (isControl && source === 'none')) return source
  return config.type === 'uncompressed' ? 'none' : config.type
}

/** Judges the records by what the scan gathered; only where that is not enough are they looked at one by one. */
function checkRecords(batch: Buffer, plain: Buffer, config: ValidatorConfig, append: LeaderAppend): void {
  const { minTimestamp, maxTimestamp, allKeyed } = summary
  const { earliest, latest } = timestampBounds(config, append.nowMs)
  const timestampsMatter = config.messageTimestampType === 'CreateTime'
  const doubtful =
    (timestampsMatter && (minTimestamp < earliest || maxTimestamp > latest)) ||
    (!timestampsMatter && recordBatch.isLogAppendTime(batch, 0)) ||
    (config.cleanupPolicy.compact && !allKeyed) ||
    Math.abs(recordBatch.baseTimestamp(batch, 0)) > MAX_ABSOLUTE_TIMESTAMP
  if (doubtful) refuseSingleRecords(batch, plain, config, append)
}

/** The CreateTime timestamps that a topic takes. */
function timestampBounds(config: ValidatorConfig, nowMs: number): { earliest: number; latest: number } {
  return {
    earliest: Math.max(nowMs - config.messageTimestampBeforeMaxMs, -MAX_ABSOLUTE_TIMESTAMP),
    latest: Math.min(nowMs + config.messageTimestampAfterMaxMs, MAX_ABSOLUTE_TIMESTAMP),
  }
}

/** Throws with the records that are to blame (KIP-467), if any is: a record without a timestamp is never out of bounds. */
function refuseSingleRecords(batch: Buffer, plain: Buffer, config: ValidatorConfig, append: LeaderAppend): void {
  const { topicPartition } = append
  const { earliest, latest } = timestampBounds(config, append.nowMs)
  const createTime = config.messageTimestampType === 'CreateTime'
  const baseTimestamp = recordBatch.baseTimestamp(batch, 0)
  if (Math.abs(baseTimestamp) > MAX_ABSOLUTE_TIMESTAMP) {
    throw new RecordsError('INVALID_TIMESTAMP', `the base timestamp ${baseTimestamp} for ${topicPartition} is no time`)
  }
  const cursor = new RecordCursor({
    records: plain,
    count: recordBatch.recordsCount(batch, 0),
    baseOffset: 0,
    baseTimestamp,
  })
  const recordErrors: RecordError[] = []
  let badTimestamp = false
  while (recordErrors.length < MAX_RECORD_ERRORS && cursor.next()) {
    const { index: batchIndex, timestamp } = cursor
    if (config.cleanupPolicy.compact && cursor.keyLength < 0) {
      const message = `Compacted topic cannot accept message without key in topic partition ${topicPartition}.`
      recordErrors.push({ batchIndex, message })
    } else if (createTime) {
      if (timestamp === recordBatch.NO_TIMESTAMP || (timestamp >= earliest && timestamp <= latest)) continue
      const message = `Timestamp ${timestamp} of record ${batchIndex} is out of range. The timestamp should be within [${earliest}, ${latest}].`
      recordErrors.push({ batchIndex, message })
      badTimestamp = true
    } else if (recordBatch.isLogAppendTime(batch, 0)) {
      const message = 'A producer must not set the timestamp type LogAppendTime.'
      recordErrors.push({ batchIndex, message })
      badTimestamp = true
    }
  }
  if (recordErrors.length === 0) return
  if (badTimestamp) {
    throw new RecordsError(
      'INVALID_TIMESTAMP',
      `records for ${topicPartition} have invalid timestamps: ${recordErrors[0]?.message ?? ''}`,
      { recordErrors },
    )
  }
  throw new RecordsError(
    'INVALID_RECORD',
    `${recordErrors.length} records for ${topicPartition} are invalid: ${recordErrors[0]?.message ?? ''}`,
    { recordErrors },
  )
}

/** A batch with the same header and these records, compressed as `target`. Its CRC is right. */
function rebuild(batch: Buffer, plain: Buffer, target: CompressionType, config: ValidatorConfig): Buffer {
  const section = compress(target, plain, config.compression.levels)
  const result = Buffer.allocUnsafe(recordBatch.RECORD_BATCH_OVERHEAD + section.length)
  batch.copy(result, 0, 0, recordBatch.RECORD_BATCH_OVERHEAD)
  section.copy(result, recordBatch.RECORD_BATCH_OVERHEAD)
  recordBatch.setSizeInBytes(result, 0, result.length)
  const kept = recordBatch.TIMESTAMP_TYPE_MASK | recordBatch.TRANSACTIONAL_MASK | recordBatch.CONTROL_MASK
  recordBatch.setAttributes(result, 0, (recordBatch.attributes(batch, 0) & kept) | compressionIdOf(target))
  return result
}

/** One append of a follower: what its leader sent. */
export interface FollowerAppend {
  readonly topicPartition: string
  /** The follower's log end offset. */
  readonly logEndOffset: number
  /** The leader epoch in which the follower fetched. */
  readonly leaderEpoch: number
}

/** What a follower is to write. */
export interface FollowerAppendInfo {
  /** The whole, acceptable batches: a view, empty when there are none. */
  readonly records: Buffer
  readonly sizeInBytes: number
  readonly batchesCount: number
  readonly recordsCount: number
  /** -1 when there are no batches. */
  readonly firstOffset: number
  readonly lastOffset: number
  readonly maxTimestamp: number
  /** The last offset of the first batch that has `maxTimestamp`. */
  readonly shallowOffsetOfMaxTimestamp: number
  readonly lastLeaderEpoch: number
}

/** A leader sent what doesn't follow the log: nothing may be appended. */
export class UnexpectedAppendOffsetError extends Error {
  override readonly name = 'UnexpectedAppendOffsetError'
  readonly firstOffset: number
  readonly logEndOffset: number

  constructor(topicPartition: string, firstOffset: number, logEndOffset: number) {
    super(`a batch for ${topicPartition} starts at offset ${firstOffset}, but the log ends at ${logEndOffset}`)
    this.firstOffset = firstOffset
    this.logEndOffset = logEndOffset
  }
}

/**
 * Checks what a leader sent to a follower: whole batches (a partial last one is cut off) of magic 2 with a right CRC,
 * whose offsets grow from `logEndOffset` on, gaps allowed (compaction). A batch of a later leader epoch than the
 * follower's own ends what is accepted: it was written by a leader that this follower doesn't follow yet. Changes nothing.
 *
 * @throws {@link RecordsError} `CORRUPT_MESSAGE` or `UNSUPPORTED_FOR_MESSAGE_FORMAT`.
 * @throws {@link UnexpectedAppendOffsetError} when offsets go back.
 */
export function validateFollowerRecords(records: Buffer, append: FollowerAppend): FollowerAppendInfo {
  let position = 0
  let batchesCount = 0
  let recordsCount = 0
  let firstOffset = -1
  let nextOffset = append.logEndOffset
  let maxTimestamp: number = recordBatch.NO_TIMESTAMP
  let shallowOffsetOfMaxTimestamp = -1
  let lastLeaderEpoch: number = recordBatch.NO_PARTITION_LEADER_EPOCH
  for (;;) {
    const end = recordBatch.batchEnd(records, position)
    if (end < 0) break
    checkFollowerBatch(records, position, append)
    const leaderEpoch = recordBatch.partitionLeaderEpoch(records, position)
    if (leaderEpoch > append.leaderEpoch) break
    if (leaderEpoch < lastLeaderEpoch) {
      throw new RecordsError(
        'CORRUPT_MESSAGE',
        `leader epochs of ${append.topicPartition} go back from ${lastLeaderEpoch} to ${leaderEpoch}`,
      )
    }
    const baseOffset = recordBatch.baseOffset(records, position)
    if (baseOffset < nextOffset) {
      throw new UnexpectedAppendOffsetError(append.topicPartition, baseOffset, nextOffset)
    }
    if (firstOffset < 0) firstOffset = baseOffset
    nextOffset = recordBatch.nextOffset(records, position)
    const batchTimestamp = recordBatch.maxTimestamp(records, position)
    if (batchTimestamp > maxTimestamp) {
      maxTimestamp = batchTimestamp
      shallowOffsetOfMaxTimestamp = nextOffset - 1
    }
    recordsCount += recordBatch.recordsCount(records, position)
    lastLeaderEpoch = leaderEpoch
    batchesCount++
    position = end
  }
  return {
    records: position === records.length ? records : records.subarray(0, position),
    sizeInBytes: position,
    batchesCount,
    recordsCount,
    firstOffset,
    lastOffset: batchesCount === 0 ? -1 : nextOffset - 1,
    maxTimestamp,
    shallowOffsetOfMaxTimestamp,
    lastLeaderEpoch,
  }
}

function checkFollowerBatch(records: Buffer, position: number, append: FollowerAppend): void {
  const { topicPartition } = append
  if (recordBatch.magic(records, position) !== recordBatch.CURRENT_MAGIC) {
    throw new RecordsError(
      'UNSUPPORTED_FOR_MESSAGE_FORMAT',
      `a batch of magic ${recordBatch.magic(records, position)} came from the leader of ${topicPartition}`,
    )
  }
  if (!recordBatch.isValid(records, position)) {
    throw new RecordsError('CORRUPT_MESSAGE', `a batch with a wrong CRC came from the leader of ${topicPartition}`)
  }
  const count = recordBatch.recordsCount(records, position)
  const lastOffsetDelta = recordBatch.lastOffsetDelta(records, position)
  if (count < 0 || lastOffsetDelta < 0 || count > lastOffsetDelta + 1) {
    throw new RecordsError(
      'CORRUPT_MESSAGE',
      `a batch of ${count} records with last offset delta ${lastOffsetDelta} came from the leader of ${topicPartition}`,
    )
  }
  const baseOffset = recordBatch.baseOffset(records, position)
  if (baseOffset < 0 || !Number.isSafeInteger(baseOffset + lastOffsetDelta)) {
    throw new RecordsError(
      'CORRUPT_MESSAGE',
      `a batch at offset ${baseOffset} came from the leader of ${topicPartition}`,
    )
  }
}
