/**
 * DescribeGroups (API key 15): state and members of groups of the classic protocol.
 *
 * From version 6 on, an unknown group is GROUP_ID_NOT_FOUND (KIP-1043) instead of a dead group.
 */
import { array, bool, bytes, int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const describeGroupsRequest = request(15, {
  name: 'DescribeGroupsRequest',
  versions: '0-6',
  flexible: '5+',
  fields: {
    groups: array('0+', 'string'),
    includeAuthorizedOperations: bool('3+'),
  },
})
export type DescribeGroupsRequest = Decoded<typeof describeGroupsRequest>
export type DescribeGroupsRequestInput = Input<typeof describeGroupsRequest>

export const describeGroupsResponse = response(15, {
  name: 'DescribeGroupsResponse',
  versions: '0-6',
  flexible: '5+',
  fields: {
    throttleTimeMs: int32('1+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    groups: array('0+', {
      errorCode: int16('0+'),
      errorMessage: string('6+', { nullable: true, default: null }),
      groupId: string('0+'),
      groupState: string('0+', { about: "Kafka's name of the state; empty for an unknown group." }),
      protocolType: string('0+'),
      protocolData: string('0+', { about: 'The assignor, if the group is stable.' }),
      members: array('0+', {
        memberId: string('0+'),
        groupInstanceId: string('4+', {
          nullable: true,
          default: null,
          ignorable: true,
          about: 'Null unless the member is static.',
        }),
        clientId: string('0+'),
        clientHost: string('0+'),
        memberMetadata: bytes('0+'),
        memberAssignment: bytes('0+'),
      }),
      authorizedOperations: int32('3+', {
        default: -2147483648,
        about: 'A bit per operation that the client may perform; the lowest int32 if it did not ask.',
      }),
    }),
  },
})
export type DescribeGroupsResponse = Decoded<typeof describeGroupsResponse>
export type DescribeGroupsResponseInput = Input<typeof describeGroupsResponse>
