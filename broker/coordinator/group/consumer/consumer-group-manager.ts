/**
 * Groups of the consumer protocol (KIP-848): ConsumerGroupHeartbeat and what follows from it.
 *
 * Place: a part of the group coordinator's state machine, beside the classic groups. Members tell by heartbeats what they
 * want and own; the coordinator works out who gets what, and tells each member by the answers. All of it is in records; the
 * timers of members are made anew when a shard is loaded.
 * A heartbeat that changes nothing costs what its own assignment costs, and writes nothing.
 *
 * A classic group becomes a consumer group when a first member joins it by this protocol, and the other way round when the
 * last such member goes (online migration); its classic members go on meanwhile, see `classic-members.ts`.
 *
 * Sources: KIP-848, KIP-1082 (members make their ids), KIP-1101 (metadata hash), KIP-1251 (assignment epochs).
 */
import { randomUuid } from '../../../../common/random.ts'
import { ErrorCode, KafkaError } from '../../../protocol/error-codes.ts'
import type { JoinGroupRequest, JoinGroupResponseInput } from '../../../protocol/messages/11-join-group.ts'
import type { HeartbeatRequest, HeartbeatResponseInput } from '../../../protocol/messages/12-heartbeat.ts'
import type { LeaveGroupRequest, LeaveGroupResponseInput } from '../../../protocol/messages/13-leave-group.ts'
import type { SyncGroupRequest, SyncGroupResponseInput } from '../../../protocol/messages/14-sync-group.ts'
import type {
  ConsumerGroupHeartbeatRequest,
  ConsumerGroupHeartbeatResponseInput,
} from '../../../protocol/messages/68-consumer-group-heartbeat.ts'
import type { ConsumerGroupDescribeResponseInput } from '../../../protocol/messages/69-consumer-group-describe.ts'
import { noRecords, type CoordinatorResult } from '../../runtime/coordinator-shard.ts'
import { ClassicGroup } from '../classic/classic-group.ts'
import type { ClassicGroupManager } from '../classic/classic-group-manager.ts'
import { CONSUMER_PROTOCOL_TYPE } from '../classic/consumer-protocol.ts'
import { groupIdNotFound, type GroupClient } from '../group.ts'
import type { GroupShardContext } from '../group-shard-context.ts'
import type { GroupRecord } from '../records/group-record.ts'
import { ClassicMembers } from './classic-members.ts'
import { ConsumerGroup, type ConsumerGroupRecord } from './consumer-group.ts'
import {
  JOIN_EPOCH,
  LEAVE_EPOCH,
  MemberState,
  NOTHING_OWNED,
  STATIC_LEAVE_EPOCH,
  subscriptionOf,
  type ConsumerGroupMember,
  type OwnedPartitions,
  type Subscription,
} from './consumer-group-member.ts'
import { describeGroup } from './describe-group.ts'
import { GroupChange } from './group-change.ts'
import { GroupRegexes } from './group-regexes.ts'
import { GroupUpdater } from './group-updater.ts'
import { validateHeartbeat } from './heartbeat-validation.ts'
import { joiningMember } from './joining-member.ts'
import { MemberTimers, type MemberTimerKind } from './member-timers.ts'
import { upgradeRecords } from './migration.ts'
import type { ReportedPartitions } from './reconcile.ts'

type Result<Reply> = CoordinatorResult<GroupRecord, Reply>
export type DescribedConsumerGroup = NonNullable<ConsumerGroupDescribeResponseInput['groups']>[number]

/** A change of more topics at once makes all groups look. */
const MAX_TOPICS_TO_LOOK_UP = 100

/** The group of a heartbeat: as it is, new, or made of a classic one by `records`. */
interface HeartbeatGroup {
  readonly group: ConsumerGroup
  readonly records: readonly GroupRecord[]
  readonly migrated: ClassicGroup | undefined
}

export class ConsumerGroupManager {
  readonly #context: GroupShardContext
  readonly #classic: ClassicGroupManager
  readonly #timers: MemberTimers
  readonly #regexes: GroupRegexes
  readonly #updater: GroupUpdater
  readonly #classicMembers: ClassicMembers

  constructor(context: GroupShardContext, classic: ClassicGroupManager) {
    this.#context = context
    this.#classic = classic
    this.#timers = new MemberTimers(context.timer, (groupId, memberId, kind) => this.#expire(groupId, memberId, kind))
    this.#regexes = new GroupRegexes(context)
    this.#updater = new GroupUpdater(context, classic, this.#timers, this.#regexes)
    this.#classicMembers = new ClassicMembers(context, this.#timers, this.#updater)
  }

