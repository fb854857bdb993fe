/** DescribeLogDirs, versions 1 to 5: this broker's one data dir, its volume (KIP-827), and the sizes of the replicas in it. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  describeLogDirsRequest,
  describeLogDirsResponse,
  type DescribeLogDirsRequest,
  type DescribeLogDirsResponseInput,
} from '../../protocol/messages/35-describe-log-dirs.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

type Topics = NonNullable<NonNullable<DescribeLogDirsResponseInput['results']>[number]['topics']>

export function describeLogDirsHandler(broker: BrokerContext): ApiHandler {
  const { logDir } = broker
  return defineApi({
    apiKey: ApiKey.DescribeLogDirs,
    name: 'DescribeLogDirs',
    versions: [1, 5],
    request: describeLogDirsRequest,
    response: describeLogDirsResponse,
    handle: async ({ topics }) => {
      if (logDir.isOffline()) {
        return { results: [{ errorCode: ErrorCode.KAFKA_STORAGE_ERROR, logDir: logDir.path }] }
      }
      // What the request says is used before anything is waited for.
      const described = describeTopics(broker, wantedPartitions(topics))
      const { totalBytes, freeBytes } = await logDir.space()
      const isCordoned = broker.metadata.brokerResource(broker.brokerId)?.spec.cordoned ?? false
      return {
        results: [
          {
            errorCode: ErrorCode.NONE,
            logDir: logDir.path,
            topics: described,
            totalBytes,
            usableBytes: freeBytes,
            isCordoned,
          },
        ],
      }
    },
    // Before version 3 only directories carry errors.
    errorResponse: (_request, errorCode) => ({ errorCode, results: [{ errorCode, logDir: logDir.path }] }),
  })
}

/** Undefined: all. */
function wantedPartitions(topics: DescribeLogDirsRequest['topics']): ReadonlyMap<string, Set<number>> | undefined {
  if (topics === null) return undefined
  const wanted = new Map<string, Set<number>>()
  for (const { topic, partitions } of topics) {
    const known = wanted.get(topic)
    if (known === undefined) wanted.set(topic, new Set(partitions))
    else for (const partition of partitions) known.add(partition)
  }
  return wanted
}

function describeTopics(broker: BrokerContext, wanted: ReadonlyMap<string, Set<number>> | undefined): Topics {
  const topics = new Map<string, { name: string; partitions: NonNullable<Topics[number]['partitions']>[number][] }>()
  for (const { topicName, partition, log } of broker.replicas.partitions()) {
    if (wanted !== undefined && wanted.get(topicName)?.has(partition) !== true) continue
    let topic = topics.get(topicName)
    if (topic === undefined) topics.set(topicName, (topic = { name: topicName, partitions: [] }))
    topic.partitions.push({
      partitionIndex: partition,
      partitionSize: log.sizeBytes,
      offsetLag: Math.max(0, log.highWatermark - log.logEndOffset),
      isFutureKey: false,
    })
  }
  return [...topics.values()]
}
