/** SyncGroup, versions 0 to 5: the leader of a classic group hands in the assignment, all members get theirs. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { syncGroupRequest, syncGroupResponse } from '../../protocol/messages/14-sync-group.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { groupClient } from '../group-client.ts'

export function syncGroupHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.SyncGroup,
    name: 'SyncGroup',
    versions: [0, 5],
    request: syncGroupRequest,
    response: syncGroupResponse,
    handle: (request, context) => broker.groups.syncGroup(request, groupClient(context)),
    errorResponse: (_request, errorCode) => ({ errorCode }),
  })
}
