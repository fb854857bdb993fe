/**
 * Members of the classic protocol in a consumer group, while it migrates (KIP-848): to them, the coordinator is the leader.
 *
 * A JoinGroup is answered at once, with the member's epoch as the generation; SyncGroup fetches what the member may work on.
 * A heartbeat is answered REBALANCE_IN_PROGRESS where the member has to join again: for a new epoch, to give up partitions
 * (what it owns then is in its subscription), or to get some that have become free.
 */
import { ErrorCode, KafkaError } from '../../../protocol/error-codes.ts'
import type { JoinGroupRequest, JoinGroupResponseInput } from '../../../protocol/messages/11-join-group.ts'
import type { HeartbeatRequest, HeartbeatResponseInput } from '../../../protocol/messages/12-heartbeat.ts'
import type { LeaveGroupRequest, LeaveGroupResponseInput } from '../../../protocol/messages/13-leave-group.ts'
import type { SyncGroupRequest, SyncGroupResponseInput } from '../../../protocol/messages/14-sync-group.ts'
import { noRecords, type CoordinatorResult } from '../../runtime/coordinator-shard.ts'
import { NO_ASSIGNMENT, type ClassicProtocol } from '../classic/classic-member.ts'
import { CONSUMER_PROTOCOL_TYPE, parseSubscription, type TopicPartitions } from '../classic/consumer-protocol.ts'
import {
  hasAllowedSessionTimeout,
  needsKnownMemberId,
  newMemberId,
  noProtocolName,
  ownProtocols,
  rebalanceTimeoutOf,
} from '../classic/join-request.ts'
import { answerLeave } from '../classic/leave-request.ts'
import type { GroupClient } from '../group.ts'
import type { GroupShardContext } from '../group-shard-context.ts'
import type { GroupRecord } from '../records/group-record.ts'
import { isWaitingForOthers, type ConsumerGroup } from './consumer-group.ts'
import { MemberState, subscriptionOf, type ClassicMetadata, type ConsumerGroupMember } from './consumer-group-member.ts'
import { GroupChange } from './group-change.ts'
import type { GroupUpdater } from './group-updater.ts'
import { joiningMember } from './joining-member.ts'
import type { MemberTimers } from './member-timers.ts'
import { classicAssignment } from './migration.ts'
import type { ReportedPartitions } from './reconcile.ts'

type Result<Reply> = CoordinatorResult<GroupRecord, Reply>
type ClassicGroupMember = ConsumerGroupMember & { readonly classic: ClassicMetadata }

export class ClassicMembers {
  readonly #context: GroupShardContext
  readonly #timers: MemberTimers
  readonly #updater: GroupUpdater

  constructor(context: GroupShardContext, timers: MemberTimers, updater: GroupUpdater) {
    this.#context = context
    this.#timers = timers
    this.#updater = updater
  }

