/** OffsetCommit, versions 2 to 9. Answered once the offsets are committed on all in-sync replicas. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { offsetCommitRequest, offsetCommitResponse } from '../../protocol/messages/08-offset-commit.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { groupClient } from '../group-client.ts'

export function offsetCommitHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.OffsetCommit,
    name: 'OffsetCommit',
    versions: [2, 9],
    request: offsetCommitRequest,
    response: offsetCommitResponse,
    isPipelined: true,
    handle: (request, context) => broker.groups.commitOffsets(request, groupClient(context)),
    errorResponse: (request, errorCode) => ({
      topics: request.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })),
      })),
    }),
  })
}
