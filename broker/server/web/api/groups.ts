/** GET /api/v1/groups and /api/v1/groups/{id}: the groups that this broker coordinates, their members and their lag. */
import type { GroupMemberView } from '../../../coordinator/group/group.ts'
import type { GroupView } from '../../../coordinator/group/group-view.ts'
import { partitionLag } from '../../partition-lag.ts'
import type { ApiSources } from '../web-sources.ts'
import { notFound } from './api-error.ts'
import { namePage } from './query.ts'

export interface GroupsPage {
  readonly total: number
  readonly next: string | null
  readonly groups: readonly GroupSummary[]
  /** Ids of the other brokers, which may coordinate more. */
  readonly otherBrokers: readonly number[]
}

export interface GroupSummary {
  readonly groupId: string
  readonly type: string
  readonly state: string
  readonly protocolType: string
  readonly memberCount: number
  readonly topicCount: number
  /** Sum over the partitions whose end is known here. */
  readonly lag: number
  /** Partitions with a committed offset that other brokers lead: their lag is not in the sum. */
  readonly unknownLagCount: number
}

export interface GroupDetails extends GroupSummary {
  /** Up to 1,000. */
  readonly members: readonly GroupMemberView[]
  /** Assigned partitions and those with a committed offset, sorted; up to 5,000. */
  readonly partitions: readonly GroupPartitionView[]
  readonly partitionCount: number
}

export interface GroupPartitionView {
  readonly topicName: string
  readonly partition: number
  /** Null: nothing was committed. */
  readonly committedOffset: number | null
  readonly commitTimestampMs: number | null
  readonly metadata: string | null
  readonly logStartOffset: number | null
  /** The high watermark; null where another broker leads. */
  readonly endOffset: number | null
  readonly lag: number | null
  /** The member that it is assigned to. */
  readonly memberId: string | null
}

const MAX_MEMBERS = 1000
const MAX_PARTITIONS = 5000
/** Group metadata of a commit may be 4 KiB by default, and is for people here. */
const MAX_METADATA_LENGTH = 500

export function listGroups(sources: ApiSources, query: URLSearchParams): GroupsPage {
  const { groups } = sources
  const { total, names, next } = namePage(groupIds(sources), query)
  const summaries: GroupSummary[] = []
  for (const groupId of names) {
    const group = groups.group(groupId)
    if (group !== undefined) summaries.push(summaryOf(sources, group))
  }
  return { total, next, groups: summaries, otherBrokers: otherBrokers(sources) }
}

export function describeGroup(sources: ApiSources, groupId: string): GroupDetails {
  const group = sources.groups.group(groupId)
  if (group === undefined) {
    const others = otherBrokers(sources).length === 0 ? '' : ' Another broker may.'
    throw notFound(`This broker coordinates no group '${groupId.slice(0, 300)}'.${others}`)
  }
  const members = group.members()
  const partitions = partitionsOf(sources, group, members)
  return {
    ...summaryOf(sources, group),
    members: members.slice(0, MAX_MEMBERS),
    partitions: partitions.slice(0, MAX_PARTITIONS),
    partitionCount: partitions.length,
  }
}

function otherBrokers({ broker, brokerId }: ApiSources): number[] {
  return broker.metadata.brokers().flatMap((other) => (other.brokerId === brokerId ? [] : [other.brokerId]))
}

function* groupIds({ groups }: ApiSources): Generator<string> {
  for (const { groupId } of groups.groups()) yield groupId
}

function summaryOf({ broker }: ApiSources, group: GroupView): GroupSummary {
  const topics = new Set<string>()
  let lag = 0
  let unknownLagCount = 0
  for (const { topicName, partition, offset } of group.offsets()) {
    const behind = partitionLag(broker, topicName, partition, offset)
    if (behind === 'no-partition') continue
    topics.add(topicName)
    if (behind === undefined) unknownLagCount++
    else lag += behind
  }
  const { groupId, type, stateName, protocolType, memberCount } = group
  return { groupId, type, state: stateName, protocolType, memberCount, topicCount: topics.size, lag, unknownLagCount }
}

function partitionsOf(
  { broker }: ApiSources,
  group: GroupView,
  members: readonly GroupMemberView[],
): GroupPartitionView[] {
  const views = new Map<string, GroupPartitionView>()
  const keyOf = (topicName: string, partition: number): string => `${topicName}-${partition}`
  const ends = (topicName: string, partition: number): Pick<GroupPartitionView, 'logStartOffset' | 'endOffset'> => {
    const replica = broker.replicas.partition(topicName, partition)
    if (replica?.isLeader !== true) return { logStartOffset: null, endOffset: null }
    return { logStartOffset: replica.log.logStartOffset, endOffset: replica.highWatermark }
  }
  for (const { topicName, partition, offset, commitTimestampMs, metadata } of group.offsets()) {
    const lag = partitionLag(broker, topicName, partition, offset)
    if (lag === 'no-partition') continue
    views.set(keyOf(topicName, partition), {
      topicName,
      partition,
      committedOffset: offset,
      commitTimestampMs,
      metadata: metadata.slice(0, MAX_METADATA_LENGTH),
      ...ends(topicName, partition),
      lag: lag ?? null,
      memberId: null,
    })
  }
  for (const { memberId, assignment } of members) {
    for (const { topicName, partitions } of assignment) {
      for (const partition of partitions) {
        const key = keyOf(topicName, partition)
        const nothing = { committedOffset: null, commitTimestampMs: null, metadata: null, lag: null }
        const view = views.get(key) ?? { topicName, partition, ...nothing, ...ends(topicName, partition), memberId }
        views.set(key, { ...view, memberId })
      }
    }
  }
  return [...views.values()].sort((a, b) =>
    a.topicName === b.topicName ? a.partition - b.partition : a.topicName < b.topicName ? -1 : 1,
  )
}
