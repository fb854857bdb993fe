/** The values that go into and come out of a log. */
import type { RecordError } from '../protocol/records/records-error.ts'

/** Kafka's codes (protocol guide, "Error Codes") that the log itself answers with. */
export const storageErrorCodes = {
  OFFSET_OUT_OF_RANGE: 1,
  NOT_LEADER_OR_FOLLOWER: 6,
  KAFKA_STORAGE_ERROR: 56,
  UNKNOWN_SERVER_ERROR: -1,
} as const

/** Who made the records: a client's are checked in full, a coordinator's are trusted, as are those of a leader. */
export type AppendOrigin = 'client' | 'coordinator' | 'replication'

export interface AppendOptions {
  readonly leaderEpoch: number
  /** Default: `client`. */
  readonly origin?: AppendOrigin
}

export interface AppendInfo {
  /** Offset of the first record; of the original append if this is a duplicate. */
  readonly firstOffset: number
  readonly lastOffset: number
  /** The broker's time if the topic uses LogAppendTime, else -1. */
  readonly logAppendTimeMs: number
  readonly logStartOffset: number
  readonly maxTimestamp: number
  readonly recordCount: number
  readonly sizeBytes: number
}

export type AppendOutcome =
  | { readonly ok: true; readonly info: AppendInfo; readonly isDuplicate: boolean }
  | {
      readonly ok: false
      /** Kafka's error code. */
      readonly errorCode: number
      readonly message: string
      readonly recordErrors: readonly RecordError[]
    }

export interface ReadOptions {
  readonly maxBytes: number
  /** Whether the first batch is returned though it is larger than `maxBytes` (KIP-74). */
  readonly minOneMessage: boolean
  /** No batch whose last offset is at or above this is returned: high watermark, last stable offset or log end. */
  readonly upperBoundOffset: number
}

export type ReadResult =
  | {
      readonly ok: true
      /** Whole batches in offset order; views that nobody may write to. Empty when there is nothing below the bound. */
      readonly buffers: readonly Buffer[]
      readonly sizeBytes: number
    }
  | {
      readonly ok: false
      /** `OFFSET_OUT_OF_RANGE` or `KAFKA_STORAGE_ERROR`. */
      readonly errorCode: number
      readonly message: string
    }

export interface TimestampAndOffset {
  readonly timestamp: number
  readonly offset: number
  /** Of the batch that holds the record; -1 when it has none. */
  readonly leaderEpoch: number
}

export interface EpochEndOffset {
  /** The largest epoch at or below the one asked for; -1 when the log knows none. */
  readonly leaderEpoch: number
  /** Where that epoch ends (exclusive); -1 when the log knows none. */
  readonly endOffset: number
}

/** An aborted transaction that a reader of a range must know of (Fetch response, `abortedTransactions`). */
export interface AbortedTransaction {
  readonly producerId: number
  readonly firstOffset: number
}
