/**
 * DeleteGroups (API key 42): deletes groups that have no members.
 */
import { array, int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const deleteGroupsRequest = request(42, {
  name: 'DeleteGroupsRequest',
  versions: '0-2',
  flexible: '2+',
  fields: {
    groupsNames: array('0+', 'string'),
  },
})
export type DeleteGroupsRequest = Decoded<typeof deleteGroupsRequest>
export type DeleteGroupsRequestInput = Input<typeof deleteGroupsRequest>

export const deleteGroupsResponse = response(42, {
  name: 'DeleteGroupsResponse',
  versions: '0-2',
  flexible: '2+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    results: array('0+', {
      groupId: string('0+'),
      errorCode: int16('0+'),
    }),
  },
})
export type DeleteGroupsResponse = Decoded<typeof deleteGroupsResponse>
export type DeleteGroupsResponseInput = Input<typeof deleteGroupsResponse>
