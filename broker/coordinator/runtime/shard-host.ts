/**
 * One shard on a partition that this broker leads, for one leader epoch: loads it, runs its operations, appends their
 * records and lets replies go when they are committed.
 *
 * Group commit: one batch is on its way; what is written meanwhile is replayed at once and collects into the next batch.
 * Only what doesn't fit there makes another batch go before the first one is committed.
 */
import type { Clock } from '../../../common/clock.ts'
import { InvariantError } from '../../../common/invariant.ts'
import type { Logger } from '../../../common/logger.ts'
import type { Timers } from '../../../common/timers.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import { encodeBatch, type RecordToEncode } from '../../protocol/records/encode-batch.ts'
import { RECORD_BATCH_OVERHEAD } from '../../protocol/records/record-batch.ts'
import type { OffsetWaiter } from '../../replication/offset-waiters.ts'
import type { Partition } from '../../replication/partition.ts'
import { coordinatorError } from './coordinator-errors.ts'
import type { CoordinatorResult, CoordinatorShard, CoordinatorTimer, RecordSerde } from './coordinator-shard.ts'
import { loadRecords, type LoadedRecords } from './shard-loader.ts'
import { ShardTimer, type TimerOperation } from './shard-timer.ts'

export interface ShardHostOptions<S extends CoordinatorShard<R>, R> {
  readonly partition: Partition
  readonly clock: Clock
  readonly timers: Timers
  readonly logger: Logger
  readonly serde: RecordSerde<R>
  readonly createShard: (timer: CoordinatorTimer<R>) => S
  /** The shard's state is no longer what the partition says; the host is closed. */
  readonly onBroken: (cause: unknown) => void
}

/** An operation whose records, or what it saw, are not committed yet. */
interface Waiter {
  readonly offset: number
  /** With NONE, or with why not. */
  readonly settle: (errorCode: number) => void
}

/** The most that a record adds to its batch besides key and value. */
const RECORD_OVERHEAD_BYTES = 64
/** How long the operation of a timer waits for its next attempt; doubles up to the longer one. */
const FIRST_TIMER_RETRY_MS = 500
const MAX_TIMER_RETRY_MS = 5000

export class ShardHost<S extends CoordinatorShard<R>, R> {
  readonly leaderEpoch: number
  readonly partition: Partition
  readonly #options: ShardHostOptions<S, R>
  readonly #timer: ShardTimer<R>
  readonly #shard: S
  #state: 'loading' | 'active' | 'closed' = 'loading'
  /** Replayed and not appended yet. */
  #pending: RecordToEncode[] = []
  #pendingBytes = RECORD_BATCH_OVERHEAD
  #isFlushDue = false
  /** Where the next record will stand: all below was replayed. */
  #nextOffset = 0
  /** All below was given to the log. */
  #appendedOffset = 0
  #committedOffset = 0
  /** The end of what loading replays. */
  #loadEndOffset = 0
  #waiters: Waiter[] = []

  constructor(options: ShardHostOptions<S, R>) {
    this.#options = options
    this.partition = options.partition
    this.leaderEpoch = options.partition.leaderEpoch
    this.#timer = new ShardTimer(options.timers, (...due) => this.#runTimer(...due))
    this.#shard = options.createShard(this.#timer)
  }

  /** The shard, while it is active. */
  get shard(): S | undefined {
    return this.#state === 'active' ? this.#shard : undefined
  }

  get isLoading(): boolean {
    return this.#state === 'loading'
  }

