/**
 * One replica of one partition on this broker: its log, its leadership, its high watermark, and who waits for them.
 *
 * Invariants:
 * - It leads an epoch only while the entry names this broker as leader with the broker's own acknowledged epoch.
 * - The high watermark never goes back within the life of the log object, and never passes what the ISR has flushed:
 *   with this broker as the only replica, its own flushed offset.
 * - Records become visible to consumers, and acks=all is answered, only below the high watermark.
 * - The high watermark stands still while the committed ISR is smaller than min(minIsr, replicas) (KIP-966).
 */
import type { PartitionEntry } from '../../crds/partition-slice.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import type { AppendOptions, AppendOutcome } from '../storage/log-types.ts'
import type { UnifiedLog } from '../storage/unified-log.ts'
import { OffsetWaiters, type OffsetWaiter } from './offset-waiters.ts'

/** Is told when there may be more to read from a partition, or when it can no longer be read here. */
export interface ReadWaiter {
  partitionChanged(partition: Partition): void
}

/** Cumulative counts since the partition was opened here, for metrics. */
export interface PartitionStats {
  recordsIn: number
  bytesIn: number
  bytesOut: number
  produceRequests: number
  fetchRequests: number
  failedProduceRequests: number
  failedFetchRequests: number
}

export class Partition {
  readonly key: string
  readonly topicName: string
  readonly partition: number
  readonly log: UnifiedLog
  readonly stats: PartitionStats = {
    recordsIn: 0,
    bytesIn: 0,
    bytesOut: 0,
    produceRequests: 0,
    fetchRequests: 0,
    failedProduceRequests: 0,
    failedFetchRequests: 0,
  }
  readonly #brokerId: number
  readonly #committed = new OffsetWaiters()
  readonly #written = new OffsetWaiters()
  readonly #readers = new Set<ReadWaiter>()
  #entry: PartitionEntry
  #isLeader = false

  constructor(
    brokerId: number,
    key: string,
    topicName: string,
    partition: number,
    log: UnifiedLog,
    entry: PartitionEntry,
  ) {
    this.#brokerId = brokerId
    this.key = key
    this.topicName = topicName
    this.partition = partition
    this.log = log
    this.#entry = entry
  }

  get entry(): PartitionEntry {
    return this.#entry
  }

  get topicId(): string {
    return this.#entry.topicId
  }

  get isLeader(): boolean {
    return this.#isLeader
  }

  get leaderEpoch(): number {
    return this.#entry.leaderEpoch
  }

  get highWatermark(): number {
    return this.log.highWatermark
  }

  get isUnderReplicated(): boolean {
    return this.#isLeader && this.#entry.isr.length < this.#entry.replicas.length
  }

  get isUnderMinIsr(): boolean {
    return this.#isLeader && this.#entry.isr.length < this.#effectiveMinIsr
  }

  get isAtMinIsr(): boolean {
    return this.#isLeader && this.#entry.isr.length === this.#effectiveMinIsr
  }

  /** The log takes appends and reads. */
  get isOnline(): boolean {
    return this.log.failure === undefined
  }

