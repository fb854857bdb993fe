/**
 * Runs a coordinator's state machines: one shard per partition of an internal topic that this broker leads.
 *
 * Place: between a coordinator's service and the replicas. A shard is loaded by replaying its partition, takes operations
 * while the leadership lasts, and is thrown away with it.
 * Invariants:
 * - Operations of a shard run one after the other, each whole: its records are replayed before the next one looks.
 * - A reply leaves when everything that its operation saw is committed: below the high watermark.
 * - A shard answers only once the high watermark has passed the log end that its leadership found.
 * - What is replayed is what is appended. If an append is refused after its records were replayed, the shard ends and is
 *   loaded again.
 */
import type { Clock } from '../../../common/clock.ts'
import type { Logger } from '../../../common/logger.ts'
import type { TimerHandle, Timers } from '../../../common/timers.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import type { Partition } from '../../replication/partition.ts'
import type { ReplicaManager } from '../../replication/replica-manager.ts'
import type { CoordinatorResult, CoordinatorShard, CoordinatorTimer, RecordSerde } from './coordinator-shard.ts'
import { ShardHost } from './shard-host.ts'

export interface CoordinatorRuntimeOptions<S extends CoordinatorShard<R>, R> {
  readonly topicName: string
  readonly replicas: ReplicaManager
  readonly clock: Clock
  readonly timers: Timers
  readonly logger: Logger
  readonly serde: RecordSerde<R>
  readonly createShard: (timer: CoordinatorTimer<R>) => S
}

/** For metrics: what happened since the start. */
export interface CoordinatorStats {
  loadCount: number
  failedLoadCount: number
  /** Shards that ended because an append was refused after its records were replayed, or a replay failed. */
  lostStateCount: number
  lastLoadMs: number
  maxLoadMs: number
  /** Of all loads together. */
  totalLoadMs: number
}

/** Partitions that this broker leads, by what their shards do now. */
export interface ShardCounts {
  loading: number
  active: number
  /** The load failed, and waits for its next attempt. */
  failed: number
}

/** Loads that read at the same time: each holds a chunk of its partition. */
const CONCURRENT_READS = 4
const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 30_000

/** What this broker does of one partition that it leads. */
interface Slot<S extends CoordinatorShard<R>, R> {
  readonly partition: Partition
  readonly leaderEpoch: number
  /** Undefined while a failed load waits for its next attempt. */
  host: ShardHost<S, R> | undefined
  attempts: number
  retry: TimerHandle | undefined
}

export class CoordinatorRuntime<S extends CoordinatorShard<R>, R> {
  readonly stats: CoordinatorStats = {
    loadCount: 0,
    failedLoadCount: 0,
    lostStateCount: 0,
    lastLoadMs: 0,
    maxLoadMs: 0,
    totalLoadMs: 0,
  }
  readonly #options: CoordinatorRuntimeOptions<S, R>
  readonly #slots = new Map<number, Slot<S, R>>()
  /** Loads that wait for their turn to read. */
  readonly #readQueue: (() => void)[] = []
  #readingCount = 0
  #unsubscribe: (() => void) | undefined

  constructor(options: CoordinatorRuntimeOptions<S, R>) {
    this.#options = options
  }

  /** Follows the leaderships of this broker from now on. */
  start(): void {
    const { replicas } = this.#options
    this.#unsubscribe = replicas.subscribe((partition) => this.#onPartition(partition))
    for (const partition of replicas.partitions()) this.#onPartition(partition)
  }

  close(): void {
    this.#unsubscribe?.()
    for (const index of [...this.#slots.keys()]) this.#release(index, ErrorCode.NOT_COORDINATOR)
  }

  /** The shard of a partition, if it is active. */
  shard(partition: number): S | undefined {
    return this.#slots.get(partition)?.host?.shard
  }

  /** Active shards by partition. */
  *shards(): Generator<readonly [partition: number, shard: S], void> {
    for (const [index, { host }] of this.#slots) {
      const shard = host?.shard
      if (shard !== undefined) yield [index, shard]
    }
  }

  get shardCounts(): ShardCounts {
    const counts = { loading: 0, active: 0, failed: 0 }
    for (const { host } of this.#slots.values()) {
      if (host === undefined) counts.failed++
      else if (host.isLoading) counts.loading++
      else counts.active++
    }
    return counts
  }

  /**
   * Runs `operation` on the shard of a partition before this returns, and resolves with its reply once all is committed.
   * Rejects with KafkaError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE (not committed in
   * `timeoutMs`; the records stay), UNKNOWN_SERVER_ERROR (more records than a batch holds; the operation failed, which is
   * logged), and the KafkaError that the operation throws.
   */
  write<T>(partition: number, timeoutMs: number, operation: (shard: S) => CoordinatorResult<R, T>): Promise<T> {
    return this.#withHost(partition, (host) => host.write(timeoutMs, operation))
  }

  /** Reads the state as it is now; resolves once that state is committed. Rejects as {@link write} does. */
  read<T>(partition: number, timeoutMs: number, operation: (shard: S) => T): Promise<T> {
    return this.#withHost(partition, (host) => host.read(timeoutMs, operation))
  }

  /**
   * {@link read} on every partition that this broker leads; rejects if one of them can't answer. One that it ceases to
   * lead meanwhile is left out.
   */
  async readAll<T>(timeoutMs: number, operation: (shard: S) => T): Promise<T[]> {
    const reads = [...this.#slots.keys()].map(async (partition) => {
      try {
        return [await this.read(partition, timeoutMs, operation)]
      } catch (error) {
        if (error instanceof KafkaError && error.code === ErrorCode.NOT_COORDINATOR) return []
        throw error
      }
    })
    const results: T[] = []
    for (const found of await Promise.all(reads)) results.push(...found)
    return results
  }

  async #withHost<T>(partition: number, use: (host: ShardHost<S, R>) => Promise<T>): Promise<T> {
    const slot = this.#slots.get(partition)
    if (slot === undefined) throw new KafkaError(ErrorCode.NOT_COORDINATOR)
    if (slot.host === undefined) throw new KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return use(slot.host)
  }

