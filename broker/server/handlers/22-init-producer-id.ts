/** InitProducerId, versions 0 to 5, for idempotent producers. Transactional ids are refused: there are no transactions yet. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import { initProducerIdRequest, initProducerIdResponse } from '../../protocol/messages/22-init-producer-id.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

export function initProducerIdHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.InitProducerId,
    name: 'InitProducerId',
    versions: [0, 5],
    request: initProducerIdRequest,
    response: initProducerIdResponse,
    handle: async (request) => {
      if (request.transactionalId === '')
        return { errorCode: ErrorCode.INVALID_REQUEST, producerId: -1, producerEpoch: -1 }
      if (request.transactionalId !== null)
        return { errorCode: ErrorCode.UNSUPPORTED_VERSION, producerId: -1, producerEpoch: -1 }
      // An idempotent producer that asks again gets a new id, whatever id and epoch it had (as Kafka does).
      return { producerId: await broker.producerIds.next(), producerEpoch: 0 }
    },
    errorResponse: (_request, errorCode) => ({ errorCode, producerId: -1, producerEpoch: -1 }),
  })
}
