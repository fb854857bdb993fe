/**
 * The `uniform` assignor: as even as subscriptions allow, and with as few moves as that takes.
 *
 * Where all members subscribe to the same topics, their partition counts differ by one at most, and only what must move
 * moves. Else no partition could go to another subscriber of its topic that has fewer by two or more.
 * Racks are not looked at, as in Kafka 4.
 */
import {
  compareText,
  isHomogeneous,
  type AssignorInput,
  type AssignorMember,
  type PartitionAssignor,
  type TargetAssignment,
} from './partition-assignor.ts'

export const uniformAssignor: PartitionAssignor = {
  name: 'uniform',

  assign(input) {
    const members = input.members.toSorted((a, b) => compareText(a.memberId, b.memberId))
    const sorted = { ...input, members }
    return isHomogeneous(members) ? assignHomogeneous(sorted) : assignHeterogeneous(sorted)
  },
}

/** Who has what while it is worked out. A topic's array holds a member's index for each partition, -1 for nobody. */
class Draft {
  readonly owners = new Map<string, Int32Array>()
  readonly counts: Int32Array
  readonly #members: readonly AssignorMember[]

  constructor({ members, partitionCounts }: AssignorInput) {
    this.#members = members
    this.counts = new Int32Array(members.length)
    const topicIds = new Set<string>()
    for (const subscribed of new Set(members.map((member) => member.topicIds))) {
      for (const topicId of subscribed) topicIds.add(topicId)
    }
    for (const topicId of [...topicIds].sort(compareText)) {
      this.owners.set(topicId, new Int32Array(partitionCounts.get(topicId) ?? 0).fill(-1))
    }
  }

  /** Leaves members what they have, each at most what `quotaOf` says for it. */
  keepPrevious(quotaOf: (member: AssignorMember, wanted: number) => number): void {
    this.#members.forEach((member, index) => {
      const kept: { owners: Int32Array; partition: number }[] = []
      for (const [topicId, partitions] of member.previous) {
        const owners = this.owners.get(topicId)
        if (owners === undefined || !member.topicIds.has(topicId)) continue
        for (const partition of partitions) if (owners[partition] === -1) kept.push({ owners, partition })
      }
      const quota = quotaOf(member, kept.length)
      for (const { owners, partition } of kept.slice(0, quota)) owners[partition] = index
      this.counts[index] = Math.min(kept.length, quota)
    })
  }

  toAssignments(): Map<string, TargetAssignment> {
    const assignments = this.#members.map(() => new Map<string, number[]>())
    for (const [topicId, owners] of this.owners) {
      owners.forEach((owner, partition) => {
        const assignment = assignments[owner]
        if (assignment === undefined) return
        const partitions = assignment.get(topicId)
        if (partitions === undefined) assignment.set(topicId, [partition])
        else partitions.push(partition)
      })
    }
    return new Map(
      this.#members.map(({ memberId }, index) => [memberId, assignments[index] ?? new Map<string, number[]>()]),
    )
  }
}

function assignHomogeneous(input: AssignorInput): Map<string, TargetAssignment> {
  const draft = new Draft(input)
  const memberCount = input.members.length
  if (memberCount === 0) return new Map()
  let partitionCount = 0
  for (const owners of draft.owners.values()) partitionCount += owners.length
  const quota = Math.floor(partitionCount / memberCount)
  // Some have one more: at first those who have it already.
  let extra = partitionCount % memberCount
  draft.keepPrevious((_, wanted) => {
    if (wanted <= quota || extra === 0) return quota
    extra--
    return quota + 1
  })

  // The rest goes around, so that the partitions of a topic are spread.
  const { counts } = draft
  let next = 0
  for (const owners of draft.owners.values()) {
    for (let partition = 0; partition < owners.length; partition++) {
      if (owners[partition] !== -1) continue
      // Who has less than the quota comes first, so that there is always somebody.
      for (let tried = 0; ; tried++, next = (next + 1) % memberCount) {
        const count = counts[next] ?? 0
        if (count < quota) break
        if (count === quota && extra > 0 && tried >= memberCount) {
          extra--
          break
        }
      }
      owners[partition] = next
      counts[next] = (counts[next] ?? 0) + 1
      next = (next + 1) % memberCount
    }
  }
  return draft.toAssignments()
}

function assignHeterogeneous(input: AssignorInput): Map<string, TargetAssignment> {
  const draft = new Draft(input)
  draft.keepPrevious((_, wanted) => wanted)
  const subscribers = new Map<string, number[]>()
  input.members.forEach(({ topicIds }, index) => {
    for (const topicId of topicIds) {
      const indexes = subscribers.get(topicId)
      if (indexes === undefined) subscribers.set(topicId, [index])
      else indexes.push(index)
    }
  })
  // Topics that few can take come first: there the choice is least.
  const topics = [...draft.owners].map(([topicId, owners]) => ({ owners, members: subscribers.get(topicId) ?? [] }))
  topics.sort((a, b) => a.members.length - b.members.length)
  for (const { owners, members } of topics) {
    for (let partition = 0; partition < owners.length; partition++) {
      if (owners[partition] !== -1) continue
      give(draft.counts, owners, partition, leastLoaded(draft.counts, members))
    }
  }
  // Each move makes the sum of the squares of the counts smaller, so this ends.
  let hasMoved = true
  while (hasMoved) {
    hasMoved = false
    for (const { owners, members } of topics) if (balanceTopic(draft.counts, owners, members)) hasMoved = true
  }
  return draft.toAssignments()
}

function balanceTopic(counts: Int32Array, owners: Int32Array, members: readonly number[]): boolean {
  let hasMoved = false
  for (;;) {
    let from = -1
    for (let partition = 0; partition < owners.length; partition++) {
      if (from === -1 || (counts[owners[partition] ?? 0] ?? 0) >= (counts[owners[from] ?? 0] ?? 0)) from = partition
    }
    if (from === -1) return hasMoved
    const to = leastLoaded(counts, members)
    if ((counts[owners[from] ?? 0] ?? 0) - (counts[to] ?? 0) < 2) return hasMoved
    give(counts, owners, from, to)
    hasMoved = true
  }
}

function leastLoaded(counts: Int32Array, members: readonly number[]): number {
  let least = members[0] ?? 0
  for (const index of members) if ((counts[index] ?? 0) < (counts[least] ?? 0)) least = index
  return least
}

function give(counts: Int32Array, owners: Int32Array, partition: number, to: number): void {
  const from = owners[partition] ?? -1
  if (from !== -1) counts[from] = (counts[from] ?? 0) - 1
  owners[partition] = to
  counts[to] = (counts[to] ?? 0) + 1
}
