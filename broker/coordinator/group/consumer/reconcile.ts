/**
 * One step of a member towards its target (KIP-848). Pure.
 *
 * 1. What it has and should not have, it is asked to give up: it stays at its epoch, UNREVOKED_PARTITIONS, until it says by
 *    the partitions that it owns that it has.
 * 2. Then it reaches the target's epoch and gets what it should have and nobody owns: STABLE, or UNRELEASED_PARTITIONS while
 *    others still hold some of it. It asks again with each heartbeat.
 * A partition therefore has one owner at a time, whatever gets lost on the way.
 */
import { ErrorCode, KafkaError } from '../../../protocol/error-codes.ts'
import type { TargetAssignment } from '../assignor/partition-assignor.ts'
import {
  hasSamePartitions,
  isReconciledTo,
  MemberState,
  NOTHING_OWNED,
  type ConsumerGroupMember,
  type OwnedPartitions,
} from './consumer-group-member.ts'

/** What a member says that it owns; null: it did not say. */
export type ReportedPartitions = readonly { readonly topicId: string; readonly partitions: readonly number[] }[] | null

export interface ReconcileInput {
  readonly member: ConsumerGroupMember
  readonly targetEpoch: number
  readonly target: TargetAssignment
  /** Whether nobody else owns a partition. */
  readonly isFree: (topicId: string, partition: number) => boolean
  readonly reported: ReportedPartitions
}

/** The same member if nothing changes. Throws FENCED_MEMBER_EPOCH where it can't go on with what it has. */
export function reconcile(input: ReconcileInput): ConsumerGroupMember {
  const { member, targetEpoch, reported } = input
  switch (member.state) {
    case MemberState.STABLE:
      return isReconciledTo(member, targetEpoch) ? member : nextStep(input)
    case MemberState.UNREVOKED_PARTITIONS:
      return reportsAnyOf(reported, member.pendingRevocation) ? member : nextStep(input)
    case MemberState.UNRELEASED_PARTITIONS:
      return nextStep(input)
    case MemberState.UNKNOWN:
      // A newer program wrote it.
      if (reported?.length !== 0) {
        throw new KafkaError(
          ErrorCode.FENCED_MEMBER_EPOCH,
          'The consumer group member is in an unknown state. It must abandon all its partitions and rejoin.',
        )
      }
      return nextStep(input)
  }
}

function nextStep({ member, targetEpoch, target, isFree, reported }: ReconcileInput): ConsumerGroupMember {
  const kept = new Map<string, Map<number, number>>()
  const revoked = new Map<string, Map<number, number>>()
  for (const [topicId, partitions] of member.assigned) {
    const wanted = new Set(target.get(topicId))
    for (const [partition, epoch] of partitions) put(wanted.has(partition) ? kept : revoked, topicId, partition, epoch)
  }
  if (revoked.size > 0 && reportsAnyOf(reported, revoked)) {
    return changed(member, MemberState.UNREVOKED_PARTITIONS, member.memberEpoch, kept, revoked)
  }

  let isWaiting = false
  for (const [topicId, partitions] of target) {
    for (const partition of partitions) {
      if (kept.get(topicId)?.has(partition) === true) continue
      if (isFree(topicId, partition)) put(kept, topicId, partition, targetEpoch)
      else isWaiting = true
    }
  }
  const state = isWaiting ? MemberState.UNRELEASED_PARTITIONS : MemberState.STABLE
  return changed(member, state, targetEpoch, kept, NOTHING_OWNED)
}

function changed(
  member: ConsumerGroupMember,
  state: MemberState,
  memberEpoch: number,
  assigned: OwnedPartitions,
  pendingRevocation: OwnedPartitions,
): ConsumerGroupMember {
  const isSame =
    state === member.state &&
    memberEpoch === member.memberEpoch &&
    hasSamePartitions(assigned, member.assigned) &&
    hasSamePartitions(pendingRevocation, member.pendingRevocation)
  if (isSame) return member
  // The previous epoch stays what the member may still have in hand while answers get lost.
  const previousMemberEpoch = memberEpoch === member.memberEpoch ? member.previousMemberEpoch : member.memberEpoch
  return { ...member, state, memberEpoch, previousMemberEpoch, assigned, pendingRevocation }
}

/** A member that does not say what it owns may own all of it. */
function reportsAnyOf(reported: ReportedPartitions, owned: OwnedPartitions): boolean {
  if (reported === null) return true
  for (const { topicId, partitions } of reported) {
    const some = owned.get(topicId)
    if (some !== undefined && partitions.some((partition) => some.has(partition))) return true
  }
  return false
}

function put(owned: Map<string, Map<number, number>>, topicId: string, partition: number, epoch: number): void {
  const partitions = owned.get(topicId)
  if (partitions === undefined) owned.set(topicId, new Map([[partition, epoch]]))
  else partitions.set(partition, epoch)
}
