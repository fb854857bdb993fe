/** LeaveGroup, versions 0 to 5: members leave a classic group at once; an admin may remove several (KIP-345, KIP-571). */
import { ApiKey } from '../../protocol/api-keys.ts'
import { leaveGroupRequest, leaveGroupResponse } from '../../protocol/messages/13-leave-group.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { groupClient } from '../group-client.ts'

export function leaveGroupHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.LeaveGroup,
    name: 'LeaveGroup',
    versions: [0, 5],
    request: leaveGroupRequest,
    response: leaveGroupResponse,
    handle: (request, context) => broker.groups.leaveGroup(request, groupClient(context)),
    errorResponse: (_request, errorCode) => ({ errorCode }),
  })
}
