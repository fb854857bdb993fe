/**
 * Offset commits of all groups of a shard: OffsetCommit, OffsetFetch, OffsetDelete, and expiry (KIP-211).
 *
 * Place: a part of the group coordinator's state machine. Operations return records; only `replay` changes offsets.
 * Invariants:
 * - An offset belongs to one topic id. When the topic is deleted, or another one stands under its name, the offset goes,
 *   so that a successor never starts where its predecessor's consumers stood.
 * - Offsets of topics that a group subscribes to don't expire, nor are they deleted by clients.
 * - A group without members that has lost its last offset to expiry goes with it.
 */
import { ErrorCode, KafkaError } from '../../../protocol/error-codes.ts'
import type { OffsetCommitRequest, OffsetCommitResponseInput } from '../../../protocol/messages/08-offset-commit.ts'
import type { OffsetFetchRequest, OffsetFetchResponseInput } from '../../../protocol/messages/09-offset-fetch.ts'
import type { OffsetDeleteRequest, OffsetDeleteResponseInput } from '../../../protocol/messages/47-offset-delete.ts'
import { ZERO_UUID } from '../../../protocol/wire/uuid.ts'
import type { CoordinatorResult } from '../../runtime/coordinator-shard.ts'
import { groupIdNotFound, type CommittedPartition, type Group, type GroupClient } from '../group.ts'
import type { CommittedOffsetView } from '../group-view.ts'
import type { GroupShardContext } from '../group-shard-context.ts'
import type { GroupRecord, GroupRecordOf } from '../records/group-record.ts'
import { GroupOffsets, type CommittedOffset, type TopicOffsets } from './group-offsets.ts'
import { RemovalBatch } from './removal-batch.ts'

export type OffsetFetchGroup = OffsetFetchRequest['groups'][number]
export type OffsetFetchGroupResponse = NonNullable<OffsetFetchResponseInput['groups']>[number]

/** From this version on an unknown group is called so; older clients are told that their generation is. */
const FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND = 9
const NO_OFFSET = -1
const EXPIRY_TIMER = 'expire-offsets'
const LOST_TIMER = 'remove-offsets-of-lost-topics'

export class OffsetManager {
  readonly offsets = new GroupOffsets()
  readonly #context: GroupShardContext
  readonly #createSimpleGroup: (groupId: string) => Group

  /** `createSimpleGroup`: makes the group of a client that commits without being a member of any. */
  constructor(context: GroupShardContext, createSimpleGroup: (groupId: string) => Group) {
    this.#context = context
    this.#createSimpleGroup = createSimpleGroup
  }

  /** OffsetCommit, versions 2 to 9. Errors of the whole request are thrown; those of a partition are in the response. */
  commit(request: OffsetCommitRequest, client: GroupClient): CoordinatorResult<GroupRecord, OffsetCommitResponseInput> {
    this.#validateCommit(request, client)
    const { clock, topics } = this.#context
    const nowMs = clock.wallMs()
    const expireTimestamp = request.retentionTimeMs < 0 ? -1 : nowMs + request.retentionTimeMs
    const maxMetadataBytes = this.#context.config().offsetMetadataMaxBytes
    const records: GroupRecord[] = []
    const responses = request.topics.map(({ name, partitions }) => {
      const topic = topics.topic(name)
      return {
        name,
        partitions: partitions.map((wanted) => {
          const { partitionIndex } = wanted
          const metadata = wanted.committedMetadata ?? ''
          if (topic === undefined || partitionIndex < 0 || partitionIndex >= topic.partitionCount) {
            return { partitionIndex, errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION }
          }
          if (metadata.length > maxMetadataBytes) {
            return { partitionIndex, errorCode: ErrorCode.OFFSET_METADATA_TOO_LARGE }
          }
          records.push({
            type: 'OffsetCommit',
            key: { group: request.groupId, topic: name, partition: partitionIndex },
            value: {
              offset: wanted.committedOffset,
              leaderEpoch: wanted.committedLeaderEpoch,
              metadata,
              commitTimestamp: nowMs,
              expireTimestamp,
              topicId: topic.topicId,
            },
          })
          return { partitionIndex, errorCode: ErrorCode.NONE }
        }),
      }
    })
    return { records, reply: { topics: responses } }
  }

