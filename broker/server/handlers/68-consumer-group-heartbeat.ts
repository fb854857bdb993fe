/** ConsumerGroupHeartbeat, versions 0 and 1: a member of a consumer group (KIP-848) joins, lives, is assigned partitions, leaves. */
import { ApiKey } from '../../protocol/api-keys.ts'
import {
  consumerGroupHeartbeatRequest,
  consumerGroupHeartbeatResponse,
} from '../../protocol/messages/68-consumer-group-heartbeat.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { groupClient } from '../group-client.ts'

export function consumerGroupHeartbeatHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.ConsumerGroupHeartbeat,
    name: 'ConsumerGroupHeartbeat',
    versions: [0, 1],
    request: consumerGroupHeartbeatRequest,
    response: consumerGroupHeartbeatResponse,
    isPipelined: true,
    handle: (request, context) => broker.groups.consumerGroupHeartbeat(request, groupClient(context)),
    errorResponse: (_request, errorCode, errorMessage) => ({ errorCode, errorMessage }),
  })
}
