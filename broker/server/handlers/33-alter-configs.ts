/** AlterConfigs, versions 0 to 2: replaces all configs that topics, brokers and groups have set. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { alterConfigsRequest, alterConfigsResponse } from '../../protocol/messages/33-alter-configs.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { replacement } from '../config-changes.ts'

export function alterConfigsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.AlterConfigs,
    name: 'AlterConfigs',
    versions: [0, 2],
    request: alterConfigsRequest,
    response: alterConfigsResponse,
    handle: async (request) => ({
      responses: await broker.configAdmin.alter(request.resources, request.validateOnly, ({ configs }) =>
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
