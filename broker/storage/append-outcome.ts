/** The answers of a log to an append. */
import { ErrorCode } from '../protocol/error-codes.ts'
import { RecordsError } from '../protocol/records/records-error.ts'
import type { AppendFailure, AppendInfo } from './log-types.ts'
import { UnexpectedAppendOffsetError, type LogAppendInfo } from './log-validator.ts'
import { ProducerStateError } from './producer-state.ts'

export function appendFailure(errorCode: number, message: string): AppendFailure {
  return { ok: false, errorCode, message, recordErrors: [] }
}

/** What the checks of an append throw, as its outcome. Anything else is a bug and is thrown on. */
export function appendFailureOf(error: unknown): AppendFailure {
  if (error instanceof RecordsError) {
    const { errorCode, message, recordErrors } = error
    return { ok: false, errorCode, message, recordErrors }
  }
  if (error instanceof ProducerStateError) return appendFailure(error.errorCode, error.message)
  if (error instanceof UnexpectedAppendOffsetError) return appendFailure(ErrorCode.OFFSET_OUT_OF_RANGE, error.message)
  throw error
}

/** What the validator found, with the offsets and the timestamp of the append or of the one that it repeats. */
export function appendInfoOf(
  from: LogAppendInfo,
  append: { readonly firstOffset: number; readonly lastOffset: number; readonly maxTimestamp: number },
  logStartOffset: number,
): AppendInfo {
  return {
    firstOffset: append.firstOffset,
    lastOffset: append.lastOffset,
    logAppendTimeMs: from.logAppendTimeMs,
    maxTimestamp: append.maxTimestamp,
    recordCount: from.recordsCount,
    sizeBytes: from.sizeInBytes,
    logStartOffset,
  }
}
