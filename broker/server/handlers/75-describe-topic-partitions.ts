/** DescribeTopicPartitions, version 0: topics page by page, with eligible leader replicas (KIP-966). */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  describeTopicPartitionsRequest,
  describeTopicPartitionsResponse,
  type DescribeTopicPartitionsRequest,
  type DescribeTopicPartitionsResponseInput,
} from '../../protocol/messages/75-describe-topic-partitions.ts'
import { isInternalTopic, topicNameProblem } from '../../../crds/topic.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import { ALL_TOPIC_OPERATIONS } from '../authorized-operations.ts'
import type { BrokerContext } from '../broker-context.ts'
import { describePartition } from '../describe-topic.ts'

type TopicResponse = NonNullable<DescribeTopicPartitionsResponseInput['topics']>[number]

export function describeTopicPartitionsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.DescribeTopicPartitions,
    name: 'DescribeTopicPartitions',
    versions: [0, 0],
    request: describeTopicPartitionsRequest,
    response: describeTopicPartitionsResponse,
    handle: (request) => describe(broker, request),
    errorResponse: (request, errorCode) => ({ topics: request.topics.map(({ name }) => ({ name, errorCode })) }),
  })
}

function describe(
  broker: BrokerContext,
  request: DescribeTopicPartitionsRequest,
): DescribeTopicPartitionsResponseInput {
  const { cursor } = request
  const isAll = request.topics.length === 0
  const names = isAll
    ? broker.metadata.topics().map(({ name }) => name)
    : [...new Set(request.topics.map(({ name }) => name))].sort()
  let left = Math.min(
    broker.config.get('max.request.partition.size.limit'),
    Math.max(1, request.responsePartitionLimit),
  )
  const topics: TopicResponse[] = []
  for (const name of names) {
    if (cursor !== null && name < cursor.topicName) continue
    const firstPartition = cursor !== null && name === cursor.topicName ? Math.max(0, cursor.partitionIndex) : 0
    if (left === 0) return { topics, nextCursor: { topicName: name, partitionIndex: firstPartition } }
    const topic = broker.metadata.topic(name)
    if (topic === undefined) {
      const errorCode =
        topicNameProblem(name) === undefined ? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION : ErrorCode.INVALID_TOPIC_EXCEPTION
      topics.push({ errorCode, name })
      continue
    }
    const indexes = [...topic.partitions.keys()].filter((index) => index >= firstPartition).sort((a, b) => a - b)
    const told = indexes.slice(0, left)
    left -= told.length
    topics.push({
      errorCode: ErrorCode.NONE,
      name,
      topicId: topic.topicId,
      isInternal: isInternalTopic(name),
      topicAuthorizedOperations: ALL_TOPIC_OPERATIONS,
      partitions: told.flatMap((index) => {
        const entry = topic.partitions.get(index)
        if (entry === undefined) return []
        return {
          ...describePartition(broker.metadata, index, entry),
          eligibleLeaderReplicas: entry.elr,
          lastKnownElr: [],
        }
      }),
    })
    const next = indexes[told.length]
    if (next !== undefined) return { topics, nextCursor: { topicName: name, partitionIndex: next } }
  }
  return { topics, nextCursor: null }
}
