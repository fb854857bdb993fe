import type { LogConfig } from './log-config.ts'
import type {
  AbortedTransaction,
  AppendOptions,
  AppendOutcome,
  EpochEndOffset,
  ReadOptions,
  ReadResult,
  TimestampAndOffset,
} from './log-types.ts'

/** Told by a log, never re-entrantly from within a call to it (except from a completed `truncate`). */
export interface LogListener {
  /** `logEndOffset` or `flushedOffset` moved forward. */
  onProgress(log: UnifiedLog): void
  /** A write or fsync failed: the log takes no more appends. Told once. */
  onFailure(log: UnifiedLog, error: Error): void
}

export interface UnifiedLog {
  readonly topicName: string
  readonly partitionIndex: number
  /** 22 characters of base64url. */
  readonly topicId: string
  readonly folder: string
  readonly config: LogConfig
  /** First offset that readers may ask for. */
  readonly logStartOffset: number
  /** The offset after the last batch that was written whole: readers see what is below. */
  readonly logEndOffset: number
  /** The offset that the next append gets; what lies between `logEndOffset` and this is being written. */
  readonly nextOffset: number
  /** What counts as durable under the topic's flush policy. */
  readonly flushedOffset: number
  readonly highWatermark: number
  /** First offset of the earliest open transaction, at most the high watermark. */
  readonly lastStableOffset: number
  /** What lies below needs no check after an unclean stop. */
  readonly recoveryPoint: number
  /** Bytes of all segments. */
  readonly sizeBytes: number
  readonly segmentCount: number
  /** The error that ended appends, if one did. */
  readonly failure: Error | undefined
  /** The largest producer id in the producer state, -1 without one. */
  readonly highestProducerId: number
  /** -1: none yet. */
  readonly latestEpoch: number
  readonly activeProducerCount: number

  appendAsLeader(records: Buffer, options: AppendOptions): AppendOutcome
  appendAsFollower(records: Buffer, leaderEpoch: number): AppendOutcome
  read(startOffset: number, options: ReadOptions, done: (result: ReadResult) => void): void
  /** Never goes back, but for `truncateTo`; clamped to [logStartOffset, logEndOffset]. Returns whether it moved. */
  updateHighWatermark(offset: number): boolean
  /** The first record whose timestamp is `timestamp` or later. */
  offsetForTimestamp(timestamp: number): Promise<TimestampAndOffset | undefined>
  /** The record with the largest timestamp (KIP-734). */
  offsetOfMaxTimestamp(): Promise<TimestampAndOffset | undefined>
  /** The leader epoch in which the record at `offset` was written, if known. */
  epochForOffset(offset: number): number | undefined
  endOffsetForEpoch(leaderEpoch: number): EpochEndOffset
  /** Notes the first append of an epoch even before there is one: a new leader calls it with its log end. */
  assignEpochStartOffset(leaderEpoch: number, startOffset: number): void
  abortedTransactions(startOffset: number, upperBoundOffset: number): Promise<AbortedTransaction[]>
  /** Moves the log start offset up to `offset` (at most the high watermark) and removes segments below. */
  deleteRecordsBefore(offset: number): Promise<number>
  truncateTo(offset: number): Promise<void>
  truncateFullyAndStartAt(offset: number): Promise<void>
  /** Applies retention; returns how many segments were removed. */
  deleteOldSegments(): Promise<number>
  updateConfig(config: LogConfig): void
  flush(): Promise<void>
}