  /** Replays the partition up to the end that it has now. Errors: what makes the partition unreadable. */
  async replayPartition(): Promise<LoadedRecords> {
    const { partition, clock, serde } = this.#options
    const isWanted = (): boolean => this.isLoading
    if (!isWanted()) return { recordCount: 0, sizeBytes: 0 }
    this.#loadEndOffset = partition.log.nextOffset
    await this.#passed((waiter) => partition.whenWritten(this.#loadEndOffset, waiter))
    return loadRecords(partition.log, this.#loadEndOffset, clock, isWanted, (cursor) => {
      const record = serde.decode(cursor)
      if (record !== undefined) this.#shard.replay(record, cursor.offset)
    })
  }

  /**
   * Takes operations once all that was replayed is committed: what it answers must not be taken back by another leader.
   * Returns whether it does; it doesn't if it was closed meanwhile. Errors: that can't be awaited any more.
   */
  async becomeActive(): Promise<boolean> {
    const isWanted = (): boolean => this.isLoading
    if (!isWanted()) return false
    await this.#passed((waiter) => this.partition.whenCommitted(this.#loadEndOffset, waiter))
    if (!isWanted()) return false
    this.#nextOffset = this.#loadEndOffset
    this.#appendedOffset = this.#loadEndOffset
    this.#committedOffset = this.#loadEndOffset
    this.#state = 'active'
    this.#shard.onLoaded()
    return true
  }

  /** Runs an operation now. Rejects with {@link KafkaError} of a coordinator. */
  async write<T>(timeoutMs: number, operation: (shard: S) => CoordinatorResult<R, T>): Promise<T> {
    const { reply, whenSettled } = this.#execute(operation)
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const timer = this.#isCommitted
      ? undefined
      : this.#options.timers.schedule(timeoutMs, () =>
          reject(new KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, 'The records were not committed in time.')),
        )
    this.#onceCommitted((errorCode) => {
      timer?.cancel()
      this.#settle(whenSettled, errorCode)
      if (errorCode === ErrorCode.NONE) resolve(reply)
      else reject(new KafkaError(errorCode as ErrorCode))
    })
    return promise
  }

  /** Reads the state as it is now; resolves once that state is committed. */
  read<T>(timeoutMs: number, operation: (shard: S) => T): Promise<T> {
    return this.write(timeoutMs, (shard) => ({ records: [], reply: operation(shard) }))
  }

  /** Ends it: who waits is told. */
  close(errorCode: ErrorCode): void {
    if (this.#state === 'closed') return
    const wasActive = this.#state === 'active'
    this.#state = 'closed'
    this.#timer.close()
    this.#pending = []
    const waiters = this.#waiters
    this.#waiters = []
    for (const waiter of waiters) waiter.settle(errorCode)
    if (wasActive) this.#guard(() => this.#shard.onUnloaded(errorCode))
  }

  /** Runs an operation and takes its records. Throws KafkaError; what else an operation throws is logged here, once. */
  #execute<T>(operation: (shard: S) => CoordinatorResult<R, T>): CoordinatorResult<R, T> {
    if (this.#state === 'loading') throw new KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    if (this.#state === 'closed') throw new KafkaError(ErrorCode.NOT_COORDINATOR)
    let result: CoordinatorResult<R, T> | undefined
    try {
      result = operation(this.#shard)
      this.#append(result.records)
      return result
    } catch (error) {
      const known = this.#known(error)
      this.#settle(result?.whenSettled, known.code)
      throw known
    }
  }

  /** A timer's operation. One that is refused is tried again: a session that ended must not last for ever. */
  #runTimer(key: string, operation: TimerOperation<R>, attempt: number): void {
    if (this.#state !== 'active') return
    try {
      const { whenSettled } = this.#execute(operation)
      this.#onceCommitted((errorCode) => this.#settle(whenSettled, errorCode))
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      const { logger } = this.#options
      const delayMs = Math.min(MAX_TIMER_RETRY_MS, FIRST_TIMER_RETRY_MS * 2 ** Math.min(attempt, 10))
      logger.warn({ partition: this.partition.key, timer: key, delayMs, err: error }, "a coordinator's timer failed")
      // What was scheduled with the same key meanwhile stands for it.
      if (!this.#timer.isScheduled(key)) this.#timer.retry(key, delayMs, operation, attempt + 1)
    }
  }

  /** Takes an operation's records, all or none, and replays them. */
  #append(records: readonly R[]): void {
    if (records.length === 0) return
    // Known before anything is replayed, so that a shrunken ISR doesn't cost the shard its state.
    if (this.partition.isUnderMinIsr) throw coordinatorError(ErrorCode.NOT_ENOUGH_REPLICAS, null)
    const { serde, clock } = this.#options
    const timestamp = clock.wallMs()
    let sizeBytes = 0
    const encoded = records.map((record): RecordToEncode => {
      const { key, value } = serde.encode(record)
      sizeBytes += RECORD_OVERHEAD_BYTES + key.length + (value?.length ?? 0)
      return { timestamp, key, value }
    })
    const { maxMessageBytes } = this.partition.log.config
    if (RECORD_BATCH_OVERHEAD + sizeBytes > maxMessageBytes) {
      throw new KafkaError(
        ErrorCode.UNKNOWN_SERVER_ERROR,
        `${records.length} records of ${sizeBytes} bytes are more than the ${maxMessageBytes} bytes that a batch may have.`,
      )
    }
    if (this.#pendingBytes + sizeBytes > maxMessageBytes) {
      this.#flush()
      if (this.#state !== 'active') throw new KafkaError(ErrorCode.NOT_COORDINATOR)
    }
    this.#replay(records)
    for (const record of encoded) this.#pending.push(record)
    this.#pendingBytes += sizeBytes
    if (this.#isInFlight || this.#isFlushDue) return
    // At the end of this turn: operations of several requests go in one batch.
    this.#isFlushDue = true
    queueMicrotask(() => {
      this.#isFlushDue = false
      if (!this.#isInFlight) this.#flush()
    })
  }

  #replay(records: readonly R[]): void {
    try {
      for (const record of records) this.#shard.replay(record, this.#nextOffset++)
    } catch (error) {
      if (error instanceof InvariantError) throw error
      // A part was replayed: the state is neither what it was nor what the partition says.
      this.#break(ErrorCode.NOT_COORDINATOR, error)
      throw new KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    }
  }

  #flush(): void {
    const records = this.#pending
    if (this.#state !== 'active' || records.length === 0) return
    this.#pending = []
    this.#pendingBytes = RECORD_BATCH_OVERHEAD
    const { partition } = this
    const outcome = partition.appendAsLeader(encodeBatch({ records }), -1, { origin: 'coordinator' })
    if (!outcome.ok) {
      this.#breakWith(coordinatorError(outcome.errorCode, outcome.message))
      return
    }
    const { firstOffset, lastOffset } = outcome.info
    if (firstOffset !== this.#appendedOffset) {
      const message = `records were replayed at offset ${this.#appendedOffset} and appended at ${firstOffset}`
      this.#breakWith(new KafkaError(ErrorCode.NOT_COORDINATOR, message))
      return
    }
    const endOffset = lastOffset + 1
    this.#appendedOffset = endOffset
    partition.whenCommitted(endOffset, {
      offsetPassed: () => this.#committed(endOffset),
      waitFailed: (errorCode) => this.#breakWith(coordinatorError(errorCode, null)),
    })
  }

  #committed(offset: number): void {
    if (this.#state !== 'active') return
    this.#committedOffset = offset
    // The next batch first: it is on its way while replies are made.
    if (!this.#isInFlight) this.#flush()
    const due = this.#waiters.findIndex((waiter) => waiter.offset > offset)
    const settled = due < 0 ? this.#waiters : this.#waiters.slice(0, due)
    this.#waiters = due < 0 ? [] : this.#waiters.slice(due)
    for (const waiter of settled) waiter.settle(ErrorCode.NONE)
  }

  /** A batch was appended that is not committed yet. */
  get #isInFlight(): boolean {
    return this.#committedOffset < this.#appendedOffset
  }

  /** All that was replayed is committed. */
  get #isCommitted(): boolean {
    return this.#committedOffset >= this.#nextOffset
  }

  /** Calls `settle` once all that was replayed by now is committed, or will not be. */
  #onceCommitted(settle: (errorCode: number) => void): void {
    if (this.#isCommitted) settle(ErrorCode.NONE)
    else this.#waiters.push({ offset: this.#nextOffset, settle })
  }

  #breakWith(error: KafkaError): void {
    this.#break(error.code, error)
  }

  /** The state is not, or will not be, what the partition says. */
  #break(errorCode: ErrorCode, cause: unknown): void {
    if (this.#state === 'closed') return
    this.close(errorCode)
    this.#options.onBroken(cause)
  }

  /** What an operation threw, as a client is told. */
  #known(error: unknown): KafkaError {
    if (error instanceof KafkaError) return error
    if (error instanceof InvariantError) throw error
    this.#options.logger.error({ partition: this.partition.key, err: error }, "a coordinator's operation failed")
    return new KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
  }

  #settle(whenSettled: ((errorCode: number) => void) | undefined, errorCode: number): void {
    if (whenSettled !== undefined) this.#guard(() => whenSettled(errorCode))
  }

  /** What a shard does when it is told something must not keep others from being told. */
  #guard(tell: () => void): void {
    try {
      tell()
    } catch (error) {
      if (error instanceof InvariantError) throw error
      this.#options.logger.error({ partition: this.partition.key, err: error }, 'a coordinator failed to tell a client')
    }
  }

  async #passed(wait: (waiter: OffsetWaiter) => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    wait({
      offsetPassed: () => resolve(undefined),
      waitFailed: (errorCode) => reject(coordinatorError(errorCode, null)),
    })
    await promise
  }
}
