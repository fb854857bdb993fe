/**
 * The log of one partition: offsets, epochs and producers over plain segments.
 *
 * Offsets, and who moves them:
 * - `logStartOffset`: where readers may begin. Moved by retention and `deleteRecordsBefore`; durable before anything
 *   below it is deleted.
 * - `logEndOffset` (exclusive): the end of what was written whole; readers see nothing past it. Moved by the writer.
 * - `nextOffset`: what the next append gets; what lies between is being written. An offset is never given twice in one
 *   leader epoch: after a failed write or fsync the log takes no more appends.
 * - `flushedOffset`: what counts as durable under the flush policy; with `flush.messages=1` what was really fsynced, else
 *   the log end offset.
 * - `highWatermark`: moved by the owner, clamped to the log; goes back only by truncation.
 * - `cleanerCheckpoint`: compaction has seen what is below. Moved by the cleaner, lowered by truncation.
 * - `recoveryPoint`: everything before it is durable, with its index entries, epochs and a snapshot of the producer state,
 *   so that after an unclean stop only what follows is checked. It is lowered, durably, before a truncation begins.
 *
 * Deleted segments leave the folder at once, without Kafka's `.deleted` detour: a reader that has such a file open reads it
 * to its end, since the descriptor keeps it, and one that comes later finds its offset out of range. Only the folder of a
 * whole log waits for `file.delete.delay.ms` (see `LogManager`).
 *
 * At the same time may run: appends (synchronous), one write, one flush, any number of reads, and one maintenance task
 * (checkpoint, truncation, retention, swap of compacted segments, close), which are queued. Truncation refuses appends and
 * waits for write and flush. Compaction reads segments and makes their replacements beside all that; the swap finds out
 * whether they are still what was compacted.
 */
import { isNoSpace } from '../../common/disk.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { appendFailure, appendFailureOf, appendInfoOf } from './append-outcome.ts'
import { freeAndClose } from './disk-calls.ts'
import { LogCheckpointer } from './log-checkpointer.ts'
import type { LastRecord } from './log-cleaner/batch-filter.ts'
import type { CleanedSegment } from './log-cleaner/cleaned-segment.ts'
import { decideSwap, finishSwap, prepareSwap } from './log-cleaner/segment-swap.ts'
import type { LogConfig } from './log-config.ts'
import type { LogDependencies, LogHost, LogParts, LogState, OffsetRange } from './log-parts.ts'
import { LogReadPath } from './log-read-path.ts'
import { deleteSegmentFiles, loadTimestampsForRetention } from './log-retention.ts'
import { LogSegment } from './log-segment.ts'
import { batchBoundaryBefore, cutLogAt, startLogAnewAt } from './log-truncation.ts'
import type {
  AbortedTransaction,
  AppendFailure,
  AppendOptions,
  AppendOutcome,
  EpochEndOffset,
  ReadOptions,
  ReadResult,
  TimestampAndOffset,
} from './log-types.ts'
import { validateAndAssignOffsets, validateFollowerRecords, type LogAppendInfo } from './log-validator.ts'
import { LogWriter, type QueuedAppend } from './log-writer.ts'
import type { PreparedAppend } from './producer-state-manager.ts'
import type { ProducerStateEntry } from './producer-state.ts'
import { deletableSegments } from './retention.ts'
import { RollPolicy } from './roll-policy.ts'

/** Told by a log; never from within a call of `append`. */
export interface LogListener {
  /** `logEndOffset` or `flushedOffset` moved. */
  onProgress(log: UnifiedLog): void
  /** A write or fsync failed: the log takes no more appends. Told once. */
  onFailure(log: UnifiedLog, error: Error): void
}

export interface UnifiedLogDependencies extends LogDependencies {
  readonly listener: LogListener
  readonly host: LogHost
}

