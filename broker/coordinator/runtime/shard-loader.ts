/** Reads a partition from its start to a given end, and hands each record over, in slices of time. */
import { releaseAll } from '../../../common/block-pool.ts'
import type { Clock } from '../../../common/clock.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { RecordCursor } from '../../protocol/records/record.ts'
import type { ReadResult } from '../../storage/log-types.ts'
import type { UnifiedLog } from '../../storage/unified-log.ts'

const READ_BYTES = 1024 * 1024
/** How long one load keeps the event loop from everything else. The slices of loads that run together add up. */
const SLICE_MS = 4
/** Records and batches after which the time is looked at: it costs as much as a few of them. */
const RECORDS_PER_LOOK = 256

export interface LoadedRecords {
  readonly recordCount: number
  readonly sizeBytes: number
}

/** A record that can't be understood. The text says where it is, and never what is in it. */
export class UnreadableRecordError extends Error {
  override readonly name = 'UnreadableRecordError'
}

/**
 * Calls `take` with a cursor at each record (valid during the call) below `endOffset`, but for transaction markers. Stops
 * early, without an error, once `isWanted` is false. Errors: KafkaError for what can't be read, UnreadableRecordError for
 * what is no record and where `take` throws.
 */
export async function loadRecords(
  log: UnifiedLog,
  endOffset: number,
  clock: Clock,
  isWanted: () => boolean,
  take: (record: RecordCursor) => void,
): Promise<LoadedRecords> {
  let recordCount = 0
  let sizeBytes = 0
  let nextOffset = log.logStartOffset
  let sliceStartMs = clock.monotonicMs()
  let sinceLook = 0
  while (nextOffset < endOffset && isWanted()) {
    const result = await read(log, nextOffset, endOffset)
    if (!result.ok) {
      const wasDeleted = result.errorCode === ErrorCode.OFFSET_OUT_OF_RANGE && nextOffset < log.logStartOffset
      if (!wasDeleted) throw new KafkaError(result.errorCode as ErrorCode, result.message)
      nextOffset = log.logStartOffset
      continue
    }
    try {
      sizeBytes += result.sizeBytes
      for (const buffer of result.buffers) {
        for (const position of recordBatch.batchPositions(buffer)) {
          const taken = takeBatch(log, buffer, position, nextOffset, take)
          recordCount += taken
          sinceLook += taken + 1
          if (sinceLook < RECORDS_PER_LOOK) continue
          sinceLook = 0
          if (clock.monotonicMs() - sliceStartMs < SLICE_MS) continue
          await new Promise(setImmediate)
          sliceStartMs = clock.monotonicMs()
          if (!isWanted()) return { recordCount, sizeBytes }
        }
      }
    } finally {
      releaseAll(result.blocks)
    }
    // Compaction has removed what was there: a read returns at least one batch where there is one.
    if (result.nextOffset <= nextOffset) break
    nextOffset = result.nextOffset
  }
  return { recordCount, sizeBytes }
}

/** The number of records taken. */
function takeBatch(
  log: UnifiedLog,
  buffer: Buffer,
  position: number,
  startOffset: number,
  take: (record: RecordCursor) => void,
): number {
  if (recordBatch.isControlBatch(buffer, position)) return 0
  let count = 0
  let offset = recordBatch.baseOffset(buffer, position)
  try {
    const cursor = RecordCursor.of(buffer, position)
    while (cursor.next()) {
      offset = cursor.offset
      if (offset < startOffset) continue
      count++
      take(cursor)
    }
  } catch (error) {
    throw new UnreadableRecordError(`the record at offset ${offset} of ${log.topicPartition} can't be understood`, {
      cause: error,
    })
  }
  return count
}

function read(log: UnifiedLog, offset: number, endOffset: number): Promise<ReadResult> {
  return new Promise((resolve) => {
    log.read(offset, { maxBytes: READ_BYTES, minOneMessage: true, upperBoundOffset: endOffset }, resolve)
  })
}
