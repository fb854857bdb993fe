/**
 * A change of a consumer group while it is worked out: the records so far, and the group as they will leave it. Operations
 * change nothing that is replicated, so what they decide next must see what they have decided already.
 */
import { createHash } from 'node:crypto'
import {
  compareText,
  type AssignorMember,
  type PartitionAssignor,
  type TargetAssignment,
} from '../assignor/partition-assignor.ts'
import type { TopicDirectory } from '../group-shard-context.ts'
import type { GroupRecord } from '../records/group-record.ts'
import type { ConsumerGroup } from './consumer-group.ts'
import type { ConsumerGroupMember, Subscription } from './consumer-group-member.ts'
import {
  currentAssignmentRecord,
  groupRecord,
  memberRecord,
  memberTombstones,
  regexRecord,
  regexTombstone,
  targetEpochRecord,
  targetRecord,
} from './consumer-group-records.ts'

export class GroupChange {
  readonly group: ConsumerGroup
  readonly records: GroupRecord[] = []
  readonly #topics: TopicDirectory
  /** Members that will be another way; undefined: gone. */
  readonly #members = new Map<string, ConsumerGroupMember | undefined>()
  readonly #targets = new Map<string, TargetAssignment>()
  readonly #resolved = new Map<string, ReadonlySet<string> | undefined>()
  #groupEpoch: number
  #targetEpoch: number

  constructor(group: ConsumerGroup, topics: TopicDirectory) {
    this.group = group
    this.#topics = topics
    this.#groupEpoch = group.groupEpoch
    this.#targetEpoch = group.targetEpoch
  }

  get groupEpoch(): number {
    return this.#groupEpoch
  }

  get targetEpoch(): number {
    return this.#targetEpoch
  }

  /** Adds a member, or changes what is known of it. */
  putMember(member: ConsumerGroupMember): void {
    this.#members.set(member.memberId, member)
    this.records.push(memberRecord(this.group.groupId, member))
  }

  putAssignment(member: ConsumerGroupMember): void {
    this.#members.set(member.memberId, member)
    this.records.push(currentAssignmentRecord(this.group.groupId, member))
  }

  removeMember(memberId: string): void {
    this.#members.set(memberId, undefined)
    this.records.push(...memberTombstones(this.group.groupId, memberId))
  }

  /** A static member is back under another id, with all that was the old one's. */
  replaceMember(old: ConsumerGroupMember, member: ConsumerGroupMember): void {
    const target = this.group.targetOf(old.memberId)
    this.removeMember(old.memberId)
    this.putMember(member)
    this.#targets.set(member.memberId, target)
    this.records.push(targetRecord(this.group.groupId, member.memberId, target))
    this.putAssignment(member)
  }

  targetOf(memberId: string): TargetAssignment {
    return this.#targets.get(memberId) ?? this.group.targetOf(memberId)
  }

