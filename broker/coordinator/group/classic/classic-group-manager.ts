/**
 * Classic groups (JoinGroup, SyncGroup, Heartbeat, LeaveGroup): the rebalance protocol.
 *
 * Place: a part of the group coordinator's state machine. A group lives in memory; what outlives a coordinator is its last
 * record: written when the leader's assignment comes in, and when the group becomes empty.
 *
 * A rebalance: 1. it is begun (PreparingRebalance): by a join, a leave or an expiry. The first one of an empty group waits
 * `group.initial.rebalance.delay.ms` for more members. 2. It completes when all members have joined again, or after the longest
 * rebalance timeout, without those that have not (static ones stay until their session ends). All joins are answered
 * (CompletingRebalance). 3. The leader's SyncGroup brings the assignment; when it is committed, all are answered (Stable). Who
 * does not sync within the rebalance timeout is out.
 *
 * Sources: KIP-62, KIP-134, KIP-345, KIP-394, KIP-559, KIP-800, KIP-814.
 */
import { ErrorCode } from '../../../protocol/error-codes.ts'
import type { JoinGroupRequest, JoinGroupResponseInput } from '../../../protocol/messages/11-join-group.ts'
import type { HeartbeatRequest, HeartbeatResponseInput } from '../../../protocol/messages/12-heartbeat.ts'
import type { LeaveGroupRequest, LeaveGroupResponseInput } from '../../../protocol/messages/13-leave-group.ts'
import type { SyncGroupRequest, SyncGroupResponseInput } from '../../../protocol/messages/14-sync-group.ts'
import type { DescribeGroupsResponseInput } from '../../../protocol/messages/15-describe-groups.ts'
import { noRecords, type CoordinatorResult } from '../../runtime/coordinator-shard.ts'
import type { GroupClient } from '../group.ts'
import type { GroupShardContext } from '../group-shard-context.ts'
import type { GroupRecord, GroupRecordOf } from '../records/group-record.ts'
import { ClassicGroup } from './classic-group.ts'
import {
  hasSameProtocols,
  metadataFor,
  NO_ASSIGNMENT,
  type ClassicMember,
  type ClassicProtocol,
  type JoinResponder,
  type SyncResponder,
} from './classic-member.ts'
import {
  hasAllowedSessionTimeout,
  needsKnownMemberId,
  newMemberId,
  noProtocolName,
  ownProtocols,
  rebalanceTimeoutOf,
} from './join-request.ts'
import { answerLeave } from './leave-request.ts'

type Result<Reply> = CoordinatorResult<GroupRecord, Reply>

/** From here on a static member that takes over the leadership is told to leave the assignment as it is (KIP-814). */
const FIRST_VERSION_WITH_SKIP_ASSIGNMENT = 9
const FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND = 6
/** New members can't send heartbeats yet, and a lost connection is not seen while their join waits. */
const NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60_000

const DONE: Result<undefined> = noRecords(undefined)

/** A JoinGroup request with what it brings, copied. */
interface Join {
  readonly request: JoinGroupRequest
  readonly client: GroupClient
  readonly respond: JoinResponder
  readonly protocols: readonly ClassicProtocol[]
  readonly rebalanceTimeoutMs: number
}

export class ClassicGroupManager {
  readonly #context: GroupShardContext
  #isLoaded = false

  constructor(context: GroupShardContext) {
    this.#context = context
  }

