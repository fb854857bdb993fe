/** CreateTopics, versions 2 to 7: defaults with -1 (KIP-464), manual assignments, validate-only, the topic's configs in the answer (KIP-525). */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  createTopicsRequest,
  createTopicsResponse,
  type CreateTopicsRequest,
} from '../../protocol/messages/19-create-topics.ts'
import { CONFIG_SOURCE_CODES } from '../../../crds/config/resolve.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import type { TopicToCreate } from '../topic-admin.ts'

/** From it on a client understands that a topic was refused for its quota (KIP-599). */
const FIRST_VERSION_WITH_QUOTA_ERROR = 6

export function createTopicsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.CreateTopics,
    name: 'CreateTopics',
    versions: [2, 7],
    request: createTopicsRequest,
    response: createTopicsResponse,
    handle: async (request, context) => {
      const quota = broker.quotas.mutationQuota(context, context.apiVersion >= FIRST_VERSION_WITH_QUOTA_ERROR)
      const outcomes = await broker.topics.createTopics(request.topics.map(topicToCreate), {
        timeoutMs: Math.max(0, request.timeoutMs),
        isValidateOnly: request.validateOnly,
        charge: (count) => quota.charge(count),
      })
      return {
        throttleTimeMs: quota.throttleMs,
        topics: request.topics.map(({ name, configs }, i) => {
          const outcome = outcomes[i]
          if (outcome === undefined) return { name, errorCode: ErrorCode.UNKNOWN_SERVER_ERROR }
          const { errorCode, errorMessage, topicId, partitions, replicationFactor } = outcome
          if (errorCode !== ErrorCode.NONE) return { name, errorCode, errorMessage }
          return {
            name,
            errorCode,
            errorMessage,
            topicId,
            numPartitions: partitions,
            replicationFactor,
            configs: broker.config
              .describeTopic(ownConfigs(configs))
              .map(({ name: key, value, source, isReadOnly, isSensitive }) => ({
                name: key,
                value,
                readOnly: isReadOnly,
                configSource: CONFIG_SOURCE_CODES[source],
                isSensitive,
              })),
          }
        }),
      }
    },
    errorResponse: (request, errorCode, errorMessage) => ({
      topics: request.topics.map(({ name }) => ({ name, errorCode, errorMessage })),
    }),
  })
}

type Wanted = CreateTopicsRequest['topics'][number]

function topicToCreate({ name, numPartitions, replicationFactor, assignments, configs }: Wanted): TopicToCreate {
  return {
    name,
    partitions: numPartitions,
    replicationFactor,
    assignments:
      assignments.length === 0
        ? undefined
        : new Map(assignments.map(({ partitionIndex, brokerIds }) => [partitionIndex, brokerIds])),
    configs: ownConfigs(configs),
  }
}

/** A null value asks for the default. */
function ownConfigs(configs: Wanted['configs']): Record<string, string> {
  const own: Record<string, string> = {}
  for (const { name, value } of configs) if (value !== null) own[name] = value
  return own
}
