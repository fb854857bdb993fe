/**
 * All replicas of this broker: opens and closes them as the slices say, and serves appends and reads on them.
 *
 * Place: between the request handlers and the logs; follows the metadata cache. Changes of one partition are applied one
 * at a time and level-based: each takes the newest entry, so nothing is missed and nothing is applied twice.
 *
 * What no entry names any more is stopped at once. Its folder is deleted only when the topic's deletion was seen;
 * absence alone sets it aside, and a person decides (replication review 1.6).
 */
import { type Releasable, releaseAll } from '../../common/block-pool.ts'
import { invariant } from '../../common/invariant.ts'
import type { Logger } from '../../common/logger.ts'
import type { Timers } from '../../common/timers.ts'
import { parsePartitionKey, partitionKey, type PartitionEntry } from '../../crds/partition-slice.ts'
import { isInternalTopic } from '../../crds/topic.ts'
import type { MetadataCache, MetadataDelta } from '../metadata/metadata-cache.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import type { LogConfig } from '../storage/log-config.ts'
import type { LogManager } from '../storage/log-manager.ts'
import type { UnifiedLog } from '../storage/unified-log.ts'
import type { ClientSignal } from './client-signal.ts'
import { DelayedFetch } from './delayed-fetch.ts'
import { DelayedProduce, failedAppend, type PartitionAppendResult } from './delayed-produce.ts'
import type { FetchParams, FetchPartition, FetchPartitionResult } from './fetch-types.ts'
import { Partition } from './partition.ts'
import { ReadBudget } from './read-budget.ts'
import { readPartitions, withoutRecords } from './read-partitions.ts'

export interface ReplicaManagerDependencies {
  readonly brokerId: number
  readonly metadata: MetadataCache
  readonly logs: LogManager
  readonly timers: Timers
  readonly logger: Logger
  /** Bytes of records that fetches may hold together, from reading to sending. */
  readonly maxReadBytes: number
  /** The effective log configuration of a topic. */
  readonly logConfigOf: (topicName: string) => LogConfig
}

export interface PartitionRecords {
  readonly topicName: string
  readonly partition: number
  readonly records: Buffer
}

interface SettleWaiter {
  readonly unsettled: Set<string>
  readonly resolve: () => void
}

/** Partitions whose folders are made at the same time. */
const CONCURRENT_CHANGES = 64

export class ReplicaManager {
  readonly #dependencies: ReplicaManagerDependencies
  readonly #readBudget: ReadBudget
  readonly #partitions = new Map<string, Partition>()
  /** Keys whose newest entry is not applied yet. */
  readonly #dirty = new Set<string>()
  readonly #changing = new Set<string>()
  /** Keys of logs whose entry is gone while nothing says that the topic was deleted. */
  readonly #undecided = new Set<string>()
  readonly #failures = new Map<string, string>()
  #unsubscribe: (() => void) | undefined
  #brokerEpoch = -1
  #isClosed = false
  readonly #settleWaiters = new Set<SettleWaiter>()
  readonly #listeners = new Set<(partition: Partition) => void>()

  constructor(dependencies: ReplicaManagerDependencies) {
    this.#dependencies = dependencies
    this.#readBudget = new ReadBudget(dependencies.maxReadBytes)
  }

  /** Follows the metadata from now on, as the incarnation that was acknowledged with `brokerEpoch`. */
  async start(brokerEpoch: number): Promise<void> {
    const { metadata } = this.#dependencies
    this.#brokerEpoch = brokerEpoch
    this.#unsubscribe = metadata.subscribe((delta) => this.#onMetadata(delta))
    for (const key of metadata.keys()) this.#dirty.add(key)
    this.#applyDirty()
    await this.whenSettled([...metadata.keys()])
    await this.#setAsideUnknownLogs()
  }

