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
 * - `recoveryPoint`: everything before it is durable, with its index entries, epochs and a snapshot of the producer state,
 *   so that after an unclean stop only what follows is checked. It is lowered, durably, before a truncation begins.
 *
 * At the same time may run: appends (synchronous), one write, one flush, any number of reads, and one maintenance task
 * (checkpoint, truncation, retention, close), which are queued. Truncation refuses appends and waits for write and flush.
 */
import type { Block, BlockPool } from '../../common/block-pool.ts'
import type { Clock } from '../../common/clock.ts'
import type { Logger } from '../../common/logger.ts'
import type { Random } from '../../common/random.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { RecordsError } from '../protocol/records/records-error.ts'
import type { FilePool } from './file-pool.ts'
import { DroppedFileError } from './file-pool.ts'
import type { IndexCache } from './index-cache.ts'
import type { LeaderEpochFileCache } from './leader-epoch-cache.ts'
import type { LogConfig } from './log-config.ts'
import { LogReader } from './log-reader.ts'
import { LogSegment } from './log-segment.ts'
import type { LogSegments } from './log-segments.ts'
import type {
  AbortedTransaction,
  AppendFailure,
  AppendInfo,
  AppendOptions,
  AppendOutcome,
  EpochEndOffset,
  ReadOptions,
  ReadResult,
  TimestampAndOffset,
} from './log-types.ts'
import {
  UnexpectedAppendOffsetError,
  validateAndAssignOffsets,
  validateFollowerRecords,
  type LogAppendInfo,
} from './log-validator.ts'
import { LogWriter, type QueuedAppend } from './log-writer.ts'
import type { PreparedAppend, ProducerStateManager } from './producer-state-manager.ts'
import { ProducerStateError, type ProducerStateEntry } from './producer-state.ts'
import type { RecordArena } from './record-arena.ts'
import { replayProducers } from './replay-producers.ts'
import { deletableSegments } from './retention.ts'
import { LogTail, type TailCache } from './tail-cache.ts'
import { findByTimestamp, findMaxTimestamp } from './time-search.ts'

/** Told by a log; never from within a call of `append`. */
export interface LogListener {
  /** `logEndOffset` or `flushedOffset` moved. */
  onProgress(log: UnifiedLog): void
  /** A write or fsync failed: the log takes no more appends. Told once. */
  onFailure(log: UnifiedLog, error: Error): void
}

/** What a log asks of the keeper of its data dir. */
export interface LogHost {
  /** Makes the recovery points of all logs durable as they are now. */
  persistRecoveryPoints(): Promise<void>
  /** Makes the log start offsets of all logs durable as they are now. */
  persistLogStartOffsets(): Promise<void>
  /** A recovery point moved forward: its checkpoint is due, soon. */
  recoveryPointMoved(): void
}

export interface UnifiedLogDependencies {
  readonly pool: FilePool
  readonly tailCache: TailCache
  readonly blocks: BlockPool
  readonly arena: RecordArena
  readonly indexCache: IndexCache
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly listener: LogListener
  readonly host: LogHost
  /** A checkpoint is made after so many bytes, to bound what a recovery reads. */
  readonly checkpointBytes: number
}

/** A log as the loader found it, or a new one. */
export interface LogState {
  readonly topicName: string
  readonly partitionIndex: number
  readonly topicId: string
  readonly folder: string
  readonly config: LogConfig
  readonly segments: LogSegments
  readonly producers: ProducerStateManager
  readonly epochs: LeaderEpochFileCache
  readonly logStartOffset: number
  readonly logEndOffset: number
  readonly highWatermark: number
  readonly recoveryPoint: number
}

const NOTHING: readonly Buffer[] = []
const NO_BLOCKS: readonly Block[] = []

