/**
 * SyncGroup (API key 14): hands the leader's assignment to the members of a group of the classic protocol.
 */
import { array, bytes, int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const syncGroupRequest = request(14, {
  name: 'SyncGroupRequest',
  versions: '0-5',
  flexible: '4+',
  fields: {
    groupId: string('0+'),
    generationId: int32('0+'),
    memberId: string('0+'),
    groupInstanceId: string('3+', { nullable: true, default: null, about: 'Null unless the member is static.' }),
    protocolType: string('5+', { nullable: true, default: null, ignorable: true }),
    protocolName: string('5+', { nullable: true, default: null, ignorable: true }),
    assignments: array(
      '0+',
      {
        memberId: string('0+'),
        assignment: bytes('0+'),
      },
      { about: 'Empty but from the leader.' },
    ),
  },
})
export type SyncGroupRequest = Decoded<typeof syncGroupRequest>
export type SyncGroupRequestInput = Input<typeof syncGroupRequest>

export const syncGroupResponse = response(14, {
  name: 'SyncGroupResponse',
  versions: '0-5',
  flexible: '4+',
  fields: {
    throttleTimeMs: int32('1+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
    protocolType: string('5+', { nullable: true, default: null, ignorable: true }),
    protocolName: string('5+', { nullable: true, default: null, ignorable: true }),
    assignment: bytes('0+'),
  },
})
export type SyncGroupResponse = Decoded<typeof syncGroupResponse>
export type SyncGroupResponseInput = Input<typeof syncGroupResponse>
