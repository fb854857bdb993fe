/**
 * Topics as Kafka's admin clients manage them, turned into changes of Topic resources: what a client asks for is checked
 * as Kafka checks it, written to the store, and answered once the brokers have it (or the time is over).
 *
 * The operator places partitions; nothing here touches a PartitionSlice. Outcomes are values, one a topic.
 */
import type { Logger } from '../../common/logger.ts'
import type { Timers } from '../../common/timers.ts'
import type { LiveConfig } from '../../crds/config/live-config.ts'
import { partitionKey } from '../../crds/partition-slice.ts'
import { LOCAL_NAMESPACE, refOf } from '../../crds/resource.ts'
import { StoreError, type PatchOperation, type ResourceStore } from '../../crds/resource-store.ts'
import {
  INTERNAL_LABEL,
  isInternalTopic,
  TOPIC_FINALIZER,
  topicNameOf,
  topicNameProblem,
  topicObjectName,
  type Topic,
  type TopicSpec,
} from '../../crds/topic.ts'
import type { MetadataCache } from '../metadata/metadata-cache.ts'
import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'
import type { ReplicaManager } from '../replication/replica-manager.ts'
import { failureOutcome, outcomeOf, SUCCESS, VISIBLE_TIMEOUT_MS, type AdminOutcome } from './admin-outcome.ts'
import { duplicatesOf } from './duplicates.ts'
import { replicasProblem } from './replica-assignment.ts'

/** -1 for `partitions` and `replicationFactor`: the broker's default. */
export interface TopicToCreate {
  readonly name: string
  readonly partitions: number
  readonly replicationFactor: number
  /** Broker ids by partition index; then `partitions` and `replicationFactor` have to be -1. */
  readonly assignments: ReadonlyMap<number, readonly number[]> | undefined
  readonly configs: Readonly<Record<string, string>>
}

export interface CreationOutcome extends AdminOutcome {
  readonly topicId: string | undefined
  readonly partitions: number
  readonly replicationFactor: number
}

export interface AdminOptions {
  readonly timeoutMs: number
  readonly isValidateOnly: boolean
  /** Counts partitions that are made or deleted to the client's quota; throws `KafkaError` when that is used up. */
  readonly charge?: (partitionCount: number) => void
}

export interface TopicAdminDependencies {
  readonly store: ResourceStore
  readonly metadata: MetadataCache
  readonly replicas: ReplicaManager
  readonly configs: LiveConfig
  readonly timers: Timers
  readonly logger: Logger
}

/** Partitions have one replica each, as yet. */
export const MAX_REPLICAS = 1
/** Far above what a cluster takes. */
const MAX_PARTITIONS_PER_TOPIC = 100_000
/** New partitions, of all topics of one request together, as Kafka limits them. */
const MAX_NEW_PARTITIONS_PER_REQUEST = 10_000
const MAX_PATCH_ATTEMPTS = 10

export class TopicAdmin {
  readonly #dependencies: TopicAdminDependencies

  constructor(dependencies: TopicAdminDependencies) {
    this.#dependencies = dependencies
  }

  /** One outcome per topic, in order. */
  async createTopics(topics: readonly TopicToCreate[], options: AdminOptions): Promise<CreationOutcome[]> {
    const duplicates = duplicatesOf(topics.map(({ name }) => name))
    const defaultPartitions = this.#dependencies.configs.current.get('num.partitions')
    checkNewPartitions(
      topics.map(({ partitions, assignments }) =>
        partitions === -1 ? (assignments?.size ?? defaultPartitions) : Math.max(1, partitions),
      ),
    )
    return Promise.all(
      topics.map(async (topic): Promise<CreationOutcome> => {
        try {
          if (duplicates.has(topic.name)) throw new KafkaError(ErrorCode.INVALID_REQUEST, 'Duplicate topic name.')
          return await this.#create(topic, options)
        } catch (error) {
          return { ...failureOutcome(error), topicId: undefined, partitions: -1, replicationFactor: -1 }
        }
      }),
    )
  }