export class UnifiedLog {
  readonly topicName: string
  readonly partitionIndex: number
  /** 22 characters of base64url. */
  readonly topicId: string
  /** `topic-partition`, for messages. */
  readonly topicPartition: string
  readonly #dependencies: UnifiedLogDependencies
  readonly #segments: LogSegments
  readonly #producers: ProducerStateManager
  readonly #epochs: LeaderEpochFileCache
  readonly #writer: LogWriter
  readonly #reader: LogReader
  readonly #tail: LogTail
  #folder: string
  #config: LogConfig
  #logStartOffset: number
  #nextOffset: number
  #highWatermark: number
  #recoveryPoint: number
  #sizeBytes: number
  /** Age at which the active segment is rolled: `segment.ms` less its jitter. */
  #rollAfterMs: number
  #bytesSinceCheckpoint = 0
  #isCheckpointDue = false
  #unflushedSinceMs = 0
  #state: 'open' | 'truncating' | 'closed' = 'open'
  #truncations = 0
  /** The last of the maintenance tasks that were queued. */
  #maintenance: Promise<unknown> = Promise.resolve()
  /** Snapshots of rolls that are being written; maintenance waits for them. */
  #rollSnapshot: Promise<unknown> = Promise.resolve()

  constructor(state: LogState, dependencies: UnifiedLogDependencies) {
    this.topicName = state.topicName
    this.partitionIndex = state.partitionIndex
    this.topicId = state.topicId
    this.topicPartition = `${state.topicName}-${state.partitionIndex}`
    this.#dependencies = dependencies
    this.#folder = state.folder
    this.#config = state.config
    this.#segments = state.segments
    this.#producers = state.producers
    this.#epochs = state.epochs
    this.#logStartOffset = state.logStartOffset
    this.#nextOffset = state.logEndOffset
    this.#highWatermark = Math.min(Math.max(state.highWatermark, state.logStartOffset), state.logEndOffset)
    this.#recoveryPoint = state.recoveryPoint
    this.#sizeBytes = state.segments.sizeBytes
    this.#rollAfterMs = this.#drawRollAge()
    this.#tail = new LogTail(dependencies.tailCache)
    this.#reader = new LogReader(state.segments, dependencies.blocks, (segment) => this.#noteIndexUse(segment))
    this.#writer = new LogWriter({
      disk: dependencies.pool.disk,
      folder: state.folder,
      logEndOffset: state.logEndOffset,
      flushMessages: state.config.flushMessages,
      events: {
        onWritten: (append) => this.#onWritten(append),
        onProgress: () => dependencies.listener.onProgress(this),
        onFailure: (error) => dependencies.listener.onFailure(this, error),
        flushMore: () => (this.#epochs.isDirty ? this.#epochs.flush() : undefined),
      },
    })
  }

  get folder(): string {
    return this.#folder
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
    return Math.min(this.#producers.firstUnstableOffset() ?? Infinity, this.#highWatermark)
  }

  /** What lies below needs no check after an unclean stop. */
  get recoveryPoint(): number {
    return this.#recoveryPoint
  }

  /** Bytes of all segments. */
  get sizeBytes(): number {
    return this.#sizeBytes
  }

  get segmentCount(): number {
    return this.#segments.count
  }

  /** The error that ended appends, if one did. */
  get failure(): Error | undefined {
    return this.#writer.failure
  }

  /** The newest leader epoch that has records; -1: none yet. */
  get latestEpoch(): number {
    return this.#epochs.latestEpoch() ?? -1
  }

  get activeProducerCount(): number {
    return this.#producers.producerIdCount
  }

  /** The largest producer id in the producer state, -1 without one. */
  get highestProducerId(): number {
    let highest = -1
    for (const { producerId } of this.#producers.activeProducers()) highest = Math.max(highest, producerId)
    return highest
  }

  /** For DescribeProducers. */
  activeProducers(): IterableIterator<Readonly<ProducerStateEntry>> {
    return this.#producers.activeProducers()
  }

  /** Whether there is anything since the last checkpoint. */
  get needsCheckpoint(): boolean {
    return this.#nextOffset !== this.#recoveryPoint
  }

  /** About how many bytes follow the recovery point: what an unclean start would have to check. */
  get tailBytes(): number {
    return this.#bytesSinceCheckpoint
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
      prepared = this.#producers.prepareAppend(info.records, origin)
    } catch (error) {
      return failureOf(error)
    }
    const { duplicate } = prepared
    if (duplicate !== undefined) {
      const { firstOffset, lastOffset, timestamp } = duplicate
      return { ok: true, isDuplicate: true, info: this.#infoOf(firstOffset, lastOffset, timestamp, info) }
    }
    if (info.sizeInBytes > this.#config.segmentBytes) {
      const message = `a batch of ${info.sizeInBytes} bytes is larger than a segment (segment.bytes)`
      return failure(ErrorCode.RECORD_LIST_TOO_LARGE, message)
    }
    this.#epochs.assign(options.leaderEpoch, info.firstOffset)
    this.#enqueue(info.records, info.lastOffset, prepared)
    return {
      ok: true,
      isDuplicate: false,
      info: this.#infoOf(info.firstOffset, info.lastOffset, info.maxTimestamp, info),
    }
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
      let start = 0
      while (start < info.records.length) {
        const end = this.#endOfGroup(info.records, start)
        const group = info.records.subarray(start, end)
        const prepared = this.#producers.prepareAppend(group, 'replication')
        this.#assignEpochs(group)
        this.#enqueue(group, this.#lastOffsetOf(group), prepared)
        start = end
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
      return failureOf(error)
    }
  }

  /**
   * Reads whole batches from the one that holds `startOffset`, from memory if they are there (then `done` is called before
   * this returns), else from one segment.
   */
  read(startOffset: number, options: ReadOptions, done: (result: ReadResult) => void): void {
    if (this.#state === 'closed') {
      done(readFailure(ErrorCode.NOT_LEADER_OR_FOLLOWER, 'the log is closed'))
      return
    }
    const { failure: error, logEndOffset } = this.#writer
    if (error !== undefined) {
      done(readFailure(ErrorCode.KAFKA_STORAGE_ERROR, error.message))
      return
    }
    if (startOffset < this.#logStartOffset || startOffset > logEndOffset) {
      done(this.#outOfRange(startOffset))
      return
    }
    const upperBoundOffset = Math.min(options.upperBoundOffset, logEndOffset)
    if (startOffset >= upperBoundOffset || (options.maxBytes <= 0 && !options.minOneMessage)) {
      done({ ok: true, buffers: NOTHING, blocks: NO_BLOCKS, sizeBytes: 0, nextOffset: startOffset })
      return
    }
    if (this.#tail.holds(startOffset)) {
      const buffers: Buffer[] = []
      const { maxBytes, minOneMessage } = options
      const blocks: Block[] = []
      const nextOffset = this.#tail.collect(startOffset, upperBoundOffset, maxBytes, minOneMessage, buffers, blocks)
      done({ ok: true, buffers, blocks, sizeBytes: totalBytes(buffers), nextOffset })
      return
    }
    this.#readFromDisk(startOffset, options, upperBoundOffset, done)
  }

  /**
   * Moves the high watermark to `offset`, at most the log end. It never goes back here, only by truncation. Returns whether
   * it moved.
   */
  updateHighWatermark(offset: number): boolean {
    const highWatermark = Math.min(offset, this.#writer.logEndOffset)
    if (highWatermark <= this.#highWatermark) return false
    this.#highWatermark = highWatermark
    this.#producers.onHighWatermarkUpdated(highWatermark)
    return true
  }

  /** The first record whose timestamp is `timestamp` or later. */
  async offsetForTimestamp(timestamp: number): Promise<TimestampAndOffset | undefined> {
    return await this.#search((range) => findByTimestamp(range, timestamp))
  }

  /** The first record that has the largest timestamp (KIP-734). */
  async offsetOfMaxTimestamp(): Promise<TimestampAndOffset | undefined> {
    return await this.#search(findMaxTimestamp)
  }

  /** The leader epoch in which the record at `offset` was written, if known. */
  epochForOffset(offset: number): number | undefined {
    return this.#epochs.epochForOffset(offset)
  }

  /** Where `leaderEpoch`, or the largest epoch below it, ends. */
  endOffsetForEpoch(leaderEpoch: number): EpochEndOffset {
    return this.#epochs.endOffsetFor(leaderEpoch, this.#writer.logEndOffset)
  }

  /** Notes where an epoch begins before it has a record: a new leader calls it with its `nextOffset`. */
  assignEpochStartOffset(leaderEpoch: number, startOffset: number): void {
    this.#epochs.assign(leaderEpoch, startOffset)
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
      await this.#whileTruncating(offset, async () => {
        if (offset < this.#segments.first.baseOffset) await this.#startAnewAt(offset)
        else await this.#cutAt(offset)
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
      this.#producers.removeExpiredProducers()
      await this.#loadTimestamps()
      const nowMs = this.#dependencies.clock.wallMs()
      const { active } = this.#segments
      if (active.sizeBytes > 0 && nowMs - active.createdMs >= this.#rollAfterMs) this.#roll()
      const retention = {
        nowMs,
        config: this.#config,
        logStartOffset: this.#logStartOffset,
        highWatermark: this.#highWatermark,
        nextOffset: this.#nextOffset,
      }
      const count = deletableSegments(this.#segments.all(), retention)
      if (count === 0) return 0
      // The active segment goes only after a new one, whose name keeps the log end offset, is there durably.
      if (count === this.#segments.count) this.#roll()
      await this.#writer.flushTo(this.#nextOffset)
      await this.#ensureActiveFile()
      await this.#removeFirstSegments(count)
      return count
    })
  }

  updateConfig(config: LogConfig): void {
    if (config.segmentMs !== this.#config.segmentMs || config.segmentJitterMs !== this.#config.segmentJitterMs) {
      this.#config = config
      this.#rollAfterMs = this.#drawRollAge()
    }
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
      this.#tail.clear()
      try {
        if (this.failure === undefined) {
          const { active } = this.#segments
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
      this.#tail.clear()
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
    if (error !== undefined) return failure(ErrorCode.KAFKA_STORAGE_ERROR, `the log is offline: ${error.message}`)
    return failure(ErrorCode.NOT_LEADER_OR_FOLLOWER, `the log is ${this.#state}`)
  }

  #infoOf(firstOffset: number, lastOffset: number, maxTimestamp: number, from: LogAppendInfo): AppendInfo {
    return {
      firstOffset,
      lastOffset,
      logAppendTimeMs: from.logAppendTimeMs,
      maxTimestamp,
      recordCount: from.recordsCount,
      sizeBytes: from.sizeInBytes,
      logStartOffset: this.#logStartOffset,
    }
  }

  /** Takes an append into segment, producer state and write queue. It fits into a segment. */
  #enqueue(records: Buffer, lastOffset: number, prepared: PreparedAppend): void {
    const { clock } = this.#dependencies
    if (this.#mustRollFor(records.length, lastOffset)) this.#roll()
    const nextOffset = lastOffset + 1
    this.#producers.applyAppend(prepared, nextOffset)
    for (const completedTxn of prepared.completedTxns) this.#producers.completeTxn(completedTxn)
    const segment = this.#segments.active
    const nowMs = clock.wallMs()
    if (segment.sizeBytes === 0) segment.createdMs = nowMs
    segment.lastModifiedMs = nowMs
    segment.noteBatches(records, segment.sizeBytes, this.#config.indexIntervalBytes)
    segment.sizeBytes += records.length
    this.#sizeBytes += records.length
    this.#nextOffset = nextOffset
    if (this.#writer.durableOffset === this.#writer.logEndOffset) this.#unflushedSinceMs = clock.monotonicMs()
    const stored = this.#dependencies.arena.store(records)
    this.#writer.enqueue({ ...stored, segment, nextOffset })
  }

  #mustRollFor(bytes: number, lastOffset: number): boolean {
    const { active } = this.#segments
    if (!active.canHold(lastOffset)) return true
    if (active.sizeBytes === 0) return false
    return (
      active.sizeBytes + bytes > this.#config.segmentBytes ||
      this.#dependencies.clock.wallMs() - active.createdMs >= this.#rollAfterMs ||
      active.isIndexFull(this.#config.segmentIndexBytes)
    )
  }

  /** Begins a new segment at `nextOffset`; all else that a roll needs happens later. */
  #roll(): void {
    const { pool, clock } = this.#dependencies
    const { active } = this.#segments
    if (active.sizeBytes === 0 && active.baseOffset === this.#nextOffset) return
    active.seal()
    // The state is exactly that of the new segment's base offset now: encoded at once, written when the disk can.
    if (this.#mustSnapshot()) this.#rollSnapshot = Promise.all([this.#rollSnapshot, this.#takeSnapshot()])
    const segment = LogSegment.begin(pool, this.#folder, this.#nextOffset, clock.wallMs())
    this.#segments.push(segment)
    this.#rollAfterMs = this.#drawRollAge()
    this.#writer.enqueue({ records: EMPTY, block: undefined, segment, nextOffset: this.#nextOffset })
    this.#requestCheckpoint()
  }

  #mustSnapshot(): boolean {
    return !this.#producers.isEmpty || this.#producers.latestSnapshotOffset !== undefined
  }

  async #takeSnapshot(): Promise<void> {
    try {
      await this.#producers.takeSnapshot()
    } catch (error) {
      this.#writer.fail(asError(error))
    }
  }

  #drawRollAge(): number {
    const jitterMs = Math.min(this.#config.segmentJitterMs, this.#config.segmentMs)
    return this.#config.segmentMs - Math.floor(this.#dependencies.random.next() * jitterMs)
  }

  #onWritten({ records, nextOffset, block }: QueuedAppend): void {
    if (block === undefined) return
    this.#tail.add(records, nextOffset, block)
    this.#bytesSinceCheckpoint += records.length
    if (this.#bytesSinceCheckpoint >= this.#dependencies.checkpointBytes) this.#requestCheckpoint()
  }

  /** Has a checkpoint made soon, unless one is due already. */
  #requestCheckpoint(): void {
    if (this.#isCheckpointDue || this.#state === 'closed') return
    this.#isCheckpointDue = true
    this.checkpoint().catch((error: unknown) => this.#writer.fail(asError(error)))
  }

  /** Runs `work` after all maintenance that was asked for before. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#maintenance.then(work)
    this.#maintenance = result.catch(() => undefined)
    return result
  }

  async #checkpoint(): Promise<void> {
    this.#isCheckpointDue = false
    this.#bytesSinceCheckpoint = 0
    await this.#rollSnapshot
    const offset = this.#nextOffset
    if (this.failure !== undefined) throw this.failure
    const snapshot = this.#mustSnapshot() ? this.#producers.takeSnapshot() : undefined
    snapshot?.catch(() => undefined)
    await this.#writer.flushTo(offset)
    await snapshot
    await this.#persistIndexesBefore(offset)
    if (this.#epochs.isDirty) await this.#epochs.flush()
    await this.#producers.removeStraySnapshots(this.#segments.baseOffsets())
    if (offset <= this.#recoveryPoint) return
    this.#recoveryPoint = offset
    this.#dependencies.host.recoveryPointMoved()
  }

  async #persistIndexesBefore(offset: number): Promise<void> {
    let hasNewFile = false
    for (const segment of [...this.#segments.all()]) {
      if (segment.baseOffset < offset && (await segment.persistIndexes())) hasNewFile = true
    }
    if (hasNewFile) await this.#dependencies.pool.disk.syncFolder(this.#folder)
  }

  #noteIndexUse(segment: LogSegment): void {
    if (segment !== this.#segments.active) this.#dependencies.indexCache.used(segment)
  }

  #readFromDisk(
    startOffset: number,
    options: ReadOptions,
    upperBoundOffset: number,
    done: (result: ReadResult) => void,
  ): void {
    const truncations = this.#truncations
    const { maxBytes, minOneMessage } = options
    const { indexIntervalBytes } = this.#config
    const request = { startOffset, upperBoundOffset, maxBytes, minOneMessage, indexIntervalBytes }
    this.#reader.read(request, (error, found, nextOffset) => {
      const isTruncating = this.#state === 'truncating'
      if (isTruncating || truncations !== this.#truncations || error instanceof DroppedFileError) {
        if (isTruncating) done(readFailure(ErrorCode.NOT_LEADER_OR_FOLLOWER, 'the log is truncating'))
        else this.read(startOffset, options, done)
      } else if (error !== null) {
        this.#dependencies.logger.error(
          { topicPartition: this.topicPartition, startOffset, err: error },
          'a read failed',
        )
        done(readFailure(ErrorCode.KAFKA_STORAGE_ERROR, error.message))
      } else {
        const buffers = found === undefined ? NOTHING : [found.records]
        const blocks = found === undefined ? NO_BLOCKS : [found.block]
        done({ ok: true, buffers, blocks, sizeBytes: found?.records.length ?? 0, nextOffset })
      }
    })
  }

  #outOfRange(offset: number): ReadResult {
    const range = `[${this.#logStartOffset}, ${this.#writer.logEndOffset}]`
    const message = `offset ${offset} of ${this.topicPartition} is outside of the log ${range}`
    return readFailure(ErrorCode.OFFSET_OUT_OF_RANGE, message)
  }

  async #search(
    find: (range: Parameters<typeof findMaxTimestamp>[0]) => Promise<TimestampAndOffset | undefined>,
  ): Promise<TimestampAndOffset | undefined> {
    for (;;) {
      const truncations = this.#truncations
      const segments = this.#segments.from(this.#logStartOffset)
      try {
        const found = await find({
          segments,
          logStartOffset: this.#logStartOffset,
          logEndOffset: this.#writer.logEndOffset,
          indexIntervalBytes: this.#config.indexIntervalBytes,
        })
        if (truncations === this.#truncations && this.#state !== 'truncating') return found
      } catch (error) {
        const isChanging = truncations !== this.#truncations || this.#state === 'truncating'
        if ((!isChanging && !(error instanceof DroppedFileError)) || this.#state === 'closed') throw error
      }
      // Segments were cut or deleted meanwhile: the search starts again on what is left.
      await this.#maintenance
      for (const segment of segments) this.#noteIndexUse(segment)
    }
  }

  /** Where the largest group of batches from `start` ends that fits into one segment: into the active one, if one does. */
  #endOfGroup(records: Buffer, start: number): number {
    const { active } = this.#segments
    let end = start + recordBatch.sizeInBytes(records, start)
    const firstOffset = recordBatch.baseOffset(records, start)
    const isRolled = this.#mustRollFor(end - start, recordBatch.lastOffset(records, start))
    const usedBytes = isRolled ? 0 : active.sizeBytes
    const baseOffset = isRolled ? firstOffset : active.baseOffset
    while (end < records.length) {
      const next = end + recordBatch.sizeInBytes(records, end)
      if (usedBytes + next - start > this.#config.segmentBytes) break
      if (recordBatch.lastOffset(records, end) - baseOffset > 0x7fff_ffff) break
      end = next
    }
    return end
  }

  #lastOffsetOf(records: Buffer): number {
    let last = -1
    for (const position of recordBatch.batchPositions(records)) last = recordBatch.lastOffset(records, position)
    return last
  }

  #assignEpochs(records: Buffer): void {
    for (const position of recordBatch.batchPositions(records)) {
      const leaderEpoch = recordBatch.partitionLeaderEpoch(records, position)
      if (leaderEpoch >= 0) this.#epochs.assign(leaderEpoch, recordBatch.baseOffset(records, position))
    }
  }

  /** Runs a truncation down to `offset` with appends refused and nothing in flight. A failure takes the log offline. */
  async #whileTruncating(offset: number, truncate: () => Promise<void>): Promise<void> {
    if (this.#state === 'closed') throw new Error(`the log of ${this.topicPartition} is closed`)
    this.#state = 'truncating'
    this.#truncations++
    try {
      await this.#writer.hold()
      await this.#rollSnapshot
      this.#highWatermark = Math.min(this.#highWatermark, offset)
      this.#recoveryPoint = Math.min(this.#recoveryPoint, offset)
      // Before anything changes: a crash from now on checks what is at and past the new end.
      await this.#dependencies.host.persistRecoveryPoints()
      await truncate()
      this.#reader.forgetHints()
      this.#writer.reset(this.#nextOffset)
      this.#sizeBytes = this.#segments.sizeBytes
      this.#truncations++
    } catch (error) {
      this.#writer.fail(asError(error))
      throw error
    } finally {
      this.#writer.resume()
      this.#state = 'open'
    }
  }

  async #cutAt(offset: number): Promise<void> {
    const { disk } = this.#dependencies.pool
    // From the newest to the oldest, each removal durable before the next: what a crash leaves is a log without a gap.
    while (this.#segments.count > 1 && this.#segments.active.baseOffset >= offset) {
      const { active } = this.#segments
      this.#segments.removeActive()
      await active.remove()
      await disk.syncFolder(this.#folder)
    }
    const { active } = this.#segments
    let logEndOffset = active.baseOffset
    const { endPosition } = await active.restore(offset, this.#config.indexIntervalBytes, (buffer, position) => {
      logEndOffset = recordBatch.nextOffset(buffer, position)
    })
    await active.withFile(async (file) => {
      await file.truncate(endPosition)
      await new Promise<void>((resolve, reject) => {
        file.datasync((error) => {
          if (error === null) resolve()
          else reject(error)
        })
      })
    })
    active.cut(endPosition)
    active.durableBytes = endPosition
    active.file.unpin()
    await active.persistIndexes()
    this.#endAt(logEndOffset)
    this.#epochs.truncateFromEnd(logEndOffset)
    await this.#epochs.flush()
    await this.#producers.truncateAndReload(this.#logStartOffset, logEndOffset)
    await replayProducers(this.#producers, this.#segments, logEndOffset, this.#config.indexIntervalBytes)
  }

  async #startAnewAt(offset: number): Promise<void> {
    const { pool, clock, host } = this.#dependencies
    while (this.#segments.count > 1) {
      const { active } = this.#segments
      this.#segments.removeActive()
      await active.remove()
      await pool.disk.syncFolder(this.#folder)
    }
    await this.#segments.first.remove()
    await pool.disk.syncFolder(this.#folder)
    await this.#producers.truncateFullyAndStartAt(offset)
    this.#epochs.clear()
    await this.#epochs.flush()
    const segment = LogSegment.begin(pool, this.#folder, offset, clock.wallMs())
    this.#segments.replaceAll(segment)
    await this.#makeFile(segment)
    this.#logStartOffset = offset
    this.#recoveryPoint = offset
    this.#endAt(offset)
    this.#highWatermark = offset
    await host.persistLogStartOffsets()
    await host.persistRecoveryPoints()
  }

  #endAt(offset: number): void {
    this.#nextOffset = offset
    this.#tail.truncateTo(offset)
    this.#highWatermark = Math.min(this.#highWatermark, offset)
    this.#recoveryPoint = Math.min(this.#recoveryPoint, offset)
    this.#logStartOffset = Math.min(this.#logStartOffset, offset)
  }

  async #makeFile(segment: LogSegment): Promise<void> {
    const { disk } = this.#dependencies.pool
    segment.file.adopt(await disk.open(segment.path('.log'), 'create'))
    segment.isOnDisk = true
    await disk.syncFolder(this.#folder)
  }

  /** The writer has made the active segment's file, durably. */
  async #ensureActiveFile(): Promise<void> {
    await this.#writer.whenCreated(this.#segments.active)
    await this.#dependencies.pool.disk.syncFolder(this.#folder)
  }

  async #removeFirstSegments(count: number): Promise<void> {
    const { pool, host } = this.#dependencies
    const removed = this.#segments.removeFirst(count)
    this.#logStartOffset = Math.max(this.#logStartOffset, this.#segments.first.baseOffset)
    this.#sizeBytes = this.#segments.sizeBytes
    // Before the first file goes: whatever a crash leaves of the others is then known to be a leftover.
    await host.persistLogStartOffsets()
    for (const segment of removed) await segment.remove()
    await pool.disk.syncFolder(this.#folder)
    this.#producers.onLogStartOffsetIncremented(this.#logStartOffset)
    await this.#producers.deleteSnapshotsBefore(this.#logStartOffset)
    if (this.#epochs.truncateFromStart(this.#logStartOffset)) await this.#epochs.flush()
  }

  /** Retention by time needs the largest timestamp of the oldest segments. */
  async #loadTimestamps(): Promise<void> {
    if (this.#config.retentionMs < 0 || !this.#config.cleanupPolicy.delete) return
    const oldest = this.#dependencies.clock.wallMs() - this.#config.retentionMs
    for (const segment of [...this.#segments.all()]) {
      if (segment.maxTimestamp === undefined) {
        await segment.loadIndexes(this.#config.indexIntervalBytes)
        this.#noteIndexUse(segment)
      }
      if (Math.min(segment.maxTimestamp ?? Infinity, segment.lastModifiedMs) >= oldest) break
    }
  }

  async #dropFiles(): Promise<void> {
    for (const segment of this.#segments.all()) await segment.file.drop()
  }
}

const EMPTY = Buffer.alloc(0)

function failure(errorCode: number, message: string): AppendFailure {
  return { ok: false, errorCode, message, recordErrors: [] }
}

/** What the checks of an append throw, as its outcome. Anything else is a bug and is thrown on. */
function failureOf(error: unknown): AppendFailure {
  if (error instanceof RecordsError) {
    const { errorCode, message, recordErrors } = error
    return { ok: false, errorCode, message, recordErrors }
  }
  if (error instanceof ProducerStateError) return failure(error.errorCode, error.message)
  if (error instanceof UnexpectedAppendOffsetError) return failure(ErrorCode.OFFSET_OUT_OF_RANGE, error.message)
  throw error
}

function readFailure(errorCode: number, message: string): ReadResult {
  return { ok: false, errorCode, message }
}

function totalBytes(buffers: readonly Buffer[]): number {
  let total = 0
  for (const buffer of buffers) total += buffer.length
  return total
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
