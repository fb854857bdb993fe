/**
 * The group coordinator's state machine for one partition of `__consumer_offsets`: offsets, classic groups and consumer
 * groups, over one map of groups.
 *
 * Each request goes to the part that its group belongs to. A group has one type at a time; it changes it by migration
 * (KIP-848), which is the consumer groups' business.
 */
import type { OffsetCommitRequest, OffsetCommitResponseInput } from '../../protocol/messages/08-offset-commit.ts'
import type { JoinGroupRequest, JoinGroupResponseInput } from '../../protocol/messages/11-join-group.ts'
import type { HeartbeatRequest, HeartbeatResponseInput } from '../../protocol/messages/12-heartbeat.ts'
import type { LeaveGroupRequest, LeaveGroupResponseInput } from '../../protocol/messages/13-leave-group.ts'
import type { SyncGroupRequest, SyncGroupResponseInput } from '../../protocol/messages/14-sync-group.ts'
import type { DescribeGroupsResponseInput } from '../../protocol/messages/15-describe-groups.ts'
import type { ListGroupsResponseInput } from '../../protocol/messages/16-list-groups.ts'
import type { OffsetDeleteRequest, OffsetDeleteResponseInput } from '../../protocol/messages/47-offset-delete.ts'
import type {
  ConsumerGroupHeartbeatRequest,
  ConsumerGroupHeartbeatResponseInput,
} from '../../protocol/messages/68-consumer-group-heartbeat.ts'
import { type CoordinatorResult, type CoordinatorShard } from '../runtime/coordinator-shard.ts'
import { ClassicGroupManager } from './classic/classic-group-manager.ts'
import { ClassicGroup } from './classic/classic-group.ts'
import { ConsumerGroupManager, type DescribedConsumerGroup } from './consumer/consumer-group-manager.ts'
import { groupIdNotFound, type Group, type GroupClient } from './group.ts'
import type { GroupView } from './group-view.ts'
import type { GroupShardContext } from './group-shard-context.ts'
import { OffsetManager, type OffsetFetchGroup, type OffsetFetchGroupResponse } from './offsets/offset-manager.ts'
import type { GroupRecord } from './records/group-record.ts'

type Result<Reply> = CoordinatorResult<GroupRecord, Reply>
export type ListedGroup = NonNullable<ListGroupsResponseInput['groups']>[number]
export type DescribedClassicGroup = NonNullable<DescribeGroupsResponseInput['groups']>[number]

export class GroupShard implements CoordinatorShard<GroupRecord> {
  readonly offsets: OffsetManager
  readonly #groups: Map<string, Group>
  readonly #classic: ClassicGroupManager
  readonly #consumer: ConsumerGroupManager

