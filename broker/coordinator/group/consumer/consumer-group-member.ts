/**
 * A member of a consumer group (KIP-848) as an immutable value: what it told of itself, and where its assignment stands.
 *
 * `assigned` is what it may work on, `pendingRevocation` what it still has to give up. Both are owned: nobody else gets these
 * partitions. Each partition carries the epoch at which the member got it, so that a commit that was sent before the member
 * heard of a newer epoch is still good for partitions that it had all along (KIP-1251).
 */
import { compareText, type TargetAssignment } from '../assignor/partition-assignor.ts'
import type { ClassicProtocol } from '../classic/classic-member.ts'
import type { GroupRecordOf } from '../records/group-record.ts'

/** Partition to the epoch at which it was assigned, by topic id. No empty topics. */
export type OwnedPartitions = ReadonlyMap<string, ReadonlyMap<number, number>>

export const NOTHING_OWNED: OwnedPartitions = new Map()

/** As in records. */
export const MemberState = { STABLE: 0, UNREVOKED_PARTITIONS: 1, UNRELEASED_PARTITIONS: 2, UNKNOWN: 127 } as const
export type MemberState = (typeof MemberState)[keyof typeof MemberState]

export const JOIN_EPOCH = 0
export const LEAVE_EPOCH = -1
/** A static member leaves and will be back: its partitions stay its own until its session ends. */
export const STATIC_LEAVE_EPOCH = -2

/** What a member wants. The topic names are sorted, each once. `key` is the same for, and only for, equal subscriptions. */
export interface Subscription {
  readonly key: string
  readonly topicNames: readonly string[]
  readonly regex: string | null
}

/** A member that speaks the classic protocol, in a group that was migrated. */
export interface ClassicMetadata {
  readonly sessionTimeoutMs: number
  /** Best first; never empty. */
  readonly supportedProtocols: readonly ClassicProtocol[]
}

export interface ConsumerGroupMember {
  readonly memberId: string
  readonly instanceId: string | null
  readonly rackId: string | null
  readonly clientId: string
  readonly clientHost: string
  readonly rebalanceTimeoutMs: number
  readonly serverAssignor: string | null
  readonly subscription: Subscription
  /** Null: it speaks the consumer protocol. */
  readonly classic: ClassicMetadata | null
  readonly memberEpoch: number
  readonly previousMemberEpoch: number
  readonly state: MemberState
  readonly assigned: OwnedPartitions
  readonly pendingRevocation: OwnedPartitions
}

export function subscriptionOf(topicNames: Iterable<string>, regex: string | null): Subscription {
  const names = [...new Set(topicNames)].sort(compareText)
  const wanted = regex === '' ? null : regex
  return { key: JSON.stringify([wanted, names]), topicNames: names, regex: wanted }
}

const NO_SUBSCRIPTION = subscriptionOf([], null)

export function newMember(memberId: string): ConsumerGroupMember {
  return {
    memberId,
    instanceId: null,
    rackId: null,
    clientId: '',
    clientHost: '',
    rebalanceTimeoutMs: -1,
    serverAssignor: null,
    subscription: NO_SUBSCRIPTION,
    classic: null,
    memberEpoch: JOIN_EPOCH,
    previousMemberEpoch: JOIN_EPOCH,
    state: MemberState.STABLE,
    assigned: NOTHING_OWNED,
    pendingRevocation: NOTHING_OWNED,
  }
}

/** Whether two states of a member differ in what ConsumerGroupMemberMetadata says. */
export function hasSameMetadata(a: ConsumerGroupMember, b: ConsumerGroupMember): boolean {
  return (
    a.instanceId === b.instanceId &&
    a.rackId === b.rackId &&
    a.clientId === b.clientId &&
    a.clientHost === b.clientHost &&
    a.rebalanceTimeoutMs === b.rebalanceTimeoutMs &&
    a.serverAssignor === b.serverAssignor &&
    a.subscription.key === b.subscription.key &&
    hasSameClassicMetadata(a.classic, b.classic)
  )
}

/** Whether the member has reached the target of an epoch. */
export function isReconciledTo(member: ConsumerGroupMember, targetEpoch: number): boolean {
  return member.state === MemberState.STABLE && member.memberEpoch === targetEpoch
}

export function withMetadata(
  member: ConsumerGroupMember,
  value: NonNullable<GroupRecordOf<'ConsumerGroupMemberMetadata'>['value']>,
): ConsumerGroupMember {
  const classic = value.classicMemberMetadata
  return {
    ...member,
    instanceId: value.instanceId,
    rackId: value.rackId,
    clientId: value.clientId,
    clientHost: value.clientHost,
    rebalanceTimeoutMs: value.rebalanceTimeoutMs,
    serverAssignor: value.serverAssignor,
    subscription: subscriptionOf(value.subscribedTopicNames, value.subscribedTopicRegex),
    classic: classic === null || classic.supportedProtocols.length === 0 ? null : classic,
  }
}

export function withCurrentAssignment(
  member: ConsumerGroupMember,
  value: NonNullable<GroupRecordOf<'ConsumerGroupCurrentMemberAssignment'>['value']>,
): ConsumerGroupMember {
  const { memberEpoch } = value
  return {
    ...member,
    memberEpoch,
    previousMemberEpoch: value.previousMemberEpoch,
    state: memberStateOf(value.state),
    assigned: ownedOf(value.assignedPartitions, memberEpoch),
    pendingRevocation: ownedOf(value.partitionsPendingRevocation, memberEpoch),
  }
}

/** All of `target`, got at `epoch`. */
export function ownedAt(target: TargetAssignment, epoch: number): OwnedPartitions {
  return new Map([...target].map(([topicId, partitions]) => [topicId, new Map(partitions.map((p) => [p, epoch]))]))
}

export function hasSamePartitions(a: OwnedPartitions, b: OwnedPartitions): boolean {
  if (a === b) return true
  if (a.size !== b.size) return false
  for (const [topicId, partitions] of a) {
    const others = b.get(topicId)
    if (others?.size !== partitions.size) return false
    for (const partition of partitions.keys()) if (!others.has(partition)) return false
  }
  return true
}

type RecordedPartitions = NonNullable<
  GroupRecordOf<'ConsumerGroupCurrentMemberAssignment'>['value']
>['assignedPartitions'][number]

/** Records without assignment epochs, of an older program, are taken as of the member's epoch: commits are as strict as ever. */
function ownedOf(recorded: readonly RecordedPartitions[], memberEpoch: number): OwnedPartitions {
  const owned = new Map<string, ReadonlyMap<number, number>>()
  for (const { topicId, partitions, assignmentEpochs } of recorded) {
    if (partitions.length === 0) continue
    const epochs = assignmentEpochs?.length === partitions.length ? assignmentEpochs : undefined
    owned.set(topicId, new Map(partitions.map((partition, i) => [partition, epochs?.[i] ?? memberEpoch])))
  }
  return owned
}

function memberStateOf(state: number): MemberState {
  for (const known of Object.values(MemberState)) if (known === state) return known
  return MemberState.UNKNOWN
}

function hasSameClassicMetadata(a: ClassicMetadata | null, b: ClassicMetadata | null): boolean {
  if (a === null || b === null) return a === b
  return (
    a.sessionTimeoutMs === b.sessionTimeoutMs &&
    a.supportedProtocols.length === b.supportedProtocols.length &&
    a.supportedProtocols.every(({ name, metadata }, i) => {
      const other = b.supportedProtocols[i]
      return other?.name === name && other.metadata.equals(metadata)
    })
  )
}