  /** A group without members, for a client that commits offsets without being a member of any. */
  createSimpleGroup(groupId: string): ClassicGroup {
    return new ClassicGroup(groupId, this.#nowMs())
  }

  /** `respond` is called once: at once, or when the rebalance that the join waits for is done. */
  join(request: JoinGroupRequest, client: GroupClient, respond: JoinResponder): Result<undefined> {
    const answer: JoinResponder = (response) => respond(versioned(response, client.apiVersion))
    const refuse = (errorCode: ErrorCode, memberId = request.memberId): Result<undefined> => {
      answer({ errorCode, memberId })
      return DONE
    }
    const config = this.#context.config()
    const { memberId, groupId } = request
    if (!hasAllowedSessionTimeout(request, config)) return refuse(ErrorCode.INVALID_SESSION_TIMEOUT)
    let group = this.#find(groupId)
    if (group === undefined) {
      if (memberId !== '') return refuse(ErrorCode.UNKNOWN_MEMBER_ID)
      group = new ClassicGroup(groupId, this.#nowMs())
    }
    if (!acceptsJoin(group, memberId, config.maxSize)) {
      group.removePending(memberId)
      return refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, '')
    }
    const join: Join = {
      request,
      client,
      respond: answer,
      protocols: ownProtocols(request),
      rebalanceTimeoutMs: rebalanceTimeoutOf(request),
    }
    if (!group.supports(request.protocolType, join.protocols)) return refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    this.#context.groups.set(groupId, group)
    return memberId === '' ? this.#joinNew(group, join) : this.#joinAgain(group, join)
  }

  /** `respond` is called once: at once, or when the leader's assignment is committed. */
  sync(request: SyncGroupRequest, _client: GroupClient, respond: SyncResponder): Result<undefined> {
    const group = this.#find(request.groupId)
    const errorCode = syncError(group, request)
    const member = group?.member(request.memberId)
    if (group === undefined || member === undefined || errorCode !== ErrorCode.NONE) {
      respond({ errorCode: errorCode === ErrorCode.NONE ? ErrorCode.UNKNOWN_MEMBER_ID : errorCode })
      return DONE
    }
    this.#removePendingSync(group, member.memberId)
    if (group.state === 'Stable') {
      respond(assignmentOf(group, member))
      return DONE
    }
    group.awaitSync(member, respond)
    return group.isLeader(member.memberId) ? this.#assign(group, request) : DONE
  }

  heartbeat(request: HeartbeatRequest, _client: GroupClient): Result<HeartbeatResponseInput> {
    const { groupId, memberId, groupInstanceId, generationId } = request
    const group = this.#find(groupId)
    const member = group?.member(memberId)
    const errorCode = group?.memberError(memberId, groupInstanceId) ?? ErrorCode.UNKNOWN_MEMBER_ID
    if (group === undefined || member === undefined || errorCode !== ErrorCode.NONE) return noRecords({ errorCode })
    if (generationId !== group.generationId) return noRecords({ errorCode: ErrorCode.ILLEGAL_GENERATION })
    this.#expectHeartbeat(group, member)
    const isRebalancing = group.state === 'PreparingRebalance'
    return noRecords({ errorCode: isRebalancing ? ErrorCode.REBALANCE_IN_PROGRESS : ErrorCode.NONE })
  }

  leave(request: LeaveGroupRequest, { apiVersion }: GroupClient): Result<LeaveGroupResponseInput> {
    const group = this.#find(request.groupId)
    const left = new Set<string>()
    const reply = answerLeave(request, apiVersion, (memberId, groupInstanceId) => {
      const errorCode =
        group === undefined ? ErrorCode.UNKNOWN_MEMBER_ID : this.#leave(group, memberId, groupInstanceId)
      if (errorCode === ErrorCode.NONE) left.add(memberId)
      return { memberId, errorCode }
    })
    if (group === undefined || left.size === 0) return noRecords(reply)
    return { ...this.#membersLeft(group), reply }
  }

  /** For DescribeGroups. An unknown group is dead; from version 6 on that is an error. */
  describe(groupId: string, apiVersion: number): NonNullable<DescribeGroupsResponseInput['groups']>[number] {
    const known = this.#context.groups.get(groupId)
    if (!(known instanceof ClassicGroup)) {
      if (apiVersion < FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND) return { groupId, groupState: 'Dead' }
      const errorMessage =
        known === undefined ? `Group ${groupId} not found.` : `Group ${groupId} is not a classic group.`
      return { groupId, groupState: 'Dead', errorCode: ErrorCode.GROUP_ID_NOT_FOUND, errorMessage }
    }
    const isStable = known.state === 'Stable'
    return {
      groupId,
      groupState: known.stateName,
      protocolType: known.protocolType,
      protocolData: isStable ? (known.protocolName ?? '') : '',
      members: [...known.allMembers].map((member) => ({
        memberId: member.memberId,
        groupInstanceId: member.groupInstanceId,
        clientId: member.clientId,
        clientHost: member.clientHost,
        memberMetadata: isStable ? metadataFor(member, known.protocolName) : NO_ASSIGNMENT,
        memberAssignment: isStable ? member.assignment : NO_ASSIGNMENT,
      })),
    }
  }

  /** A member that commits an offset lives. */
  onOffsetCommit(group: ClassicGroup, memberId: string): void {
    const member = group.member(memberId)
    if (member !== undefined) this.#expectHeartbeat(group, member)
  }

  replay({ key, value }: GroupRecordOf<'GroupMetadata'>): void {
    const { groups } = this.#context
    const known = groups.get(key.group)
    if (value === null) {
      if (known instanceof ClassicGroup) this.#forget(known)
    } else if (!(this.#isLoaded && known instanceof ClassicGroup)) {
      // Of a group that lives here the record says what was; while loading, it is all that is known.
      this.adopt(ClassicGroup.fromRecord(key.group, value, this.#nowMs()))
    }
  }

  /** Takes over a group that was made elsewhere: read from the log, or migrated from the consumer protocol. */
  adopt(group: ClassicGroup): void {
    this.#context.groups.set(group.groupId, group)
    if (this.#isLoaded) for (const member of group.allMembers) this.#expectHeartbeat(group, member)
  }

  onLoaded(): void {
    this.#isLoaded = true
    for (const group of this.#classicGroups()) {
      for (const member of group.allMembers) this.#expectHeartbeat(group, member)
    }
  }

  onUnloaded(errorCode: number): void {
    for (const group of this.#classicGroups()) this.#dismiss(group, errorCode)
  }

  /** Begins a rebalance, if none is under way. */
  rebalance(group: ClassicGroup, reason: string): Result<undefined> {
    return group.canRebalance ? this.#prepareRebalance(group, reason) : this.#completeIfAllJoined(group)
  }

  /** Ends what the group waits for, and answers all who wait in it. Its members are somebody else's from now on. */
  release(group: ClassicGroup, errorCode: ErrorCode): void {
    const { timer } = this.#context
    timer.cancel(joinKey(group.groupId))
    timer.cancel(syncKey(group.groupId))
    for (const { memberId } of group.allMembers) timer.cancel(heartbeatKey(group.groupId, memberId))
    this.#dismiss(group, errorCode)
  }

  #joinNew(group: ClassicGroup, join: Join): Result<undefined> {
    const { request, client } = join
    const memberId = newMemberId(request, client, this.#context.random)
    if (request.groupInstanceId !== null) {
      const knownId = group.staticMemberId(request.groupInstanceId)
      const known = knownId === undefined ? undefined : group.member(knownId)
      if (known !== undefined) return this.#replaceStatic(group, known, memberId, join)
    } else if (needsKnownMemberId(client.apiVersion)) {
      group.addPending(memberId)
      this.#expire(group, memberId, request.sessionTimeoutMs)
      join.respond({ errorCode: ErrorCode.MEMBER_ID_REQUIRED, memberId })
      return DONE
    }
    return this.#addMember(group, memberId, join)
  }

  #joinAgain(group: ClassicGroup, join: Join): Result<undefined> {
    const { memberId, groupInstanceId } = join.request
    const refuse = (errorCode: ErrorCode): Result<undefined> => {
      join.respond({ errorCode, memberId })
      return DONE
    }
    if (group.isPending(memberId)) {
      if (groupInstanceId !== null) return refuse(ErrorCode.INVALID_REQUEST)
      return this.#addMember(group, memberId, join)
    }
    const errorCode = group.memberError(memberId, groupInstanceId)
    const member = group.member(memberId)
    if (errorCode !== ErrorCode.NONE || member === undefined) return refuse(errorCode)
    const isSame = hasSameProtocols(member, join.protocols)
    switch (group.state) {
      case 'PreparingRebalance':
        return this.#updateMember(group, member, join, `member ${memberId} joins again`)
      case 'CompletingRebalance':
        // The answer of its join was lost.
        if (isSame) return this.#answerAgain(group, member, join)
        return this.#updateMember(group, member, join, `member ${memberId} has other protocols`)
      case 'Stable':
        if (group.isLeader(memberId)) return this.#updateMember(group, member, join, `leader ${memberId} joins again`)
        if (isSame) return this.#answerAgain(group, member, join)
        return this.#updateMember(group, member, join, `member ${memberId} has other protocols`)
      default:
        return refuse(ErrorCode.UNKNOWN_MEMBER_ID)
    }
  }

  #answerAgain(group: ClassicGroup, member: ClassicMember, join: Join): Result<undefined> {
    join.respond(joined(group, member))
    this.#expectHeartbeat(group, member)
    return DONE
  }

  #addMember(group: ClassicGroup, memberId: string, join: Join): Result<undefined> {
    const { request, client } = join
    const member: ClassicMember = {
      memberId,
      groupInstanceId: request.groupInstanceId,
      clientId: client.clientId,
      clientHost: client.clientHost,
      protocolType: request.protocolType,
      rebalanceTimeoutMs: join.rebalanceTimeoutMs,
      sessionTimeoutMs: request.sessionTimeoutMs,
      protocols: join.protocols,
      assignment: NO_ASSIGNMENT,
      join: join.respond,
      sync: undefined,
      isNew: true,
    }
    if (group.state === 'PreparingRebalance' && group.previousState === 'Empty') group.hasNewMember = true
    group.add(member)
    this.#expire(group, memberId, NEW_MEMBER_JOIN_TIMEOUT_MS)
    return this.rebalance(group, `member ${memberId} joins`)
  }

  #updateMember(group: ClassicGroup, member: ClassicMember, join: Join, reason: string): Result<undefined> {
    group.update(member, newFacts(join), join.respond)
    return this.rebalance(group, reason)
  }

  /** A static member is back: where nothing changes for the others, it takes its old place without a rebalance. */
  #replaceStatic(group: ClassicGroup, old: ClassicMember, memberId: string, join: Join): Result<undefined> {
    const oldLeaderId = group.leaderId
    this.#context.timer.cancel(heartbeatKey(group.groupId, old.memberId))
    const member = group.replaceStaticMember(old, memberId)
    this.#expectHeartbeat(group, member)
    const reason = `static member ${join.request.groupInstanceId ?? ''} joins again`
    group.update(member, newFacts(join), join.respond)
    switch (group.state) {
      case 'Stable': {
        if (group.protocolName !== group.selectProtocol()) return this.rebalance(group, reason)
        const { generationId } = group
        return {
          records: [group.record()],
          reply: undefined,
          whenSettled: (errorCode) => {
            // Another rebalance may have begun, which answers its join in the end.
            if (group.state !== 'Stable' || group.generationId !== generationId) return
            if (errorCode !== ErrorCode.NONE) group.answerJoin(member, { errorCode, memberId: '' })
            else group.answerJoin(member, this.#joinedInPlace(group, member, join.client.apiVersion, oldLeaderId))
          },
        }
      }
      case 'CompletingRebalance':
        // The leader may be computing an assignment for the old id.
        return this.#prepareRebalance(group, reason)
      default:
        return this.rebalance(group, reason)
    }
  }

  #joinedInPlace(
    group: ClassicGroup,
    member: ClassicMember,
    apiVersion: number,
    oldLeaderId: string | null,
  ): JoinGroupResponseInput {
    const response = joined(group, member)
    if (apiVersion >= FIRST_VERSION_WITH_SKIP_ASSIGNMENT)
      return { ...response, skipAssignment: group.isLeader(member.memberId) }
    // Under the old leader's id it does not take itself for the leader, and computes no assignment.
    return { ...response, members: [], leader: oldLeaderId ?? '' }
  }

  #leave(group: ClassicGroup, memberId: string, groupInstanceId: string | null): ErrorCode {
    // An admin knows only the instance id.
    const id = memberId === '' && groupInstanceId !== null ? group.staticMemberId(groupInstanceId) : memberId
    if (id === undefined) return ErrorCode.UNKNOWN_MEMBER_ID
    if (!group.isPending(id)) {
      const errorCode = group.memberError(id, groupInstanceId)
      if (errorCode !== ErrorCode.NONE) return errorCode
    }
    this.#removeMember(group, id)
    return ErrorCode.NONE
  }

  #removeMember(group: ClassicGroup, memberId: string): void {
    this.#context.timer.cancel(heartbeatKey(group.groupId, memberId))
    this.#removePendingSync(group, memberId)
    group.remove(memberId)
  }

