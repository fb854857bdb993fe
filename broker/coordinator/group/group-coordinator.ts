/**
 * The group coordinator of a broker: routes each request to the shard of its group, and keeps the shards informed of topics.
 *
 * Place: between the request handlers and the coordinator runtime. A group belongs to the partition of `__consumer_offsets`
 * that the hash of its id names, the one that Kafka's clients and tools expect; who leads that partition coordinates it.
 * All methods reject with {@link KafkaError}.
 */
import type { Clock } from '../../../common/clock.ts'
import type { Logger } from '../../../common/logger.ts'
import type { Random } from '../../../common/random.ts'
import type { Timers } from '../../../common/timers.ts'
import type { BrokerConfig } from '../../../crds/config/resolve.ts'
import { parsePartitionKey } from '../../../crds/partition-slice.ts'
import { GROUP_METADATA_TOPIC } from '../../../crds/topic.ts'
import type { MetadataCache, MetadataDelta } from '../../metadata/metadata-cache.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import type { OffsetCommitRequest, OffsetCommitResponseInput } from '../../protocol/messages/08-offset-commit.ts'
import type { JoinGroupRequest, JoinGroupResponseInput } from '../../protocol/messages/11-join-group.ts'
import type { HeartbeatRequest, HeartbeatResponseInput } from '../../protocol/messages/12-heartbeat.ts'
import type { LeaveGroupRequest, LeaveGroupResponseInput } from '../../protocol/messages/13-leave-group.ts'
import type { SyncGroupRequest, SyncGroupResponseInput } from '../../protocol/messages/14-sync-group.ts'
import type { DeleteGroupsResponseInput } from '../../protocol/messages/42-delete-groups.ts'
import type { OffsetDeleteRequest, OffsetDeleteResponseInput } from '../../protocol/messages/47-offset-delete.ts'
import type {
  ConsumerGroupHeartbeatRequest,
  ConsumerGroupHeartbeatResponseInput,
} from '../../protocol/messages/68-consumer-group-heartbeat.ts'
import type { ReplicaManager } from '../../replication/replica-manager.ts'
import { CoordinatorRuntime } from '../runtime/coordinator-runtime.ts'
import type { CoordinatorResult } from '../runtime/coordinator-shard.ts'
import { groupCoordinatorConfigOf, type GroupCoordinatorConfig } from './group-coordinator-config.ts'
import type { GroupClient } from './group.ts'
import type { GroupView, GroupViews } from './group-view.ts'
import type { DescribedConsumerGroup } from './consumer/consumer-group-manager.ts'
import { GroupShard, type DescribedClassicGroup, type ListedGroup } from './group-shard.ts'
import type { OffsetFetchGroup, OffsetFetchGroupResponse } from './offsets/offset-manager.ts'
import { groupRecordSerde } from './records/group-record-serde.ts'
import type { GroupRecord } from './records/group-record.ts'
import { topicDirectory } from './topic-directory.ts'

export interface GroupCoordinatorDependencies {
  readonly metadata: MetadataCache
  readonly replicas: ReplicaManager
  /** The broker's configs as of now. */
  readonly config: () => BrokerConfig
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly logger: Logger
}

export class GroupCoordinator implements GroupViews {
  readonly #dependencies: GroupCoordinatorDependencies
  readonly #runtime: CoordinatorRuntime<GroupShard, GroupRecord>
  #config: { readonly of: BrokerConfig; readonly value: GroupCoordinatorConfig } | undefined
  #unsubscribe: (() => void) | undefined

