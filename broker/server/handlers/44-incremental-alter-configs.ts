/** IncrementalAlterConfigs, versions 0 and 1 (KIP-339): sets, removes, and adds to or takes from lists. Of topics, brokers and groups. */
import { ApiKey } from '../../protocol/api-keys.ts'
import {
  incrementalAlterConfigsRequest,
  incrementalAlterConfigsResponse,
} from '../../protocol/messages/44-incremental-alter-configs.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { increment } from '../config-changes.ts'

export function incrementalAlterConfigsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.IncrementalAlterConfigs,
    name: 'IncrementalAlterConfigs',
    versions: [0, 1],
    request: incrementalAlterConfigsRequest,
    response: incrementalAlterConfigsResponse,
    handle: async (request) => ({
      responses: await broker.configAdmin.alter(request.resources, request.validateOnly, ({ resourceType, configs }) =>
        increment(resourceType, configs, broker.config),
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
