/**
 * What may be looked at of the groups that this broker coordinates: for metrics, and for the page and API of the web port.
 *
 * Read-only and synchronous: what one turn of the event loop reads belongs together. It shows the state as it is, also
 * what is not committed yet; a group whose shard is being loaded is not there.
 */
import type { GroupMemberView, GroupType } from './group.ts'

export interface CommittedOffsetView {
  readonly topicName: string
  readonly partition: number
  readonly offset: number
  /** Milliseconds since 1970. */
  readonly commitTimestampMs: number
  readonly metadata: string
}

export interface GroupView {
  readonly groupId: string
  readonly type: GroupType
  /** As ListGroups tells it: `Stable`, `Empty`, ... */
  readonly stateName: string
  /** `consumer`, `connect`, ...; empty while nobody said. */
  readonly protocolType: string
  readonly memberCount: number
  members(): readonly GroupMemberView[]
  /** In no order. Walks the state itself: for groups with many offsets nothing is copied. */
  offsets(): Iterable<CommittedOffsetView>
}

export interface GroupViews {
  readonly groupCount: number
  /** In no order. */
  groups(): Iterable<GroupView>
  group(groupId: string): GroupView | undefined
}

/** A broker that coordinates nothing. */
export const NO_GROUPS: GroupViews = { groupCount: 0, groups: () => [], group: () => undefined }
