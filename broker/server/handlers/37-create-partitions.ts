/** CreatePartitions, versions 0 to 3 (KIP-195). */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import { createPartitionsRequest, createPartitionsResponse } from '../../protocol/messages/37-create-partitions.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { duplicatesOf } from '../duplicates.ts'

/** From it on a client understands that a topic was refused for its quota (KIP-599). */
const FIRST_VERSION_WITH_QUOTA_ERROR = 3

export function createPartitionsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.CreatePartitions,
    name: 'CreatePartitions',
    versions: [0, 3],
    request: createPartitionsRequest,
    response: createPartitionsResponse,
    handle: async (request, context) => {
      const quota = broker.quotas.mutationQuota(context, context.apiVersion >= FIRST_VERSION_WITH_QUOTA_ERROR)
      const options = {
        timeoutMs: Math.max(0, request.timeoutMs),
        isValidateOnly: request.validateOnly,
        charge: (count: number) => quota.charge(count),
      }
      const duplicates = duplicatesOf(request.topics.map(({ name }) => name))
      const results = await Promise.all(
        request.topics.map(async ({ name, count, assignments }) => {
          if (duplicates.has(name)) {
            return { name, errorCode: ErrorCode.INVALID_REQUEST, errorMessage: 'Duplicate topic name.' }
          }
          const placed = assignments?.map(({ brokerIds }) => brokerIds)
          return { name, ...(await broker.topics.createPartitions(name, count, placed, options)) }
        }),
      )
      return { throttleTimeMs: quota.throttleMs, results }
    },
    errorResponse: (request, errorCode, errorMessage) => ({
      results: request.topics.map(({ name }) => ({ name, errorCode, errorMessage })),
    }),
  })
}