  /** ConsumerGroupHeartbeat, versions 0 and 1. Throws the KafkaErrors that it may be answered with. */
  heartbeat(request: ConsumerGroupHeartbeatRequest, client: GroupClient): Result<ConsumerGroupHeartbeatResponseInput> {
    validateHeartbeat(request, client.apiVersion, this.#context.config().consumerAssignors)
    const isLeaving = request.memberEpoch === LEAVE_EPOCH || request.memberEpoch === STATIC_LEAVE_EPOCH
    return isLeaving ? this.#leave(request) : this.#heartbeat(request, client)
  }

  /** JoinGroup to a consumer group. `respond` is called once, unless this throws. */
  classicJoin(
    request: JoinGroupRequest,
    client: GroupClient,
    respond: (response: JoinGroupResponseInput) => void,
  ): Result<undefined> {
    const group = this.#requireGroup(request.groupId)
    return group.memberCount === 0
      ? this.#joinEmpty(group, request, client, respond)
      : this.#classicMembers.join(group, request, client, respond)
  }

  /** SyncGroup to a consumer group. `respond` is called once, unless this throws. */
  classicSync(
    request: SyncGroupRequest,
    _client: GroupClient,
    respond: (response: SyncGroupResponseInput) => void,
  ): Result<undefined> {
    return this.#classicMembers.sync(this.#requireGroup(request.groupId), request, respond)
  }

  /** Heartbeat to a consumer group. */
  classicHeartbeat(request: HeartbeatRequest, _client: GroupClient): Result<HeartbeatResponseInput> {
    return this.#classicMembers.heartbeat(this.#requireGroup(request.groupId), request)
  }

  /** LeaveGroup to a consumer group; by tools, for members of either protocol. */
  classicLeave(request: LeaveGroupRequest, client: GroupClient): Result<LeaveGroupResponseInput> {
    return this.#classicMembers.leave(this.#requireGroup(request.groupId), request, client)
  }

  /** For ConsumerGroupDescribe. Throws GROUP_ID_NOT_FOUND. */
  describe(groupId: string): DescribedConsumerGroup {
    return describeGroup(this.#requireGroup(groupId), this.#context)
  }

  /** The groups that are concerned see it at their next heartbeat. */
  onTopicsChanged(topicNames: ReadonlySet<string>): void {
    const isMany = topicNames.size > MAX_TOPICS_TO_LOOK_UP
    for (const group of this.#consumerGroups()) {
      this.#regexes.onTopicsChanged(group, topicNames)
      if (group.isMetadataStale) continue
      if (isMany) group.isMetadataStale = true
      else for (const name of topicNames) if (group.isSubscribedTo(name)) group.isMetadataStale = true
    }
  }

  replay(record: ConsumerGroupRecord): void {
    const { groups, topics } = this.#context
    const { groupId } = record.key
    const known = groups.get(groupId)
    let group: ConsumerGroup
    if (known instanceof ConsumerGroup) {
      group = known
    } else {
      // A tombstone has nothing to remove; of a group that migrated it may come after the other's first record.
      if (record.value === null) return
      // A classic group that stands here has only offsets, or was migrated.
      group = new ConsumerGroup(groupId, topics)
      groups.set(groupId, group)
    }
    group.replay(record)
    if (group.isDead) groups.delete(groupId)
  }

  onLoaded(): void {
    for (const group of this.#consumerGroups()) {
      for (const member of group.allMembers) {
        this.#startSession(group, member)
        if (member.classic === null && member.state === MemberState.UNREVOKED_PARTITIONS)
          this.#timers.start('rebalance', group.groupId, member.memberId, member.rebalanceTimeoutMs)
      }
      if (group.classicMemberCount > 0 && group.classicMemberCount === group.memberCount)
        this.#updater.downgradeSoon(group.groupId)
    }
  }

  /** Nobody waits here: answers are given at once, and timers end with the shard. */
  onUnloaded(_errorCode: number): void {
    for (const group of this.#consumerGroups()) group.changedTopicNames.clear()
  }

  #heartbeat(request: ConsumerGroupHeartbeatRequest, client: GroupClient): Result<ConsumerGroupHeartbeatResponseInput> {
    const isJoining = request.memberEpoch === JOIN_EPOCH
    const { group, records, migrated } = this.#heartbeatGroup(request.groupId, isJoining)
    group.requireRoom(this.#context.config().consumerMaxSize, request.memberId, request.instanceId)
    const memberId = request.memberId === '' ? randomUuid(this.#context.random) : request.memberId
    const change = new GroupChange(group, this.#context.topics)
    const { member: before, isNew } = isJoining
      ? joiningMember(change, memberId, request.instanceId)
      : { member: group.requireMemberOf(memberId, request.instanceId), isNew: false }
    if (!isJoining) checkEpoch(before, request)

    const after = this.#toldBy(before, request, client)
    const reported = request.topicPartitions
    const reconciled = this.#updater.update(change, { before, after, isNew, reported })

    if (migrated !== undefined) this.#release(migrated, group)
    if (before.classic !== null) {
      this.#timers.stop('join', group.groupId, memberId)
      this.#timers.stop('sync', group.groupId, memberId)
    }
    this.#startSession(group, reconciled)
    const isFull =
      isJoining ||
      request.memberEpoch !== before.memberEpoch ||
      (request.rebalanceTimeoutMs !== -1 && request.subscribedTopicNames !== null && reported !== null)
    const isTold = isFull || reconciled.assigned !== before.assigned
    return {
      records: [...records, ...change.records],
      reply: {
        errorCode: ErrorCode.NONE,
        memberId,
        memberEpoch: reconciled.memberEpoch,
        heartbeatIntervalMs: this.#heartbeatIntervalMs(group.groupId),
        assignment: isTold ? { topicPartitions: told(reconciled.assigned) } : null,
      },
    }
  }

  #leave(request: ConsumerGroupHeartbeatRequest): Result<ConsumerGroupHeartbeatResponseInput> {
    const { groupId, memberId, instanceId, memberEpoch } = request
    const group = this.#requireGroup(groupId)
    const member = group.requireMemberOf(memberId, instanceId)
    const reply = { errorCode: ErrorCode.NONE, memberId, memberEpoch }
    this.#context.logger.info({ groupId, memberId, memberEpoch }, 'a member leaves a consumer group')
    if (memberEpoch !== STATIC_LEAVE_EPOCH) return this.#updater.remove(group, [member], reply)
    // What it was to give up, it does not use any more; the rest stays its own until its session ends.
    this.#timers.stop('rebalance', groupId, memberId)
    const change = new GroupChange(group, this.#context.topics)
    change.putAssignment({ ...member, memberEpoch: STATIC_LEAVE_EPOCH, pendingRevocation: NOTHING_OWNED })
    return { records: change.records, reply }
  }

  /** A join makes the group where it has to. Throws GROUP_ID_NOT_FOUND. */
  #heartbeatGroup(groupId: string, isJoining: boolean): HeartbeatGroup {
    const { groups, topics, clock } = this.#context
    const known = groups.get(groupId)
    if (known instanceof ConsumerGroup) return { group: known, records: [], migrated: undefined }
    if (!isJoining) throw notFound(groupId, known !== undefined)
    const group = new ConsumerGroup(groupId, topics)
    if (!(known instanceof ClassicGroup)) return { group, records: [], migrated: undefined }
    if (known.memberCount === 0) return { group, records: known.tombstones(), migrated: known }
    const records = this.#canUpgrade(known) ? upgradeRecords(known, topics, clock.wallMs()) : undefined
    if (records === undefined) throw notFound(groupId, true)
    for (const record of records)
      if (record.type !== 'GroupMetadata' && record.type !== 'OffsetCommit') group.replay(record)
    return { group, records, migrated: known }
  }

  #canUpgrade(classic: ClassicGroup): boolean {
    const { consumerMigrationPolicy: policy, consumerMaxSize } = this.#context.config()
    return (
      (policy === 'bidirectional' || policy === 'upgrade') &&
      classic.protocolType === CONSUMER_PROTOCOL_TYPE &&
      classic.memberCount <= consumerMaxSize
    )
  }

  /** The classic group's members are the consumer group's now: who waits joins again. */
  #release(classic: ClassicGroup, group: ConsumerGroup): void {
    this.#context.logger.info({ groupId: group.groupId }, 'a classic group becomes a consumer group')
    this.#classic.release(classic, ErrorCode.REBALANCE_IN_PROGRESS)
    for (const member of group.allMembers) this.#startSession(group, member)
  }

  /** An empty group has no protocol: it becomes what its first member speaks. */
  #joinEmpty(
    group: ConsumerGroup,
    request: JoinGroupRequest,
    client: GroupClient,
    respond: (response: JoinGroupResponseInput) => void,
  ): Result<undefined> {
    const { groups } = this.#context
    groups.delete(group.groupId)
    const joined = this.#classic.join(request, client, respond)
    if (groups.has(group.groupId)) return { ...joined, records: [...group.tombstones(), ...joined.records] }
    // It was refused.
    groups.set(group.groupId, group)
    return joined
  }

  #toldBy(
    member: ConsumerGroupMember,
    request: ConsumerGroupHeartbeatRequest,
    { clientId, clientHost }: GroupClient,
  ): ConsumerGroupMember {
    const subscription = toldSubscription(member.subscription, request)
    if (subscription.regex !== null && subscription.regex !== member.subscription.regex)
      this.#regexes.validate(subscription.regex)
    return {
      ...member,
      instanceId: request.instanceId ?? member.instanceId,
      rackId: request.rackId ?? member.rackId,
      rebalanceTimeoutMs: request.rebalanceTimeoutMs === -1 ? member.rebalanceTimeoutMs : request.rebalanceTimeoutMs,
      serverAssignor: request.serverAssignor ?? member.serverAssignor,
      subscription,
      clientId,
      clientHost,
      classic: null,
    }
  }

