/**
 * A group of the consumer protocol (KIP-848): what the replayed records say of it. It decides nothing; only `replay` changes
 * what is replicated. The soft state beside it says what has to be looked at again at the next heartbeat.
 *
 * Epochs: `groupEpoch` grows with each change of members, subscriptions or topics; `targetEpoch` is the group epoch for which
 * the target assignment was worked out; each member has the epoch of the target that it has reached.
 *
 * Invariant: a partition has one owner at most, the member whose assigned or pending partitions it is among. Records that
 * contradict each other (none should) leave it with the one that was written last.
 */
import { ErrorCode, KafkaError } from '../../../protocol/error-codes.ts'
import { compareText, NO_PARTITIONS, type TargetAssignment } from '../assignor/partition-assignor.ts'
import { CONSUMER_PROTOCOL_TYPE } from '../classic/consumer-protocol.ts'
import type { CommittedPartition, Group, GroupMemberView, OffsetCommitIdentity } from '../group.ts'
import type { TopicDirectory } from '../group-shard-context.ts'
import type { GroupRecord, GroupRecordOf } from '../records/group-record.ts'
import {
  isReconciledTo,
  LEAVE_EPOCH,
  newMember,
  NOTHING_OWNED,
  withCurrentAssignment,
  withMetadata,
  type ConsumerGroupMember,
  type Subscription,
} from './consumer-group-member.ts'
import { groupTombstones } from './consumer-group-records.ts'

export type ConsumerGroupRecord = Exclude<GroupRecord, GroupRecordOf<'OffsetCommit' | 'GroupMetadata'>>
export type ConsumerGroupState = 'Empty' | 'Assigning' | 'Reconciling' | 'Stable' | 'Dead'

/** From this version of OffsetCommit on, the field of the generation may be a member epoch. */
const FIRST_COMMIT_VERSION_WITH_MEMBER_EPOCH = 9

export class ConsumerGroup implements Group {
  readonly type = 'consumer'
  readonly protocolType = CONSUMER_PROTOCOL_TYPE
  readonly groupId: string
  readonly #topics: TopicDirectory
  readonly #members = new Map<string, ConsumerGroupMember>()
  /** Member id by instance id. */
  readonly #staticMembers = new Map<string, string>()
  readonly #targets = new Map<string, TargetAssignment>()
  /** Member id by partition by topic id. */
  readonly #owners = new Map<string, Map<number, string>>()
  /** Of each distinct subscription, how many members have it. */
  readonly #subscriptions = new Map<string, { readonly subscription: Subscription; count: number }>()
  /** Of each regular expression, how many subscriptions have it. */
  readonly #regexCounts = new Map<string, number>()
  /** The topics that each regular expression matches, as far as it was worked out. */
  readonly #resolved = new Map<string, ReadonlySet<string>>()
  #groupEpoch = 0
  #metadataHash = 0
  #targetEpoch = 0
  #classicMemberCount = 0
  #isDead = false
  #state: ConsumerGroupState | undefined

  /** Soft: the subscribed topics may not be any more what the metadata hash says. */
  isMetadataStale = true
  /** Soft: when all regular expressions were last matched with all topics, on the monotonic clock; undefined: not here yet. */
  regexesResolvedAtMs: number | undefined
  /** Soft: names that appeared or vanished and were not matched yet. */
  readonly changedTopicNames = new Set<string>()

  constructor(groupId: string, topics: TopicDirectory) {
    this.groupId = groupId
    this.#topics = topics
  }

  get groupEpoch(): number {
    return this.#groupEpoch
  }

  get metadataHash(): number {
    return this.#metadataHash
  }

  get targetEpoch(): number {
    return this.#targetEpoch
  }

  get memberCount(): number {
    return this.#members.size
  }

  get classicMemberCount(): number {
    return this.#classicMemberCount
  }

  get allMembers(): Iterable<ConsumerGroupMember> {
    return this.#members.values()
  }

  get resolvedRegexes(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#resolved
  }

  get subscriptions(): Iterable<{ readonly subscription: Subscription; readonly count: number }> {
    return this.#subscriptions.values()
  }

