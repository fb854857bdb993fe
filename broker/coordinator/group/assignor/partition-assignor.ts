/**
 * What a server-side assignor is (KIP-848): a pure function from members, their subscriptions and their present targets to
 * the next targets. It sees topics by id; all of them exist.
 *
 * The result depends on nothing but the input: not on the order of members, nor on time or chance.
 */

/** Partitions by topic id; each list is ascending, without repetition, and not empty. */
export type TargetAssignment = ReadonlyMap<string, readonly number[]>

export const NO_PARTITIONS: TargetAssignment = new Map()

export interface AssignorMember {
  readonly memberId: string
  readonly instanceId: string | null
  /** Members with the same subscription may share one set. */
  readonly topicIds: ReadonlySet<string>
  /** Its target so far; may name topics and partitions that are no more. */
  readonly previous: TargetAssignment
}

export interface AssignorInput {
  readonly members: readonly AssignorMember[]
  /** Of each topic that anybody subscribes to. */
  readonly partitionCounts: ReadonlyMap<string, number>
}

export interface PartitionAssignor {
  readonly name: string
  /** Every member of the input has an entry. */
  assign(input: AssignorInput): Map<string, TargetAssignment>
}

/** By code units, as Java compares strings. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Whether all members subscribe to the same topics. */
export function isHomogeneous(members: readonly AssignorMember[]): boolean {
  const [first] = members
  if (first === undefined) return true
  const same = new Set([first.topicIds])
  for (const { topicIds } of members) {
    if (same.has(topicIds)) continue
    if (topicIds.size !== first.topicIds.size) return false
    for (const topicId of topicIds) if (!first.topicIds.has(topicId)) return false
    same.add(topicIds)
  }
  return true
}