  #startSession({ groupId }: ConsumerGroup, { memberId, classic }: ConsumerGroupMember): void {
    this.#timers.start('session', groupId, memberId, classic?.sessionTimeoutMs ?? this.#sessionTimeoutMs(groupId))
  }

  #sessionTimeoutMs(groupId: string): number {
    const config = this.#context.config()
    const { consumerMinSessionTimeoutMs: min, consumerMaxSessionTimeoutMs: max } = config
    const own = this.#context.groupConfig(groupId)['consumer.session.timeout.ms']
    return own === undefined ? config.consumerSessionTimeoutMs : clamp(Number(own), min, max)
  }

  #heartbeatIntervalMs(groupId: string): number {
    const config = this.#context.config()
    const { consumerMinHeartbeatIntervalMs: min, consumerMaxHeartbeatIntervalMs: max } = config
    const own = this.#context.groupConfig(groupId)['consumer.heartbeat.interval.ms']
    return own === undefined ? config.consumerHeartbeatIntervalMs : clamp(Number(own), min, max)
  }

  #expire(groupId: string, memberId: string, kind: MemberTimerKind): Result<undefined> {
    const group = this.#context.groups.get(groupId)
    const member = group instanceof ConsumerGroup ? group.member(memberId) : undefined
    if (!(group instanceof ConsumerGroup) || member === undefined) return noRecords(undefined)
    if (kind === 'rebalance' && member.state !== MemberState.UNREVOKED_PARTITIONS) return noRecords(undefined)
    this.#context.logger.info({ groupId, memberId, timer: kind }, 'a member of a consumer group is fenced')
    return this.#updater.remove(group, [member], undefined)
  }

  #requireGroup(groupId: string): ConsumerGroup {
    const group = this.#context.groups.get(groupId)
    if (group instanceof ConsumerGroup) return group
    throw notFound(groupId, group !== undefined)
  }

  *#consumerGroups(): Generator<ConsumerGroup, void> {
    for (const group of this.#context.groups.values()) if (group instanceof ConsumerGroup) yield group
  }
}

