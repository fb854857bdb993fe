/**
 * What a log knows of the producers that write to it: for idempotence the last five batches of each, for transactions the
 * open ones and those whose marker is not replicated yet. Kafka's ProducerStateManager, with its snapshot files.
 *
 * An append takes two steps. {@link ProducerStateManager.prepareAppend} checks batches whose offsets are assigned and
 * changes nothing; {@link ProducerStateManager.applyAppend} makes the result the state. Both are synchronous and belong in
 * one turn of the event loop, when the append is queued: the next batch of the same producer is checked against it, even
 * while the bytes are still on their way to the disk. (If they never get there, the log takes no more appends.)
 *
 * The other methods that return promises touch files; the log calls them one at a time, and appends nothing while it
 * truncates or reloads.
 *
 * Expiry counts from the last append as this process saw it, on the monotonic clock, and never takes a producer with an
 * open transaction: record timestamps are the client's words, and neither they nor a clock step may make a broker forget
 * a producer that is about to retry. After a restart the count starts anew.
 */
import type { Clock } from '../../common/clock.ts'
import type { Disk } from '../../common/disk.ts'
import { invariant } from '../../common/invariant.ts'
import type { Logger } from '../../common/logger.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import {
  CorruptSnapshotError,
  decodeSnapshot,
  encodeSnapshot,
  snapshotFileName,
  snapshotOffsetOf,
} from './producer-snapshot.ts'
import type { BatchMetadata, CompletedTxn, ProducerAppendOrigin } from './producer-state.ts'
import { NO_TXN, ProducerAppendInfo, ProducerStateEntry } from './producer-state.ts'

/** A transaction counts as late when its timeout and this have passed since its last append. */
const LATE_TRANSACTION_BUFFER_MS = 5 * 60 * 1000

export interface ProducerStateManagerOptions {
  /** `topic-partition`, for messages. */
  readonly topicPartition: string
  readonly disk: Disk
  /** The log's folder. */
  readonly folder: string
  readonly clock: Clock
  readonly logger: Logger
  /** `producer.id.expiration.ms` */
  readonly producerIdExpirationMs: number
  /** `transaction.max.timeout.ms` */
  readonly maxTransactionTimeoutMs: number
}

/** What {@link ProducerStateManager.prepareAppend} found. */
export interface PreparedAppend {
  /** The batch is a repetition of this one: nothing is to be appended. */
  readonly duplicate: BatchMetadata | undefined
  readonly updates: readonly ProducerAppendInfo[]
  /** To be written to the transaction index, then given to {@link ProducerStateManager.completeTxn}, in this order. */
  readonly completedTxns: readonly CompletedTxn[]
}

/** The result for batches of no producer: the common case costs nothing. */
const nothingToUpdate: PreparedAppend = { duplicate: undefined, updates: [], completedTxns: [] }

interface TxnMetadata {
  readonly producerId: number
  readonly firstOffset: number
  /** The offset of the marker; -1 while the transaction is open. */
  readonly lastOffset: number
}

export class ProducerStateManager {
  readonly #options: ProducerStateManagerOptions
  readonly #folder: string
  readonly #producers = new Map<number, ProducerStateEntry>()
  /** Open transactions by their first offset; ascending, since a transaction begins at the log's end. */
  readonly #ongoingTxns = new Map<number, TxnMetadata>()
  /** Ended transactions whose marker may be above the high watermark, by their first offset. */
  readonly #unreplicatedTxns = new Map<number, TxnMetadata>()
  /** Offsets of the snapshot files, ascending. */
  #snapshotOffsets: number[] = []
  /** The state covers all records before this offset. */
  #lastMapOffset = 0
  #lastSnapOffset = 0

  private constructor(options: ProducerStateManagerOptions) {
    this.#options = options
    this.#folder = options.folder
  }

  /**
   * Finds the snapshot files in the folder; reads none yet (that is {@link truncateAndReload}). `names`: the files of the
   * folder, where the caller has listed it.
   */
  static async open(options: ProducerStateManagerOptions, names?: Iterable<string>): Promise<ProducerStateManager> {
    const manager = new ProducerStateManager(options)
    for (const name of names ?? (await options.disk.list(options.folder)).map((entry) => entry.name)) {
      const offset = snapshotOffsetOf(name)
      if (offset !== undefined) manager.#snapshotOffsets.push(offset)
    }
    manager.#snapshotOffsets.sort((a, b) => a - b)
    return manager
  }

