/**
 * Fetch, versions 4 to 17: incremental sessions (KIP-227), topics by id from version 13 (KIP-516), leader hints
 * (KIP-951), diverging epochs (KIP-595). Fetches of followers are not served yet.
 */
import { releaseAll } from '../../../common/block-pool.ts'
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  fetchRequest,
  fetchResponse,
  type FetchRequest,
  type FetchResponseInput,
} from '../../protocol/messages/01-fetch.ts'
import type { FetchPartition, FetchPartitionResult } from '../../replication/fetch-types.ts'
import { failedResult } from '../../replication/read-partitions.ts'
import { defineApi, type ApiHandler, type RequestContext } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { NO_SESSION_ID, type FetchPlan, type FetchRequestHead, type SessionPartition } from '../fetch-session.ts'
import { currentLeader, nodeEndpoints } from '../leader-hints.ts'

const FIRST_VERSION_WITH_TOPIC_IDS = 13
const FIRST_VERSION_WITH_LEADER_HINTS = 16
/** Of a partition in a response, without its records. */
const PARTITION_OVERHEAD_BYTES = 40

type PartitionResponse = NonNullable<
  NonNullable<NonNullable<FetchResponseInput['responses']>[number]>['partitions']
>[number]

export function fetchHandler(broker: BrokerContext): ApiHandler {
  const handle = (request: FetchRequest, context: RequestContext): FetchResponseInput | Promise<FetchResponseInput> => {
    const replicaId = context.apiVersion >= 15 ? request.replicaState.replicaId : request.replicaId
    if (replicaId >= 0) return { errorCode: ErrorCode.INVALID_REQUEST }
    const plan = broker.fetchSessions.plan(readHead(broker, request, context.apiVersion))
    if (typeof plan === 'number') return { errorCode: plan }
    const { promise, resolve } = Promise.withResolvers<FetchResponseInput>()
    const wanted: FetchPartition[] = []
    for (const partition of plan.partitions) {
      const { topicName } = partition
      if (topicName !== undefined) wanted.push({ ...partition, topicName })
    }
    const { quotas } = broker
    const maxBytes = Math.min(request.maxBytes, broker.config.get('fetch.max.bytes'), quotas.maxFetchBytes(context))
    const params = {
      maxWaitMs: Math.max(0, request.maxWaitMs),
      // More than can be sent is not waited for.
      minBytes: Math.min(request.minBytes, maxBytes),
      maxBytes,
      isReadCommitted: request.isolationLevel === 1,
    }
    // What can't be served at all is told at once.
    if (wanted.length < plan.partitions.length) params.maxWaitMs = 0
    broker.replicas.fetch(wanted, params, context.signal, (results, held) => {
      const throttleTimeMs = quotas.isActive ? quotas.chargeFetch(context, responseBytes(results)) : 0
      if (throttleTimeMs > 0) {
        // The client gets nothing now, and asks again after that time.
        releaseAll(held)
        const isIncremental = request.sessionEpoch > 0
        if (!isIncremental) broker.fetchSessions.forget(plan.sessionId)
        resolve({ throttleTimeMs, sessionId: isIncremental ? plan.sessionId : NO_SESSION_ID })
        return
      }
      context.releaseWhenSent(held)
      resolve(respond(broker, context, plan, results))
    })
    return promise
  }

  return defineApi({
    apiKey: ApiKey.Fetch,
    name: 'Fetch',
    versions: [4, 17],
    request: fetchRequest,
    response: fetchResponse,
    handle,
    errorResponse: (request, error, _message, context) => {
      if (context.apiVersion >= 7) return { errorCode: error }
      // Before version 7 only partitions carry errors.
      return {
        responses: request.topics.map(({ topic, partitions }) => ({
          topic,
          partitions: partitions.map(({ partition }) => ({
            partitionIndex: partition,
            errorCode: error,
            highWatermark: -1,
          })),
        })),
      }
    },
  })
}

