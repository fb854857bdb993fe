/** Reads a partition from its start to a given end, and hands each record over, in slices of time. */
import { releaseAll } from '../../../common/block-pool.ts'
import type { Clock } from '../../../common/clock.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { RecordCursor } from '../../protocol/records/record.ts'
import type { ReadResult } from '../../storage/log-types.ts'
import type { UnifiedLog } from '../../storage/unified-log.ts'

const READ_BYTES = 1024 * 1024
/** How long the event loop is kept from everything else. */
const SLICE_MS = 10

export interface LoadedRecords {
  readonly recordCount: number
  readonly sizeBytes: number
}

/**
 * Calls `take` with a cursor at each record (valid during the call) below `endOffset`. Stops early, without
 * an error, once `isWanted` is false. Errors: KafkaError for what can't be read, RecordsError for what is no record.
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
  const pause = async (): Promise<void> => {
    if (clock.monotonicMs() - sliceStartMs < SLICE_MS) return
    await new Promise(setImmediate)
    sliceStartMs = clock.monotonicMs()
  }
  while (nextOffset < endOffset && isWanted()) {
    const result = await read(log, nextOffset, endOffset)
    if (!result.ok) {
      if (result.errorCode !== ErrorCode.OFFSET_OUT_OF_RANGE || nextOffset >= log.logStartOffset)
        throw new KafkaError(result.errorCode as ErrorCode, result.message)
      nextOffset = log.logStartOffset
      continue
    }
    try {
      sizeBytes += result.sizeBytes
      for (const buffer of result.buffers) {
        for (const position of recordBatch.batchPositions(buffer)) {
          if (!isWanted()) break
          if (recordBatch.isControlBatch(buffer, position)) continue
          const cursor = RecordCursor.of(buffer, position)
          while (cursor.next()) {
            if (cursor.offset < nextOffset) continue
            recordCount++
            take(cursor)
          }
          await pause()
        }
      }
    } finally {
      releaseAll(result.blocks)
    }
    if (result.nextOffset <= nextOffset) break
    nextOffset = result.nextOffset
  }
  return { recordCount, sizeBytes }
}

function read(log: UnifiedLog, offset: number, endOffset: number): Promise<ReadResult> {
  return new Promise((resolve) => {
    log.read(offset, { maxBytes: READ_BYTES, minOneMessage: true, upperBoundOffset: endOffset }, resolve)
  })
}