  get hasRegexes(): boolean {
    return this.#regexCounts.size > 0
  }

  /** Whether it is known of each regular expression what it matches. */
  get isResolved(): boolean {
    return this.#regexCounts.size === this.#resolved.size
  }

  get isDead(): boolean {
    return this.#isDead
  }

  get stateName(): ConsumerGroupState {
    this.#state ??= this.#currentState()
    return this.#state
  }

  member(memberId: string): ConsumerGroupMember | undefined {
    return this.#members.get(memberId)
  }

  /** Throws UNKNOWN_MEMBER_ID. */
  requireMember(memberId: string): ConsumerGroupMember {
    const member = this.#members.get(memberId)
    if (member === undefined) {
      throw new KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, `Member ${memberId} is not a member of group ${this.groupId}.`)
    }
    return member
  }

  staticMember(instanceId: string): ConsumerGroupMember | undefined {
    const memberId = this.#staticMembers.get(instanceId)
    return memberId === undefined ? undefined : this.#members.get(memberId)
  }

  /** Throws GROUP_MAX_SIZE_REACHED. A member, or a static one that comes back, takes no room that was not its own. */
  requireRoom(maxSize: number, memberId: string, instanceId: string | null): void {
    if (this.memberCount < maxSize || this.member(memberId) !== undefined) return
    if (instanceId !== null && this.staticMember(instanceId) !== undefined) return
    throw new KafkaError(
      ErrorCode.GROUP_MAX_SIZE_REACHED,
      `The consumer group has reached its maximum capacity of ${maxSize} members.`,
    )
  }

  /** The member of a request. Throws UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID where another one has the instance id. */
  requireMemberOf(memberId: string, instanceId: string | null): ConsumerGroupMember {
    if (instanceId === null) return this.requireMember(memberId)
    const member = this.staticMember(instanceId)
    if (member === undefined) throw new KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, `Instance id ${instanceId} is unknown.`)
    if (member.memberId !== memberId) {
      throw new KafkaError(
        ErrorCode.FENCED_INSTANCE_ID,
        `Static member ${memberId} with instance id ${instanceId} was fenced by member ${member.memberId}.`,
      )
    }
    return member
  }

  targetOf(memberId: string): TargetAssignment {
    return this.#targets.get(memberId) ?? NO_PARTITIONS
  }

  ownerOf(topicId: string, partition: number): string | undefined {
    return this.#owners.get(topicId)?.get(partition)
  }

  validateOffsetCommit(identity: OffsetCommitIdentity, partitions: Iterable<CommittedPartition>): void {
    const { memberId, generationIdOrMemberEpoch: epoch, apiVersion } = identity
    // From a tool, or a consumer that assigns itself: only while nobody is there whom it could disturb.
    if (epoch < 0 && this.#members.size === 0) return
    const member = this.requireMember(memberId)
    if (member.classic === null && apiVersion < FIRST_COMMIT_VERSION_WITH_MEMBER_EPOCH) {
      throw new KafkaError(
        ErrorCode.UNSUPPORTED_VERSION,
        'OffsetCommit version 9 or above must be used by members using the consumer group protocol',
      )
    }
    if (epoch === member.memberEpoch) return
    // The member has not heard of its new epoch. What it has had since its old one is its own all the same (KIP-1251).
    if (epoch > member.memberEpoch) throw staleEpoch(member, epoch)
    for (const { topicName, partition } of partitions) {
      const topicId = this.#topics.topic(topicName)?.topicId ?? ''
      const since =
        member.assigned.get(topicId)?.get(partition) ?? member.pendingRevocation.get(topicId)?.get(partition)
      if (since === undefined || epoch < since) throw staleEpoch(member, epoch)
    }
  }

  validateOffsetFetch(memberId: string | null, memberEpoch: number): void {
    if (memberId === null && memberEpoch < 0) return
    const member = this.requireMember(memberId ?? '')
    if (memberEpoch !== member.memberEpoch) throw staleEpoch(member, memberEpoch)
  }

  validateOffsetDelete(): void {
    // Subscribed topics are refused one by one.
  }

  validateDelete(): void {
    if (this.#isDead) throw new KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, `Group ${this.groupId} is in dead state.`)
    if (this.#members.size > 0) throw new KafkaError(ErrorCode.NON_EMPTY_GROUP)
  }

  isSubscribedTo(topicName: string): boolean {
    for (const { subscription } of this.#subscriptions.values()) {
      const { topicNames, regex } = subscription
      if (regex !== null && this.#resolved.get(regex)?.has(topicName) === true) return true
      if (includesSorted(topicNames, topicName)) return true
    }
    return false
  }

  offsetExpirationBase(): 'commit' {
    return 'commit'
  }

  tombstones(): GroupRecord[] {
    return groupTombstones(this.groupId, this.#members.keys(), this.#resolved.keys())
  }

  members(): GroupMemberView[] {
    return [...this.#members.values()].map(({ memberId, instanceId, clientId, clientHost, assigned }) => ({
      memberId,
      groupInstanceId: instanceId,
      clientId,
      clientHost,
      assignment: [...assigned].flatMap(([topicId, partitions]) => {
        const topicName = this.#topics.topicNameById(topicId)
        return topicName === undefined ? [] : [{ topicName, partitions: [...partitions.keys()] }]
      }),
    }))
  }

  /** Applies a record of the group. After the tombstone of the group itself it is dead. */
  replay(record: ConsumerGroupRecord): void {
    this.#state = undefined
    switch (record.type) {
      case 'ConsumerGroupMetadata':
        if (record.value === null) this.#isDead = true
        this.#groupEpoch = record.value?.epoch ?? 0
        this.#metadataHash = record.value?.metadataHash ?? 0
        return
      case 'ConsumerGroupMemberMetadata':
        this.#replayMember(record)
        return
      case 'ConsumerGroupTargetAssignmentMetadata':
        this.#targetEpoch = record.value?.assignmentEpoch ?? 0
        return
      case 'ConsumerGroupTargetAssignmentMember':
        if (record.value === null) this.#targets.delete(record.key.memberId)
        else this.#targets.set(record.key.memberId, targetFrom(record.value.topicPartitions))
        return
      case 'ConsumerGroupCurrentMemberAssignment':
        this.#replayAssignment(record)
        return
      case 'ConsumerGroupRegularExpression': {
        const { key, value } = record
        if (value === null) this.#resolved.delete(key.regularExpression)
        else this.#resolved.set(key.regularExpression, new Set(value.topics))
      }
    }
  }

  #replayMember({ key, value }: GroupRecordOf<'ConsumerGroupMemberMetadata'>): void {
    const { memberId } = key
    const old = this.#members.get(memberId)
    if (old !== undefined) this.#forget(old)
    if (value === null) {
      this.#members.delete(memberId)
      return
    }
    const member = withMetadata(old ?? newMember(memberId), value)
    const { subscription, instanceId } = member
    // Members with equal subscriptions share one.
    this.#members.set(memberId, { ...member, subscription: this.#subscribe(subscription) })
    if (instanceId !== null) this.#staticMembers.set(instanceId, memberId)
    if (member.classic !== null) this.#classicMemberCount++
    this.#own(member)
  }

  /** Undoes what a member's metadata counts for, and what it owns. */
  #forget(member: ConsumerGroupMember): void {
    const { memberId, subscription, instanceId } = member
    this.#unsubscribe(subscription)
    if (instanceId !== null && this.#staticMembers.get(instanceId) === memberId) this.#staticMembers.delete(instanceId)
    if (member.classic !== null) this.#classicMemberCount--
    this.#disown(member)
  }

  #replayAssignment({ key, value }: GroupRecordOf<'ConsumerGroupCurrentMemberAssignment'>): void {
    const { memberId } = key
    const known = this.#members.get(memberId)
    if (known === undefined && value === null) return
    const old = known ?? this.#addUnknown(memberId)
    this.#disown(old)
    const member =
      value === null
        ? {
            ...old,
            memberEpoch: LEAVE_EPOCH,
            previousMemberEpoch: LEAVE_EPOCH,
            assigned: NOTHING_OWNED,
            pendingRevocation: NOTHING_OWNED,
          }
        : withCurrentAssignment(old, value)
    this.#members.set(memberId, member)
    this.#own(member)
  }

  /** Compaction may leave a member's assignment in front of its metadata. */
  #addUnknown(memberId: string): ConsumerGroupMember {
    const member = newMember(memberId)
    return { ...member, subscription: this.#subscribe(member.subscription) }
  }

  #subscribe(subscription: Subscription): Subscription {
    const known = this.#subscriptions.get(subscription.key)
    if (known !== undefined) {
      known.count++
      return known.subscription
    }
    this.#subscriptions.set(subscription.key, { subscription, count: 1 })
    const { regex } = subscription
    if (regex !== null) this.#regexCounts.set(regex, (this.#regexCounts.get(regex) ?? 0) + 1)
    return subscription
  }

  #unsubscribe({ key, regex }: Subscription): void {
    const known = this.#subscriptions.get(key)
    if (known === undefined || --known.count > 0) return
    this.#subscriptions.delete(key)
    if (regex === null) return
    const count = this.#regexCounts.get(regex) ?? 0
    if (count > 1) this.#regexCounts.set(regex, count - 1)
    else this.#regexCounts.delete(regex)
  }

  #own({ memberId, assigned, pendingRevocation }: ConsumerGroupMember): void {
    for (const owned of [assigned, pendingRevocation]) {
      for (const [topicId, partitions] of owned) {
        let owners = this.#owners.get(topicId)
        if (owners === undefined) this.#owners.set(topicId, (owners = new Map<number, string>()))
        for (const partition of partitions.keys()) owners.set(partition, memberId)
      }
    }
  }

  #disown({ memberId, assigned, pendingRevocation }: ConsumerGroupMember): void {
    for (const owned of [assigned, pendingRevocation]) {
      for (const [topicId, partitions] of owned) {
        const owners = this.#owners.get(topicId)
        if (owners === undefined) continue
        for (const partition of partitions.keys()) if (owners.get(partition) === memberId) owners.delete(partition)
        if (owners.size === 0) this.#owners.delete(topicId)
      }
    }
  }

  #currentState(): ConsumerGroupState {
    if (this.#isDead) return 'Dead'
    if (this.#members.size === 0) return 'Empty'
    if (this.#groupEpoch > this.#targetEpoch) return 'Assigning'
    for (const member of this.#members.values()) if (!isReconciledTo(member, this.#targetEpoch)) return 'Reconciling'
    return 'Stable'
  }
}

/** Whether something that is owned is still to come to a member that waits for others. */
export function isWaitingForOthers(group: ConsumerGroup, { memberId, assigned }: ConsumerGroupMember): boolean {
  for (const [topicId, partitions] of group.targetOf(memberId)) {
    const own = assigned.get(topicId)
    for (const partition of partitions) {
      if (own?.has(partition) !== true && group.ownerOf(topicId, partition) !== undefined) return true
    }
  }
  return false
}

function targetFrom(
  recorded: readonly { readonly topicId: string; readonly partitions: readonly number[] }[],
): TargetAssignment {
  const target = new Map<string, readonly number[]>()
  for (const { topicId, partitions } of recorded) {
    if (partitions.length > 0)
      target.set(
        topicId,
        partitions.toSorted((a, b) => a - b),
      )
  }
  return target
}

function staleEpoch({ memberEpoch, classic }: ConsumerGroupMember, received: number): KafkaError {
  return classic === null
    ? new KafkaError(
        ErrorCode.STALE_MEMBER_EPOCH,
        `The received member epoch ${received} does not match the expected member epoch ${memberEpoch}.`,
      )
    : new KafkaError(
        ErrorCode.ILLEGAL_GENERATION,
        `The received generation id ${received} does not match the expected member epoch ${memberEpoch}.`,
      )
}

function includesSorted(sorted: readonly string[], wanted: string): boolean {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const order = compareText(sorted[middle] ?? '', wanted)
    if (order === 0) return true
    if (order < 0) low = middle + 1
    else high = middle
  }
  return false
}