  /** `respond` is called once, when the join is committed or is not, unless this throws. */
  join(
    group: ConsumerGroup,
    request: JoinGroupRequest,
    client: GroupClient,
    respond: (response: JoinGroupResponseInput) => void,
  ): Result<undefined> {
    const config = this.#context.config()
    const { groupId, groupInstanceId, sessionTimeoutMs } = request
    if (!hasAllowedSessionTimeout(request, config)) throw new KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
    const isUnknown = request.memberId === ''
    const memberId = isUnknown ? newMemberId(request, client, this.#context.random) : request.memberId
    group.requireRoom(config.consumerMaxSize, memberId, groupInstanceId)
    const protocols = ownProtocols(request)
    const subscription = parseSubscription(protocols[0]?.metadata ?? NO_ASSIGNMENT)
    if (!supports(group, request.protocolType, protocols) || subscription === undefined)
      throw new KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, `Member ${memberId}'s protocols are not supported.`)
    if (isUnknown && groupInstanceId === null && needsKnownMemberId(client.apiVersion)) {
      respond({ errorCode: ErrorCode.MEMBER_ID_REQUIRED, memberId, protocolName: noProtocolName(client.apiVersion) })
      return noRecords(undefined)
    }

    const change = new GroupChange(group, this.#context.topics)
    const { member: before, isNew } =
      isUnknown || groupInstanceId === null
        ? joiningMember(change, memberId, groupInstanceId, true)
        : { member: group.requireMemberOf(memberId, groupInstanceId), isNew: false }
    const rebalanceTimeoutMs = rebalanceTimeoutOf(request)
    const after = {
      ...before,
      instanceId: groupInstanceId ?? before.instanceId,
      rackId: subscription.rackId ?? before.rackId,
      clientId: client.clientId,
      clientHost: client.clientHost,
      rebalanceTimeoutMs,
      subscription: subscriptionOf(subscription.topicNames, null),
      classic: { sessionTimeoutMs, supportedProtocols: protocols },
    }
    const reported = this.#reported(subscription.owned)
    const joined = this.#updater.update(change, { before, after, isNew, reported })
    const response: JoinGroupResponseInput = {
      errorCode: ErrorCode.NONE,
      memberId,
      generationId: joined.memberEpoch,
      protocolType: CONSUMER_PROTOCOL_TYPE,
      protocolName: protocols[0]?.name ?? '',
      leader: '',
      members: [],
    }
    return {
      records: change.records,
      reply: undefined,
      whenSettled: (errorCode) => {
        if (errorCode !== ErrorCode.NONE) {
          respond({ errorCode, memberId, protocolName: noProtocolName(client.apiVersion) })
          return
        }
        this.#timers.stop('rebalance', groupId, memberId)
        this.#timers.stop('join', groupId, memberId)
        this.#timers.start('session', groupId, memberId, sessionTimeoutMs)
        this.#timers.start('sync', groupId, memberId, rebalanceTimeoutMs)
        // It may have taken the place of the last member of the consumer protocol.
        if (before.classic === null && !isNew) this.#updater.downgradeSoon(groupId)
        respond(response)
      },
    }
  }

  /** `respond` is called once, unless this throws. */
  sync(
    group: ConsumerGroup,
    request: SyncGroupRequest,
    respond: (response: SyncGroupResponseInput) => void,
  ): Result<undefined> {
    const { groupId, memberId, protocolType, protocolName } = request
    const member = this.#requireClassic(group, memberId, request.groupInstanceId, request.generationId)
    const [preferred] = member.classic.supportedProtocols
    const isOther = (given: string | null, own: string | undefined): boolean => given !== null && given !== own
    if (isOther(protocolType, CONSUMER_PROTOCOL_TYPE) || isOther(protocolName, preferred?.name))
      throw new KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    // Who has to give up partitions first has joined for this epoch already.
    if (group.groupEpoch > member.memberEpoch && member.state !== MemberState.UNREVOKED_PARTITIONS) {
      this.#expectJoin(group, member)
      throw new KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    }
    const assignment = classicAssignment(member, preferred?.metadata ?? NO_ASSIGNMENT, this.#context.topics)
    return {
      records: [],
      reply: undefined,
      whenSettled: (errorCode) => {
        if (errorCode !== ErrorCode.NONE) {
          respond({ errorCode, assignment: NO_ASSIGNMENT })
          return
        }
        this.#timers.stop('sync', groupId, memberId)
        this.#timers.start('session', groupId, memberId, member.classic.sessionTimeoutMs)
        respond({ errorCode: ErrorCode.NONE, protocolType, protocolName, assignment })
      },
    }
  }

  heartbeat(group: ConsumerGroup, request: HeartbeatRequest): Result<HeartbeatResponseInput> {
    const { groupId, memberId } = request
    const member = this.#requireClassic(group, memberId, request.groupInstanceId, request.generationId)
    this.#timers.start('session', groupId, memberId, member.classic.sessionTimeoutMs)
    // A group with classic members alone has nobody else who would notice.
    const records = group.isMetadataStale ? this.#updater.refreshTopics(group) : []
    const hasToJoin =
      records.length > 0 ||
      member.memberEpoch < group.groupEpoch ||
      member.state === MemberState.UNREVOKED_PARTITIONS ||
      (member.state === MemberState.UNRELEASED_PARTITIONS && !isWaitingForOthers(group, member))
    if (hasToJoin) this.#expectJoin(group, member)
    return { records, reply: { errorCode: hasToJoin ? ErrorCode.REBALANCE_IN_PROGRESS : ErrorCode.NONE } }
  }

  leave(
    group: ConsumerGroup,
    request: LeaveGroupRequest,
    { apiVersion }: GroupClient,
  ): Result<LeaveGroupResponseInput> {
    const leaving = new Set<ConsumerGroupMember>()
    const reply = answerLeave(request, apiVersion, (memberId, groupInstanceId) => {
      const { member, errorCode } = leavingMember(group, memberId, groupInstanceId)
      if (member !== undefined) leaving.add(member)
      return { memberId: member?.memberId ?? memberId, errorCode }
    })
    return this.#updater.remove(group, [...leaving], reply)
  }

  #requireClassic(
    group: ConsumerGroup,
    memberId: string,
    instanceId: string | null,
    generationId: number,
  ): ClassicGroupMember {
    const member = group.requireMemberOf(memberId, instanceId)
    const { classic, memberEpoch } = member
    if (classic === null) {
      throw new KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, `Member ${memberId} does not use the classic protocol.`)
    }
    if (generationId !== memberEpoch) throw new KafkaError(ErrorCode.ILLEGAL_GENERATION)
    return { ...member, classic }
  }

  #expectJoin({ groupId }: ConsumerGroup, { memberId, rebalanceTimeoutMs }: ConsumerGroupMember): void {
    this.#timers.startUnlessRunning('join', groupId, memberId, rebalanceTimeoutMs)
  }

  /** By ids, as the rest of the group knows topics. */
  #reported(owned: readonly TopicPartitions[]): ReportedPartitions {
    return owned.flatMap(({ topicName, partitions }) => {
      const topic = this.#context.topics.topic(topicName)
      return topic === undefined ? [] : [{ topicId: topic.topicId, partitions }]
    })
  }
}

function leavingMember(
  group: ConsumerGroup,
  memberId: string,
  instanceId: string | null,
): { readonly member?: ConsumerGroupMember; readonly errorCode: ErrorCode } {
  // Tools remove static members by their instance ids alone.
  const byInstance = instanceId !== null && memberId === '' ? group.staticMember(instanceId) : undefined
  try {
    return { member: byInstance ?? group.requireMemberOf(memberId, instanceId), errorCode: ErrorCode.NONE }
  } catch (error) {
    if (error instanceof KafkaError) return { errorCode: error.code }
    throw error
  }
}

/** Whether a classic member with these protocols has one that all classic members of the group support. */
function supports(group: ConsumerGroup, protocolType: string, protocols: readonly ClassicProtocol[]): boolean {
  if (protocolType !== CONSUMER_PROTOCOL_TYPE || protocols.length === 0) return false
  let common = protocols.map(({ name }) => name)
  for (const { classic } of group.allMembers) {
    if (classic === null) continue
    const supported = new Set(classic.supportedProtocols.map(({ name }) => name))
    common = common.filter((name) => supported.has(name))
  }
  return common.length > 0
}
