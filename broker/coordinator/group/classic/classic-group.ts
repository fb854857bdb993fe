/**
 * A group of the classic protocol: its members, what they support, and where it stands in a rebalance. It decides nothing
 * about time and answers nobody but those whom a change of members concerns; see `classic-group-manager.ts`.
 *
 * Invariants:
 * - `leaderId` is a member, or there are none.
 * - Every protocol's count is the number of members that support it, so that a join costs what its own protocols cost.
 * - A group without a protocol type is one that only has offsets ("simple").
 */
import { invariant } from '../../../../common/invariant.ts'
import { ErrorCode, KafkaError } from '../../../protocol/error-codes.ts'
import type { Group, GroupMemberView, OffsetCommitIdentity } from '../group.ts'
import type { GroupRecord } from '../records/group-record.ts'
import type { GroupMetadataValue } from '../records/schemas.ts'
import {
  electProtocol,
  metadataFor,
  NO_ASSIGNMENT,
  type ClassicMember,
  type ClassicProtocol,
  type JoinResponder,
  type SyncResponder,
} from './classic-member.ts'
import { assignedPartitions, CONSUMER_PROTOCOL_TYPE, subscribedTopics } from './consumer-protocol.ts'

export type ClassicGroupState = 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable' | 'Dead'

export class ClassicGroup implements Group {
  readonly type = 'classic'
  readonly groupId: string
  readonly #members = new Map<string, ClassicMember>()
  /** Member id by instance id. */
  readonly #staticMembers = new Map<string, string>()
  /** Ids that were given out and have not joined with yet (KIP-394). */
  readonly #pendingMembers = new Set<string>()
  /** Members that were answered a join and have not synced yet. */
  readonly #pendingSyncMembers = new Set<string>()
  /** Members by supported protocol. */
  readonly #supported = new Map<string, number>()
  #joiningCount = 0
  #state: ClassicGroupState = 'Empty'
  #previousState: ClassicGroupState = 'Dead'
  #stateTimestampMs: number
  #protocolType = ''
  #protocolName: string | null = null
  #leaderId: string | null = null
  #generationId = 0
  /** Undefined: nobody can tell. */
  #subscribedTopics: ReadonlySet<string> | undefined
  /** A member joined while the first rebalance was being delayed. */
  hasNewMember = false

  constructor(groupId: string, nowMs: number) {
    this.groupId = groupId
    this.#stateTimestampMs = nowMs
  }

  /** The group that a record describes. */
  static fromRecord(groupId: string, value: GroupMetadataValue, nowMs: number): ClassicGroup {
    const group = new ClassicGroup(groupId, value.currentStateTimestamp >= 0 ? value.currentStateTimestamp : nowMs)
    group.#state = value.members.length > 0 ? 'Stable' : 'Empty'
    group.#protocolType = value.protocolType
    group.#generationId = value.generation
    for (const member of value.members) {
      group.add({
        memberId: member.memberId,
        groupInstanceId: member.groupInstanceId,
        clientId: member.clientId,
        clientHost: member.clientHost,
        protocolType: value.protocolType,
        rebalanceTimeoutMs: member.rebalanceTimeout >= 0 ? member.rebalanceTimeout : member.sessionTimeout,
        sessionTimeoutMs: member.sessionTimeout,
        protocols: value.protocol === null ? [] : [{ name: value.protocol, metadata: member.subscription }],
        assignment: member.assignment,
        join: undefined,
        sync: undefined,
        isNew: false,
      })
    }
    group.#protocolName = value.protocol
    group.#leaderId = value.leader ?? group.#leaderId
    group.#subscribedTopics = group.#subscriptions()
    return group
  }

  get state(): ClassicGroupState {
    return this.#state
  }

  get stateName(): string {
    return this.#state
  }

  get previousState(): ClassicGroupState {
    return this.#previousState
  }

  get protocolType(): string {
    return this.#protocolType
  }

  get protocolName(): string | null {
    return this.#protocolName
  }

  get leaderId(): string | null {
    return this.#leaderId
  }

  get generationId(): number {
    return this.#generationId
  }

  get memberCount(): number {
    return this.#members.size
  }

  get joiningCount(): number {
    return this.#joiningCount
  }

