/** ListGroups, versions 0 to 5: the groups that this broker coordinates, by state (KIP-518) and type (KIP-848). */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import { listGroupsRequest, listGroupsResponse } from '../../protocol/messages/16-list-groups.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

export function listGroupsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.ListGroups,
    name: 'ListGroups',
    versions: [0, 5],
    request: listGroupsRequest,
    response: listGroupsResponse,
    handle: async ({ statesFilter, typesFilter }) => ({
      errorCode: ErrorCode.NONE,
      groups: await broker.groups.listGroups(statesFilter, typesFilter),
    }),
    errorResponse: (_request, errorCode) => ({ errorCode }),
  })
}
