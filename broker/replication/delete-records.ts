/**
 * DeleteRecords on the leader: the log start offset moves, durably, and what lies below is gone for readers at once and
 * from the disk by whole segments.
 */
import { isInternalTopic } from '../../crds/topic.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import type { Partition } from './partition.ts'

export interface DeleteRecordsResult {
  readonly errorCode: number
  /** The log start offset; -1 on an error. */
  readonly lowWatermark: number
}

/** As an offset: the high watermark, whatever it is when the request is handled. */
const HIGH_WATERMARK = -1

/** Errors of the disk reject; all others are results. */
export async function deleteRecordsOnLeader(partition: Partition, offset: number): Promise<DeleteRecordsResult> {
  const refusal = refusalOf(partition, offset)
  if (refusal !== ErrorCode.NONE) return failedDeletion(refusal)
  const { log } = partition
  const wanted = offset === HIGH_WATERMARK ? log.highWatermark : offset
  return { errorCode: ErrorCode.NONE, lowWatermark: await log.deleteRecordsBefore(wanted) }
}

export function failedDeletion(errorCode: number): DeleteRecordsResult {
  return { errorCode, lowWatermark: -1 }
}

function refusalOf({ topicName, log }: Partition, offset: number): number {
  if (isInternalTopic(topicName)) return ErrorCode.INVALID_TOPIC_EXCEPTION
  // What only compaction may remove is kept.
  if (!log.config.cleanupPolicy.delete) return ErrorCode.POLICY_VIOLATION
  if (offset !== HIGH_WATERMARK && (offset < 0 || offset > log.highWatermark)) return ErrorCode.OFFSET_OUT_OF_RANGE
  return ErrorCode.NONE
}
