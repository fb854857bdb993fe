/** DeleteTopics, versions 1 to 6: by name, and from version 6 by id too. Answers once the topic is gone, or the time is over. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  deleteTopicsRequest,
  deleteTopicsResponse,
  type DeleteTopicsRequest,
  type DeleteTopicsResponseInput,
} from '../../protocol/messages/20-delete-topics.ts'
import { ZERO_UUID } from '../../protocol/wire/uuid.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { duplicatesOf } from '../duplicates.ts'
import type { MutationQuota } from '../quota/client-quotas.ts'

type Outcome = NonNullable<DeleteTopicsResponseInput['responses']>[number]

interface Wanted {
  readonly name: string | null
  readonly topicId: string
}

/** From it on a client understands that a topic was refused for its quota (KIP-599). */
const FIRST_VERSION_WITH_QUOTA_ERROR = 5

export function deleteTopicsHandler(broker: BrokerContext): ApiHandler {
  const deleteOne = async ({ name, topicId }: Wanted, timeoutMs: number, quota: MutationQuota): Promise<Outcome> => {
    if (name !== null && topicId !== ZERO_UUID) {
      return {
        name,
        topicId,
        errorCode: ErrorCode.INVALID_REQUEST,
        errorMessage: 'You may not specify both topic name and topic id.',
      }
    }
    if (name === null && topicId === ZERO_UUID) {
      return {
        name,
        topicId,
        errorCode: ErrorCode.INVALID_REQUEST,
        errorMessage: 'Neither topic name nor id were specified.',
      }
    }
    const topicName = name ?? broker.metadata.topicNameById(topicId)
    if (topicName === undefined) return { name, topicId, errorCode: ErrorCode.UNKNOWN_TOPIC_ID }
    const id = broker.metadata.topic(topicName)?.topicId
    return {
      name: topicName,
      topicId: id,
      ...(await broker.topics.deleteTopic(topicName, timeoutMs, (count) => quota.charge(count))),
    }
  }

  return defineApi({
    apiKey: ApiKey.DeleteTopics,
    name: 'DeleteTopics',
    versions: [1, 6],
    request: deleteTopicsRequest,
    response: deleteTopicsResponse,
    handle: async (request, context) => {
      const { apiVersion } = context
      const wanted = wantedTopics(request, apiVersion)
      if (!broker.config.get('delete.topic.enable')) {
        const errorCode = apiVersion < 3 ? ErrorCode.INVALID_REQUEST : ErrorCode.TOPIC_DELETION_DISABLED
        return { responses: wanted.map((topic) => ({ ...topic, errorCode })) }
      }
      const keyOf = ({ name, topicId }: Wanted): string => name ?? broker.metadata.topicNameById(topicId) ?? topicId
      const duplicates = duplicatesOf(wanted.map(keyOf))
      const timeoutMs = Math.max(0, request.timeoutMs)
      const quota = broker.quotas.mutationQuota(context, apiVersion >= FIRST_VERSION_WITH_QUOTA_ERROR)
      const responses = await Promise.all(
        wanted.map(async (topic) =>
          duplicates.has(keyOf(topic))
            ? { ...topic, errorCode: ErrorCode.INVALID_REQUEST, errorMessage: 'Duplicate topic name or id.' }
            : deleteOne(topic, timeoutMs, quota),
        ),
      )
      return { throttleTimeMs: quota.throttleMs, responses }
    },
    errorResponse: (request, errorCode, errorMessage, { apiVersion }) => ({
      responses: wantedTopics(request, apiVersion).map((topic) => ({ ...topic, errorCode, errorMessage })),
    }),
  })
}

function wantedTopics(request: DeleteTopicsRequest, apiVersion: number): readonly Wanted[] {
  return apiVersion >= 6 ? request.topics : request.topicNames.map((name) => ({ name, topicId: ZERO_UUID }))
}
