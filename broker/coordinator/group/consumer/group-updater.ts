/**
 * What changes consumer groups, whoever asks for it: a member that came or changed, members that go.
 *
 * A member's update: 1. its metadata is kept; where subscriptions or topics changed, a new group epoch begins. 2. A new epoch
 * gets a target. 3. The member makes its next step towards its target.
 */
import type { CoordinatorResult } from '../../runtime/coordinator-shard.ts'
import { configuredAssignors } from '../assignor/assignors.ts'
import type { ClassicGroupManager } from '../classic/classic-group-manager.ts'
import { ClassicGroup } from '../classic/classic-group.ts'
import type { GroupShardContext } from '../group-shard-context.ts'
import type { GroupRecord } from '../records/group-record.ts'
import { ConsumerGroup } from './consumer-group.ts'
import { hasSameMetadata, MemberState, type ConsumerGroupMember } from './consumer-group-member.ts'
import { GroupChange } from './group-change.ts'
import type { GroupRegexes } from './group-regexes.ts'
import type { MemberTimers } from './member-timers.ts'
import { downgradeRecords } from './migration.ts'
import { reconcile, type ReportedPartitions } from './reconcile.ts'

type Result<Reply> = CoordinatorResult<GroupRecord, Reply>

const NOBODY: ReadonlySet<string> = new Set()

export interface MemberUpdate {
  /** As it was; for a new one, empty. */
  readonly before: ConsumerGroupMember
  /** The same, with what it tells of itself now. */
  readonly after: ConsumerGroupMember
  readonly isNew: boolean
  readonly reported: ReportedPartitions
}

export class GroupUpdater {
  readonly #context: GroupShardContext
  readonly #classic: ClassicGroupManager
  readonly #timers: MemberTimers
  readonly #regexes: GroupRegexes

  constructor(context: GroupShardContext, classic: ClassicGroupManager, timers: MemberTimers, regexes: GroupRegexes) {
    this.#context = context
    this.#classic = classic
    this.#timers = timers
    this.#regexes = regexes
  }

  /** Adds to the change what becomes of a member. Returns the member with its next step. */
  update(change: GroupChange, { before, after, isNew, reported }: MemberUpdate): ConsumerGroupMember {
    const { group } = change
    const { memberId } = after
    if (isNew || !hasSameMetadata(before, after)) change.putMember(after)
    const hasOtherSubscription = isNew || before.subscription.key !== after.subscription.key
    if (hasOtherSubscription) change.dropUnwantedRegexes()
    this.#refresh(change, hasOtherSubscription)
    if (change.groupEpoch > change.targetEpoch) this.#assign(change)

    const reconciled = reconcile({
      member: after,
      targetEpoch: change.targetEpoch,
      target: change.targetOf(memberId),
      isFree: (topicId, partition) => {
        const owner = group.ownerOf(topicId, partition)
        return owner === undefined || owner === memberId
      },
      reported,
    })
    if (reconciled === after) return after
    change.putAssignment(reconciled)
    // Classic members have their own timers: for joining again, and for fetching the assignment.
    if (reconciled.classic === null) {
      if (reconciled.state === MemberState.UNREVOKED_PARTITIONS) {
        this.#timers.start('rebalance', group.groupId, memberId, reconciled.rebalanceTimeoutMs)
      } else {
        this.#timers.stop('rebalance', group.groupId, memberId)
      }
    }
    return reconciled
  }

  /** Begins a new epoch if topics changed. Returns the records of it. */
  refreshTopics(group: ConsumerGroup): readonly GroupRecord[] {
    const change = new GroupChange(group, this.#context.topics)
    this.#refresh(change, false)
    return change.records
  }

  /** Takes members out; a group that is left with classic ones alone becomes classic. */
  remove<Reply>(group: ConsumerGroup, members: readonly ConsumerGroupMember[], reply: Reply): Result<Reply> {
    if (members.length === 0) return { records: [], reply }
    const { groupId } = group
    for (const { memberId } of members) this.#timers.stopAll(groupId, memberId)
    const downgrade = this.#downgrade(group, new Set(members.map(({ memberId }) => memberId)))
    if (downgrade !== undefined) return { records: downgrade, reply }
    const change = new GroupChange(group, this.#context.topics)
    for (const { memberId } of members) change.removeMember(memberId)
    change.dropUnwantedRegexes()
    change.refreshMetadata(true)
    return { records: change.records, reply }
  }

  /** For a group that may have become one of classic members alone: makes it a classic one, after what is under way. */
  downgradeSoon(groupId: string): void {
    this.#context.timer.schedule(`consumer downgrade ${groupId}`, 0, () => {
      const group = this.#context.groups.get(groupId)
      const records = group instanceof ConsumerGroup ? this.#downgrade(group, NOBODY) : undefined
      return { records: records ?? [], reply: undefined }
    })
  }

  #refresh(change: GroupChange, isForced: boolean): void {
    const { group } = change
    const hasOtherTopics = (isForced || !this.#regexes.isFresh(group)) && this.#regexes.refresh(change)
    const isNeeded = isForced || hasOtherTopics || group.groupEpoch === 0
    if (!isNeeded && !group.isMetadataStale) return
    if (!change.refreshMetadata(isNeeded)) return
    const { groupEpoch } = change
    this.#context.logger.debug({ groupId: group.groupId, groupEpoch }, 'a new epoch of a consumer group begins')
  }

  #assign(change: GroupChange): void {
    change.assign(configuredAssignors(this.#context.config().consumerAssignors), this.#context.clock.wallMs())
  }

  #downgrade(group: ConsumerGroup, leaving: ReadonlySet<string>): GroupRecord[] | undefined {
    const { consumerMigrationPolicy: policy, maxSize } = this.#context.config()
    const staying = group.memberCount - leaving.size
    if (staying < 1 || staying > maxSize || (policy !== 'bidirectional' && policy !== 'downgrade')) return undefined
    for (const { memberId, classic } of group.allMembers) {
      if (classic === null && !leaving.has(memberId)) return undefined
    }
    const { topics, clock, logger, timer, groups } = this.#context
    const records = downgradeRecords(group, leaving, topics, clock.wallMs())
    if (records === undefined) return undefined
    const { groupId } = group
    logger.info({ groupId }, 'a consumer group becomes a classic one')
    for (const { memberId } of group.allMembers) this.#timers.stopAll(groupId, memberId)
    // Once the group is there.
    timer.schedule(`consumer downgraded ${groupId}`, 0, () => {
      const classicGroup = groups.get(groupId)
      return classicGroup instanceof ClassicGroup
        ? this.#classic.rebalance(classicGroup, 'the group was downgraded to the classic protocol')
        : { records: [], reply: undefined }
    })
    return records
  }
}
