/** AlterConfigs, versions 0 to 2: replaces all of a topic's own configs. Brokers' configs can't be changed while they run yet. */
import { ApiKey } from '../../protocol/api-keys.ts'
import {
  alterConfigsRequest,
  alterConfigsResponse,
  type AlterConfigsRequest,
} from '../../protocol/messages/33-alter-configs.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import { alterResources } from '../alter-configs.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

type Wanted = AlterConfigsRequest['resources'][number]

export function alterConfigsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.AlterConfigs,
    name: 'AlterConfigs',
    versions: [0, 2],
    request: alterConfigsRequest,
    response: alterConfigsResponse,
    handle: async (request) => ({
      responses: await alterResources(
        broker.topics,
        request.resources,
        request.validateOnly,
        ({ configs }) =>
          () =>
            replacement(configs),
      ),
    }),
    errorResponse: (request, errorCode, errorMessage) => ({
      responses: request.resources.map(({ resourceType, resourceName }) => ({
        resourceType,
        resourceName,
        errorCode,
        errorMessage,
      })),
    }),
  })
}

function replacement(configs: Wanted['configs']): Record<string, string> {
  const next: Record<string, string> = {}
  for (const { name, value } of configs) {
    if (value === null) throw new KafkaError(ErrorCode.INVALID_REQUEST, `Null value not supported for : ${name}`)
    next[name] = value
  }
  return next
}
