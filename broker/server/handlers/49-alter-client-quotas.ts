/** AlterClientQuotas, versions 0 and 1 (KIP-546). */
import { ApiKey } from '../../protocol/api-keys.ts'
import { alterClientQuotasRequest, alterClientQuotasResponse } from '../../protocol/messages/49-alter-client-quotas.ts'
import { SUCCESS } from '../admin-outcome.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

export function alterClientQuotasHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.AlterClientQuotas,
    name: 'AlterClientQuotas',
    versions: [0, 1],
    request: alterClientQuotasRequest,
    response: alterClientQuotasResponse,
    handle: async ({ entries, validateOnly }) => {
      const outcomes = await broker.quotaAdmin.alter(entries, validateOnly)
      return { entries: entries.map(({ entity }, i) => ({ entity, ...(outcomes[i] ?? SUCCESS) })) }
    },
    errorResponse: ({ entries }, errorCode, errorMessage) => ({
      entries: entries.map(({ entity }) => ({ entity, errorCode, errorMessage })),
    }),
  })
}
