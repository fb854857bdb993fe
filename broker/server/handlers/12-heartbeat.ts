/** Heartbeat, versions 0 to 4: a member of a classic group says that it lives, and hears of rebalances. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { heartbeatRequest, heartbeatResponse } from '../../protocol/messages/12-heartbeat.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { groupClient } from '../group-client.ts'

export function heartbeatHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.Heartbeat,
    name: 'Heartbeat',
    versions: [0, 4],
    request: heartbeatRequest,
    response: heartbeatResponse,
    isPipelined: true,
    handle: (request, context) => broker.groups.heartbeat(request, groupClient(context)),
    errorResponse: (_request, errorCode) => ({ errorCode }),
  })
}