function readHead(broker: BrokerContext, request: FetchRequest, apiVersion: number): FetchRequestHead {
  const usesTopicIds = apiVersion >= FIRST_VERSION_WITH_TOPIC_IDS
  const partitions: SessionPartition[] = []
  for (const { topic, topicId, partitions: wanted } of request.topics) {
    const topicName = usesTopicIds ? broker.metadata.topicNameById(topicId) : topic
    for (const { partition, fetchOffset, partitionMaxBytes, currentLeaderEpoch, lastFetchedEpoch } of wanted) {
      partitions.push({
        key: `${usesTopicIds ? topicId : topic}-${partition}`,
        topicName,
        topicId: usesTopicIds ? topicId : undefined,
        partition,
        fetchOffset,
        maxBytes: partitionMaxBytes,
        currentLeaderEpoch,
        lastFetchedEpoch,
        highWatermark: -1,
        logStartOffset: -1,
      })
    }
  }
  const forgotten = request.forgottenTopicsData.flatMap(({ topic, topicId, partitions: gone }) =>
    gone.map((partition) => `${usesTopicIds ? topicId : topic}-${partition}`),
  )
  return {
    sessionId: request.sessionId,
    sessionEpoch: request.sessionEpoch,
    usesTopicIds,
    partitions: distinct(partitions),
    forgotten,
  }
}

/** Each partition once, its last mention (as Kafka does), so that a request reads no more partitions than there are. */
function distinct(partitions: readonly SessionPartition[]): readonly SessionPartition[] {
  if (partitions.length < 2) return partitions
  return [...new Map(partitions.map((partition) => [partition.key, partition])).values()]
}

/** About what a response costs: its records, and what stands around them. */
function responseBytes(results: readonly FetchPartitionResult[]): number {
  let bytes = 0
  for (const { sizeBytes } of results) bytes += sizeBytes + PARTITION_OVERHEAD_BYTES
  return bytes
}

/** `results` are those of the plan's partitions whose topic is known, in order. */
function respond(
  broker: BrokerContext,
  context: RequestContext,
  plan: FetchPlan,
  results: readonly FetchPartitionResult[],
): FetchResponseInput {
  const hints = context.apiVersion >= FIRST_VERSION_WITH_LEADER_HINTS
  const leaders = new Set<number>()
  const topics = new Map<string, { topic: string; topicId: string; partitions: PartitionResponse[] }>()
  let next = 0
  for (const partition of plan.partitions) {
    const { topicName, topicId } = partition
    const result = topicName === undefined ? failedResult(ErrorCode.UNKNOWN_TOPIC_ID) : results[next++]
    if (result === undefined || !plan.shouldTell(partition, result)) continue
    const topicKey = topicName ?? topicId ?? ''
    let topic = topics.get(topicKey)
    if (topic === undefined)
      topics.set(topicKey, (topic = { topic: topicName ?? '', topicId: topicId ?? '', partitions: [] }))
    const leader =
      hints && topicName !== undefined
        ? currentLeader(broker.metadata, { topicName, partition: partition.partition, errorCode: result.errorCode })
        : undefined
    if (leader !== undefined) leaders.add(leader.leaderId)
    topic.partitions.push({
      partitionIndex: partition.partition,
      errorCode: result.errorCode,
      highWatermark: result.highWatermark,
      lastStableOffset: result.lastStableOffset,
      logStartOffset: result.logStartOffset,
      ...(result.divergingEpoch !== undefined && context.apiVersion >= 12 && { divergingEpoch: result.divergingEpoch }),
      ...(leader !== undefined && { currentLeader: leader }),
      abortedTransactions: result.abortedTransactions.length === 0 ? null : result.abortedTransactions,
      records: result.records,
    })
  }
  return {
    sessionId: plan.sessionId,
    responses: [...topics.values()],
    ...(leaders.size > 0 && { nodeEndpoints: nodeEndpoints(broker.metadata, context.listener, leaders) }),
  }
}
