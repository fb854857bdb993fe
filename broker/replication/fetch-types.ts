/** What a fetch asks of one partition, and what it gets. */
export interface FetchPartition {
  readonly topicName: string
  /** Undefined: whatever topic has the name now. */
  readonly topicId: string | undefined
  readonly partition: number
  readonly fetchOffset: number
  readonly maxBytes: number
  /** -1: the client does not say. */
  readonly currentLeaderEpoch: number
  /** Epoch of the last record that the reader has; -1: none (KIP-595 truncation by diverging epoch). */
  readonly lastFetchedEpoch: number
}

export interface FetchPartitionResult {
  readonly errorCode: number
  readonly highWatermark: number
  readonly lastStableOffset: number
  readonly logStartOffset: number
  /** Where the reader's log parts from this one, if it does. */
  readonly divergingEpoch: { readonly epoch: number; readonly endOffset: number } | undefined
  readonly records: readonly Uint8Array[]
  readonly sizeBytes: number
  readonly abortedTransactions: readonly { readonly producerId: number; readonly firstOffset: number }[]
}

export interface FetchParams {
  readonly maxWaitMs: number
  readonly minBytes: number
  readonly maxBytes: number
  /** Whether records of open and aborted transactions are held back (up to the last stable offset). */
  readonly isReadCommitted: boolean
}
