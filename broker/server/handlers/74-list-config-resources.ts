/** ListConfigResources, versions 0 and 1 (KIP-1142): what has configs; version 0 asks for client metrics alone, of which there are none. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  listConfigResourcesRequest,
  listConfigResourcesResponse,
  type ListConfigResourcesResponseInput,
} from '../../protocol/messages/74-list-config-resources.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { ConfigResourceType } from '../config-resources.ts'

const ALL_TYPES: readonly number[] = Object.values(ConfigResourceType)

type Resources = NonNullable<ListConfigResourcesResponseInput['configResources']>

export function listConfigResourcesHandler(broker: BrokerContext): ApiHandler {
  const namesOf = (resourceType: number): readonly string[] => {
    const { metadata } = broker
    switch (resourceType) {
      case ConfigResourceType.Topic:
        return metadata.topics().map(({ name }) => name)
      case ConfigResourceType.Broker:
        return metadata
          .brokers()
          .filter(({ isFenced }) => !isFenced)
          .map(({ brokerId }) => String(brokerId))
      case ConfigResourceType.Group:
        return metadata.configuredGroups()
      default:
        return []
    }
  }

  return defineApi({
    apiKey: ApiKey.ListConfigResources,
    name: 'ListConfigResources',
    versions: [0, 1],
    request: listConfigResourcesRequest,
    response: listConfigResourcesResponse,
    handle: (request, { apiVersion }) => {
      const types =
        apiVersion === 0
          ? [ConfigResourceType.ClientMetrics]
          : request.resourceTypes.length === 0
            ? ALL_TYPES
            : [...new Set(request.resourceTypes)]
      if (types.some((type) => !ALL_TYPES.includes(type))) return { errorCode: ErrorCode.UNSUPPORTED_VERSION }
      const configResources: Resources = types.flatMap((resourceType) =>
        namesOf(resourceType).map((resourceName) => ({ resourceName, resourceType })),
      )
      return { configResources }
    },
    errorResponse: (_request, errorCode) => ({ errorCode }),
  })
}
