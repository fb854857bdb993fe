/**
 * Incremental fetch sessions (KIP-227): a client names its partitions once, later only what changed, and hears only of
 * partitions that have news. A session belongs to whoever knows its id; its epoch orders the requests.
 *
 * The cache is bounded. When it is full, a session that was not used for a while makes room, else the new client goes
 * without one, which it can't tell from a broker that knows no sessions.
 */
import type { Clock } from '../../common/clock.ts'
import { randomInt, type Random } from '../../common/random.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import type { FetchPartitionResult } from '../replication/fetch-types.ts'

/** What a client asks of one partition, as it stands in a request. `topicName` is undefined for an unknown topic id. */
export interface SessionPartition {
  /** Name or id, whichever the request carries, and the partition: the identity in a session. */
  readonly key: string
  topicName: string | undefined
  /** Undefined where the request names topics. */
  readonly topicId: string | undefined
  readonly partition: number
  fetchOffset: number
  maxBytes: number
  currentLeaderEpoch: number
  lastFetchedEpoch: number
  /** Last told to the client. */
  highWatermark: number
  logStartOffset: number
}

export const NO_SESSION_ID = 0
const INITIAL_EPOCH = 0
const FINAL_EPOCH = -1
const MAX_INT32 = 0x7fffffff
/** Partitions of all sessions together: far above what clients need, and a bound on what they can have remembered. */
const MAX_PARTITIONS = 250_000
/** A session that was used within this time keeps its place in a full cache. */
const MIN_EVICTION_MS = 120_000

export interface FetchRequestHead {
  readonly sessionId: number
  readonly sessionEpoch: number
  /** Whether topics are named by id (Fetch 13 and later). */
  readonly usesTopicIds: boolean
  readonly partitions: readonly SessionPartition[]
  /** Keys of partitions to forget. */
  readonly forgotten: readonly string[]
}

/** The partitions that one request reads, and how its response is told. */
export interface FetchPlan {
  readonly sessionId: number
  readonly partitions: readonly SessionPartition[]
  /** Whether a result is told to the client; updates what the client knows. */
  shouldTell(partition: SessionPartition, result: FetchPartitionResult): boolean
}

export class FetchSessionCache {
  readonly #sessions = new Map<number, FetchSession>()
  /** Of all sessions. */
  #partitionCount = 0
  readonly #maxSessions: number
  readonly #maxPartitions: number
  readonly #clock: Clock
  readonly #random: Random

  constructor(maxSessions: number, clock: Clock, random: Random, maxPartitions = MAX_PARTITIONS) {
    this.#maxSessions = maxSessions
    this.#maxPartitions = maxPartitions
    this.#clock = clock
    this.#random = random
  }

  get size(): number {
    return this.#sessions.size
  }

  get partitionCount(): number {
    return this.#partitionCount
  }

  /** The plan for a request, or the session error that answers it. */
  plan(request: FetchRequestHead): FetchPlan | number {
    const { sessionId, sessionEpoch } = request
    if (sessionEpoch === FINAL_EPOCH || sessionEpoch === INITIAL_EPOCH) {
      this.#remove(sessionId)
      const session = sessionEpoch === INITIAL_EPOCH ? this.#create(request) : undefined
      if (session === undefined)
        return { sessionId: NO_SESSION_ID, partitions: request.partitions, shouldTell: () => true }
      const { partitions } = request
      return {
        sessionId: session.id,
        partitions,
        // A full fetch tells everything.
        shouldTell: (partition, result) => {
          session.takeNews(partition, result)
          return true
        },
      }
    }
    const session = this.#sessions.get(sessionId)
    if (session === undefined) return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    if (session.epoch !== sessionEpoch) return ErrorCode.INVALID_FETCH_SESSION_EPOCH
    if (session.usesTopicIds !== request.usesTopicIds) return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    const partitionsBefore = session.partitions.size
    session.update(request)
    this.#partitionCount += session.partitions.size - partitionsBefore
    if (this.#partitionCount > this.#maxPartitions && session.partitions.size > partitionsBefore) {
      // The client starts anew, and may have to go without a session.
      this.#remove(sessionId)
      return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    }
    session.epoch = session.epoch === MAX_INT32 ? 1 : session.epoch + 1
    session.lastUsedMs = this.#clock.monotonicMs()
    // The most recently used is last, so that eviction looks at the first.
    this.#sessions.delete(sessionId)
    this.#sessions.set(sessionId, session)
    return {
      sessionId,
      partitions: [...session.partitions.values()],
      shouldTell: (partition, result) => session.takeNews(partition, result),
    }
  }

  /** For a client that is not told of the session that was made for it. */
  forget(sessionId: number): void {
    this.#remove(sessionId)
  }

  #create({ usesTopicIds, partitions }: FetchRequestHead): FetchSession | undefined {
    if (this.#sessions.size >= this.#maxSessions && !this.#evictOne()) return undefined
    if (this.#partitionCount + partitions.length > this.#maxPartitions) return undefined
    let id = 0
    while (id === 0 || this.#sessions.has(id)) id = randomInt(this.#random, 1, MAX_INT32)
    const session = new FetchSession(id, usesTopicIds, this.#clock.monotonicMs())
    for (const partition of partitions) session.partitions.set(partition.key, partition)
    this.#sessions.set(id, session)
    this.#partitionCount += session.partitions.size
    return session
  }

  #remove(id: number): void {
    this.#partitionCount -= this.#sessions.get(id)?.partitions.size ?? 0
    this.#sessions.delete(id)
  }

  #evictOne(): boolean {
    for (const [id, session] of this.#sessions) {
      if (this.#clock.monotonicMs() - session.lastUsedMs < MIN_EVICTION_MS) return false
      this.#remove(id)
      return true
    }
    return false
  }
}

class FetchSession {
  readonly id: number
  readonly usesTopicIds: boolean
  readonly partitions = new Map<string, SessionPartition>()
  epoch = 1
  lastUsedMs: number

  constructor(id: number, usesTopicIds: boolean, nowMs: number) {
    this.id = id
    this.usesTopicIds = usesTopicIds
    this.lastUsedMs = nowMs
  }

  update(request: FetchRequestHead): void {
    for (const partition of request.partitions) {
      const known = this.partitions.get(partition.key)
      if (known === undefined) {
        this.partitions.set(partition.key, partition)
        continue
      }
      known.topicName = partition.topicName ?? known.topicName
      known.fetchOffset = partition.fetchOffset
      known.maxBytes = partition.maxBytes
      known.currentLeaderEpoch = partition.currentLeaderEpoch
      known.lastFetchedEpoch = partition.lastFetchedEpoch
    }
    for (const key of request.forgotten) this.partitions.delete(key)
  }

  /** Notes what the client is told; returns whether there is anything that it doesn't know. */
  takeNews(partition: SessionPartition, result: FetchPartitionResult): boolean {
    const isNews =
      result.errorCode !== ErrorCode.NONE ||
      result.sizeBytes > 0 ||
      result.divergingEpoch !== undefined ||
      result.highWatermark !== partition.highWatermark ||
      result.logStartOffset !== partition.logStartOffset
    // After an error everything is told again.
    partition.highWatermark = result.errorCode === ErrorCode.NONE ? result.highWatermark : -1
    partition.logStartOffset = result.logStartOffset
    if (result.sizeBytes > 0 && this.partitions.get(partition.key) === partition) {
      // Who gave data goes to the end of the line, so that no partition starves behind a busy one.
      this.partitions.delete(partition.key)
      this.partitions.set(partition.key, partition)
    }
    return isNews
  }
}
