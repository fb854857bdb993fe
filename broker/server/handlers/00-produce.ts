/**
 * Produce, versions 0 to 11. Phase one, when called: all records are validated, given offsets and queued for writing, in
 * the order of the connection's requests. Phase two, later: the response, once they are acknowledged.
 * Versions 0 to 2 are advertised, and refused before they get here (see `legacy-produce.ts`).
 */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  produceRequest,
  produceResponse,
  type ProduceRequest,
  type ProduceResponseInput,
} from '../../protocol/messages/00-produce.ts'
import { failedAppend, type PartitionAppendResult } from '../../replication/delayed-produce.ts'
import type { PartitionRecords } from '../../replication/replica-manager.ts'
import { defineApi, type ApiHandler, type RequestContext } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { currentLeader, nodeEndpoints } from '../leader-hints.ts'

const EMPTY = Buffer.alloc(0)

export function produceHandler(broker: BrokerContext): ApiHandler {
  const handle = (request: ProduceRequest, context: RequestContext): Promise<ProduceResponseInput | null> => {
    const refusal = refusalOf(request, broker)
    if (refusal !== undefined) return Promise.resolve(answer(request, context, refuseAll(request, ...refusal)))
    const wanted: PartitionRecords[] = []
    for (const { name, partitionData } of request.topicData) {
      for (const { index, records } of partitionData)
        wanted.push({ topicName: name, partition: index, records: records ?? EMPTY })
    }
    const { promise, resolve } = Promise.withResolvers<ProduceResponseInput | null>()
    broker.replicas.append(wanted, request.acks, Math.max(0, request.timeoutMs), context.apiVersion, (results) => {
      resolve(answer(request, context, results))
    })
    return promise
  }

  const answer = (
    request: ProduceRequest,
    context: RequestContext,
    results: readonly PartitionAppendResult[],
  ): ProduceResponseInput | null => {
    if (request.acks === 0) {
      // There is no response to carry an error, so the connection says it (as Kafka does).
      const failed = results.find(({ errorCode }) => errorCode !== ErrorCode.NONE)
      if (failed !== undefined)
        context.closeConnection(`acks=0 produce to ${failed.topicName} failed with error ${failed.errorCode}`)
      return null
    }
    return response(broker, context, request, results)
  }

  return defineApi({
    apiKey: ApiKey.Produce,
    name: 'Produce',
    versions: [0, 11],
    request: produceRequest,
    response: produceResponse,
    isPipelined: true,
    handle,
    errorResponse: (request, error, message, context) =>
      response(broker, context, request, refuseAll(request, error, message)),
  })
}

/** Why the whole request is refused, if it is. */
function refusalOf(request: ProduceRequest, broker: BrokerContext): [code: number, message: string] | undefined {
  if (request.acks < -1 || request.acks > 1) {
    return [ErrorCode.INVALID_REQUIRED_ACKS, 'Required acks must be -1, 0 or 1']
  }
  if (request.transactionalId !== null) {
    return [ErrorCode.INVALID_TXN_STATE, 'Transactions are not supported by this broker']
  }
  if (hasDuplicates(request)) {
    // No client sends such a request, and each mention would be one more batch to decompress at once.
    return [ErrorCode.INVALID_REQUEST, 'A partition is named more than once']
  }
  if (!broker.hasSpaceForProducers()) {
    // Retriable: clients wait until there is room again.
    return [ErrorCode.NOT_ENOUGH_REPLICAS, 'The free disk space of the broker is below its floor; no records are taken']
  }
  return undefined
}

function hasDuplicates({ topicData }: ProduceRequest): boolean {
  const isOnePartition = topicData.length === 1 && topicData[0]?.partitionData.length === 1
  if (isOnePartition || topicData.length === 0) return false
  const partitionsOf = new Map<string, Set<number>>()
  for (const { name, partitionData } of topicData) {
    let seen = partitionsOf.get(name)
    if (seen === undefined) partitionsOf.set(name, (seen = new Set()))
    for (const { index } of partitionData) {
      if (seen.has(index)) return true
      seen.add(index)
    }
  }
  return false
}

function refuseAll(request: ProduceRequest, errorCode: number, errorMessage: string | null): PartitionAppendResult[] {
  return request.topicData.flatMap(({ name, partitionData }) =>
    partitionData.map(({ index }) => failedAppend(name, index, errorCode, errorMessage)),
  )
}

/** Results stand in the order of the request's partitions. */
function response(
  broker: BrokerContext,
  context: RequestContext,
  request: ProduceRequest,
  results: readonly PartitionAppendResult[],
): ProduceResponseInput {
  let next = 0
  const leaders = new Set<number>()
  const responses = request.topicData.map(({ name, partitionData }) => ({
    name,
    partitionResponses: partitionData.map(({ index }) => {
      const result = results[next++]
      if (result === undefined) return { index, errorCode: ErrorCode.UNKNOWN_SERVER_ERROR, baseOffset: -1 }
      const leader = currentLeader(broker.metadata, result)
      if (leader !== undefined) leaders.add(leader.leaderId)
      return {
        index,
        errorCode: result.errorCode,
        baseOffset: result.baseOffset,
        logAppendTimeMs: result.logAppendTimeMs,
        logStartOffset: result.logStartOffset,
        recordErrors: result.recordErrors.map(({ batchIndex, message }) => ({
          batchIndex,
          batchIndexErrorMessage: message,
        })),
        errorMessage: result.errorMessage,
        ...(leader !== undefined && context.apiVersion >= 10 && { currentLeader: leader }),
      }
    }),
  }))
  return {
    responses,
    ...(leaders.size > 0 &&
      context.apiVersion >= 10 && { nodeEndpoints: nodeEndpoints(broker.metadata, context.listener, leaders) }),
  }
}
