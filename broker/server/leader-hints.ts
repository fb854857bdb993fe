/** Leader hints in Produce and Fetch errors (KIP-951), so that a client need not ask for metadata first. */
import type { MetadataCache } from '../metadata/metadata-cache.ts'
import { ErrorCode } from '../protocol/error-codes.ts'

/** Whom to ask instead, when the error says that this broker is the wrong one. */
export function currentLeader(
  metadata: MetadataCache,
  {
    topicName,
    partition,
    errorCode,
  }: { readonly topicName: string; readonly partition: number; readonly errorCode: number },
): { readonly leaderId: number; readonly leaderEpoch: number } | undefined {
  if (errorCode !== ErrorCode.NOT_LEADER_OR_FOLLOWER && errorCode !== ErrorCode.FENCED_LEADER_EPOCH) return undefined
  const entry = metadata.partition(topicName, partition)
  if (entry === undefined || entry.leader < 0) return undefined
  return { leaderId: entry.leader, leaderEpoch: entry.leaderEpoch }
}

export interface NodeEndpoint {
  readonly nodeId: number
  readonly host: string
  readonly port: number
  readonly rack: string | null
}

export function nodeEndpoints(
  metadata: MetadataCache,
  listener: string,
  brokerIds: ReadonlySet<number>,
): NodeEndpoint[] {
  return metadata
    .aliveBrokers(listener)
    .filter(({ brokerId }) => brokerIds.has(brokerId))
    .map(({ brokerId, endpoint, rack }) => ({
      nodeId: brokerId,
      host: endpoint.host,
      port: endpoint.port,
      rack: rack ?? null,
    }))
}
