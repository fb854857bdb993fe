/** JoinGroup, versions 0 to 9: enters a classic group and is answered when its rebalance is done. It may wait for minutes. */
import { noProtocolName } from '../../coordinator/group/classic/join-request.ts'
import { ApiKey } from '../../protocol/api-keys.ts'
import { joinGroupRequest, joinGroupResponse } from '../../protocol/messages/11-join-group.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { groupClient } from '../group-client.ts'

export function joinGroupHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.JoinGroup,
    name: 'JoinGroup',
    versions: [0, 9],
    request: joinGroupRequest,
    response: joinGroupResponse,
    handle: (request, context) => broker.groups.joinGroup(request, groupClient(context)),
    errorResponse: (request, errorCode, _message, { apiVersion }) => ({
      errorCode,
      memberId: request.memberId,
      protocolName: noProtocolName(apiVersion),
    }),
  })
}
