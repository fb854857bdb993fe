/**
 * One shard on a partition that this broker leads, for one leader epoch: loads it, runs its operations, appends their
 * records and lets replies go when they are committed.
 *
 * Group commit: one batch is on its way; what is written meanwhile is replayed at once and collects into the next batch.
 */
import type { Clock } from '../../../common/clock.ts'
import { invariant } from '../../../common/invariant.ts'
import type { Logger } from '../../../common/logger.ts'
import type { Timers } from '../../../common/timers.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import { encodeBatch, type RecordToEncode } from '../../protocol/records/encode-batch.ts'
import { RECORD_BATCH_OVERHEAD } from '../../protocol/records/record-batch.ts'
import type { Partition } from '../../replication/partition.ts'
import { coordinatorError } from './coordinator-errors.ts'
import type { CoordinatorResult, CoordinatorShard, CoordinatorTimer, RecordSerde } from './coordinator-shard.ts'
import { loadRecords, type LoadedRecords } from './shard-loader.ts'
import { ShardTimer } from './shard-timer.ts'

export interface ShardHostOptions<S extends CoordinatorShard<R>, R> {
  readonly partition: Partition
  readonly clock: Clock
  readonly timers: Timers
  readonly logger: Logger
  readonly serde: RecordSerde<R>
  readonly createShard: (timer: CoordinatorTimer<R>) => S
  /** The shard's state is no longer what the partition says; the host is closed. */
  readonly onBroken: (error: KafkaError) => void
}

/** An operation whose records, or what it saw, are not committed yet. */
interface Waiter {
  readonly offset: number
  /** With NONE, or with why not. */
  readonly settle: (errorCode: number) => void
}

/** The most that a record adds to its batch besides key and value. */
const RECORD_OVERHEAD_BYTES = 64

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
  #isInFlight = false
  /** Where the next record will stand. */
  #nextOffset = 0
  #committedOffset = 0
  #waiters: Waiter[] = []

  constructor(options: ShardHostOptions<S, R>) {
    this.#options = options
    this.partition = options.partition
    this.leaderEpoch = options.partition.leaderEpoch
    this.#timer = new ShardTimer(options.timers, (operation) => this.#runTimer(operation))
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
  async load(): Promise<LoadedRecords> {
    const { partition, clock, serde } = this.#options
    const isWanted = (): boolean => this.#state === 'loading'
    const endOffset = partition.log.nextOffset
    await this.#passed((waiter) => partition.whenWritten(endOffset, waiter))
    const loaded = await loadRecords(partition.log, endOffset, clock, isWanted, (cursor) => {
      const record = serde.decode(cursor)
      if (record !== undefined) this.#shard.replay(record, cursor.offset)
    })
    // What it answers from now on must not be taken back by another leader.
    await this.#passed((waiter) => partition.whenCommitted(endOffset, waiter))
    if (!isWanted()) return loaded
    this.#nextOffset = endOffset
    this.#committedOffset = endOffset
    this.#state = 'active'
    this.#shard.onLoaded()
    return loaded
  }

  /** Runs an operation now. Rejects with {@link KafkaError} of a coordinator. */
  write<T>(timeoutMs: number, operation: (shard: S) => CoordinatorResult<R, T>): Promise<T> {
    return this.#run(operation, timeoutMs)
  }

  /** Reads the state as it is now; resolves once that state is committed. */
  read<T>(timeoutMs: number, operation: (shard: S) => T): Promise<T> {
    return this.#run((shard) => ({ records: [], reply: operation(shard) }), timeoutMs)
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
    if (wasActive) this.#shard.onUnloaded(errorCode)
  }

  async #run<T>(operation: (shard: S) => CoordinatorResult<R, T>, timeoutMs: number): Promise<T> {
    if (this.#state === 'loading') throw new KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    if (this.#state === 'closed') throw new KafkaError(ErrorCode.NOT_COORDINATOR)
    const { records, reply, whenSettled } = operation(this.#shard)
    try {
      this.#append(records)
    } catch (error) {
      whenSettled?.(error instanceof KafkaError ? error.code : ErrorCode.UNKNOWN_SERVER_ERROR)
      throw error
    }
    if (this.#committedOffset >= this.#nextOffset) {
      whenSettled?.(ErrorCode.NONE)
      return reply
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const timer = this.#options.timers.schedule(timeoutMs, () => {
      reject(new KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, 'The records were not committed in time.'))
    })
    this.#waiters.push({
      offset: this.#nextOffset,
      settle: (errorCode) => {
        timer.cancel()
        whenSettled?.(errorCode)
        if (errorCode === ErrorCode.NONE) resolve(reply)
        else reject(new KafkaError(errorCode as ErrorCode))
      },
    })
    return promise
  }

  #runTimer(operation: () => CoordinatorResult<R, unknown>): void {
    if (this.#state !== 'active') return
    this.#run(operation, Number.MAX_SAFE_INTEGER).catch((error: unknown) => {
      // The end of the shard ends its timers as well; whoever takes it over sets them again.
      if (error instanceof KafkaError && this.#state === 'closed') return
      this.#options.logger.error({ partition: this.partition.key, err: error }, 'a timer of a coordinator failed')
    })
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
    if (this.#pendingBytes + sizeBytes > maxMessageBytes) this.#flush()
    if (this.#state !== 'active') throw new KafkaError(ErrorCode.NOT_COORDINATOR)
    for (const record of encoded) this.#pending.push(record)
    this.#pendingBytes += sizeBytes
    for (const record of records) this.#shard.replay(record, this.#nextOffset++)
    if (this.#isInFlight || this.#isFlushDue) return
    // At the end of this turn: operations of several requests go in one batch.
    this.#isFlushDue = true
    queueMicrotask(() => {
      this.#isFlushDue = false
      if (!this.#isInFlight) this.#flush()
    })
  }

  #flush(): void {
    if (this.#state !== 'active' || this.#pending.length === 0) return
    const batch = encodeBatch({ records: this.#pending })
    this.#pending = []
    this.#pendingBytes = RECORD_BATCH_OVERHEAD
    const { partition } = this
    const outcome = partition.appendAsLeader(batch, -1, { origin: 'coordinator' })
    if (!outcome.ok) {
      this.#break(coordinatorError(outcome.errorCode, outcome.message))
      return
    }
    const endOffset = outcome.info.lastOffset + 1
    this.#isInFlight = true
    partition.whenCommitted(endOffset, {
      offsetPassed: () => this.#committed(endOffset),
      waitFailed: (errorCode) => this.#break(coordinatorError(errorCode, null)),
    })
  }

  #committed(offset: number): void {
    if (this.#state !== 'active') return
    invariant(offset <= this.#nextOffset, 'only the coordinator writes to its partition')
    this.#committedOffset = Math.max(this.#committedOffset, offset)
    this.#isInFlight = false
    // The next batch first: it is on its way while replies are made.
    this.#flush()
    const due = this.#waiters.findIndex((waiter) => waiter.offset > offset)
    const settled = due < 0 ? this.#waiters : this.#waiters.slice(0, due)
    this.#waiters = due < 0 ? [] : this.#waiters.slice(due)
    for (const waiter of settled) waiter.settle(ErrorCode.NONE)
  }

  #break(error: KafkaError): void {
    if (this.#state === 'closed') return
    this.close(error.code)
    this.#options.onBroken(error)
  }

  async #passed(wait: (waiter: { offsetPassed(): void; waitFailed(errorCode: number): void }) => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    wait({
      offsetPassed: () => resolve(undefined),
      waitFailed: (errorCode) => reject(coordinatorError(errorCode, null)),
    })
    await promise
  }
}
