/**
 * The `range` assignor: each topic's partitions in contiguous ranges, in the order of the members. Where members subscribe
 * to the same topics and these have equally many partitions, a member has the same partitions of each: what joins of
 * streams need. Static members come first, by their instance ids, so that a restart changes nothing for them.
 */
import {
  compareText,
  type AssignorMember,
  type PartitionAssignor,
  type TargetAssignment,
} from './partition-assignor.ts'

interface TopicRange {
  readonly quota: number
  /** How many of the first members get one more. */
  extra: number
  next: number
}

export const rangeAssignor: PartitionAssignor = {
  name: 'range',

  assign({ members, partitionCounts }) {
    const memberCounts = new Map<string, number>()
    for (const { topicIds } of members) {
      for (const topicId of topicIds) memberCounts.set(topicId, (memberCounts.get(topicId) ?? 0) + 1)
    }
    const ranges = new Map<string, TopicRange>()
    for (const [topicId, memberCount] of memberCounts) {
      const partitionCount = partitionCounts.get(topicId) ?? 0
      ranges.set(topicId, {
        quota: Math.floor(partitionCount / memberCount),
        extra: partitionCount % memberCount,
        next: 0,
      })
    }

    const assignments = new Map<string, TargetAssignment>()
    for (const { memberId, topicIds } of members.toSorted(compareMembers)) {
      const assignment = new Map<string, number[]>()
      for (const topicId of topicIds) {
        const range = ranges.get(topicId)
        if (range === undefined) continue
        let size = range.quota
        if (range.extra > 0) {
          range.extra--
          size++
        }
        const first = range.next
        if (size > 0)
          assignment.set(
            topicId,
            Array.from({ length: size }, (_, i) => first + i),
          )
        range.next += size
      }
      assignments.set(memberId, assignment)
    }
    return assignments
  },
}

function compareMembers(a: AssignorMember, b: AssignorMember): number {
  if (a.instanceId !== null && b.instanceId !== null) return compareText(a.instanceId, b.instanceId)
  if (a.instanceId !== null) return -1
  if (b.instanceId !== null) return 1
  return compareText(a.memberId, b.memberId)
}
