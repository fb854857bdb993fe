/**
 * LeaveGroup (API key 13): leaves a group of the classic protocol: one member up to version 2, several from 3 on.
 */
import { array, int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const leaveGroupRequest = request(13, {
  name: 'LeaveGroupRequest',
  versions: '0-5',
  flexible: '4+',
  fields: {
    groupId: string('0+'),
    memberId: string('0-2'),
    members: array('3+', {
      memberId: string('3+'),
      groupInstanceId: string('3+', { nullable: true, default: null, about: 'Null unless the member is static.' }),
      reason: string('5+', {
        nullable: true,
        default: null,
        ignorable: true,
        about: 'Why the member leaves, for the log.',
      }),
    }),
  },
})
export type LeaveGroupRequest = Decoded<typeof leaveGroupRequest>
export type LeaveGroupRequestInput = Input<typeof leaveGroupRequest>

export const leaveGroupResponse = response(13, {
  name: 'LeaveGroupResponse',
  versions: '0-5',
  flexible: '4+',
  fields: {
    throttleTimeMs: int32('1+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
    members: array('3+', {
      memberId: string('3+'),
      groupInstanceId: string('3+', { nullable: true, about: 'Null unless the member is static.' }),
      errorCode: int16('3+'),
    }),
  },
})
export type LeaveGroupResponse = Decoded<typeof leaveGroupResponse>
export type LeaveGroupResponseInput = Input<typeof leaveGroupResponse>
