/** A LeaveGroup request in all its versions: one member up to version 2, several from 3 on. */
import { ErrorCode } from '../../../protocol/error-codes.ts'
import type { LeaveGroupRequest, LeaveGroupResponseInput } from '../../../protocol/messages/13-leave-group.ts'

const FIRST_BATCHED_VERSION = 3

/** Who leaves, or asked to, and what came of it. */
export interface LeaveOutcome {
  readonly memberId: string
  readonly errorCode: ErrorCode
}

/** Asks `leave` about each member that the request names, and makes the answer of it. */
export function answerLeave(
  request: LeaveGroupRequest,
  apiVersion: number,
  leave: (memberId: string, groupInstanceId: string | null) => LeaveOutcome,
): LeaveGroupResponseInput {
  if (apiVersion < FIRST_BATCHED_VERSION) return { errorCode: leave(request.memberId, null).errorCode }
  const members = request.members.map(({ memberId, groupInstanceId }) => ({
    groupInstanceId,
    ...leave(memberId, groupInstanceId),
  }))
  return { errorCode: ErrorCode.NONE, members }
}
