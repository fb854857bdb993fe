/** ListPartitionReassignments, version 0 (KIP-455): partitions whose entry names replicas that come or go. */
import type { TopicImage } from '../../metadata/metadata-cache.ts'
import { ApiKey } from '../../protocol/api-keys.ts'
import {
  listPartitionReassignmentsRequest,
  listPartitionReassignmentsResponse,
  type ListPartitionReassignmentsResponseInput,
} from '../../protocol/messages/46-list-partition-reassignments.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

type Topic = NonNullable<ListPartitionReassignmentsResponseInput['topics']>[number]

export function listPartitionReassignmentsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.ListPartitionReassignments,
    name: 'ListPartitionReassignments',
    versions: [0, 0],
    request: listPartitionReassignmentsRequest,
    response: listPartitionReassignmentsResponse,
    handle: ({ topics }) => {
      const wanted = topics === null ? undefined : new Map(topics.map((topic) => [topic.name, topic.partitionIndexes]))
      const listed: Topic[] = []
      for (const image of broker.metadata.topics()) {
        const indexes = wanted === undefined ? [...image.partitions.keys()] : (wanted.get(image.name) ?? [])
        const partitions = reassignments(image, new Set(indexes))
        if (partitions.length > 0) listed.push({ name: image.name, partitions })
      }
      return { errorMessage: null, topics: listed }
    },
    errorResponse: (_request, errorCode, errorMessage) => ({ errorCode, errorMessage }),
  })
}

function reassignments({ partitions }: TopicImage, indexes: ReadonlySet<number>): NonNullable<Topic['partitions']> {
  const under: NonNullable<Topic['partitions']>[number][] = []
  for (const partitionIndex of indexes) {
    const entry = partitions.get(partitionIndex)
    if (entry === undefined) continue
    const { replicas, addingReplicas = [], removingReplicas = [] } = entry
    if (addingReplicas.length === 0 && removingReplicas.length === 0) continue
    under.push({ partitionIndex, replicas, addingReplicas, removingReplicas })
  }
  return under
}