  constructor(dependencies: GroupCoordinatorDependencies) {
    this.#dependencies = dependencies
    const { replicas, metadata, clock, timers, random, logger } = dependencies
    const topics = topicDirectory(metadata)
    this.#runtime = new CoordinatorRuntime({
      topicName: GROUP_METADATA_TOPIC,
      replicas,
      clock,
      timers,
      logger,
      serde: groupRecordSerde,
      createShard: (timer) =>
        new GroupShard({
          clock,
          random,
          logger,
          timer,
          topics,
          config: () => this.#currentConfig(),
          groupConfig: (groupId) => metadata.groupConfig(groupId),
          groups: new Map(),
        }),
    })
  }

  /** Coordinates from now on what this broker leads. */
  start(): void {
    this.#runtime.start()
    this.#unsubscribe = this.#dependencies.metadata.subscribe((delta) => this.#onMetadata(delta))
  }

  /** Gives up all shards: who waits is told NOT_COORDINATOR. */
  close(): void {
    this.#unsubscribe?.()
    this.#runtime.close()
  }

  /** The broker that coordinates a group; undefined while nobody does. */
  coordinatorOf(groupId: string): number | undefined {
    const partition = this.#partitionOf(groupId)
    if (partition === undefined) return undefined
    const leader = this.#dependencies.metadata.partition(GROUP_METADATA_TOPIC, partition)?.leader
    return leader === undefined || leader < 0 ? undefined : leader
  }

  /** May take as long as the rebalance timeouts of the group's members. */
  joinGroup(request: JoinGroupRequest, client: GroupClient): Promise<JoinGroupResponseInput> {
    return this.#writeAndAwait(request.groupId, (shard, respond) => shard.join(request, client, respond))
  }

  syncGroup(request: SyncGroupRequest, client: GroupClient): Promise<SyncGroupResponseInput> {
    return this.#writeAndAwait(request.groupId, (shard, respond) => shard.sync(request, client, respond))
  }

  async heartbeat(request: HeartbeatRequest, client: GroupClient): Promise<HeartbeatResponseInput> {
    checkGroupId(request.groupId)
    try {
      return await this.#write(request.groupId, (shard) => shard.heartbeat(request, client))
    } catch (error) {
      // Members stay what they are while their group is loaded.
      if (isError(error, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)) return { errorCode: ErrorCode.NONE }
      throw error
    }
  }

  async leaveGroup(request: LeaveGroupRequest, client: GroupClient): Promise<LeaveGroupResponseInput> {
    checkGroupId(request.groupId)
    return this.#write(request.groupId, (shard) => shard.leave(request, client))
  }

  async consumerGroupHeartbeat(
    request: ConsumerGroupHeartbeatRequest,
    client: GroupClient,
  ): Promise<ConsumerGroupHeartbeatResponseInput> {
    return this.#write(request.groupId, (shard) => shard.consumerGroupHeartbeat(request, client))
  }

  /** The empty group id is allowed, as it has always been. */
  async commitOffsets(request: OffsetCommitRequest, client: GroupClient): Promise<OffsetCommitResponseInput> {
    return this.#write(request.groupId, (shard) => shard.commitOffsets(request, client))
  }

  /** What it answers is committed: it waits for commits under way, so that no offset it tells can be lost. */
  async fetchOffsets(request: OffsetFetchGroup): Promise<OffsetFetchGroupResponse> {
    return this.#read(request.groupId, (shard) => shard.fetchOffsets(request))
  }

  async deleteOffsets(request: OffsetDeleteRequest): Promise<OffsetDeleteResponseInput> {
    checkGroupId(request.groupId)
    return this.#write(request.groupId, (shard) => shard.deleteOffsets(request))
  }

  /** One result per group, in order. */
  async deleteGroups(groupIds: readonly string[]): Promise<NonNullable<DeleteGroupsResponseInput['results']>> {
    return Promise.all(
      groupIds.map(async (groupId) => {
        const error = await outcomeOf(async () => {
          while (!(await this.#write(groupId, (shard) => shard.deleteGroup(groupId)))) continue
        })
        return { groupId, errorCode: error?.code ?? ErrorCode.NONE }
      }),
    )
  }

  /** One description per group, in order. */
  async describeClassicGroups(groupIds: readonly string[], apiVersion: number): Promise<DescribedClassicGroup[]> {
    return this.#describe(groupIds, (shard, groupId) => shard.describeClassic(groupId, apiVersion))
  }

  /** One description per group, in order. */
  async describeConsumerGroups(groupIds: readonly string[]): Promise<DescribedConsumerGroup[]> {
    return this.#describe(groupIds, (shard, groupId) => shard.describeConsumer(groupId))
  }

  /** Groups whose state and type are among the given ones, whatever their case; an empty list lets all pass. */
  async listGroups(states: readonly string[], types: readonly string[]): Promise<ListedGroup[]> {
    const lowerCase = (names: readonly string[]): Set<string> => new Set(names.map((name) => name.toLowerCase()))
    const [stateNames, typeNames] = [lowerCase(states), lowerCase(types)]
    const lists = await this.#runtime.readAll(this.#currentConfig().offsetsCommitTimeoutMs, (shard) =>
      shard.list(stateNames, typeNames),
    )
    return lists.flat()
  }

  get groupCount(): number {
    let count = 0
    for (const [, shard] of this.#runtime.shards()) count += shard.groupCount
    return count
  }

  *groups(): Generator<GroupView, void> {
    for (const [, shard] of this.#runtime.shards()) yield* shard.views()
  }

  group(groupId: string): GroupView | undefined {
    const partition = this.#partitionOf(groupId)
    return partition === undefined ? undefined : this.#runtime.shard(partition)?.view(groupId)
  }

  async #describe<T extends object>(
    groupIds: readonly string[],
    describe: (shard: GroupShard, groupId: string) => T,
  ): Promise<(T | { groupId: string; errorCode: ErrorCode; errorMessage: string })[]> {
    return Promise.all(
      groupIds.map(async (groupId) => {
        try {
          checkGroupId(groupId)
          return await this.#read(groupId, (shard) => describe(shard, groupId))
        } catch (error) {
          if (!(error instanceof KafkaError)) throw error
          return { groupId, errorCode: error.code, errorMessage: error.message }
        }
      }),
    )
  }

  async #write<T>(groupId: string, operation: (shard: GroupShard) => CoordinatorResult<GroupRecord, T>): Promise<T> {
    return this.#runtime.write(this.#requirePartition(groupId), this.#currentConfig().offsetsCommitTimeoutMs, operation)
  }

  /** For an operation that responds by itself, maybe much later. */
  #writeAndAwait<Response>(
    groupId: string,
    operation: (shard: GroupShard, respond: (response: Response) => void) => CoordinatorResult<GroupRecord, undefined>,
  ): Promise<Response> {
    checkGroupId(groupId)
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    this.#write(groupId, (shard) => operation(shard, resolve)).catch(reject)
    return promise
  }

  async #read<T>(groupId: string, operation: (shard: GroupShard) => T): Promise<T> {
    return this.#runtime.read(this.#requirePartition(groupId), this.#currentConfig().offsetsCommitTimeoutMs, operation)
  }

  #partitionOf(groupId: string): number | undefined {
    const count = this.#dependencies.metadata.topic(GROUP_METADATA_TOPIC)?.partitions.size
    return count === undefined ? undefined : groupPartition(groupId, count)
  }

  #requirePartition(groupId: string): number {
    const partition = this.#partitionOf(groupId)
    if (partition === undefined) throw new KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return partition
  }

  #currentConfig(): GroupCoordinatorConfig {
    const config = this.#dependencies.config()
    if (this.#config?.of !== config) this.#config = { of: config, value: groupCoordinatorConfigOf(config) }
    return this.#config.value
  }

  #onMetadata(delta: MetadataDelta): void {
    const topicNames = new Set(delta.topics)
    for (const key of delta.partitions) {
      const parsed = parsePartitionKey(key)
      if (parsed !== undefined) topicNames.add(parsed.topicName)
    }
    topicNames.delete(GROUP_METADATA_TOPIC)
    if (topicNames.size === 0) return
    for (const [partition, shard] of this.#runtime.shards()) {
      if (shard.groupCount > 0) void this.#tellOfTopics(partition, topicNames)
    }
  }

  async #tellOfTopics(partition: number, topicNames: ReadonlySet<string>): Promise<void> {
    const timeoutMs = this.#currentConfig().offsetsCommitTimeoutMs
    const error = await outcomeOf(async () => {
      while (!(await this.#runtime.write(partition, timeoutMs, (shard) => shard.onTopicsChanged(topicNames)))) continue
    })
    // A shard that moves or loads again looks at all topics itself.
    if (error !== undefined && error.code !== ErrorCode.NOT_COORDINATOR) {
      this.#dependencies.logger.warn({ partition, err: error }, 'groups could not be told of changed topics')
    }
  }
}

/** The partition of `__consumer_offsets` of a group, as Kafka computes it: the absolute value of Java's string hash. */
export function groupPartition(groupId: string, partitionCount: number): number {
  let hash = 0
  for (let i = 0; i < groupId.length; i++) hash = (Math.imul(31, hash) + groupId.charCodeAt(i)) | 0
  return hash === -0x8000_0000 ? 0 : Math.abs(hash) % partitionCount
}

function checkGroupId(groupId: string): void {
  if (groupId === '') throw new KafkaError(ErrorCode.INVALID_GROUP_ID)
}

function isError(error: unknown, code: ErrorCode): boolean {
  return error instanceof KafkaError && error.code === code
}

/** Runs `action`; the KafkaError that it ended with, if it did. */
async function outcomeOf(action: () => Promise<void>): Promise<KafkaError | undefined> {
  try {
    await action()
    return undefined
  } catch (error) {
    if (error instanceof KafkaError) return error
    throw error
  }
}
