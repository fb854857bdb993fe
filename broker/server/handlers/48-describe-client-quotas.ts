/** DescribeClientQuotas, versions 0 and 1 (KIP-546). */
import { ApiKey } from '../../protocol/api-keys.ts'
import {
  describeClientQuotasRequest,
  describeClientQuotasResponse,
} from '../../protocol/messages/48-describe-client-quotas.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

export function describeClientQuotasHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.DescribeClientQuotas,
    name: 'DescribeClientQuotas',
    versions: [0, 1],
    request: describeClientQuotasRequest,
    response: describeClientQuotasResponse,
    handle: ({ components, strict }) => ({
      errorMessage: null,
      entries: broker.quotaAdmin.describe(components, strict).map(({ entity, quotas }) => ({
        entity: entity.map(({ type, name }) => ({ entityType: type, entityName: name ?? null })),
        values: Object.entries(quotas).map(([key, value]) => ({ key, value })),
      })),
    }),
    errorResponse: (_request, errorCode, errorMessage) => ({ errorCode, errorMessage, entries: null }),
  })
}
