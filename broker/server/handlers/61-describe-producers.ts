/** DescribeProducers, version 0 (KIP-664): the producers that the leader of a partition remembers. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import { describeProducersRequest, describeProducersResponse } from '../../protocol/messages/61-describe-producers.ts'
import type { UnifiedLog } from '../../storage/unified-log.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

export function describeProducersHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.DescribeProducers,
    name: 'DescribeProducers',
    versions: [0, 0],
    request: describeProducersRequest,
    response: describeProducersResponse,
    handle: ({ topics }) => {
      // Each partition once: a request that names one many times would get a response without bounds.
      const wanted = new Map<string, Set<number>>()
      for (const { name, partitionIndexes } of topics) {
        const known = wanted.get(name) ?? new Set()
        for (const index of partitionIndexes) known.add(index)
        wanted.set(name, known)
      }
      return {
        topics: [...wanted].map(([name, indexes]) => ({
          name,
          partitions: [...indexes].map((partitionIndex) => {
            const found = broker.replicas.findLeader(name, partitionIndex, -1)
            if (typeof found === 'number') return { partitionIndex, errorCode: found, errorMessage: null }
            const activeProducers = [...described(found.log)]
            return { partitionIndex, errorCode: ErrorCode.NONE, errorMessage: null, activeProducers }
          }),
        })),
      }
    },
    errorResponse: ({ topics }, errorCode, errorMessage) => ({
      topics: topics.map(({ name, partitionIndexes }) => ({
        name,
        partitions: partitionIndexes.map((partitionIndex) => ({ partitionIndex, errorCode, errorMessage })),
      })),
    }),
  })
}

function* described(log: UnifiedLog): Generator<{
  producerId: number
  producerEpoch: number
  lastSequence: number
  lastTimestamp: number
  coordinatorEpoch: number
  currentTxnStartOffset: number
}> {
  for (const producer of log.activeProducers()) {
    yield {
      producerId: producer.producerId,
      producerEpoch: producer.producerEpoch,
      lastSequence: producer.lastSequence,
      lastTimestamp: producer.lastTimestamp,
      coordinatorEpoch: producer.coordinatorEpoch,
      currentTxnStartOffset: producer.currentTxnFirstOffset,
    }
  }
}