export class UnifiedLog {
  readonly topicName: string
  readonly partitionIndex: number
  /** 22 characters of base64url. */
  readonly topicId: string
  /** `topic-partition`, for messages. */
  readonly topicPartition: string
  /**
   * Offsets that were durable and that the disk had lost when the log was opened: this replica is no longer one that holds
   * what was acknowledged. Undefined if all is well.
   */
  readonly lostBelowRecoveryPoint: OffsetRange | undefined
  readonly #dependencies: UnifiedLogDependencies
  readonly #parts: LogParts
  readonly #writer: LogWriter
  readonly #reads: LogReadPath
  readonly #rolls: RollPolicy
  readonly #checkpointer: LogCheckpointer
  #config: LogConfig
  #logStartOffset: number
  #nextOffset: number
  #highWatermark: number
  #sizeBytes: number
  #cleanerCheckpoint: number | undefined
  #cutCount = 0
  #isCheckpointDue = false
  #unflushedSinceMs = 0
  #state: 'open' | 'truncating' | 'closed' = 'open'
  /** The last of the maintenance tasks that were queued. */
  #maintenance: Promise<unknown> = Promise.resolve()

  constructor(state: LogState, dependencies: UnifiedLogDependencies) {
    const { folder, segments, producers, epochs } = state
    this.topicName = state.topicName
    this.partitionIndex = state.partitionIndex
    this.topicId = state.topicId
    this.topicPartition = `${state.topicName}-${state.partitionIndex}`
    this.lostBelowRecoveryPoint = state.lostBelowRecoveryPoint
    this.#dependencies = dependencies
    this.#parts = { folder, segments, producers, epochs }
    this.#config = state.config
    this.#logStartOffset = state.logStartOffset
    this.#nextOffset = state.logEndOffset
    this.#cleanerCheckpoint = state.cleanerCheckpoint
    this.#highWatermark = Math.min(Math.max(state.highWatermark, state.logStartOffset), state.logEndOffset)
    this.#sizeBytes = segments.sizeBytes
    this.#rolls = new RollPolicy(state.config, dependencies.random)
    const { disk } = dependencies.pool
    this.#writer = new LogWriter({
      disk,
      folder,
      logEndOffset: state.logEndOffset,
      flushMessages: state.config.flushMessages,
      isFolderSynced: state.isFolderSynced,
      events: {
        onWritten: (append) => this.#onWritten(append),
        onProgress: () => dependencies.listener.onProgress(this),
        onFailure: (error) => dependencies.listener.onFailure(this, error),
        flushMore: () => (epochs.isDirty ? epochs.flush() : undefined),
      },
    })
    this.#reads = new LogReadPath(this, segments, dependencies, () => this.#maintenance)
    this.#checkpointer = new LogCheckpointer(disk, this.#parts, this.#writer, state.recoveryPoint)
  }

  get folder(): string {
    return this.#parts.folder
  }

  get config(): LogConfig {
    return this.#config
  }

  /** First offset that readers may ask for. */
  get logStartOffset(): number {
    return this.#logStartOffset
  }

  /** The offset after the last batch that was written whole: readers see what is below. */
  get logEndOffset(): number {
    return this.#writer.logEndOffset
  }

  /** The offset that the next append gets. */
  get nextOffset(): number {
    return this.#nextOffset
  }

  /** What counts as durable under the topic's flush policy. */
  get flushedOffset(): number {
    return this.#config.flushMessages <= 1 ? this.#writer.durableOffset : this.#writer.logEndOffset
  }

  /** What was fsynced, whatever the policy. */
  get durableOffset(): number {
    return this.#writer.durableOffset
  }

  get highWatermark(): number {
    return this.#highWatermark
  }

  /** First offset of the earliest transaction that is open or not fully replicated, at most the high watermark. */
  get lastStableOffset(): number {
    return Math.min(this.#parts.producers.firstUnstableOffset() ?? Infinity, this.#highWatermark)
  }

  /** What lies below needs no check after an unclean stop. */
  get recoveryPoint(): number {
    return this.#checkpointer.recoveryPoint
  }

  /** Compaction has seen what is below; undefined: it never saw this log. */
  get cleanerCheckpoint(): number | undefined {
    return this.#cleanerCheckpoint
  }

  /** How often the log was truncated. */
  get cutCount(): number {
    return this.#cutCount
  }

  /** Bytes of all segments. */
  get sizeBytes(): number {
    return this.#sizeBytes
  }

  get segmentCount(): number {
    return this.#parts.segments.count
  }

  /** The error that ended appends, if one did. */
  get failure(): Error | undefined {
    return this.#writer.failure
  }

  /** The newest leader epoch that has records; -1: none yet. */
  get latestEpoch(): number {
    return this.#parts.epochs.latestEpoch() ?? -1
  }

  get activeProducerCount(): number {
    return this.#parts.producers.producerIdCount
  }

  /** The largest producer id in the producer state, -1 without one. */
  get highestProducerId(): number {
    let highest = -1
    for (const { producerId } of this.#parts.producers.activeProducers()) highest = Math.max(highest, producerId)
    return highest
  }

  /** For DescribeProducers. */
  activeProducers(): IterableIterator<Readonly<ProducerStateEntry>> {
    return this.#parts.producers.activeProducers()
  }

  /** Whether there is anything since the last checkpoint. */
  get needsCheckpoint(): boolean {
    return this.#nextOffset !== this.#checkpointer.recoveryPoint
  }

  /** About how many bytes follow the recovery point: what an unclean start would have to check. */
  get tailBytes(): number {
    return this.#checkpointer.tailBytes
  }

  /** When the oldest append came that was not fsynced yet, by the monotonic clock; undefined if there is none. */
  get unflushedSinceMs(): number | undefined {
    return this.#writer.durableOffset < this.#writer.logEndOffset ? this.#unflushedSinceMs : undefined
  }

  /**
   * Checks a client's or coordinator's batch, gives it offsets, and queues it for writing. The buffer is changed in place
   * and copied; it is the caller's again when this returns.
   */
  appendAsLeader(records: Buffer, options: AppendOptions): AppendOutcome {
    const refusal = this.#refusal()
    if (refusal !== undefined) return refusal
    const origin = options.origin ?? 'client'
    let info: LogAppendInfo
    let prepared: PreparedAppend
    try {
      info = validateAndAssignOffsets(records, this.#config, {
        topicPartition: this.topicPartition,
        baseOffset: this.#nextOffset,
        leaderEpoch: options.leaderEpoch,
        nowMs: this.#dependencies.clock.wallMs(),
        origin,
        ...(options.produceVersion === undefined ? {} : { produceVersion: options.produceVersion }),
      })
      prepared = this.#parts.producers.prepareAppend(info.records, origin)
    } catch (error) {
      return appendFailureOf(error)
    }
    const { duplicate } = prepared
    if (duplicate !== undefined) {
      const append = { ...duplicate, maxTimestamp: duplicate.timestamp }
      return { ok: true, isDuplicate: true, info: appendInfoOf(info, append, this.#logStartOffset) }
    }
    if (info.sizeInBytes > this.#config.segmentBytes) {
      const message = `a batch of ${info.sizeInBytes} bytes is larger than a segment (segment.bytes)`
      return appendFailure(ErrorCode.RECORD_LIST_TOO_LARGE, message)
    }
    this.#parts.epochs.assign(options.leaderEpoch, info.firstOffset)
    this.#enqueue(info.records, info.lastOffset, prepared)
    return { ok: true, isDuplicate: false, info: appendInfoOf(info, info, this.#logStartOffset) }
  }

  /** Queues a copy of what the leader sent, offsets and epochs as they are. */
  appendAsFollower(records: Buffer, leaderEpoch: number): AppendOutcome {
    const refusal = this.#refusal()
    if (refusal !== undefined) return refusal
    try {
      const info = validateFollowerRecords(records, {
        topicPartition: this.topicPartition,
        logEndOffset: this.#nextOffset,
        leaderEpoch,
      })
      const { clock } = this.#dependencies
      for (let start = 0, end = 0; start < info.records.length; start = end) {
        end = this.#rolls.endOfGroup(this.#parts.segments.active, info.records, start, clock.wallMs())
        const group = info.records.subarray(start, end)
        const prepared = this.#parts.producers.prepareAppend(group, 'replication')
        this.#enqueue(group, this.#noteEpochs(group), prepared)
      }
      return {
        ok: true,
        isDuplicate: false,
        info: {
          firstOffset: info.firstOffset,
          lastOffset: info.lastOffset,
          logAppendTimeMs: -1,
          maxTimestamp: info.maxTimestamp,
          recordCount: info.recordsCount,
          sizeBytes: info.sizeInBytes,
          logStartOffset: this.#logStartOffset,
        },
      }
    } catch (error) {
      return appendFailureOf(error)
    }
  }

  /**
   * Reads whole batches from the one that holds `startOffset`, from memory if they are there (then `done` is called before
   * this returns), else from one segment.
   */
  read(startOffset: number, options: ReadOptions, done: (result: ReadResult) => void): void {
    this.#reads.read(startOffset, options, done)
  }

  /**
   * About how many bytes a read gives from the batch that holds `startOffset` up to `endOffset`: exact where the batches
   * are in the tail cache, else by what is in memory of the offset indexes. Touches no disk.
   */
  estimateBytesBetween(startOffset: number, endOffset: number): number {
    return this.#reads.estimateBytesBetween(startOffset, endOffset)
  }

  /**
   * Moves the high watermark to `offset`, at most the log end. It never goes back here, only by truncation. Returns whether
   * it moved.
   */
  updateHighWatermark(offset: number): boolean {
    const highWatermark = Math.min(offset, this.#writer.logEndOffset)
    if (highWatermark <= this.#highWatermark) return false
    this.#highWatermark = highWatermark
    this.#parts.producers.onHighWatermarkUpdated(highWatermark)
    return true
  }

  /** The first record whose timestamp is `timestamp` or later. */
  async offsetForTimestamp(timestamp: number): Promise<TimestampAndOffset | undefined> {
    return await this.#reads.offsetForTimestamp(timestamp)
  }

  /** The first record that has the largest timestamp (KIP-734). */
  async offsetOfMaxTimestamp(): Promise<TimestampAndOffset | undefined> {
    return await this.#reads.offsetOfMaxTimestamp()
  }

  /** The leader epoch in which the record at `offset` was written, if known. */
  epochForOffset(offset: number): number | undefined {
    return this.#parts.epochs.epochForOffset(offset)
  }

  /** Where `leaderEpoch`, or the largest epoch below it, ends. */
  endOffsetForEpoch(leaderEpoch: number): EpochEndOffset {
    return this.#parts.epochs.endOffsetFor(leaderEpoch, this.#writer.logEndOffset)
  }

  /** Notes where an epoch begins before it has a record: a new leader calls it with its `nextOffset`. */
  assignEpochStartOffset(leaderEpoch: number, startOffset: number): void {
    this.#parts.epochs.assign(leaderEpoch, startOffset)
  }

  /** Aborted transactions that overlap the range. */
  abortedTransactions(_startOffset: number, _upperBoundOffset: number): Promise<AbortedTransaction[]> {
    return Promise.resolve([])
  }

  /**
   * Moves the log start offset up to `offset`, at most the high watermark, durably, and removes segments that lie below.
   * Returns the log start offset.
   */
  async deleteRecordsBefore(offset: number): Promise<number> {
    this.#logStartOffset = Math.max(this.#logStartOffset, Math.min(offset, this.#highWatermark))
    await this.#dependencies.host.persistLogStartOffsets()
    await this.deleteOldSegments()
    return this.#logStartOffset
  }

  /**
   * Removes the batches that reach `offset` or lie above. Appends are refused and reads of them fail meanwhile. When it
   * resolves, no power loss can bring them back.
   */
  async truncateTo(offset: number): Promise<void> {
    await this.#exclusive(async () => {
      if (offset >= this.#nextOffset) return
      if (offset < this.#parts.segments.first.baseOffset) {
        await this.#whileTruncating(offset, () => this.#startAnewAt(offset))
        return
      }
      await this.#whileTruncating(offset, async () => {
        const { indexIntervalBytes } = this.#config
        const { pool } = this.#dependencies
        await this.#lowerRecoveryPointTo(await batchBoundaryBefore(this.#parts.segments, offset, indexIntervalBytes))
        this.#endAt(await cutLogAt(this.#parts, offset, this.#logStartOffset, indexIntervalBytes, pool))
      })
    })
  }

  /** Removes everything; the log starts at `offset`. Durable when it resolves. */
  async truncateFullyAndStartAt(offset: number): Promise<void> {
    await this.#exclusive(() => this.#whileTruncating(offset, () => this.#startAnewAt(offset)))
  }

  /**
   * Applies retention, rolls an idle active segment that is old enough, forgets expired producers. Returns how many
   * segments were removed.
   */
  async deleteOldSegments(): Promise<number> {
    return await this.#exclusive(async () => {
      if (this.#state === 'closed') return 0
      const { segments, producers } = this.#parts
      const nowMs = this.#dependencies.clock.wallMs()
      producers.removeExpiredProducers()
      await loadTimestampsForRetention(segments.all(), this.#config, nowMs, (segment) =>
        this.#reads.noteIndexUse(segment),
      )
      if (this.#rolls.isOldEnough(segments.active, nowMs)) this.#roll()
      const retention = {
        nowMs,
        config: this.#config,
        logStartOffset: this.#logStartOffset,
        highWatermark: this.#highWatermark,
        nextOffset: this.#nextOffset,
      }
      const count = deletableSegments(segments.all(), retention)
      if (count === 0) return 0
      // The active segment goes only after a new one, whose name keeps the log end offset, is there durably.
      if (count === segments.count) this.#roll()
      await this.#writer.flushTo(this.#nextOffset)
      await this.#writer.whenCreated(segments.active)
      await this.#dependencies.pool.disk.syncFolder(this.#parts.folder)
      await this.#removeFirstSegments(count)
      return count
    })
  }

  /** The segments, ascending, the active one last: a copy, for compaction. */
  segments(): LogSegment[] {
    return [...this.#parts.segments.all()]
  }

  /** The last entry of each known producer: compaction keeps the batches from which a restart learns it. */
  lastRecordsOfProducers(): LastRecord[] {
    const lastRecords: LastRecord[] = []
    for (const { producerId, producerEpoch, lastDataOffset } of this.#parts.producers.activeProducers()) {
      lastRecords.push({ producerId, producerEpoch, lastDataOffset })
    }
    return lastRecords
  }

  /** Begins a new segment if the active one has the age for it, so that compaction may have what is in it. */
  async rollIfOld(): Promise<void> {
    await this.#exclusive(() => {
      const isOpen = this.#state === 'open' && this.#writer.failure === undefined
      if (isOpen && this.#rolls.isOldEnough(this.#parts.segments.active, this.#dependencies.clock.wallMs()))
        this.#roll()
      return Promise.resolve()
    })
  }

  /**
   * Puts a compacted segment in the place of those that it was made from, durably. Readers that are at one of the old ones
   * read on in its file. `cutCount`: as it was when the first of them was read. Returns false, and nothing has changed, if
   * they are not what they were: removed or cut meanwhile, or the log is closed or not to be compacted any more.
   */
  async replaceSegments(replaced: readonly LogSegment[], cleaned: CleanedSegment, cutCount: number): Promise<boolean> {
    return await this.#exclusive(async () => {
      const { folder, segments, producers } = this.#parts
      const { disk } = this.#dependencies.pool
      const { segment } = cleaned
      const isCurrent = this.#state !== 'closed' && this.#cutCount === cutCount && segments.hasInactiveRun(replaced)
      if (!isCurrent || this.#writer.failure !== undefined || !this.#config.cleanupPolicy.compact) return false
      await prepareSwap(disk, folder, segment.baseOffset)
      let swapEnded = (_hasSucceeded: boolean): void => undefined
      const swap = new Promise<boolean>((resolve) => {
        swapEnded = resolve
      })
      try {
        await decideSwap(disk, folder, segment.baseOffset)
        cleaned.takeOver()
        segments.replaceRun(replaced, segment)
        this.#reads.compactedBefore(segments.next(segment)?.baseOffset ?? segment.baseOffset)
        this.#sizeBytes = segments.sizeBytes
        await Promise.all(
          replaced.map((old) =>
            // Readers may keep an old file for longer; only one that has neither name nor reader may be cut.
            old.file.drop((file) => {
              swap
                .then((isDone) => (isDone ? freeAndClose(file, old.writtenBytes) : file.close()))
                .catch(() => undefined)
            }),
          ),
        )
        const baseOffsets = replaced.map((old) => old.baseOffset)
        await finishSwap(disk, folder, segment.baseOffset, baseOffsets)
        swapEnded(true)
        segment.file.unpin()
        for (const old of baseOffsets) if (old !== segment.baseOffset) await producers.deleteSnapshot(old)
        this.#reads.noteIndexUse(segment)
      } catch (error) {
        swapEnded(false)
        // A start ends the swap, or finds that it never began; until then nobody knows.
        this.#writer.fail(asError(error))
        throw error
      }
      return true
    })
  }

  /** Makes the recovery point durable as it is now. */
  async persistRecoveryPoint(): Promise<void> {
    await this.#dependencies.host.persistRecoveryPoints()
  }

  /** Compaction has seen what is below `offset`. */
  noteCleaned(offset: number): void {
    this.#cleanerCheckpoint = Math.min(offset, this.#writer.logEndOffset)
  }

  updateConfig(config: LogConfig): void {
    this.#rolls.updateConfig(config)
    this.#config = config
    this.#writer.setFlushMessages(config.flushMessages)
  }

  /** Makes everything appended so far durable. */
  async flush(): Promise<void> {
    await this.#writer.flushTo(this.#nextOffset)
  }

  /** Makes everything appended so far durable together with indexes and producer state, and moves the recovery point. */
  async checkpoint(): Promise<void> {
    await this.#exclusive(async () => {
      if (this.#state !== 'closed') await this.#checkpoint()
    })
  }

  /** Ends the log after a last checkpoint. If it failed, its files are closed as they are. */
  async close(): Promise<void> {
    await this.#exclusive(async () => {
      if (this.#state === 'closed') return
      this.#state = 'closed'
      this.#reads.close()
      try {
        if (this.failure === undefined) {
          const { active } = this.#parts.segments
          // A small segment needs no index files: a start reads it anyway.
          if ((active.indexes?.offsetIndex.entryCount ?? 0) > 0) active.seal()
          await this.#checkpoint()
        }
      } finally {
        await this.#dropFiles()
      }
    })
  }

  /** Ends the log without a checkpoint: it is about to be deleted, or its data dir failed. Resolves once nothing runs. */
  async abandon(): Promise<void> {
    await this.#exclusive(async () => {
      this.#state = 'closed'
      this.#reads.close()
      // A failure of the last write is none of a log that is given up.
      await this.#writer.hold().catch(() => undefined)
      await this.#dropFiles()
    })
  }

  /** The data dir failed: this log takes no more appends either. */
  fail(error: Error): void {
    this.#writer.fail(error)
  }

  #refusal(): AppendFailure | undefined {
    if (this.#state === 'open' && this.#writer.failure === undefined) return undefined
    const error = this.#writer.failure
    if (error !== undefined) return appendFailure(ErrorCode.KAFKA_STORAGE_ERROR, `the log is offline: ${error.message}`)
    return appendFailure(ErrorCode.NOT_LEADER_OR_FOLLOWER, `the log is ${this.#state}`)
  }

  /** Takes an append into segment, producer state and write queue. It fits into a segment. */
  #enqueue(records: Buffer, lastOffset: number, prepared: PreparedAppend): void {
    const { clock, arena } = this.#dependencies
    const { producers, segments } = this.#parts
    const nowMs = clock.wallMs()
    if (this.#rolls.mustRollFor(segments.active, records.length, lastOffset, nowMs)) this.#roll()
    const nextOffset = lastOffset + 1
    producers.applyAppend(prepared, nextOffset)
    for (const completedTxn of prepared.completedTxns) producers.completeTxn(completedTxn)
    const segment = segments.active
    if (segment.sizeBytes === 0) segment.createdMs = nowMs
    segment.lastModifiedMs = nowMs
    segment.noteBatches(records, segment.sizeBytes, this.#config.indexIntervalBytes)
    segment.sizeBytes += records.length
    this.#sizeBytes += records.length
    this.#nextOffset = nextOffset
    if (this.#writer.durableOffset === this.#writer.logEndOffset) this.#unflushedSinceMs = clock.monotonicMs()
    const stored = arena.store(records)
    this.#writer.enqueue({ ...stored, segment, nextOffset })
  }

  /** Begins a new segment at `nextOffset`; all else that a roll needs happens later. */
  #roll(): void {
    const { pool, clock } = this.#dependencies
    const { folder, segments } = this.#parts
    const { active } = segments
    if (active.sizeBytes === 0 && active.baseOffset === this.#nextOffset) return
    active.seal()
    this.#checkpointer.snapshotAtRoll()
    const segment = LogSegment.begin(pool, folder, this.#nextOffset, clock.wallMs())
    segments.push(segment)
    this.#rolls.rolled()
    this.#writer.enqueue({ records: EMPTY, block: undefined, segment, nextOffset: this.#nextOffset })
    this.#requestCheckpoint()
  }

  #onWritten({ records, nextOffset, block }: QueuedAppend): void {
    if (block === undefined) return
    this.#reads.written(records, nextOffset, block)
    this.#checkpointer.noteWritten(records.length)
    if (this.#checkpointer.tailBytes >= this.#dependencies.checkpointBytes) this.#requestCheckpoint()
  }

  /** Has a checkpoint made soon, unless one is due already. */
  #requestCheckpoint(): void {
    if (this.#isCheckpointDue || this.#state === 'closed') return
    this.#isCheckpointDue = true
    this.checkpoint().catch((error: unknown) => {
      // The periodic checkpoint tries again.
      if (!isNoSpace(error)) this.#writer.fail(asError(error))
    })
  }

  /** Runs `work` after all maintenance that was asked for before. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#maintenance.then(work)
    this.#maintenance = result.catch(() => undefined)
    return result
  }

  async #checkpoint(): Promise<void> {
    this.#isCheckpointDue = false
    await this.#checkpointer.whenSnapshotsAreWritten()
    if (await this.#checkpointer.checkpoint(this.#nextOffset)) this.#dependencies.host.recoveryPointMoved()
  }

  /** Notes the leader epochs of whole batches; returns their last offset. */
  #noteEpochs(records: Buffer): number {
    let lastOffset = -1
    for (const position of recordBatch.batchPositions(records)) {
      const leaderEpoch = recordBatch.partitionLeaderEpoch(records, position)
      if (leaderEpoch >= 0) this.#parts.epochs.assign(leaderEpoch, recordBatch.baseOffset(records, position))
      lastOffset = recordBatch.lastOffset(records, position)
    }
    return lastOffset
  }

  /** Runs a truncation down to `offset` with appends refused and nothing in flight. A failure takes the log offline. */
  async #whileTruncating(offset: number, truncate: () => Promise<void>): Promise<void> {
    if (this.#state === 'closed') throw new Error(`the log of ${this.topicPartition} is closed`)
    this.#state = 'truncating'
    this.#cutCount++
    this.#reads.truncationBegins()
    try {
      await this.#writer.hold()
      await this.#checkpointer.whenSnapshotsAreWritten()
      this.#reads.truncateTo(offset)
      this.#highWatermark = Math.min(this.#highWatermark, offset)
      await truncate()
      this.#writer.reset(this.#nextOffset)
      this.#sizeBytes = this.#parts.segments.sizeBytes
    } catch (error) {
      this.#writer.fail(asError(error))
      throw error
    } finally {
      this.#reads.truncationEnds()
      this.#writer.resume()
      this.#state = 'open'
    }
  }

  /** Before anything changes: a crash from now on checks what is past that, and does not take what is cut for lost. */
  async #lowerRecoveryPointTo(offset: number): Promise<void> {
    this.#checkpointer.lowerTo(offset)
    await this.#dependencies.host.persistRecoveryPoints()
  }

  async #startAnewAt(offset: number): Promise<void> {
    const { pool, clock, host } = this.#dependencies
    await this.#lowerRecoveryPointTo(Math.min(offset, this.#logStartOffset))
    await startLogAnewAt(this.#parts, offset, clock.wallMs(), pool)
    this.#endAt(offset)
    this.#logStartOffset = offset
    this.#highWatermark = offset
    this.#checkpointer.startAt(offset)
    await host.persistLogStartOffsets()
    await host.persistRecoveryPoints()
  }

  #endAt(offset: number): void {
    this.#nextOffset = offset
    if (this.#cleanerCheckpoint !== undefined) this.#cleanerCheckpoint = Math.min(this.#cleanerCheckpoint, offset)
    this.#highWatermark = Math.min(this.#highWatermark, offset)
    this.#checkpointer.lowerTo(offset)
    this.#logStartOffset = Math.min(this.#logStartOffset, offset)
  }

  async #removeFirstSegments(count: number): Promise<void> {
    const { segments } = this.#parts
    const removed = segments.removeFirst(count)
    this.#logStartOffset = Math.max(this.#logStartOffset, segments.first.baseOffset)
    this.#sizeBytes = segments.sizeBytes
    await this.#dependencies.host.persistLogStartOffsets()
    await deleteSegmentFiles(this.#parts, removed, this.#logStartOffset, this.#dependencies.pool)
  }

  async #dropFiles(): Promise<void> {
    for (const segment of this.#parts.segments.all()) await segment.file.drop()
  }
}

const EMPTY = Buffer.alloc(0)

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