  /** Deletes a topic and waits until no broker serves it, at most `timeoutMs`. */
  async deleteTopic(name: string, timeoutMs: number, charge?: AdminOptions['charge']): Promise<AdminOutcome> {
    return outcomeOf(async () => {
      const { store, metadata, timers } = this.#dependencies
      const topic = await this.#readTopic(name)
      const topicId = metadata.topic(name)?.topicId
      charge?.(topic.spec.partitions)
      await store.delete('Topic', refOf(topic), { uid: topic.metadata.uid })
      const isGone = await metadata.waitFor(
        () =>
          metadata.topicResource(name)?.metadata.uid !== topic.metadata.uid &&
          (topicId === undefined || metadata.topicNameById(topicId) === undefined),
        { timers, timeoutMs },
      )
      if (!isGone) throw new KafkaError(ErrorCode.REQUEST_TIMED_OUT, 'The deletion goes on, but was not done in time.')
    })
  }

  /** Grows a topic to `count` partitions. `assignments`: the broker ids of each new partition. */
  async createPartitions(
    name: string,
    count: number,
    assignments: readonly (readonly number[])[] | undefined,
    { timeoutMs, isValidateOnly, charge }: AdminOptions,
  ): Promise<AdminOutcome> {
    return outcomeOf(async () => {
      const { metadata, timers } = this.#dependencies
      await this.#change(name, isValidateOnly, (topic) => {
        const operations = growth(topic.spec, count)
        checkNewPartitions([count - topic.spec.partitions])
        if (assignments !== undefined) operations.push(this.#assignmentGrowth(topic.spec, count, assignments))
        if (!isValidateOnly) charge?.(count - topic.spec.partitions)
        return operations
      })
      if (isValidateOnly) return
      const isThere = await metadata.waitFor(() => (metadata.topic(name)?.partitions.size ?? 0) >= count, {
        timers,
        timeoutMs,
      })
      if (!isThere) throw new KafkaError(ErrorCode.REQUEST_TIMED_OUT, 'The partitions were not placed in time.')
      await this.#whenServedHere(name, count, timeoutMs)
    })
  }

  /** Replaces a topic's own configs by what `next` makes of them. */
  async alterConfigs(
    name: string,
    next: (current: Readonly<Record<string, string>>) => Readonly<Record<string, string>>,
    isValidateOnly: boolean,
  ): Promise<AdminOutcome> {
    return outcomeOf(async () => {
      const { metadata, configs, timers } = this.#dependencies
      const changed = await this.#change(name, isValidateOnly, (topic) => {
        const config = next(topic.spec.config)
        configs.current.validateTopic(config)
        return [
          { op: 'test', path: '/spec/config', value: topic.spec.config },
          { op: 'replace', path: '/spec/config', value: config },
        ]
      })
      if (changed === undefined) return
      // So that a client that describes the topic next, on this broker, sees what it changed.
      await metadata.waitFor(
        () => {
          const known = metadata.topicResource(name)?.metadata
          return known?.uid !== changed.metadata.uid || known.generation >= changed.metadata.generation
        },
        { timers, timeoutMs: VISIBLE_TIMEOUT_MS },
      )
    })
  }

  async #create(topic: TopicToCreate, { timeoutMs, isValidateOnly, charge }: AdminOptions): Promise<CreationOutcome> {
    const { store, metadata, timers } = this.#dependencies
    this.#checkName(topic.name)
    const spec = this.#specOf(topic)
    const outcome = { partitions: spec.partitions, replicationFactor: spec.replicas }
    if (isValidateOnly) return { ...SUCCESS, ...outcome, topicId: undefined }
    charge?.(spec.partitions)
    const created = await store.create({
      kind: 'Topic',
      metadata: {
        namespace: LOCAL_NAMESPACE,
        name: topicObjectName(topic.name),
        finalizers: [TOPIC_FINALIZER],
        ...(isInternalTopic(topic.name) && { labels: { [INTERNAL_LABEL]: 'true' } }),
      },
      spec,
    })
    const isThere = await metadata.waitFor(
      () => {
        const image = metadata.topic(topic.name)
        if (image === undefined || image.partitions.size < spec.partitions) return false
        return metadata.topicResource(topic.name)?.status?.topicId === image.topicId
      },
      { timers, timeoutMs },
    )
    const topicId = metadata.topic(topic.name)?.topicId
    if (!isThere || topicId === undefined) {
      const conditions = metadata.topicResource(topic.name)?.status?.conditions
      const reason = conditions?.find(({ type, status }) => type === 'Ready' && status === 'False')?.message
      this.#dependencies.logger.warn(
        { topic: topic.name, uid: created.metadata.uid, reason },
        'a topic was not placed in time',
      )
      throw new KafkaError(ErrorCode.REQUEST_TIMED_OUT, reason ?? 'The topic was created, but not placed in time.')
    }
    await this.#whenServedHere(topic.name, spec.partitions, timeoutMs)
    return { ...SUCCESS, ...outcome, topicId }
  }

  /** So that a client that comes back to this broker at once finds its partitions open. */
  async #whenServedHere(topicName: string, partitionCount: number, timeoutMs: number): Promise<void> {
    const { replicas, timers } = this.#dependencies
    const keys = Array.from({ length: partitionCount }, (_, i) => partitionKey(topicName, i))
    if (await replicas.whenSettled(keys, { timers, timeoutMs })) return
    throw new KafkaError(ErrorCode.REQUEST_TIMED_OUT, 'The partitions are placed, but were not opened in time.')
  }

  #checkName(name: string): void {
    const { metadata } = this.#dependencies
    const problem = topicNameProblem(name)
    if (problem !== undefined)
      throw new KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, `Topic name is invalid: ${problem}`)
    if (metadata.topic(name) !== undefined || metadata.topicResource(name) !== undefined) {
      throw new KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, `Topic '${name}' already exists.`)
    }
    // Metric names can't tell these apart, so Kafka refuses them.
    const colliding = metadata.topicNameColliding(name)
    if (colliding !== undefined) {
      throw new KafkaError(
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        `Topic '${name}' collides with existing topic: ${colliding}`,
      )
    }
  }

  #specOf(topic: TopicToCreate): TopicSpec {
    const config = this.#dependencies.configs.current
    const named = { ...(topicObjectName(topic.name) !== topic.name && { topicName: topic.name }) }
    if (topic.assignments !== undefined) {
      if (topic.partitions !== -1 || topic.replicationFactor !== -1) {
        throw new KafkaError(
          ErrorCode.INVALID_REQUEST,
          'A manual partition assignment was specified, but numPartitions or replicationFactor was not set to -1.',
        )
      }
      const assignments = this.#checkedAssignments(topic.assignments)
      config.validateTopic(topic.configs)
      return {
        ...named,
        partitions: assignments.length,
        replicas: assignments[0]?.length ?? 1,
        config: topic.configs,
        assignments,
      }
    }
    const partitions = topic.partitions === -1 ? config.get('num.partitions') : topic.partitions
    const replicas = topic.replicationFactor === -1 ? config.get('default.replication.factor') : topic.replicationFactor
    if (partitions <= 0) {
      throw new KafkaError(
        ErrorCode.INVALID_PARTITIONS,
        'Number of partitions was set to an invalid non-positive value.',
      )
    }
    if (partitions > MAX_PARTITIONS_PER_TOPIC) {
      throw new KafkaError(ErrorCode.INVALID_PARTITIONS, `A topic has at most ${MAX_PARTITIONS_PER_TOPIC} partitions.`)
    }
    this.#checkReplicationFactor(replicas)
    config.validateTopic(topic.configs)
    return { ...named, partitions, replicas, config: topic.configs }
  }

  #checkReplicationFactor(replicas: number): void {
    if (replicas <= 0) {
      throw new KafkaError(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        'Replication factor must be larger than 0, or -1 to use the default value.',
      )
    }
    const alive = this.#dependencies.metadata.brokers().filter(({ isFenced }) => !isFenced).length
    if (replicas > alive) {
      throw new KafkaError(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        `Unable to replicate the partition ${replicas} time(s): The target replication factor of ${replicas} cannot be reached because only ${alive} broker(s) are registered.`,
      )
    }
    if (replicas > MAX_REPLICAS) {
      throw new KafkaError(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        'Replication is not supported yet: the replication factor has to be 1.',
      )
    }
  }

  #checkedAssignments(assignments: ReadonlyMap<number, readonly number[]>): readonly (readonly number[])[] {
    const indexes = [...assignments.keys()].sort((a, b) => a - b)
    if (indexes.length === 0 || indexes.some((index, i) => index !== i)) {
      throw new KafkaError(
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        'partitions should be a consecutive 0-based integer sequence',
      )
    }
    const ordered = indexes.map((index) => assignments.get(index) ?? [])
    for (const replicas of ordered) this.#checkReplicas(replicas, ordered[0]?.length ?? 1)
    return ordered
  }

  #checkReplicas(replicas: readonly number[], expectedCount: number): void {
    const known = new Set(this.#dependencies.metadata.brokers().map(({ brokerId }) => brokerId))
    const problem = replicasProblem(replicas, known, expectedCount)
    if (problem !== undefined) throw new KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
    this.#checkReplicationFactor(replicas.length)
  }

  #assignmentGrowth(spec: TopicSpec, count: number, assignments: readonly (readonly number[])[]): PatchOperation {
    if (assignments.length !== count - spec.partitions) {
      throw new KafkaError(
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        `Attempted to add ${count - spec.partitions} additional partition(s), but only ${assignments.length} assignment(s) were specified.`,
      )
    }
    for (const replicas of assignments) this.#checkReplicas(replicas, spec.replicas)
    // Older partitions have their places; only their number counts here.
    const existing = Array.from({ length: spec.partitions }, (_, i) => spec.assignments?.[i] ?? [])
    return { op: 'add', path: '/spec/assignments', value: [...existing, ...assignments] }
  }

  /** Patches a topic's spec with what `decide` makes of it, again if it changed meanwhile; undefined when nothing was written. */
  async #change(
    name: string,
    isValidateOnly: boolean,
    decide: (topic: Topic) => PatchOperation[],
  ): Promise<Topic | undefined> {
    for (let attempt = 1; ; attempt++) {
      const topic = await this.#readTopic(name)
      const operations = decide(topic)
      if (isValidateOnly) return undefined
      try {
        return await this.#dependencies.store.patch('Topic', refOf(topic), operations)
      } catch (error) {
        const isStale = error instanceof StoreError && error.reason === 'Invalid'
        if (!isStale || attempt === MAX_PATCH_ATTEMPTS) throw error
      }
    }
  }

  async #readTopic(name: string): Promise<Topic> {
    const unknown = (): KafkaError =>
      new KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 'This server does not host this topic-partition.')
    const known = this.#dependencies.metadata.topicResource(name)
    const ref = known === undefined ? { namespace: LOCAL_NAMESPACE, name: topicObjectName(name) } : refOf(known)
    const topic = await this.#dependencies.store.get('Topic', ref)
    if (topic === undefined || topicNameOf(topic) !== name) throw unknown()
    return topic
  }
}

/** Each number may be large, and there may be many. Throws for the whole request, as Kafka does. */
function checkNewPartitions(counts: readonly number[]): void {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total <= MAX_NEW_PARTITIONS_PER_REQUEST) return
  throw new KafkaError(ErrorCode.POLICY_VIOLATION, 'Excessively large number of partitions per request.')
}

function growth(spec: TopicSpec, count: number): PatchOperation[] {
  if (count === spec.partitions) {
    throw new KafkaError(ErrorCode.INVALID_PARTITIONS, `Topic already has ${spec.partitions} partition(s).`)
  }
  if (count < spec.partitions) {
    throw new KafkaError(
      ErrorCode.INVALID_PARTITIONS,
      `The topic currently has ${spec.partitions} partition(s); ${count} would not be an increase.`,
    )
  }
  if (count > MAX_PARTITIONS_PER_TOPIC) {
    throw new KafkaError(ErrorCode.INVALID_PARTITIONS, `A topic has at most ${MAX_PARTITIONS_PER_TOPIC} partitions.`)
  }
  return [
    { op: 'test', path: '/spec/partitions', value: spec.partitions },
    { op: 'replace', path: '/spec/partitions', value: count },
  ]
}