  /** Takes a newer entry. `brokerEpoch`: this broker's acknowledged epoch, which the entry must carry for it to lead. */
  update(entry: PartitionEntry, brokerEpoch: number): void {
    const wasLeader = this.#isLeader
    const previousEpoch = this.#entry.leaderEpoch
    const ownIndex = entry.replicas.indexOf(this.#brokerId)
    this.#entry = entry
    this.#isLeader =
      entry.leader === this.#brokerId &&
      brokerEpoch >= 0 &&
      entry.brokerEpochs[ownIndex] === brokerEpoch &&
      this.isOnline
    if (wasLeader && (!this.#isLeader || previousEpoch !== entry.leaderEpoch)) {
      this.#committed.failAll(ErrorCode.NOT_LEADER_OR_FOLLOWER)
      this.#written.failAll(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    }
    if (this.#isLeader && !(wasLeader && previousEpoch === entry.leaderEpoch))
      this.log.assignEpochStartOffset(entry.leaderEpoch, this.log.nextOffset)
    this.logProgressed()
    this.#wakeReaders()
  }

  /** The broker no longer holds this replica, or its log failed. */
  stop(errorCode: number): void {
    this.#isLeader = false
    this.#committed.failAll(errorCode)
    this.#written.failAll(errorCode)
    this.#wakeReaders()
  }

  /** The log wrote or flushed more. */
  logProgressed(): void {
    this.#written.advance(this.log.logEndOffset)
    if (!this.#isLeader || this.isUnderMinIsr) return
    if (this.#entry.isr.length !== 1 || this.#entry.isr[0] !== this.#brokerId) return
    if (this.log.updateHighWatermark(this.log.flushedOffset)) {
      this.#committed.advance(this.log.highWatermark)
      this.#wakeReaders()
    }
  }

  /** Appends a client's records. NOT_ENOUGH_REPLICAS comes before anything is written. */
  appendAsLeader(records: Buffer, requiredAcks: number, options: Omit<AppendOptions, 'leaderEpoch'>): AppendOutcome {
    if (!this.isOnline) return failure(ErrorCode.KAFKA_STORAGE_ERROR)
    if (!this.#isLeader) return failure(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if (requiredAcks === -1 && this.isUnderMinIsr) {
      return failure(
        ErrorCode.NOT_ENOUGH_REPLICAS,
        `The size of the current ISR ${this.#entry.isr.length} is insufficient to satisfy the min.isr requirement of ${this.#effectiveMinIsr}`,
      )
    }
    return this.log.appendAsLeader(records, { ...options, leaderEpoch: this.leaderEpoch })
  }

  /** Calls `waiter` once all before `offset` is committed: below the high watermark. */
  whenCommitted(offset: number, waiter: OffsetWaiter): void {
    if (this.log.highWatermark >= offset) waiter.offsetPassed()
    else this.#committed.add(offset, waiter)
  }

  /** Calls `waiter` once all before `offset` is written, flushed or not. */
  whenWritten(offset: number, waiter: OffsetWaiter): void {
    if (this.log.logEndOffset >= offset) waiter.offsetPassed()
    else this.#written.add(offset, waiter)
  }

  /** What an acks=all request answers once its records are committed: the ISR may have shrunk meanwhile. */
  commitError(): number {
    return this.isUnderMinIsr ? ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND : ErrorCode.NONE
  }

  addReader(reader: ReadWaiter): void {
    this.#readers.add(reader)
  }

  removeReader(reader: ReadWaiter): void {
    this.#readers.delete(reader)
  }

  /**
   * The error for a request that knows `currentLeaderEpoch` (-1: it does not say), or NONE: lower is FENCED, higher is
   * UNKNOWN (KIP-320).
   */
  checkLeader(currentLeaderEpoch: number): number {
    if (!this.isOnline) return ErrorCode.KAFKA_STORAGE_ERROR
    if (currentLeaderEpoch >= 0) {
      if (currentLeaderEpoch < this.leaderEpoch) return ErrorCode.FENCED_LEADER_EPOCH
      if (currentLeaderEpoch > this.leaderEpoch) return ErrorCode.UNKNOWN_LEADER_EPOCH
    }
    return this.#isLeader ? ErrorCode.NONE : ErrorCode.NOT_LEADER_OR_FOLLOWER
  }

  get #effectiveMinIsr(): number {
    return Math.min(this.#entry.minIsr, this.#entry.replicas.length)
  }

  #wakeReaders(): void {
    if (this.#readers.size === 0) return
    // A reader that completes leaves the set while it is walked, which a Set allows.
    for (const reader of this.#readers) reader.partitionChanged(this)
  }
}

function failure(errorCode: number, message = ''): AppendOutcome {
  return { ok: false, errorCode, message, recordErrors: [] }
}
