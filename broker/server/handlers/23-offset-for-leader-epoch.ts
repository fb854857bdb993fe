/** OffsetForLeaderEpoch, versions 2 to 4: where an epoch ends in the leader's log (KIP-101, KIP-320). */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  offsetForLeaderEpochRequest,
  offsetForLeaderEpochResponse,
} from '../../protocol/messages/23-offset-for-leader-epoch.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

export function offsetForLeaderEpochHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.OffsetForLeaderEpoch,
    name: 'OffsetForLeaderEpoch',
    versions: [2, 4],
    request: offsetForLeaderEpochRequest,
    response: offsetForLeaderEpochResponse,
    handle: (request) => ({
      topics: request.topics.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map(({ partition, currentLeaderEpoch, leaderEpoch }) => {
          const found = broker.replicas.findLeader(topic, partition, currentLeaderEpoch)
          if (typeof found === 'number') return { partition, errorCode: found }
          return { partition, errorCode: ErrorCode.NONE, ...found.log.endOffsetForEpoch(leaderEpoch) }
        }),
      })),
    }),
    errorResponse: (request, errorCode) => ({
      topics: request.topics.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map(({ partition }) => ({ partition, errorCode })),
      })),
    }),
  })
}
