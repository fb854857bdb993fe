/** DeleteGroups, versions 0 to 2 (KIP-229): removes groups without members, with their offsets. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { deleteGroupsRequest, deleteGroupsResponse } from '../../protocol/messages/42-delete-groups.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

export function deleteGroupsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.DeleteGroups,
    name: 'DeleteGroups',
    versions: [0, 2],
    request: deleteGroupsRequest,
    response: deleteGroupsResponse,
    handle: async ({ groupsNames }) => ({ results: await broker.groups.deleteGroups(groupsNames) }),
    errorResponse: ({ groupsNames }, errorCode) => ({
      results: groupsNames.map((groupId) => ({ groupId, errorCode })),
    }),
  })
}