  /** How many producers are known. */
  get producerIdCount(): number {
    return this.#producers.size
  }

  get isEmpty(): boolean {
    return this.#producers.size === 0 && this.#unreplicatedTxns.size === 0
  }

  /** The state covers all records before this offset. */
  get mapEndOffset(): number {
    return this.#lastMapOffset
  }

  get latestSnapshotOffset(): number | undefined {
    return this.#snapshotOffsets.at(-1)
  }

  get oldestSnapshotOffset(): number | undefined {
    return this.#snapshotOffsets[0]
  }

  /** Offsets of the snapshot files, ascending: a copy. */
  snapshotOffsets(): number[] {
    return [...this.#snapshotOffsets]
  }

  /** All known producers (DescribeProducers). Don't change them. */
  activeProducers(): IterableIterator<Readonly<ProducerStateEntry>> {
    return this.#producers.values()
  }

  lastEntry(producerId: number): Readonly<ProducerStateEntry> | undefined {
    return this.#producers.get(producerId)
  }

  /**
   * Checks an append of whole batches with assigned offsets against the state, and works out what it changes. A batch of a
   * client that repeats one of the producer's last five is reported as `duplicate`.
   *
   * @throws {@link ProducerStateError} with the code for the answer; {@link RecordsError} for a malformed marker.
   */
  prepareAppend(records: Buffer, origin: ProducerAppendOrigin): PreparedAppend {
    let info: ProducerAppendInfo | undefined
    // A map only for appends of several producers, which none of a client is.
    let several: Map<number, ProducerAppendInfo> | undefined
    let completedTxns: CompletedTxn[] | undefined
    for (let position = 0, end = 0; position < records.length; position = end) {
      end = recordBatch.batchEnd(records, position)
      invariant(end > 0, 'an append is whole batches')
      if (!recordBatch.hasProducerId(records, position)) continue
      const producerId = recordBatch.producerId(records, position)
      if (origin === 'client') {
        const duplicate = this.#findDuplicate(records, position, producerId)
        if (duplicate !== undefined) return { ...nothingToUpdate, duplicate }
      }
      if (info?.updated.producerId !== producerId) {
        if (info !== undefined) several ??= new Map([[info.updated.producerId, info]])
        info = several?.get(producerId) ?? this.#prepareUpdate(producerId, origin)
        several?.set(producerId, info)
      }
      const completedTxn = info.append(records, position)
      if (completedTxn !== undefined) (completedTxns ??= []).push(completedTxn)
    }
    if (info === undefined) return nothingToUpdate
    return {
      duplicate: undefined,
      updates: several === undefined ? [info] : [...several.values()],
      completedTxns: completedTxns ?? nothingToUpdate.completedTxns,
    }
  }

  /**
   * Makes what {@link prepareAppend} found the state. `nextOffset` is the offset after the append; it counts for batches
   * without a producer too, so that snapshots are of the log's end.
   */
  applyAppend(prepared: PreparedAppend, nextOffset: number): void {
    const nowSeconds = this.#nowSeconds()
    for (const info of prepared.updates) {
      const { updated } = info
      const current = this.#producers.get(updated.producerId)
      if (current === undefined) this.#producers.set(updated.producerId, updated)
      else current.update(updated)
      ;(current ?? updated).lastAppendSeconds = nowSeconds
      for (const firstOffset of info.startedTxns) {
        this.#ongoingTxns.set(firstOffset, { producerId: updated.producerId, firstOffset, lastOffset: -1 })
      }
    }
    this.#lastMapOffset = nextOffset
  }

  /** The last stable offset once this transaction is complete: what the transaction index records with it. */
  lastStableOffset(completedTxn: CompletedTxn): number {
    for (const txn of this.#ongoingTxns.values()) {
      if (txn.producerId !== completedTxn.producerId) return txn.firstOffset
    }
    return completedTxn.lastOffset + 1
  }

  /** Ends a transaction. It still holds the last stable offset back until the high watermark has passed its marker. */
  completeTxn(completedTxn: CompletedTxn): void {
    const { firstOffset, lastOffset, producerId } = completedTxn
    invariant(this.#ongoingTxns.delete(firstOffset), `no transaction starts at offset ${firstOffset}`)
    this.#unreplicatedTxns.set(firstOffset, { producerId, firstOffset, lastOffset })
  }

  /** The high watermark moved: transactions whose markers are below it are stable. */
  onHighWatermarkUpdated(highWatermark: number): void {
    this.#removeUnreplicatedTxns(highWatermark)
  }

  /** Start of the earliest transaction that is open, or whose end is not replicated yet. */
  firstUnstableOffset(): number | undefined {
    let first = this.firstUndecidedOffset() ?? Infinity
    for (const firstOffset of this.#unreplicatedTxns.keys()) first = Math.min(first, firstOffset)
    return first === Infinity ? undefined : first
  }

  /** Start of the earliest open transaction. */
  firstUndecidedOffset(): number | undefined {
    for (const firstOffset of this.#ongoingTxns.keys()) return firstOffset
    return undefined
  }

  /** Whether the oldest transaction has been open for longer than any coordinator lets one be: it hangs. */
  hasLateTransaction(): boolean {
    for (const txn of this.#ongoingTxns.values()) {
      const lastAppendSeconds = this.#producers.get(txn.producerId)?.lastAppendSeconds
      if (lastAppendSeconds === undefined) return false
      const limitMs = this.#options.maxTransactionTimeoutMs + LATE_TRANSACTION_BUFFER_MS
      return (this.#nowSeconds() - lastAppendSeconds) * 1000 > limitMs
    }
    return false
  }

  /** Forgets the producers that appended nothing for `producer.id.expiration.ms`. Returns how many. */
  removeExpiredProducers(): number {
    const before = this.#producers.size
    const oldest = this.#nowSeconds() - this.#options.producerIdExpirationMs / 1000
    for (const entry of this.#producers.values()) {
      const hasOpenTxn = entry.currentTxnFirstOffset !== NO_TXN
      if (!hasOpenTxn && entry.lastAppendSeconds <= oldest) this.#producers.delete(entry.producerId)
    }
    return before - this.#producers.size
  }

  /**
   * Writes the state to `<mapEndOffset>.snapshot`, durably; nothing when that offset has one, or nothing was appended
   * since. What is written is the state at the time of the call. Returns the snapshot's offset.
   */
  async takeSnapshot(): Promise<number | undefined> {
    const offset = this.#lastMapOffset
    if (offset <= this.#lastSnapOffset) return undefined
    const before = this.#lastSnapOffset
    this.#lastSnapOffset = offset
    try {
      await this.#options.disk.replaceFile(this.#path(offset), encodeSnapshot(this.#producers))
    } catch (error) {
      this.#lastSnapOffset = before
      throw error
    }
    if (!this.#snapshotOffsets.includes(offset)) {
      this.#snapshotOffsets.push(offset)
      this.#snapshotOffsets.sort((a, b) => a - b)
    }
    return offset
  }

  /**
   * The log was loaded, or truncated to `logEndOffset`: deletes the snapshots outside of (logStartOffset, logEndOffset],
   * and, unless the state ends exactly at `logEndOffset`, starts again from the newest snapshot that is left and readable.
   * The log then replays its batches from {@link mapEndOffset} on.
   */
  async truncateAndReload(logStartOffset: number, logEndOffset: number): Promise<void> {
    await this.#deleteSnapshots((offset) => offset > logEndOffset || offset <= logStartOffset)
    if (logEndOffset === this.#lastMapOffset) {
      this.onLogStartOffsetIncremented(logStartOffset)
      return
    }
    this.#clear()
    await this.#loadNewestSnapshot(logStartOffset)
  }

  /** The log was emptied and starts at `offset`: forgets everything and deletes all snapshots. */
  async truncateFullyAndStartAt(offset: number): Promise<void> {
    this.#clear()
    await this.#deleteSnapshots(() => true)
    this.#lastSnapOffset = 0
    this.#lastMapOffset = offset
  }

  /** Records before `logStartOffset` are gone. Producers stay known until they expire. */
  onLogStartOffsetIncremented(logStartOffset: number): void {
    this.#removeUnreplicatedTxns(logStartOffset)
    this.#lastMapOffset = Math.max(this.#lastMapOffset, logStartOffset)
    this.#lastSnapOffset = this.latestSnapshotOffset ?? logStartOffset
  }

  /**
   * Deletes the snapshots that belong to no segment, but keeps the newest one if it is newer than all segments: a clean
   * shutdown wrote it.
   */
  async removeStraySnapshots(segmentBaseOffsets: readonly number[]): Promise<void> {
    const baseOffsets = new Set(segmentBaseOffsets)
    const newestBaseOffset = segmentBaseOffsets.reduce((a, b) => Math.max(a, b), -1)
    const newest = this.latestSnapshotOffset
    await this.#deleteSnapshots(
      (offset) => !baseOffsets.has(offset) && !(offset === newest && offset > newestBaseOffset),
    )
  }

  /** Deletes the snapshots below `offset`. */
  async deleteSnapshotsBefore(offset: number): Promise<void> {
    await this.#deleteSnapshots((snapshotOffset) => snapshotOffset < offset)
  }

  /** Deletes the snapshot at `offset`, if there is one: its segment is deleted. */
  async deleteSnapshot(offset: number): Promise<void> {
    await this.#deleteSnapshots((snapshotOffset) => snapshotOffset === offset)
  }

  #prepareUpdate(producerId: number, origin: ProducerAppendOrigin): ProducerAppendInfo {
    const current = this.#producers.get(producerId) ?? new ProducerStateEntry(producerId)
    return new ProducerAppendInfo(this.#options.topicPartition, origin, current)
  }

  #findDuplicate(records: Buffer, position: number, producerId: number): BatchMetadata | undefined {
    return this.#producers
      .get(producerId)
      ?.findDuplicate(
        recordBatch.producerEpoch(records, position),
        recordBatch.baseSequence(records, position),
        recordBatch.lastSequence(records, position),
      )
  }

  #removeUnreplicatedTxns(offset: number): void {
    for (const txn of this.#unreplicatedTxns.values()) {
      if (txn.lastOffset < offset) this.#unreplicatedTxns.delete(txn.firstOffset)
    }
  }

  /** The log's end is at or below the high watermark when this is called, so no unreplicated transaction is lost. */
  #clear(): void {
    this.#producers.clear()
    this.#ongoingTxns.clear()
    this.#unreplicatedTxns.clear()
  }

  async #loadNewestSnapshot(logStartOffset: number): Promise<void> {
    for (let offset = this.latestSnapshotOffset; offset !== undefined; offset = this.latestSnapshotOffset) {
      try {
        const content = await this.#options.disk.readFile(this.#path(offset))
        if (content === undefined) throw new CorruptSnapshotError('the file is missing')
        this.#load(decodeSnapshot(content))
        this.#lastMapOffset = offset
        this.#lastSnapOffset = offset
        return
      } catch (error) {
        if (!(error instanceof CorruptSnapshotError)) throw error
        this.#options.logger.warn(
          { topicPartition: this.#options.topicPartition, offset, reason: error.message },
          'a producer snapshot is unreadable; the state is rebuilt from an older one',
        )
        await this.deleteSnapshot(offset)
      }
    }
    this.#lastMapOffset = logStartOffset
    this.#lastSnapOffset = logStartOffset
  }

  #load(entries: readonly ProducerStateEntry[]): void {
    const nowSeconds = this.#nowSeconds()
    for (const entry of entries) {
      entry.lastAppendSeconds = nowSeconds
      this.#producers.set(entry.producerId, entry)
    }
    const open = entries.filter((entry) => entry.currentTxnFirstOffset !== NO_TXN)
    open.sort((a, b) => a.currentTxnFirstOffset - b.currentTxnFirstOffset)
    for (const { producerId, currentTxnFirstOffset: firstOffset } of open) {
      this.#ongoingTxns.set(firstOffset, { producerId, firstOffset, lastOffset: -1 })
    }
  }

  /** Deletes, durably, the snapshot files whose offsets match. */
  async #deleteSnapshots(matches: (offset: number) => boolean): Promise<void> {
    const doomed = this.#snapshotOffsets.filter(matches)
    if (doomed.length === 0) return
    this.#snapshotOffsets = this.#snapshotOffsets.filter((offset) => !matches(offset))
    for (const offset of doomed) await this.#options.disk.remove(this.#path(offset))
    await this.#options.disk.syncFolder(this.#folder)
  }

  #path(offset: number): string {
    return `${this.#folder}/${snapshotFileName(offset)}`
  }

  #nowSeconds(): number {
    return Math.floor(this.#options.clock.monotonicMs() / 1000)
  }
}
