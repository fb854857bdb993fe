import type { Condition } from '../../crds/resource.ts'
import { NO_LEADER } from '../../crds/partition-slice.ts'
import type { Topic, TopicStatus } from '../../crds/topic.ts'
import type { LocatedEntry } from './slice-view.ts'

/** Why a topic is not as its spec wants it; the reason of its condition `Ready=False`. */
export interface TopicProblem {
  readonly reason:
    'NameConflict' | 'InvalidConfig' | 'InvalidReplicationFactor' | 'InvalidAssignment' | 'NoBrokers' | 'EntryConflict'
  readonly message: string
}

export interface TopicFacts {
  readonly topicId: string | undefined
  readonly slices: Readonly<Record<string, readonly number[]>> | undefined
  /** The topic's own entries, one a partition. */
  readonly entries: readonly LocatedEntry[]
  readonly problem: TopicProblem | undefined
}

/**
 * The status that a topic should have; the very object that it has when nothing differs. Pure.
 *
 * `now` (RFC 3339) goes into a condition only where its status flips.
 */
export function topicStatus(topic: Topic, facts: TopicFacts, now: string): TopicStatus {
  const { entries, problem } = facts
  const offline = entries.filter(({ entry }) => entry.leader === NO_LEADER)
  const { partitions } = topic.spec
  const missing = partitions - entries.length
  const summary = {
    partitions: entries.length,
    offline: offline.length,
    underReplicated: entries.filter(({ entry }) => entry.isr.length < entry.replicas.length).length,
  }
  const ready = ((): Pick<Condition, 'status' | 'reason' | 'message'> => {
    if (problem !== undefined) return { status: 'False', ...problem }
    if (missing > 0) {
      return {
        status: 'False',
        reason: 'Placing',
        message: `${missing} of ${partitions} partitions are not placed yet`,
      }
    }
    if (offline.length > 0) {
      const first = offline[0]?.partition ?? 0
      const message = `${offline.length} of ${partitions} partitions have no leader, the first is ${first}`
      return { status: 'False', reason: 'LeaderMissing', message }
    }
    return { status: 'True', reason: 'Placed', message: 'every partition has a leader' }
  })()
  const old = topic.status
  const known = old?.conditions?.find((condition) => condition.type === 'Ready')
  const condition: Condition = {
    type: 'Ready',
    ...ready,
    observedGeneration: topic.metadata.generation,
    lastTransitionTime: known?.status === ready.status ? known.lastTransitionTime : now,
  }
  const status: TopicStatus = {
    ...old,
    ...(facts.topicId === undefined ? {} : { topicId: facts.topicId }),
    ...(facts.slices === undefined ? {} : { slices: facts.slices }),
    observedGeneration: topic.metadata.generation,
    conditions: [...(old?.conditions ?? []).filter((each) => each.type !== 'Ready'), condition],
    summary,
  }
  return old !== undefined && isSame(old, status) ? old : status
}

function isSame(a: TopicStatus, b: TopicStatus): boolean {
  // Both are built of the same members by this module and by JSON; order of members can differ after a journal's replay.
  return canonical(a) === canonical(b)
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}