  #membersLeft(group: ClassicGroup): Result<undefined> {
    if (group.state === 'Stable' || group.state === 'CompletingRebalance')
      return this.#prepareRebalance(group, 'members left')
    return group.state === 'PreparingRebalance' ? this.#completeIfAllJoined(group) : DONE
  }

  #prepareRebalance(group: ClassicGroup, reason: string): Result<undefined> {
    const { timer, logger, config } = this.#context
    const { groupId, generationId } = group
    if (group.state === 'CompletingRebalance') this.#resetAssignments(group, ErrorCode.REBALANCE_IN_PROGRESS)
    timer.cancel(syncKey(groupId))
    const isInitial = group.state === 'Empty'
    logger.debug({ groupId, generationId, reason }, 'rebalance')
    group.transitionTo('PreparingRebalance', this.#nowMs())
    if (isInitial) {
      const delayMs = config().initialRebalanceDelayMs
      group.hasNewMember = false
      this.#delayInitialRebalance(group, delayMs, Math.max(group.rebalanceTimeoutMs - delayMs, 0))
      return DONE
    }
    if (group.hasAllJoined) return this.#completeJoin(group)
    this.#completeJoinAfter(group, group.rebalanceTimeoutMs)
    return DONE
  }

  /** Waits for more members, again while new ones come, at most their rebalance timeout in all. */
  #delayInitialRebalance(group: ClassicGroup, delayMs: number, remainingMs: number): void {
    this.#context.timer.schedule(joinKey(group.groupId), delayMs, () => {
      if (!this.#isCurrent(group) || group.state !== 'PreparingRebalance') return DONE
      if (!group.hasNewMember || remainingMs === 0) return this.#completeJoin(group)
      group.hasNewMember = false
      const nextDelayMs = Math.min(this.#context.config().initialRebalanceDelayMs, remainingMs)
      this.#delayInitialRebalance(group, nextDelayMs, Math.max(remainingMs - nextDelayMs, 0))
      return DONE
    })
  }

  #completeJoinAfter(group: ClassicGroup, delayMs: number): void {
    this.#context.timer.schedule(joinKey(group.groupId), delayMs, () => {
      return this.#isCurrent(group) && group.state === 'PreparingRebalance' ? this.#completeJoin(group) : DONE
    })
  }

  #completeIfAllJoined(group: ClassicGroup): Result<undefined> {
    // The first rebalance ends by its delay alone.
    if (group.state !== 'PreparingRebalance' || !group.hasAllJoined || group.previousState === 'Empty') return DONE
    return this.#completeJoin(group)
  }

  #completeJoin(group: ClassicGroup): Result<undefined> {
    const { timer } = this.#context
    timer.cancel(joinKey(group.groupId))
    for (const { memberId, join, groupInstanceId } of [...group.allMembers])
      if (join === undefined && groupInstanceId === null) this.#removeMember(group, memberId)
    if (group.memberCount > 0 && !group.electJoinedLeader()) {
      // Only static members are left, and none has come back: their sessions decide.
      this.#completeJoinAfter(group, group.rebalanceTimeoutMs)
      return DONE
    }
    group.beginGeneration(this.#nowMs())
    if (group.memberCount === 0) return { records: [group.record()], reply: undefined }
    for (const member of group.allMembers) {
      group.answerJoin(member, joined(group, member))
      member.isNew = false
      this.#expectHeartbeat(group, member)
      group.addPendingSync(member.memberId)
    }
    this.#awaitSyncs(group)
    return DONE
  }

  #awaitSyncs(group: ClassicGroup): void {
    const { generationId, groupId } = group
    this.#context.timer.schedule(syncKey(groupId), group.rebalanceTimeoutMs, () => {
      const isDue = group.state === 'CompletingRebalance' || group.state === 'Stable'
      if (!this.#isCurrent(group) || group.generationId !== generationId || !isDue || !group.hasPendingSync) return DONE
      for (const memberId of group.pendingSyncMemberIds) this.#removeMember(group, memberId)
      return this.#prepareRebalance(group, 'members did not sync in time')
    })
  }

  #removePendingSync(group: ClassicGroup, memberId: string): void {
    group.removePendingSync(memberId)
    if (!group.hasPendingSync) this.#context.timer.cancel(syncKey(group.groupId))
  }

  /** The leader's assignment: it counts once it is committed. */
  #assign(group: ClassicGroup, { assignments }: SyncGroupRequest): Result<undefined> {
    const byMember = new Map<string, Buffer>()
    for (const { memberId, assignment } of assignments) byMember.set(memberId, Buffer.from(assignment))
    const { generationId } = group
    return {
      records: [group.record(byMember)],
      reply: undefined,
      whenSettled: (errorCode) => {
        // A join may have begun another rebalance meanwhile.
        if (group.state !== 'CompletingRebalance' || group.generationId !== generationId) return
        if (errorCode !== ErrorCode.NONE) {
          this.#resetAssignments(group, errorCode)
          const again = (): Result<undefined> => this.rebalance(group, 'the assignment could not be written')
          this.#context.timer.schedule(joinKey(group.groupId), 0, again)
          return
        }
        for (const member of group.allMembers) member.assignment = byMember.get(member.memberId) ?? NO_ASSIGNMENT
        group.transitionTo('Stable', this.#nowMs())
        for (const member of group.allMembers) {
          // Whoever waited was spared from its session's end; now it counts again.
          if (member.sync !== undefined) this.#expectHeartbeat(group, member)
          group.answerSync(member, assignmentOf(group, member))
        }
      },
    }
  }

  #resetAssignments(group: ClassicGroup, errorCode: number): void {
    for (const member of group.allMembers) {
      member.assignment = NO_ASSIGNMENT
      if (member.sync !== undefined) this.#expectHeartbeat(group, member)
      group.answerSync(member, { errorCode })
    }
  }

  #expectHeartbeat(group: ClassicGroup, member: ClassicMember): void {
    this.#expire(group, member.memberId, member.sessionTimeoutMs)
  }

  #expire(group: ClassicGroup, memberId: string, timeoutMs: number): void {
    this.#context.timer.schedule(heartbeatKey(group.groupId, memberId), timeoutMs, () => this.#expired(group, memberId))
  }

  #expired(group: ClassicGroup, memberId: string): Result<undefined> {
    if (!this.#isCurrent(group)) return DONE
    if (group.isPending(memberId)) {
      group.removePending(memberId)
      return this.#completeIfAllJoined(group)
    }
    const member = group.member(memberId)
    if (member === undefined) return DONE
    // A member that waits can't send heartbeats; but a new one may be gone without anybody having noticed.
    if (!member.isNew && (member.join !== undefined || member.sync !== undefined)) return DONE
    this.#context.logger.info({ groupId: group.groupId, memberId }, 'the session of a group member expired')
    this.#removeMember(group, memberId)
    return this.#membersLeft(group)
  }

  #dismiss(group: ClassicGroup, errorCode: number): void {
    for (const member of group.allMembers) {
      group.answerJoin(member, { errorCode, memberId: member.memberId })
      group.answerSync(member, { errorCode })
    }
  }

  #forget(group: ClassicGroup): void {
    this.#context.groups.delete(group.groupId)
    group.transitionTo('Dead', this.#nowMs())
    this.release(group, ErrorCode.UNKNOWN_MEMBER_ID)
  }

  #find(groupId: string): ClassicGroup | undefined {
    const group = this.#context.groups.get(groupId)
    return group instanceof ClassicGroup ? group : undefined
  }

  #isCurrent(group: ClassicGroup): boolean {
    return this.#context.groups.get(group.groupId) === group
  }

  *#classicGroups(): Generator<ClassicGroup, void> {
    for (const group of this.#context.groups.values()) if (group instanceof ClassicGroup) yield group
  }

  #nowMs(): number {
    return this.#context.clock.wallMs()
  }
}

