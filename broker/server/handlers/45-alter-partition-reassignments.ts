/**
 * AlterPartitionReassignments, versions 0 and 1 (KIP-455). A partition has one replica so far, which stays where it is: an
 * assignment that changes nothing is accepted, as in Kafka, and there is never one to cancel.
 */
import type { PartitionEntry } from '../../../crds/partition-slice.ts'
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  alterPartitionReassignmentsRequest,
  alterPartitionReassignmentsResponse,
} from '../../protocol/messages/45-alter-partition-reassignments.ts'
import { nameToSay, SUCCESS, type AdminOutcome } from '../admin-outcome.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { replicasProblem } from '../replica-assignment.ts'

export function alterPartitionReassignmentsHandler(broker: BrokerContext): ApiHandler {
  const reassign = (
    topic: string,
    partition: number,
    replicas: readonly number[] | null,
    allowsFactorChange: boolean,
  ): AdminOutcome => {
    const image = broker.metadata.topic(topic)
    if (image === undefined) return unknown(`Unable to find a topic named ${nameToSay(topic)}.`)
    const entry = image.partitions.get(partition)
    if (entry === undefined) return unknown(`Unable to find partition ${topic}:${partition}.`)
    if (replicas === null) return cancelled(entry)
    const known = new Set(broker.metadata.brokers().map(({ brokerId }) => brokerId))
    const problem = replicasProblem(replicas, known)
    if (problem !== undefined) return refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
    if (!allowsFactorChange && replicas.length !== entry.replicas.length) {
      const change = `changed from ${entry.replicas.length} to ${replicas.length}`
      return refused(ErrorCode.INVALID_REPLICATION_FACTOR, `The replication factor is ${change}`)
    }
    if (replicas.join() === entry.replicas.join()) return SUCCESS
    const message = `Replicas cannot be moved yet: ${topic}-${partition} stays on [${entry.replicas.join(', ')}].`
    return refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
  }

  return defineApi({
    apiKey: ApiKey.AlterPartitionReassignments,
    name: 'AlterPartitionReassignments',
    versions: [0, 1],
    request: alterPartitionReassignmentsRequest,
    response: alterPartitionReassignmentsResponse,
    handle: ({ topics, allowReplicationFactorChange }) => ({
      allowReplicationFactorChange,
      errorMessage: null,
      responses: topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex, replicas }) => ({
          partitionIndex,
          ...reassign(name, partitionIndex, replicas, allowReplicationFactorChange),
        })),
      })),
    }),
    errorResponse: ({ topics }, errorCode, errorMessage) => ({
      errorCode,
      errorMessage,
      responses: topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode, errorMessage })),
      })),
    }),
  })
}

function cancelled({ addingReplicas = [], removingReplicas = [] }: PartitionEntry): AdminOutcome {
  if (addingReplicas.length === 0 && removingReplicas.length === 0) {
    return refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, 'No partition reassignment is in progress.')
  }
  return refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, 'A reassignment cannot be cancelled yet.')
}

function unknown(errorMessage: string): AdminOutcome {
  return refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, errorMessage)
}

function refused(errorCode: number, errorMessage: string): AdminOutcome {
  return { errorCode, errorMessage }
}