  get allMembers(): Iterable<ClassicMember> {
    return this.#members.values()
  }

  get pendingSyncMemberIds(): readonly string[] {
    return [...this.#pendingSyncMembers]
  }

  get hasPendingSync(): boolean {
    return this.#pendingSyncMembers.size > 0
  }

  /** The longest that a member asked for. */
  get rebalanceTimeoutMs(): number {
    let longest = 0
    for (const { rebalanceTimeoutMs } of this.#members.values()) longest = Math.max(longest, rebalanceTimeoutMs)
    return longest
  }

  get canRebalance(): boolean {
    return this.#state === 'Empty' || this.#state === 'Stable' || this.#state === 'CompletingRebalance'
  }

  get hasAllJoined(): boolean {
    return this.#members.size === this.#joiningCount && this.#pendingMembers.size === 0
  }

  transitionTo(state: ClassicGroupState, nowMs: number): void {
    this.#previousState = this.#state
    this.#state = state
    this.#stateTimestampMs = nowMs
  }

  member(memberId: string): ClassicMember | undefined {
    return this.#members.get(memberId)
  }

  staticMemberId(groupInstanceId: string): string | undefined {
    return this.#staticMembers.get(groupInstanceId)
  }

  isLeader(memberId: string): boolean {
    return this.#leaderId === memberId
  }

  isPending(memberId: string): boolean {
    return this.#pendingMembers.has(memberId)
  }

  addPending(memberId: string): void {
    this.#pendingMembers.add(memberId)
  }

  removePending(memberId: string): void {
    this.#pendingMembers.delete(memberId)
  }

  add(member: ClassicMember): void {
    if (member.groupInstanceId !== null) {
      invariant(!this.#staticMembers.has(member.groupInstanceId), 'a static member is replaced, not added again')
      this.#staticMembers.set(member.groupInstanceId, member.memberId)
    }
    if (this.#members.size === 0) this.#protocolType = member.protocolType
    this.#leaderId ??= member.memberId
    this.#members.set(member.memberId, member)
    this.#count(member, 1)
    if (member.join !== undefined) this.#joiningCount++
    this.#pendingMembers.delete(member.memberId)
  }

  /** Takes a member out. Whoever waits in its name is told UNKNOWN_MEMBER_ID, so that it joins again if it lives. */
  remove(memberId: string): void {
    this.#pendingMembers.delete(memberId)
    this.#pendingSyncMembers.delete(memberId)
    const member = this.#members.get(memberId)
    if (member === undefined) return
    this.answerJoin(member, { errorCode: ErrorCode.UNKNOWN_MEMBER_ID, memberId: '' })
    this.answerSync(member, { errorCode: ErrorCode.UNKNOWN_MEMBER_ID })
    this.#members.delete(memberId)
    this.#count(member, -1)
    if (member.groupInstanceId !== null) this.#staticMembers.delete(member.groupInstanceId)
    if (this.#leaderId === memberId) {
      const [next] = this.#members.keys()
      this.#leaderId = next ?? null
    }
  }

  /** What a member that joins again brings. `join` undefined: it waits for nothing. */
  update(
    member: ClassicMember,
    {
      protocols,
      rebalanceTimeoutMs,
      sessionTimeoutMs,
    }: Pick<ClassicMember, 'protocols' | 'rebalanceTimeoutMs' | 'sessionTimeoutMs'>,
    join: JoinResponder | undefined,
  ): void {
    this.#count(member, -1)
    member.protocols = protocols
    member.rebalanceTimeoutMs = rebalanceTimeoutMs
    member.sessionTimeoutMs = sessionTimeoutMs
    this.#count(member, 1)
    // A join that is repeated over a new connection takes the place of the one before.
    this.answerJoin(member, { errorCode: ErrorCode.REBALANCE_IN_PROGRESS, memberId: member.memberId })
    member.join = join
    if (join !== undefined) this.#joiningCount++
  }

  /** A static member that came back gets a new id; whoever waits under the old one is fenced. */
  replaceStaticMember(oldMember: ClassicMember, newMemberId: string): ClassicMember {
    const { memberId: oldMemberId, groupInstanceId } = oldMember
    invariant(groupInstanceId !== null, 'only a static member is replaced')
    this.answerJoin(oldMember, { errorCode: ErrorCode.FENCED_INSTANCE_ID, memberId: oldMemberId })
    this.answerSync(oldMember, { errorCode: ErrorCode.FENCED_INSTANCE_ID })
    const member: ClassicMember = { ...oldMember, memberId: newMemberId }
    // In the place of the old one: the order of members decides who leads next.
    const members = [...this.#members].map(([id, each]) =>
      id === oldMemberId ? ([newMemberId, member] as const) : ([id, each] as const),
    )
    this.#members.clear()
    for (const [id, each] of members) this.#members.set(id, each)
    if (this.#leaderId === oldMemberId) this.#leaderId = newMemberId
    if (this.#pendingSyncMembers.delete(oldMemberId)) this.#pendingSyncMembers.add(newMemberId)
    this.#staticMembers.set(groupInstanceId, newMemberId)
    return member
  }

  answerJoin(member: ClassicMember, response: Parameters<JoinResponder>[0]): void {
    const { join } = member
    if (join === undefined) return
    member.join = undefined
    this.#joiningCount--
    join(response)
  }

  awaitSync(member: ClassicMember, sync: SyncResponder): void {
    this.answerSync(member, { errorCode: ErrorCode.REBALANCE_IN_PROGRESS })
    member.sync = sync
  }

  answerSync(member: ClassicMember, response: Parameters<SyncResponder>[0]): void {
    const { sync } = member
    member.sync = undefined
    sync?.(response)
  }

  addPendingSync(memberId: string): void {
    this.#pendingSyncMembers.add(memberId)
  }

  removePendingSync(memberId: string): void {
    this.#pendingSyncMembers.delete(memberId)
  }

  clearPendingSync(): void {
    this.#pendingSyncMembers.clear()
  }

  /** Whether a member with these protocols has one that all others support. */
  supports(protocolType: string, protocols: readonly ClassicProtocol[]): boolean {
    if (this.#members.size === 0) return protocolType !== '' && protocols.length > 0
    return (
      protocolType === this.#protocolType &&
      protocols.some(({ name }) => this.#supported.get(name) === this.#members.size)
    )
  }

  /** The protocol that all support and most prefer. */
  selectProtocol(): string {
    const selected = electProtocol([...this.#members.values()].map(({ protocols }) => protocols))
    invariant(selected !== undefined, 'a group has members, and none is let in without a protocol in common')
    return selected
  }

  /** The leader if it joined, else another one that did; false if nobody did. */
  electJoinedLeader(): boolean {
    const leader = this.#leaderId === null ? undefined : this.#members.get(this.#leaderId)
    if (leader === undefined) return false
    if (leader.join !== undefined) return true
    for (const { memberId, join } of this.#members.values()) {
      if (join === undefined) continue
      this.#leaderId = memberId
      return true
    }
    return false
  }

  /** Everybody who is to be in it has joined. */
  beginGeneration(nowMs: number): void {
    this.#generationId++
    this.#pendingSyncMembers.clear()
    if (this.#members.size === 0) {
      this.#protocolName = null
      this.transitionTo('Empty', nowMs)
    } else {
      this.#protocolName = this.selectProtocol()
      this.transitionTo('CompletingRebalance', nowMs)
    }
    this.#subscribedTopics = this.#subscriptions()
  }

  /** The record that describes the group with these assignments (by member id; default: those of the members). */
  record(assignments?: ReadonlyMap<string, Buffer>): GroupRecord {
    return {
      type: 'GroupMetadata',
      key: { group: this.groupId },
      value: {
        protocolType: this.#protocolType,
        generation: this.#generationId,
        protocol: this.#protocolName,
        leader: this.#leaderId,
        currentStateTimestamp: this.#stateTimestampMs,
        members: [...this.#members.values()].map((member) => ({
          memberId: member.memberId,
          groupInstanceId: member.groupInstanceId,
          clientId: member.clientId,
          clientHost: member.clientHost,
          rebalanceTimeout: member.rebalanceTimeoutMs,
          sessionTimeout: member.sessionTimeoutMs,
          subscription: metadataFor(member, this.#protocolName),
          assignment:
            assignments === undefined ? member.assignment : (assignments.get(member.memberId) ?? NO_ASSIGNMENT),
        })),
      },
    }
  }

  tombstones(): GroupRecord[] {
    return [{ type: 'GroupMetadata', key: { group: this.groupId }, value: null }]
  }

  /** The error for a request in the name of a member, or NONE (KIP-345). */
  memberError(memberId: string, groupInstanceId: string | null): ErrorCode {
    if (groupInstanceId !== null) {
      const known = this.#staticMembers.get(groupInstanceId)
      if (known === undefined) return ErrorCode.UNKNOWN_MEMBER_ID
      if (known !== memberId) return ErrorCode.FENCED_INSTANCE_ID
    }
    return this.#members.has(memberId) ? ErrorCode.NONE : ErrorCode.UNKNOWN_MEMBER_ID
  }

  validateOffsetCommit({ memberId, groupInstanceId, generationIdOrMemberEpoch }: OffsetCommitIdentity): void {
    if (this.#state === 'Dead') throw new KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if (generationIdOrMemberEpoch < 0 && this.#state === 'Empty') return
    // A commit that names nobody is only for groups without members.
    if (generationIdOrMemberEpoch < 0 && memberId === '' && groupInstanceId === null)
      throw new KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    const errorCode = this.memberError(memberId, groupInstanceId)
    if (errorCode !== ErrorCode.NONE) throw new KafkaError(errorCode)
    if (generationIdOrMemberEpoch !== this.#generationId) throw new KafkaError(ErrorCode.ILLEGAL_GENERATION)
    // It has joined and not synced: it does not know yet what it owns.
    if (this.#state === 'CompletingRebalance') throw new KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
  }

  validateOffsetFetch(): void {
    if (this.#state === 'Dead') throw this.#notFound()
  }

  validateOffsetDelete(): void {
    if (this.#state === 'Dead') throw this.#notFound()
    // Nobody can tell what members of other protocols subscribe to.
    if (this.#members.size > 0 && this.#protocolType !== CONSUMER_PROTOCOL_TYPE)
      throw new KafkaError(ErrorCode.NON_EMPTY_GROUP)
  }

  validateDelete(): void {
    if (this.#state === 'Dead') throw this.#notFound()
    if (this.#state !== 'Empty') throw new KafkaError(ErrorCode.NON_EMPTY_GROUP)
  }

  isSubscribedTo(topicName: string): boolean {
    return this.#subscribedTopics?.has(topicName) ?? this.#protocolType === CONSUMER_PROTOCOL_TYPE
  }

  offsetExpirationBase(): number | 'commit' | undefined {
    if (this.#protocolType === '') return 'commit'
    if (this.#state === 'Empty') return this.#stateTimestampMs
    return this.#state === 'Stable' && this.#subscribedTopics !== undefined ? 'commit' : undefined
  }

  members(): GroupMemberView[] {
    const isConsumer = this.#protocolType === CONSUMER_PROTOCOL_TYPE
    return [...this.#members.values()].map(({ memberId, groupInstanceId, clientId, clientHost, assignment }) => ({
      memberId,
      groupInstanceId,
      clientId,
      clientHost,
      assignment: isConsumer && this.#state === 'Stable' ? (assignedPartitions(assignment) ?? []) : [],
    }))
  }

  #count({ protocols }: ClassicMember, by: 1 | -1): void {
    for (const { name } of protocols) {
      const count = (this.#supported.get(name) ?? 0) + by
      if (count === 0) this.#supported.delete(name)
      else this.#supported.set(name, count)
    }
  }

  /** What the members subscribe to by the selected protocol; undefined if it can't be told. */
  #subscriptions(): ReadonlySet<string> | undefined {
    if (this.#protocolType !== CONSUMER_PROTOCOL_TYPE) return undefined
    const topics = new Set<string>()
    for (const member of this.#members.values()) {
      const subscribed = subscribedTopics(metadataFor(member, this.#protocolName))
      if (subscribed === undefined) return undefined
      for (const topic of subscribed) topics.add(topic)
    }
    return topics
  }

  #notFound(): KafkaError {
    return new KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, `Group ${this.groupId} is in dead state.`)
  }
}