function acceptsJoin(group: ClassicGroup, memberId: string, maxSize: number): boolean {
  switch (group.state) {
    case 'PreparingRebalance':
      return group.member(memberId)?.join !== undefined || group.joiningCount < maxSize
    case 'CompletingRebalance':
    case 'Stable':
      return group.member(memberId) !== undefined || group.memberCount < maxSize
    default:
      return true
  }
}

function newFacts({ protocols, rebalanceTimeoutMs, request }: Join) {
  return { protocols, rebalanceTimeoutMs, sessionTimeoutMs: request.sessionTimeoutMs }
}

function syncError(group: ClassicGroup | undefined, request: SyncGroupRequest): ErrorCode {
  if (group === undefined) return ErrorCode.UNKNOWN_MEMBER_ID
  const { memberId, groupInstanceId, generationId, protocolType, protocolName } = request
  const errorCode = group.memberError(memberId, groupInstanceId)
  if (errorCode !== ErrorCode.NONE) return errorCode
  if (generationId !== group.generationId) return ErrorCode.ILLEGAL_GENERATION
  const isOther = (given: string | null, own: string | null): boolean => given !== null && given !== own
  if (isOther(protocolType, group.protocolType) || isOther(protocolName, group.protocolName))
    return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
  if (group.state === 'PreparingRebalance') return ErrorCode.REBALANCE_IN_PROGRESS
  return group.state === 'Empty' || group.state === 'Dead' ? ErrorCode.UNKNOWN_MEMBER_ID : ErrorCode.NONE
}

