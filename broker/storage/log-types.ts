/** The values that go into and come out of a log. */
import type { Block } from '../../common/block-pool.ts'
import type { AppendOrigin, RecordError } from './log-validator.ts'

export type { AppendOrigin } from './log-validator.ts'

export interface AppendOptions {
  readonly leaderEpoch: number
  /** Default: `client`. */
  readonly origin?: AppendOrigin
  /** Version of the Produce request, where there is one. */
  readonly produceVersion?: number
}

export interface AppendInfo {
  /** Offset of the first record; of the original append if this is a duplicate; -1 for an empty append. */
  readonly firstOffset: number
  readonly lastOffset: number
  /** The broker's time if the topic uses LogAppendTime, else -1. */
  readonly logAppendTimeMs: number
  readonly maxTimestamp: number
  readonly recordCount: number
  readonly sizeBytes: number
  readonly logStartOffset: number
}

/** Why nothing was appended: a Kafka error code, and for single records who is to blame (KIP-467). */
export interface AppendFailure {
  readonly ok: false
  readonly errorCode: number
  readonly message: string | null
  readonly recordErrors: readonly RecordError[]
}

export type AppendOutcome =
  { readonly ok: true; readonly info: AppendInfo; readonly isDuplicate: boolean } | AppendFailure

export interface ReadOptions {
  readonly maxBytes: number
  /** Whether the first batch is returned though it is larger than `maxBytes` (KIP-74). */
  readonly minOneMessage: boolean
  /** No batch that reaches this offset is returned: high watermark, last stable offset or log end. */
  readonly upperBoundOffset: number
}

export type ReadResult =
  | {
      readonly ok: true
      /** Whole batches in offset order: views that nobody may write to. Empty when there is nothing below the bound. */
      readonly buffers: readonly Buffer[]
      /** Where they lie, with a reference each: to be released once nobody looks at the buffers any more. */
      readonly blocks: readonly Block[]
      readonly sizeBytes: number
      /** The offset after the last batch; the offset asked for when there is none. */
      readonly nextOffset: number
    }
  | {
      readonly ok: false
      /** OFFSET_OUT_OF_RANGE or KAFKA_STORAGE_ERROR. */
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
