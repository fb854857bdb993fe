/** Who joins a consumer group. */
import { ErrorCode, KafkaError } from '../../../protocol/error-codes.ts'
import { JOIN_EPOCH, newMember, STATIC_LEAVE_EPOCH, type ConsumerGroupMember } from './consumer-group-member.ts'
import type { GroupChange } from './group-change.ts'

/** The member that joins: a new one, one that is known, or a static one that is back, perhaps under another id. */
export function joiningMember(
  change: GroupChange,
  memberId: string,
  instanceId: string | null,
  isClassic = false,
): { readonly member: ConsumerGroupMember; readonly isNew: boolean } {
  const { group } = change
  const known = group.member(memberId)
  const old = instanceId === null ? undefined : group.staticMember(instanceId)
  if (old === undefined) return { member: known ?? newMember(memberId), isNew: known === undefined }
  const isSame = old.memberId === memberId
  if (!isSame && !isClassic && old.classic === null && old.memberEpoch !== STATIC_LEAVE_EPOCH) {
    throw new KafkaError(
      ErrorCode.UNRELEASED_INSTANCE_ID,
      `Static member ${memberId} with instance id ${instanceId ?? ''} cannot join the group because the instance id is owned by ${old.memberId} member.`,
    )
  }
  const member = { ...old, memberId, memberEpoch: JOIN_EPOCH, previousMemberEpoch: JOIN_EPOCH }
  if (!isSame) change.replaceMember(old, member)
  return { member, isNew: false }
}