  constructor(context: GroupShardContext) {
    this.#groups = context.groups
    this.#classic = new ClassicGroupManager(context)
    this.#consumer = new ConsumerGroupManager(context, this.#classic)
    this.offsets = new OffsetManager(context, (groupId) => this.#classic.createSimpleGroup(groupId))
  }

  get groupCount(): number {
    return this.#groups.size
  }

  *views(): Generator<GroupView, void> {
    for (const group of this.#groups.values()) yield this.#viewOf(group)
  }

  view(groupId: string): GroupView | undefined {
    const group = this.#groups.get(groupId)
    return group === undefined ? undefined : this.#viewOf(group)
  }

  /** `respond` is called once, maybe much later. */
  join(
    request: JoinGroupRequest,
    client: GroupClient,
    respond: (response: JoinGroupResponseInput) => void,
  ): Result<undefined> {
    if (this.#isConsumer(request.groupId)) return this.#consumer.classicJoin(request, client, respond)
    return this.#classic.join(request, client, respond)
  }

  /** `respond` is called once, maybe later. */
  sync(
    request: SyncGroupRequest,
    client: GroupClient,
    respond: (response: SyncGroupResponseInput) => void,
  ): Result<undefined> {
    if (this.#isConsumer(request.groupId)) return this.#consumer.classicSync(request, client, respond)
    return this.#classic.sync(request, client, respond)
  }

  heartbeat(request: HeartbeatRequest, client: GroupClient): Result<HeartbeatResponseInput> {
    if (this.#isConsumer(request.groupId)) return this.#consumer.classicHeartbeat(request, client)
    return this.#classic.heartbeat(request, client)
  }

  leave(request: LeaveGroupRequest, client: GroupClient): Result<LeaveGroupResponseInput> {
    if (this.#isConsumer(request.groupId)) return this.#consumer.classicLeave(request, client)
    return this.#classic.leave(request, client)
  }

  consumerGroupHeartbeat(
    request: ConsumerGroupHeartbeatRequest,
    client: GroupClient,
  ): Result<ConsumerGroupHeartbeatResponseInput> {
    return this.#consumer.heartbeat(request, client)
  }

  commitOffsets(request: OffsetCommitRequest, client: GroupClient): Result<OffsetCommitResponseInput> {
    const result = this.offsets.commit(request, client)
    const group = this.#groups.get(request.groupId)
    // A classic member that commits shows that it lives.
    if (group instanceof ClassicGroup) this.#classic.onOffsetCommit(group, request.memberId)
    return result
  }

  fetchOffsets(request: OffsetFetchGroup): OffsetFetchGroupResponse {
    return this.offsets.fetch(request)
  }

  deleteOffsets(request: OffsetDeleteRequest): Result<OffsetDeleteResponseInput> {
    return this.offsets.delete(request)
  }

  /** Removes a group without members, a part of its offsets at a time: the reply says whether all is done. */
  deleteGroup(groupId: string): Result<boolean> {
    const group = this.#groups.get(groupId)
    if (group === undefined) throw groupIdNotFound(groupId)
    group.validateDelete()
    const batch = this.offsets.removeAll(groupId)
    if (batch.isFull) return { records: batch.records, reply: false }
    return { records: [...batch.records, ...group.tombstones()], reply: true }
  }

  describeClassic(groupId: string, apiVersion: number): DescribedClassicGroup {
    return this.#classic.describe(groupId, apiVersion)
  }

  /** Throws GROUP_ID_NOT_FOUND. */
  describeConsumer(groupId: string): DescribedConsumerGroup {
    return this.#consumer.describe(groupId)
  }

  /** Filters are sets of lower case names; an empty one lets all pass. */
  list(states: ReadonlySet<string>, types: ReadonlySet<string>): ListedGroup[] {
    const listed: ListedGroup[] = []
    for (const { groupId, protocolType, stateName, type } of this.#groups.values()) {
      if (states.size > 0 && !states.has(stateName.toLowerCase())) continue
      if (types.size > 0 && !types.has(type)) continue
      listed.push({
        groupId,
        protocolType,
        groupState: stateName,
        groupType: type,
      })
    }
    return listed
  }

  /** Topics appeared, changed or vanished. The reply says whether all is done. */
  onTopicsChanged(topicNames: ReadonlySet<string>): Result<boolean> {
    this.#consumer.onTopicsChanged(topicNames)
    const lost = this.offsets.removeLost(topicNames)
    return { records: lost.records, reply: !lost.isFull }
  }

  replay(record: GroupRecord): void {
    if (record.type === 'OffsetCommit') this.offsets.replay(record)
    else if (record.type === 'GroupMetadata') this.#classic.replay(record)
    else this.#consumer.replay(record)
  }

  onLoaded(): void {
    this.#classic.onLoaded()
    this.#consumer.onLoaded()
    this.offsets.onLoaded()
  }

  onUnloaded(errorCode: number): void {
    this.#classic.onUnloaded(errorCode)
    this.#consumer.onUnloaded(errorCode)
  }

  #isConsumer(groupId: string): boolean {
    return this.#groups.get(groupId)?.type === 'consumer'
  }

  #viewOf(group: Group): GroupView {
    const { groupId, type, stateName, protocolType, memberCount } = group
    return {
      groupId,
      type,
      stateName,
      protocolType,
      memberCount,
      members: () => group.members(),
      offsets: () => this.offsets.views(groupId),
    }
  }
}
