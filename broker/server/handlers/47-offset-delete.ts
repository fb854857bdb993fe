/** OffsetDelete, version 0 (KIP-496): removes offsets of topics that the group does not subscribe to. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { offsetDeleteRequest, offsetDeleteResponse } from '../../protocol/messages/47-offset-delete.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

export function offsetDeleteHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.OffsetDelete,
    name: 'OffsetDelete',
    versions: [0, 0],
    request: offsetDeleteRequest,
    response: offsetDeleteResponse,
    handle: (request) => broker.groups.deleteOffsets(request),
    errorResponse: (_request, errorCode) => ({ errorCode }),
  })
}