function joined(group: ClassicGroup, { memberId }: ClassicMember): JoinGroupResponseInput {
  return {
    errorCode: ErrorCode.NONE,
    memberId,
    generationId: group.generationId,
    protocolType: group.protocolType,
    protocolName: group.protocolName ?? '',
    leader: group.leaderId ?? '',
    skipAssignment: false,
    members: group.isLeader(memberId)
      ? [...group.allMembers].map((member) => ({
          memberId: member.memberId,
          groupInstanceId: member.groupInstanceId,
          metadata: metadataFor(member, group.protocolName),
        }))
      : [],
  }
}

function assignmentOf(group: ClassicGroup, { assignment }: ClassicMember): SyncGroupResponseInput {
  const { protocolType, protocolName } = group
  return { errorCode: ErrorCode.NONE, protocolType, protocolName, assignment }
}

/** An error names no protocol. */
function versioned(response: JoinGroupResponseInput, apiVersion: number): JoinGroupResponseInput {
  if (response.protocolName !== undefined) return response
  return { ...response, protocolName: noProtocolName(apiVersion) }
}

function heartbeatKey(groupId: string, memberId: string): string {
  return `heartbeat ${groupId.length} ${groupId} ${memberId}`
}

function joinKey(groupId: string): string {
  return `join ${groupId}`
}

function syncKey(groupId: string): string {
  return `sync ${groupId}`
}