  /** OffsetFetch of one group. A group that is not known has no offsets, which is no error. */
  fetch(request: OffsetFetchGroup): OffsetFetchGroupResponse {
    const { groupId, memberId, memberEpoch } = request
    const group = this.#context.groups.get(groupId)
    group?.validateOffsetFetch(memberId, memberEpoch)
    const offsets = this.offsets.of(groupId)
    const topics =
      request.topics === null
        ? [...offsets].map(([name, partitions]) => ({
            name,
            partitions: [...partitions].map(([partition, offset]) => fetched(partition, offset)),
          }))
        : request.topics.map(({ name, partitionIndexes }) => ({
            name,
            partitions: partitionIndexes.map((partition) => fetched(partition, offsets.get(name)?.get(partition))),
          }))
    return { groupId, topics, errorCode: ErrorCode.NONE }
  }

  /** OffsetDelete (KIP-496). */
  delete(request: OffsetDeleteRequest): CoordinatorResult<GroupRecord, OffsetDeleteResponseInput> {
    const { groupId } = request
    const group = this.#context.groups.get(groupId)
    if (group === undefined) throw groupIdNotFound(groupId)
    group.validateOffsetDelete()
    const records: GroupRecord[] = []
    const topics = request.topics.map(({ name, partitions }) => {
      const known = this.#context.topics.topic(name)
      const isSubscribed = group.isSubscribedTo(name)
      return {
        name,
        partitions: partitions.map(({ partitionIndex }) => {
          if (known === undefined || partitionIndex < 0 || partitionIndex >= known.partitionCount)
            return { partitionIndex, errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION }
          if (isSubscribed) return { partitionIndex, errorCode: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC }
          if (this.offsets.get(groupId, name, partitionIndex) !== undefined)
            records.push(removal(groupId, name, partitionIndex))
          return { partitionIndex, errorCode: ErrorCode.NONE }
        }),
      }
    })
    return { records, reply: { errorCode: ErrorCode.NONE, topics } }
  }

  /** Removes offsets of a group, which is itself to be removed. */
  removeAll(groupId: string): RemovalBatch {
    const batch = new RemovalBatch()
    for (const [topicName, partitions] of this.offsets.of(groupId)) addRemovals(batch, groupId, topicName, partitions)
    return batch
  }

  *views(groupId: string): Generator<CommittedOffsetView, void> {
    for (const [topicName, partitions] of this.offsets.of(groupId)) {
      for (const [partition, { offset, commitTimestampMs, metadata }] of partitions)
        yield { topicName, partition, offset, commitTimestampMs, metadata }
    }
  }

  replay({ key, value }: GroupRecordOf<'OffsetCommit'>): void {
    if (value === null) {
      this.offsets.remove(key.group, key.topic, key.partition)
      return
    }
    const { groups } = this.#context
    if (!groups.has(key.group)) groups.set(key.group, this.#createSimpleGroup(key.group))
    this.offsets.put(key.group, key.topic, key.partition, {
      offset: value.offset,
      leaderEpoch: value.leaderEpoch,
      metadata: value.metadata,
      commitTimestampMs: value.commitTimestamp,
      expireTimestampMs: value.expireTimestamp,
      topicId: value.topicId,
    })
  }

  onLoaded(): void {
    this.#scheduleExpiry(this.#context.config().offsetsRetentionCheckIntervalMs)
    // Topics may have been deleted or replaced while nobody watched.
    this.#scheduleRemovalOfLost()
  }

  /** Removes offsets of topics that are gone: of those with the given names, or of any. */
  removeLost(topicNames?: ReadonlySet<string>): RemovalBatch {
    const batch = new RemovalBatch()
    for (const groupId of this.offsets.groupIds()) {
      for (const [topicName, partitions] of this.offsets.of(groupId)) {
        if (topicNames?.has(topicName) === false) continue
        addRemovals(batch, groupId, topicName, partitions, ({ topicId }) => this.#isLost(topicName, topicId))
      }
      if (batch.isFull) break
    }
    return batch
  }

  /** Whether another topic stands under the name, or the topic's deletion was seen. Mere absence proves nothing. */
  #isLost(topicName: string, topicId: string): boolean {
    if (topicId === ZERO_UUID) return false
    const { topics } = this.#context
    const current = topics.topic(topicName)
    return current === undefined ? topics.wasDeleted(topicId) : current.topicId !== topicId
  }

  #validateCommit(request: OffsetCommitRequest, { apiVersion }: GroupClient): void {
    const { groupId, memberId, groupInstanceId, generationIdOrMemberEpoch } = request
    const group = this.#context.groups.get(groupId)
    if (group === undefined) {
      // Without a generation it comes from a tool, or from a consumer that assigns itself: replay makes its group.
      if (generationIdOrMemberEpoch < 0) return
      if (apiVersion >= FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND) throw groupIdNotFound(groupId)
      throw new KafkaError(ErrorCode.ILLEGAL_GENERATION)
    }
    group.validateOffsetCommit(
      { memberId, groupInstanceId, generationIdOrMemberEpoch, apiVersion },
      committedPartitions(request),
    )
  }