  /** The regular expressions that members subscribe to. */
  wantedRegexes(): Set<string> {
    const regexes = new Set<string>()
    for (const { regex } of this.#subscriptions()) if (regex !== null) regexes.add(regex)
    return regexes
  }

  resolvedTopics(regex: string): ReadonlySet<string> | undefined {
    return this.#resolved.has(regex) ? this.#resolved.get(regex) : this.group.resolvedRegexes.get(regex)
  }

  /** Keeps what a regular expression matches. Returns whether it was something else before. */
  putResolved(regex: string, topicNames: ReadonlySet<string>, nowMs: number): boolean {
    const known = this.resolvedTopics(regex)
    if (known?.size === topicNames.size && topicNames.isSubsetOf(known)) return false
    this.#resolved.set(regex, topicNames)
    this.records.push(regexRecord(this.group.groupId, regex, [...topicNames].sort(compareText), nowMs))
    return known !== undefined || topicNames.size > 0
  }

  /** Forgets what regular expressions match that nobody wants any more. */
  dropUnwantedRegexes(): void {
    const { groupId, resolvedRegexes } = this.group
    if (resolvedRegexes.size === 0) return
    const wanted = this.wantedRegexes()
    for (const regex of resolvedRegexes.keys()) {
      if (wanted.has(regex)) continue
      this.#resolved.set(regex, undefined)
      this.records.push(regexTombstone(groupId, regex))
    }
  }

  /**
   * Looks at the topics that are subscribed now. Where they are others than the group's epoch was for, or `isForced`, a new
   * epoch begins. Returns whether one does.
   */
  refreshMetadata(isForced: boolean): boolean {
    const hash = this.#metadataHash()
    if (hash === this.group.metadataHash) {
      // Only now: what is not written is looked for again.
      this.group.isMetadataStale = false
      if (!isForced) return false
    }
    this.#groupEpoch = this.group.groupEpoch + 1
    this.records.push(groupRecord(this.group.groupId, this.#groupEpoch, hash))
    return true
  }

  /** Works out the target of the epoch that has begun. Only what differs from the last one is written. */
  assign(assignors: readonly PartitionAssignor[], nowMs: number): void {
    const { groupId } = this.group
    const members: AssignorMember[] = []
    const votes = new Map<string, number>()
    const topicIds = new Map<string, ReadonlySet<string>>()
    const partitionCounts = new Map<string, number>()
    for (const { memberId, instanceId, subscription, serverAssignor } of this.#currentMembers()) {
      let ids = topicIds.get(subscription.key)
      if (ids === undefined) topicIds.set(subscription.key, (ids = this.#topicIdsOf(subscription, partitionCounts)))
      members.push({ memberId, instanceId, topicIds: ids, previous: this.targetOf(memberId) })
      if (serverAssignor !== null) votes.set(serverAssignor, (votes.get(serverAssignor) ?? 0) + 1)
    }
    const assignor = preferredAssignor(assignors, votes)
    for (const [memberId, target] of assignor?.assign({ members, partitionCounts }) ?? []) {
      if (isSameTarget(target, this.targetOf(memberId))) continue
      this.#targets.set(memberId, target)
      this.records.push(targetRecord(groupId, memberId, target))
    }
    this.#targetEpoch = this.#groupEpoch
    this.records.push(targetEpochRecord(groupId, this.#targetEpoch, nowMs))
  }

  *#currentMembers(): Generator<ConsumerGroupMember, void> {
    for (const member of this.group.allMembers) if (!this.#members.has(member.memberId)) yield member
    for (const member of this.#members.values()) if (member !== undefined) yield member
  }

  /** Distinct ones. */
  #subscriptions(): Iterable<Subscription> {
    const counts = new Map<string, { readonly subscription: Subscription; count: number }>()
    const add = (subscription: Subscription, by: number): void => {
      const known = counts.get(subscription.key)
      if (known === undefined) counts.set(subscription.key, { subscription, count: by })
      else known.count += by
    }
    for (const { subscription, count } of this.group.subscriptions) add(subscription, count)
    for (const [memberId, member] of this.#members) {
      const old = this.group.member(memberId)
      if (old !== undefined) add(old.subscription, -1)
      if (member !== undefined) add(member.subscription, 1)
    }
    return [...counts.values()].flatMap(({ subscription, count }) => (count > 0 ? [subscription] : []))
  }

  #topicNamesOf({ topicNames, regex }: Subscription): Set<string> {
    const names = new Set(topicNames)
    if (regex !== null) for (const name of this.resolvedTopics(regex) ?? []) names.add(name)
    return names
  }

  #topicIdsOf(subscription: Subscription, partitionCounts: Map<string, number>): ReadonlySet<string> {
    const ids = new Set<string>()
    for (const name of this.#topicNamesOf(subscription)) {
      const topic = this.#topics.topic(name)
      if (topic === undefined) continue
      ids.add(topic.topicId)
      partitionCounts.set(topic.topicId, topic.partitionCount)
    }
    return ids
  }

  /**
   * A number for all that a target depends on of the subscribed topics (KIP-1101): another one means another target may be
   * due. Racks are not among it, since no assignor looks at them. 48 bits, so that it is exact as a number; 0 for no topic.
   */
  #metadataHash(): number {
    const names = new Set<string>()
    for (const subscription of this.#subscriptions()) {
      for (const name of this.#topicNamesOf(subscription)) names.add(name)
    }
    const hash = createHash('sha1')
    let isEmpty = true
    for (const name of [...names].sort(compareText)) {
      const topic = this.#topics.topic(name)
      if (topic === undefined) continue
      isEmpty = false
      hash.update(`${topic.topicId} ${topic.partitionCount} ${name}\n`)
    }
    return isEmpty ? 0 : hash.digest().readUIntBE(0, 6)
  }
}

/** The one that most members ask for; among equals, and where nobody asks, the first of the configured ones. */
function preferredAssignor(
  assignors: readonly PartitionAssignor[],
  votes: ReadonlyMap<string, number>,
): PartitionAssignor | undefined {
  let preferred = assignors[0]
  for (const assignor of assignors) {
    if ((votes.get(assignor.name) ?? 0) > (votes.get(preferred?.name ?? '') ?? 0)) preferred = assignor
  }
  return preferred
}

function isSameTarget(a: TargetAssignment, b: TargetAssignment): boolean {
  if (a.size !== b.size) return false
  for (const [topicId, partitions] of a) {
    const others = b.get(topicId) ?? []
    if (partitions.length !== others.length || partitions.some((partition, i) => partition !== others[i])) return false
  }
  return true
}
