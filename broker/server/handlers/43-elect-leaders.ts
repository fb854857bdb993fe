/**
 * ElectLeaders, versions 0 to 2 (KIP-460): preferred and unclean elections. Elections are the controllers' work, and they
 * elect whenever a replica is eligible; so what is left to answer is that none is needed, or that none is possible.
 */
import { NO_LEADER, type PartitionEntry } from '../../../crds/partition-slice.ts'
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import { electLeadersRequest, electLeadersResponse } from '../../protocol/messages/43-elect-leaders.ts'
import { nameToSay, type AdminOutcome } from '../admin-outcome.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

const PREFERRED = 0
const UNCLEAN = 1

export function electLeadersHandler(broker: BrokerContext): ApiHandler {
  const elect = (topic: string, partition: number, electionType: number): AdminOutcome => {
    const image = broker.metadata.topic(topic)
    const entry = image?.partitions.get(partition)
    if (entry !== undefined) return electionOf(entry, electionType)
    const missing = image === undefined ? `topic as ${nameToSay(topic)}` : `partition as ${topic}-${partition}`
    return { errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, errorMessage: `No such ${missing}` }
  }

  return defineApi({
    apiKey: ApiKey.ElectLeaders,
    name: 'ElectLeaders',
    versions: [0, 2],
    request: electLeadersRequest,
    response: electLeadersResponse,
    handle: ({ topicPartitions, electionType }) => {
      if (electionType !== PREFERRED && electionType !== UNCLEAN) {
        throw new KafkaError(ErrorCode.INVALID_REQUEST, `Unknown election type ${electionType}`)
      }
      const wanted =
        topicPartitions ??
        broker.metadata.topics().map(({ name, partitions }) => ({ topic: name, partitions: [...partitions.keys()] }))
      const results = wanted.map(({ topic, partitions }) => ({
        topic,
        partitionResult: partitions.map((partitionId) => ({ partitionId, ...elect(topic, partitionId, electionType) })),
      }))
      if (topicPartitions !== null) return { replicaElectionResults: results }
      // Of all partitions only those are told where there was something to do.
      const changed = results.map(({ topic, partitionResult }) => ({
        topic,
        partitionResult: partitionResult.filter(({ errorCode }) => errorCode !== ErrorCode.ELECTION_NOT_NEEDED),
      }))
      return { replicaElectionResults: changed.filter(({ partitionResult }) => partitionResult.length > 0) }
    },
    errorResponse: ({ topicPartitions }, errorCode, errorMessage, { apiVersion }) => ({
      ...(apiVersion >= 1 && { errorCode }),
      replicaElectionResults: (topicPartitions ?? []).map(({ topic, partitions }) => ({
        topic,
        partitionResult: partitions.map((partitionId) => ({ partitionId, errorCode, errorMessage })),
      })),
    }),
  })
}

function electionOf({ leader, replicas }: PartitionEntry, electionType: number): AdminOutcome {
  const isPreferred = electionType === PREFERRED
  if (isPreferred ? leader === replicas[0] : leader !== NO_LEADER) {
    return { errorCode: ErrorCode.ELECTION_NOT_NEEDED, errorMessage: 'The partition does not need an election.' }
  }
  return isPreferred
    ? { errorCode: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, errorMessage: 'The preferred leader is not available.' }
    : { errorCode: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, errorMessage: 'No replica is eligible as leader.' }
}
