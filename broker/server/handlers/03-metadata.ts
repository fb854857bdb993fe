/** Metadata, versions 0 to 13: brokers, topics by name or id (KIP-516), and auto-creation of topics. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import {
  metadataRequest,
  metadataResponse,
  type MetadataRequest,
  type MetadataResponseInput,
} from '../../protocol/messages/03-metadata.ts'
import { ZERO_UUID } from '../../protocol/wire/uuid.ts'
import { isInternalTopic, topicNameProblem } from '../../../crds/topic.ts'
import { defineApi, type ApiHandler, type RequestContext } from '../api-handler.ts'
import { ALL_CLUSTER_OPERATIONS, ALL_TOPIC_OPERATIONS, OPERATIONS_NOT_REQUESTED } from '../authorized-operations.ts'
import type { BrokerContext } from '../broker-context.ts'
import { topicToCreate } from '../internal-topics.ts'
import { describePartition } from '../describe-topic.ts'

type TopicResponse = NonNullable<MetadataResponseInput['topics']>[number]

const FIRST_VERSION_WITH_NULL_NAMES = 12
/** How long a request waits for a topic that it creates, before it answers that the topic is not there yet. */
const AUTO_CREATION_WAIT_MS = 5000
/** Topics that one request creates. Clients ask again for what is unknown, so others of a longer list come after them. */
const MAX_AUTO_CREATED_TOPICS = 100
const MAX_AUTO_CREATED_PARTITIONS = 10_000

export function metadataHandler(broker: BrokerContext): ApiHandler {
  const describe = (name: string, includeOperations: boolean): TopicResponse => {
    const topic = broker.metadata.topic(name)
    if (topic === undefined) {
      const errorCode =
        topicNameProblem(name) === undefined ? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION : ErrorCode.INVALID_TOPIC_EXCEPTION
      return { errorCode, name }
    }
    return {
      errorCode: ErrorCode.NONE,
      name,
      topicId: topic.topicId,
      isInternal: isInternalTopic(name),
      partitions: [...topic.partitions]
        .sort(([a], [b]) => a - b)
        .map(([index, entry]) => describePartition(broker.metadata, index, entry)),
      topicAuthorizedOperations: includeOperations ? ALL_TOPIC_OPERATIONS : OPERATIONS_NOT_REQUESTED,
    }
  }

  const describeById = (topicId: string, includeOperations: boolean, apiVersion: number): TopicResponse => {
    const name = broker.metadata.topicNameById(topicId)
    // Versions 10 and 11 have the id in the request, but no null for the name in the response.
    if (name === undefined)
      return {
        errorCode: ErrorCode.UNKNOWN_TOPIC_ID,
        name: apiVersion >= FIRST_VERSION_WITH_NULL_NAMES ? null : '',
        topicId,
      }
    return describe(name, includeOperations)
  }

  const handle = async (request: MetadataRequest, context: RequestContext): Promise<MetadataResponseInput> => {
    const isAll = request.topics === null || (context.apiVersion === 0 && request.topics.length === 0)
    const wanted = isAll ? [] : distinct(request.topics)
    const includeOperations = request.includeTopicAuthorizedOperations
    if (request.allowAutoTopicCreation && broker.config.get('auto.create.topics.enable')) {
      await autoCreate(
        broker,
        wanted.flatMap(({ name }) => name ?? []),
      )
    }
    const topics = isAll
      ? broker.metadata.topics().map(({ name }) => describe(name, includeOperations))
      : wanted.map(({ name, topicId }) =>
          topicId === ZERO_UUID || name !== null
            ? describe(name ?? '', includeOperations)
            : describeById(topicId, includeOperations, context.apiVersion),
        )
    return {
      brokers: broker.metadata.aliveBrokers(context.listener).map(({ brokerId, endpoint, rack }) => ({
        nodeId: brokerId,
        host: endpoint.host,
        port: endpoint.port,
        rack: rack ?? null,
      })),
      clusterId: broker.clusterId,
      // Any live broker serves as the controller, since admin calls work on each; this one is alive.
      controllerId: broker.brokerId,
      topics,
      clusterAuthorizedOperations: request.includeClusterAuthorizedOperations
        ? ALL_CLUSTER_OPERATIONS
        : OPERATIONS_NOT_REQUESTED,
    }
  }

  return defineApi({
    apiKey: ApiKey.Metadata,
    name: 'Metadata',
    versions: [0, 13],
    request: metadataRequest,
    response: metadataResponse,
    handle,
    errorResponse: (request, errorCode, _message, context) => ({
      ...(context.apiVersion >= 13 && { errorCode }),
      topics: (request.topics ?? []).map(({ name, topicId }) => ({
        name: name ?? (context.apiVersion >= FIRST_VERSION_WITH_NULL_NAMES ? null : ''),
        topicId,
        errorCode,
      })),
    }),
  })
}

/** Each topic once, as Kafka answers: a request that names a large topic many times would get a response without bounds. */
function distinct(topics: NonNullable<MetadataRequest['topics']>): NonNullable<MetadataRequest['topics']> {
  if (topics.length < 2) return topics
  return [...new Map(topics.map((topic) => [`${topic.topicId} ${topic.name ?? ''}`, topic])).values()]
}

async function autoCreate(broker: BrokerContext, names: readonly string[]): Promise<void> {
  const missing = names
    .filter((name) => broker.metadata.topic(name) === undefined && topicNameProblem(name) === undefined)
    .slice(
      0,
      Math.max(1, Math.min(MAX_AUTO_CREATED_TOPICS, MAX_AUTO_CREATED_PARTITIONS / broker.config.get('num.partitions'))),
    )
  if (missing.length === 0) return
  try {
    await broker.topics.createTopics(
      missing.map((name) => topicToCreate(broker, name)),
      { timeoutMs: AUTO_CREATION_WAIT_MS, isValidateOnly: false },
    )
  } catch (error) {
    // What could not be created is answered as unknown, and the rest of the request as usual; the client asks again.
    if (!(error instanceof KafkaError)) throw error
  }
}
