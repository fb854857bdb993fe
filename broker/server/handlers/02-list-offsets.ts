/** ListOffsets, versions 1 to 10: latest, earliest, of the largest timestamp (KIP-734), and by timestamp. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  listOffsetsRequest,
  listOffsetsResponse,
  type ListOffsetsRequest,
} from '../../protocol/messages/02-list-offsets.ts'
import type { Partition } from '../../replication/partition.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

const FIRST_VERSION_WITH_EPOCHS = 4

const LATEST = -1
const EARLIEST = -2
const MAX_TIMESTAMP = -3
const EARLIEST_LOCAL = -4
const LATEST_TIERED = -5
const EARLIEST_PENDING_UPLOAD = -6

type Wanted = ListOffsetsRequest['topics'][number]['partitions'][number]

interface Found {
  readonly errorCode: number
  readonly timestamp: number
  readonly offset: number
  readonly leaderEpoch: number
}

const NOTHING: Found = { errorCode: ErrorCode.NONE, timestamp: -1, offset: -1, leaderEpoch: -1 }

export function listOffsetsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.ListOffsets,
    name: 'ListOffsets',
    versions: [1, 10],
    request: listOffsetsRequest,
    response: listOffsetsResponse,
    handle: async (request, { apiVersion }) => {
      const isReadCommitted = request.isolationLevel === 1
      const duplicates = duplicatePartitions(request)
      const topics = []
      for (const { name, partitions } of request.topics) {
        const answers = []
        for (const wanted of partitions) {
          const found = duplicates.has(`${name}-${wanted.partitionIndex}`)
            ? { ...NOTHING, errorCode: ErrorCode.INVALID_REQUEST }
            : await find(broker, name, wanted, isReadCommitted)
          const { leaderEpoch, ...answer } = found
          answers.push({
            partitionIndex: wanted.partitionIndex,
            ...answer,
            ...(apiVersion >= FIRST_VERSION_WITH_EPOCHS && { leaderEpoch }),
          })
        }
        topics.push({ name, partitions: answers })
      }
      return { topics }
    },
    errorResponse: (request, errorCode) => ({
      topics: request.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, ...NOTHING, errorCode })),
      })),
    }),
  })
}

function duplicatePartitions(request: ListOffsetsRequest): Set<string> {
  const seen = new Set<string>()
  const duplicates = new Set<string>()
  for (const { name, partitions } of request.topics) {
    for (const { partitionIndex } of partitions) {
      const key = `${name}-${partitionIndex}`
      if (seen.has(key)) duplicates.add(key)
      seen.add(key)
    }
  }
  return duplicates
}

async function find(
  broker: BrokerContext,
  topicName: string,
  wanted: Wanted,
  isReadCommitted: boolean,
): Promise<Found> {
  const partition = broker.replicas.findLeader(topicName, wanted.partitionIndex, wanted.currentLeaderEpoch)
  if (typeof partition === 'number') return { ...NOTHING, errorCode: partition }
  const { log } = partition
  const upperBoundOffset = isReadCommitted ? log.lastStableOffset : log.highWatermark
  switch (wanted.timestamp) {
    case LATEST:
      return { ...NOTHING, offset: upperBoundOffset, leaderEpoch: partition.leaderEpoch }
    case EARLIEST:
    case EARLIEST_LOCAL:
      return { ...NOTHING, offset: log.logStartOffset, leaderEpoch: epochAt(partition, log.logStartOffset) }
    case LATEST_TIERED:
    case EARLIEST_PENDING_UPLOAD:
      // There is no tiered storage, so nothing is there.
      return NOTHING
    case MAX_TIMESTAMP:
      return visible(await log.offsetOfMaxTimestamp(), upperBoundOffset)
    default:
      if (wanted.timestamp < 0) return { ...NOTHING, errorCode: ErrorCode.UNSUPPORTED_VERSION }
      return visible(await log.offsetForTimestamp(wanted.timestamp), upperBoundOffset)
  }
}

/** What lies at or above the reader's bound is not there for it yet. */
function visible(
  found: { readonly timestamp: number; readonly offset: number; readonly leaderEpoch: number } | undefined,
  upperBoundOffset: number,
): Found {
  if (found === undefined || found.offset >= upperBoundOffset) return NOTHING
  return { errorCode: ErrorCode.NONE, timestamp: found.timestamp, offset: found.offset, leaderEpoch: found.leaderEpoch }
}

/** The epoch of the record at `offset`, or of the current leader where there is none yet. */
function epochAt(partition: Partition, offset: number): number {
  return partition.log.epochForOffset(offset) ?? -1
}
