/** Groups as a test wants them, where no coordinator is needed. */
import type { CommittedOffsetView, GroupView, GroupViews } from '../../coordinator/group/group-view.ts'

export function fakeGroup(
  groupId: string,
  more: Partial<GroupView> & { committed?: readonly CommittedOffsetView[] },
): GroupView {
  const members = more.members?.() ?? []
  return {
    groupId,
    type: 'classic',
    stateName: members.length === 0 ? 'Empty' : 'Stable',
    protocolType: 'consumer',
    memberCount: members.length,
    members: () => members,
    offsets: () => more.committed ?? [],
    ...more,
  }
}

export function committed(topicName: string, partition: number, offset: number): CommittedOffsetView {
  return { topicName, partition, offset, commitTimestampMs: 1_700_000_000_000, metadata: '' }
}

export function fakeGroups(groups: readonly GroupView[]): GroupViews {
  const byId = new Map(groups.map((group) => [group.groupId, group]))
  return { groupCount: byId.size, groups: () => byId.values(), group: (groupId) => byId.get(groupId) }
}