  #scheduleRemovalOfLost(): void {
    this.#context.timer.schedule(LOST_TIMER, 0, () => {
      const batch = this.removeLost()
      if (batch.isFull) this.#scheduleRemovalOfLost()
      return { records: batch.records, reply: undefined }
    })
  }

  #scheduleExpiry(delayMs: number): void {
    this.#context.timer.schedule(EXPIRY_TIMER, delayMs, () => {
      const batch = this.#removeExpired()
      this.#scheduleExpiry(batch.isFull ? 0 : this.#context.config().offsetsRetentionCheckIntervalMs)
      return { records: batch.records, reply: undefined }
    })
  }

  #removeExpired(): RemovalBatch {
    const batch = new RemovalBatch()
    for (const [groupId, group] of this.#context.groups) {
      this.#addExpired(batch, groupId, group)
      if (batch.isFull) break
    }
    return batch
  }

  #addExpired(batch: RemovalBatch, groupId: string, group: Group): void {
    const nowMs = this.#context.clock.wallMs()
    const retentionMs = this.#context.config().offsetsRetentionMs
    const base = group.offsetExpirationBase()
    let hasOthers = base === undefined && this.offsets.has(groupId)
    if (base !== undefined) {
      for (const [topicName, partitions] of this.offsets.of(groupId)) {
        if (group.isSubscribedTo(topicName)) {
          hasOthers = true
          continue
        }
        for (const [partition, offset] of partitions) {
          if (isExpired(offset, base, nowMs, retentionMs)) batch.add(groupId, topicName, partition)
          else hasOthers = true
        }
      }
    }
    // In a full batch some of the group's offsets may not have found room.
    if (!hasOthers && !batch.isFull && isRemovable(group)) batch.records.push(...group.tombstones())
  }
}

function* committedPartitions({ topics }: OffsetCommitRequest): Generator<CommittedPartition, void> {
  for (const { name, partitions } of topics) {
    for (const { partitionIndex } of partitions) yield { topicName: name, partition: partitionIndex }
  }
}

function isExpired(offset: CommittedOffset, base: number | 'commit', nowMs: number, retentionMs: number): boolean {
  if (offset.expireTimestampMs >= 0) return nowMs >= offset.expireTimestampMs
  const baseMs = base === 'commit' ? offset.commitTimestampMs : base
  return nowMs - baseMs >= retentionMs
}

function isRemovable(group: Group): boolean {
  try {
    group.validateDelete()
    return true
  } catch (error) {
    if (error instanceof KafkaError) return false
    throw error
  }
}

function fetched(partitionIndex: number, offset: CommittedOffset | undefined) {
  return {
    partitionIndex,
    committedOffset: offset?.offset ?? NO_OFFSET,
    committedLeaderEpoch: offset?.leaderEpoch ?? -1,
    metadata: offset?.metadata ?? '',
    errorCode: ErrorCode.NONE,
  }
}

function removal(group: string, topic: string, partition: number): GroupRecord {
  return { type: 'OffsetCommit', key: { group, topic, partition }, value: null }
}

function addRemovals(
  batch: RemovalBatch,
  groupId: string,
  topicName: string,
  partitions: TopicOffsets,
  isConcerned: (offset: CommittedOffset) => boolean = () => true,
): void {
  for (const [partition, offset] of partitions) {
    if (isConcerned(offset)) batch.add(groupId, topicName, partition)
  }
}
