/**
 * JoinGroup (API key 11): enters a group of the classic protocol, and waits for the rebalance.
 *
 * From version 4 on, a member that brings no id first gets one with MEMBER_ID_REQUIRED. Static members came with 5,
 * the protocol type in the response with 7 (KIP-559), reasons with 8 (KIP-800), `skipAssignment` with 9.
 */
import { array, bool, bytes, int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const joinGroupRequest = request(11, {
  name: 'JoinGroupRequest',
  versions: '0-9',
  flexible: '6+',
  fields: {
    groupId: string('0+'),
    sessionTimeoutMs: int32('0+'),
    rebalanceTimeoutMs: int32('1+', {
      default: -1,
      ignorable: true,
      about: 'How long members have to join again; -1 (version 0) means sessionTimeoutMs.',
    }),
    memberId: string('0+', { about: 'Empty at first.' }),
    groupInstanceId: string('5+', { nullable: true, default: null, about: 'Null unless the member is static.' }),
    protocolType: string('0+', { about: "'consumer', 'connect' or another, the same for the whole group." }),
    protocols: array(
      '0+',
      {
        name: string('0+'),
        metadata: bytes('0+'),
      },
      { about: 'The assignors that the member supports, best first.' },
    ),
    reason: string('8+', {
      nullable: true,
      default: null,
      ignorable: true,
      about: 'Why the member joins again, for the log.',
    }),
  },
})
export type JoinGroupRequest = Decoded<typeof joinGroupRequest>
export type JoinGroupRequestInput = Input<typeof joinGroupRequest>

export const joinGroupResponse = response(11, {
  name: 'JoinGroupResponse',
  versions: '0-9',
  flexible: '6+',
  fields: {
    throttleTimeMs: int32('2+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
    generationId: int32('0+', { default: -1 }),
    protocolType: string('7+', { nullable: true, default: null, ignorable: true }),
    protocolName: string('0+', { nullable: '7+' }),
    leader: string('0+'),
    skipAssignment: bool('9+', { about: 'True if the leader must leave the assignment as it is.' }),
    memberId: string('0+'),
    members: array(
      '0+',
      {
        memberId: string('0+'),
        groupInstanceId: string('5+', {
          nullable: true,
          default: null,
          ignorable: true,
          about: 'Null unless the member is static.',
        }),
        metadata: bytes('0+'),
      },
      { about: 'Empty but for the leader.' },
    ),
  },
})
export type JoinGroupResponse = Decoded<typeof joinGroupResponse>
export type JoinGroupResponseInput = Input<typeof joinGroupResponse>
