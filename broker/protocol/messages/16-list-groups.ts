/**
 * ListGroups (API key 16): the groups that a broker coordinates, filtered by state (version 4) and type (version 5).
 */
import { array, int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const listGroupsRequest = request(16, {
  name: 'ListGroupsRequest',
  versions: '0-5',
  flexible: '3+',
  fields: {
    statesFilter: array('4+', 'string', { about: 'Empty for all states.' }),
    typesFilter: array('5+', 'string', { about: 'Empty for all types.' }),
  },
})
export type ListGroupsRequest = Decoded<typeof listGroupsRequest>
export type ListGroupsRequestInput = Input<typeof listGroupsRequest>

export const listGroupsResponse = response(16, {
  name: 'ListGroupsResponse',
  versions: '0-5',
  flexible: '3+',
  fields: {
    throttleTimeMs: int32('1+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
    groups: array('0+', {
      groupId: string('0+'),
      protocolType: string('0+'),
      groupState: string('4+', { ignorable: true }),
      groupType: string('5+', { ignorable: true }),
    }),
  },
})
export type ListGroupsResponse = Decoded<typeof listGroupsResponse>
export type ListGroupsResponseInput = Input<typeof listGroupsResponse>