  #onPartition(partition: Partition): void {
    if (partition.topicName !== this.#options.topicName) return
    const slot = this.#slots.get(partition.partition)
    const isSame = slot?.partition === partition && slot.leaderEpoch === partition.leaderEpoch
    if (partition.isLeader && isSame) return
    // An older replica of the same partition may be told of after its successor.
    if (!partition.isLeader && slot?.partition !== partition) return
    if (slot !== undefined) this.#release(partition.partition, ErrorCode.NOT_COORDINATOR)
    if (!partition.isLeader) return
    const { leaderEpoch } = partition
    const opened: Slot<S, R> = { partition, leaderEpoch, host: undefined, attempts: 0, retry: undefined }
    this.#slots.set(partition.partition, opened)
    this.#load(opened)
  }

  #release(index: number, errorCode: ErrorCode): void {
    const slot = this.#slots.get(index)
    this.#slots.delete(index)
    slot?.retry?.cancel()
    slot?.host?.close(errorCode)
  }

  #load(slot: Slot<S, R>): void {
    slot.retry = undefined
    const host: ShardHost<S, R> = new ShardHost({
      ...this.#options,
      partition: slot.partition,
      onBroken: (cause) => {
        this.stats.lostStateCount++
        this.#loadLater(slot, host, cause)
      },
    })
    slot.host = host
    void this.#loadNow(slot, host)
  }

  async #loadNow(slot: Slot<S, R>, host: ShardHost<S, R>): Promise<void> {
    const { clock, logger } = this.#options
    try {
      let startMs = 0
      const { recordCount, sizeBytes } = await this.#inTurn(() => {
        startMs = clock.monotonicMs()
        return host.replayPartition()
      })
      if (!(await host.becomeActive())) return
      const loadMs = clock.monotonicMs() - startMs
      slot.attempts = 0
      this.stats.loadCount++
      this.stats.lastLoadMs = loadMs
      this.stats.maxLoadMs = Math.max(this.stats.maxLoadMs, loadMs)
      this.stats.totalLoadMs += loadMs
      if (recordCount > 0) {
        const fields = { partition: slot.partition.key, recordCount, sizeBytes, loadMs: Math.round(loadMs) }
        logger.info(fields, 'coordinator loaded')
      }
    } catch (error) {
      // A load that nobody wants any more ends as it likes.
      if (slot.host !== host || !this.#isCurrent(slot)) return
      host.close(ErrorCode.COORDINATOR_NOT_AVAILABLE)
      this.stats.failedLoadCount++
      this.#loadLater(slot, host, error)
    }
  }

  /** Only the reading waits for its turn: the wait for the high watermark, which others decide, holds nobody up. */
  async #inTurn<T>(read: () => Promise<T>): Promise<T> {
    if (this.#readingCount < CONCURRENT_READS) this.#readingCount++
    else await new Promise<void>((resolve) => this.#readQueue.push(resolve))
    try {
      return await read()
    } finally {
      const next = this.#readQueue.shift()
      if (next === undefined) this.#readingCount--
      else next()
    }
  }

  /** Tries again while the leadership lasts. */
  #loadLater(slot: Slot<S, R>, host: ShardHost<S, R>, cause: unknown): void {
    if (slot.host !== host || !this.#isCurrent(slot)) return
    slot.host = undefined
    const delayMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(slot.attempts++, 10))
    const fields = { partition: slot.partition.key, delayMs, err: cause }
    // Most often the leadership has just ended, which the replica manager tells next.
    const level = cause instanceof KafkaError && cause.code === ErrorCode.NOT_COORDINATOR ? 'info' : 'error'
    this.#options.logger[level](fields, 'a coordinator lost its state, or could not load it; it is loaded again')
    slot.retry = this.#options.timers.schedule(delayMs, () => this.#load(slot))
  }

  #isCurrent(slot: Slot<S, R>): boolean {
    return this.#slots.get(slot.partition.partition) === slot
  }
}