  /** Calls `listener` after a replica here was opened, got a newer entry, or was stopped; returns what ends that. */
  subscribe(listener: (partition: Partition) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#isClosed = true
    this.#unsubscribe?.()
    for (const waiter of this.#settleWaiters) waiter.resolve()
    this.#settleWaiters.clear()
    for (const partition of this.#partitions.values()) this.#stop(partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
  }

  /**
   * Resolves with true once what the metadata says now of these partitions is done here: replicas opened, or closed; with
   * false after `timeoutMs`.
   */
  async whenSettled(keys: Iterable<string>, deadline?: { timers: Timers; timeoutMs: number }): Promise<boolean> {
    const unsettled = new Set<string>()
    for (const key of keys) if (this.#dirty.has(key) || this.#changing.has(key)) unsettled.add(key)
    if (unsettled.size === 0) return true
    const settled = Promise.withResolvers<boolean>()
    const waiter = { unsettled, resolve: () => settled.resolve(true) }
    this.#settleWaiters.add(waiter)
    const timer = deadline?.timers.schedule(deadline.timeoutMs, () => settled.resolve(false))
    try {
      return await settled.promise
    } finally {
      this.#settleWaiters.delete(waiter)
      timer?.cancel()
    }
  }

  /** The replica that this broker has of a partition. */
  partition(topicName: string, partition: number): Partition | undefined {
    return this.#partitions.get(partitionKey(topicName, partition))
  }

  partitions(): Iterable<Partition> {
    return this.#partitions.values()
  }

  get partitionCount(): number {
    return this.#partitions.size
  }

  /** Keys of entries that this broker should serve and can't. */
  offlineKeys(): string[] {
    const offline = new Set(this.#failures.keys())
    for (const partition of this.#partitions.values()) if (!partition.isOnline) offline.add(partition.key)
    return [...offline].sort()
  }

  /** The replica, or the error for a request that needs it. */
  find(topicName: string, partition: number): Partition | number {
    const found = this.#partitions.get(partitionKey(topicName, partition))
    if (found !== undefined) return found
    const entry = this.#dependencies.metadata.partition(topicName, partition)
    if (entry === undefined) return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if (this.#failures.has(partitionKey(topicName, partition))) return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NOT_LEADER_OR_FOLLOWER
  }

  /** The replica if this broker leads it for a client that knows `currentLeaderEpoch`, or the error. */
  findLeader(topicName: string, partition: number, currentLeaderEpoch: number): Partition | number {
    const found = this.find(topicName, partition)
    if (typeof found === 'number') return found
    const error = found.checkLeader(currentLeaderEpoch)
    return error === ErrorCode.NONE ? found : error
  }

  /**
   * Appends what clients produce to each partition, in order and before it returns, and answers when they are
   * acknowledged: acks 0 at once, 1 when written, -1 when committed. `done` is called once, maybe before this returns.
   */
  append(
    wanted: readonly PartitionRecords[],
    acks: number,
    timeoutMs: number,
    produceVersion: number,
    done: (results: readonly PartitionAppendResult[]) => void,
  ): void {
    const results: PartitionAppendResult[] = []
    const waits: { result: PartitionAppendResult; partition: Partition; endOffset: number }[] = []
    for (const { topicName, partition, records } of wanted) {
      if (isInternalTopic(topicName)) {
        const message = `Cannot append to internal topic ${topicName}`
        results.push(failedAppend(topicName, partition, ErrorCode.INVALID_TOPIC_EXCEPTION, message))
        continue
      }
      const found = this.find(topicName, partition)
      if (typeof found === 'number') {
        results.push(failedAppend(topicName, partition, found, null))
        continue
      }
      const outcome = found.appendAsLeader(records, acks, { origin: 'client', produceVersion })
      found.stats.produceRequests++
      if (!outcome.ok) {
        found.stats.failedProduceRequests++
        results.push({
          ...failedAppend(topicName, partition, outcome.errorCode, outcome.message === '' ? null : outcome.message),
          logStartOffset: found.log.logStartOffset,
          recordErrors: outcome.recordErrors,
        })
        continue
      }
      const { info } = outcome
      if (!outcome.isDuplicate) {
        found.stats.recordsIn += info.recordCount
        found.stats.bytesIn += info.sizeBytes
      }
      const result: PartitionAppendResult = {
        topicName,
        partition,
        errorCode: ErrorCode.NONE,
        errorMessage: null,
        recordErrors: [],
        baseOffset: info.firstOffset,
        logAppendTimeMs: info.logAppendTimeMs,
        logStartOffset: found.log.logStartOffset,
      }
      results.push(result)
      if (acks !== 0) waits.push({ result, partition: found, endOffset: info.lastOffset + 1 })
    }
    if (waits.length === 0) {
      done(results)
      return
    }
    const delayed = new DelayedProduce(results, this.#dependencies.timers, timeoutMs, done)
    // All waiters first: one that is served at once must not complete a request whose others are not yet known.
    const waiters = waits.map(({ result, partition }) =>
      delayed.waiterFor(result, () => (acks === -1 ? partition.commitError() : ErrorCode.NONE)),
    )
    for (const [i, { partition, endOffset }] of waits.entries()) {
      const waiter = waiters[i]
      if (waiter === undefined) continue
      if (acks === -1) partition.whenCommitted(endOffset, waiter)
      else partition.whenWritten(endOffset, waiter)
    }
  }

  /** Reads; waits up to `maxWaitMs` while there are less than `minBytes`. `done` is called once, maybe before this returns. */
  fetch(
    wanted: readonly FetchPartition[],
    params: FetchParams,
    signal: ClientSignal,
    done: (results: readonly FetchPartitionResult[], held: readonly Releasable[]) => void,
  ): void {
    const budget = this.#readBudget
    const find = (topicName: string, partition: number): Partition | number => this.find(topicName, partition)
    readPartitions(find, wanted, params, budget, (first) => {
      const isEnough = first.sizeBytes >= params.minBytes || first.isUrgent || params.maxWaitMs <= 0
      if (isEnough || wanted.length === 0 || this.#isClosed || signal.isClosed) {
        done(first.results, first.held)
        return
      }
      releaseAll(first.held)
      const partitions = wanted.map(({ topicName, partition }) => this.partition(topicName, partition))
      const delayed = new DelayedFetch(wanted, partitions, params, this.#dependencies.timers, signal, () => {
        if (signal.isClosed) done(first.results.map(withoutRecords), [])
        else readPartitions(find, wanted, params, budget, (second) => done(second.results, second.held))
      })
      delayed.completeIfReady()
    })
  }

  /** A log wrote or flushed more. */
  logProgressed(log: UnifiedLog): void {
    const partition = this.partition(log.topicName, log.partitionIndex)
    if (partition?.log === log) partition.logProgressed()
  }

  /** A log can't go on. */
  logFailed(log: UnifiedLog): void {
    const partition = this.partition(log.topicName, log.partitionIndex)
    if (partition?.log === log) this.#stop(partition, ErrorCode.KAFKA_STORAGE_ERROR)
  }

  #onMetadata(delta: MetadataDelta): void {
    for (const key of delta.partitions) this.#dirty.add(key)
    if (delta.topics.size > 0) {
      for (const key of this.#undecided) this.#dirty.add(key)
      this.#undecided.clear()
    }
    this.#applyDirty()
    for (const topicName of delta.topics) this.#updateConfig(topicName)
  }

  /** Gives every log its configuration anew: what topics do not set themselves has changed. */
  updateConfigs(): void {
    for (const { topicName, log } of this.#partitions.values())
      log.updateConfig(this.#dependencies.logConfigOf(topicName))
  }

  #updateConfig(topicName: string): void {
    const topic = this.#dependencies.metadata.topic(topicName)
    if (topic === undefined) return
    const config = this.#dependencies.logConfigOf(topicName)
    for (const index of topic.partitions.keys()) this.partition(topicName, index)?.log.updateConfig(config)
  }

  #applyDirty(): void {
    for (const key of this.#dirty) {
      if (this.#changing.size >= CONCURRENT_CHANGES) break
      if (this.#changing.has(key)) continue
      this.#dirty.delete(key)
      if (this.#applyAtOnce(key)) {
        this.#settled(key)
        continue
      }
      this.#changing.add(key)
      void this.#apply(key)
        .catch((error: unknown) => {
          this.#failures.set(key, String(error))
          this.#dependencies.logger.error({ partition: key, err: error }, 'a replica could not be opened')
        })
        .finally(() => {
          this.#changing.delete(key)
          this.#settled(key)
          this.#applyDirty()
        })
    }
  }

  #settled(key: string): void {
    if (this.#dirty.has(key)) return
    for (const waiter of this.#settleWaiters) {
      if (waiter.unsettled.delete(key) && waiter.unsettled.size === 0) {
        this.#settleWaiters.delete(waiter)
        waiter.resolve()
      }
    }
  }

  #isAssigned(entry: PartitionEntry | undefined): entry is PartitionEntry {
    const own = entry?.replicas.indexOf(this.#dependencies.brokerId) ?? -1
    return entry !== undefined && own >= 0
  }

  /** The common cases that need no disk; returns whether that was all. */
  #applyAtOnce(key: string): boolean {
    const entry = this.#dependencies.metadata.entry(key)
    const existing = this.#partitions.get(key)
    if (!this.#isAssigned(entry)) return false
    if (existing !== undefined) {
      if (existing.topicId !== entry.topicId) return false
      this.#update(existing, entry)
      return true
    }
    // An entry that was not acknowledged for this incarnation is not obeyed; its change will come.
    if (entry.brokerEpochs[entry.replicas.indexOf(this.#dependencies.brokerId)] !== this.#brokerEpoch) return true
    const { topicName, partition } = splitKey(key)
    const log = this.#dependencies.logs.getLog(topicName, partition)
    if (log?.topicId !== entry.topicId) return false
    this.#open(key, topicName, partition, log, entry)
    return true
  }

  async #apply(key: string): Promise<void> {
    const { logs, metadata, logger, logConfigOf } = this.#dependencies
    const { topicName, partition } = splitKey(key)
    const existing = this.#partitions.get(key)
    const before = metadata.entry(key)
    if (existing !== undefined && (!this.#isAssigned(before) || before.topicId !== existing.topicId)) {
      this.#partitions.delete(key)
      const isGone = before === undefined
      this.#stop(existing, isGone ? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION : ErrorCode.NOT_LEADER_OR_FOLLOWER)
    }
    const log = logs.getLog(topicName, partition)
    if (log !== undefined && (!this.#isAssigned(before) || before.topicId !== log.topicId)) {
      if (metadata.wasDeleted(log.topicId)) await logs.deleteLog(topicName, partition)
      else if (before !== undefined) {
        logger.warn({ partition: key, topicId: log.topicId }, 'setting a log aside: its partition entry names another')
        await logs.setAside(topicName, partition)
      } else {
        // The deletion may be on its way through another watch; until it is seen, the log stays where it is, unserved.
        logger.info({ partition: key, topicId: log.topicId }, 'no entry names this log any more')
        this.#undecided.add(key)
      }
    }
    // What is opened is decided by the newest entry, which may have changed while the disk was at work.
    const entry = metadata.entry(key)
    if (!this.#isAssigned(entry)) {
      this.#failures.delete(key)
      return
    }
    if (this.#isClosed || entry.brokerEpochs[entry.replicas.indexOf(this.#dependencies.brokerId)] !== this.#brokerEpoch)
      return
    if (this.#partitions.has(key)) return
    const created = await logs.createLog(topicName, partition, entry.topicId, logConfigOf(topicName))
    const newest = metadata.entry(key)
    if (this.#isAssigned(newest) && newest.topicId === created.topicId)
      this.#open(key, topicName, partition, created, newest)
    else this.#dirty.add(key)
  }

  #open(key: string, topicName: string, index: number, log: UnifiedLog, entry: PartitionEntry): void {
    const partition = new Partition(this.#dependencies.brokerId, key, topicName, index, log, entry)
    log.updateConfig(this.#dependencies.logConfigOf(topicName))
    this.#failures.delete(key)
    this.#partitions.set(key, partition)
    this.#update(partition, entry)
  }

  #update(partition: Partition, entry: PartitionEntry): void {
    partition.update(entry, this.#brokerEpoch)
    for (const listener of this.#listeners) listener(partition)
  }

  #stop(partition: Partition, errorCode: number): void {
    partition.stop(errorCode)
    for (const listener of this.#listeners) listener(partition)
  }

  async #setAsideUnknownLogs(): Promise<void> {
    const { logs, metadata, logger } = this.#dependencies
    for (const log of logs.logs()) {
      const key = partitionKey(log.topicName, log.partitionIndex)
      const entry = metadata.entry(key)
      if (this.#isAssigned(entry) && entry.topicId === log.topicId) continue
      logger.warn({ partition: key, topicId: log.topicId }, 'setting a log aside: no partition entry names it')
      await logs.setAside(log.topicName, log.partitionIndex)
    }
  }
}

function splitKey(key: string): { topicName: string; partition: number } {
  const parsed = parsePartitionKey(key)
  invariant(parsed !== undefined, `the metadata cache holds only well-formed keys, not ${key}`)
  return parsed
}
