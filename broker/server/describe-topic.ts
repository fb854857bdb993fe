import type { MetadataCache } from '../metadata/metadata-cache.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import type { PartitionEntry } from '../../crds/partition-slice.ts'

/** A partition as Metadata and DescribeTopicPartitions tell it. */
export interface PartitionDescription {
  readonly errorCode: number
  readonly partitionIndex: number
  readonly leaderId: number
  readonly leaderEpoch: number
  readonly replicaNodes: readonly number[]
  readonly isrNodes: readonly number[]
  readonly offlineReplicas: readonly number[]
}

export function describePartition(
  metadata: MetadataCache,
  partitionIndex: number,
  entry: PartitionEntry,
): PartitionDescription {
  const isAlive = (brokerId: number): boolean =>
    metadata.brokers().some((broker) => broker.brokerId === brokerId && !broker.isFenced)
  const hasLeader = entry.leader >= 0 && isAlive(entry.leader)
  return {
    errorCode: hasLeader ? ErrorCode.NONE : ErrorCode.LEADER_NOT_AVAILABLE,
    partitionIndex,
    leaderId: hasLeader ? entry.leader : -1,
    leaderEpoch: entry.leaderEpoch,
    replicaNodes: entry.replicas,
    isrNodes: entry.isr,
    offlineReplicas: entry.replicas.filter((brokerId) => !isAlive(brokerId)),
  }
}