/** Throws FENCED_MEMBER_EPOCH, unless the epoch is the member's own or, its last answer being lost, the one before. */
function checkEpoch(
  member: ConsumerGroupMember,
  { memberEpoch: received, topicPartitions }: ConsumerGroupHeartbeatRequest,
): void {
  const { memberEpoch, previousMemberEpoch, assigned } = member
  if (received === memberEpoch) return
  if (received < memberEpoch && received === previousMemberEpoch && isSubset(topicPartitions, assigned)) return
  throw new KafkaError(
    ErrorCode.FENCED_MEMBER_EPOCH,
    `The consumer group member has a ${received < memberEpoch ? 'smaller' : 'greater'} member epoch (${received}) than the one known by the group coordinator (${memberEpoch}). The member must abandon all its partitions and rejoin.`,
  )
}

function isSubset(reported: ReportedPartitions, owned: OwnedPartitions): boolean {
  return (
    reported?.every(({ topicId, partitions }) => {
      const some = owned.get(topicId)
      return partitions.every((partition) => some?.has(partition) === true)
    }) ?? false
  )
}

/** Null means unchanged; the empty expression, none. */
function toldSubscription(known: Subscription, request: ConsumerGroupHeartbeatRequest): Subscription {
  const { subscribedTopicNames: names, subscribedTopicRegex: regex } = request
  if (names === null && regex === null) return known
  const told = subscriptionOf(names ?? known.topicNames, regex ?? known.regex)
  return told.key === known.key ? known : told
}

function told(owned: OwnedPartitions) {
  return [...owned].map(([topicId, partitions]) => ({ topicId, partitions: [...partitions.keys()] }))
}

function clamp(value: number, min: number, max: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(value, min), max) : min
}

function notFound(groupId: string, isOther: boolean): KafkaError {
  if (!isOther) return groupIdNotFound(groupId)
  return new KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, `Group ${groupId} is not a consumer group.`)
}
