/** What the rest of the coordinator needs of a group, of whichever protocol. */
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import type { GroupRecord } from './records/group-record.ts'

export type GroupType = 'classic' | 'consumer'

/** Who asks, as the connection tells it. */
export interface GroupClient {
  readonly clientId: string
  /** With a slash in front, as Kafka shows it: `/10.0.0.7`. */
  readonly clientHost: string
  readonly apiVersion: number
}

export interface OffsetCommitIdentity {
  readonly memberId: string
  readonly groupInstanceId: string | null
  /** Negative: from outside of the group's membership (a tool, or a consumer that assigns itself). */
  readonly generationIdOrMemberEpoch: number
  readonly apiVersion: number
}

export interface GroupMemberView {
  readonly memberId: string
  readonly groupInstanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  /** What it owns now; empty where the assignment is not of the consumer protocol. */
  readonly assignment: readonly { readonly topicName: string; readonly partitions: readonly number[] }[]
}

/** A partition of a commit that a member sends. */
export interface CommittedPartition {
  readonly topicName: string
  readonly partition: number
}

export interface Group {
  readonly groupId: string
  readonly type: GroupType
  /** `consumer`, `connect`, ...; empty while nobody said. */
  readonly protocolType: string
  /** As ListGroups tells it: `Stable`, `PreparingRebalance`, `Assigning`, ... */
  readonly stateName: string
  readonly memberCount: number
  /** Throws the KafkaError that an offset commit of these partitions by this client gets. */
  validateOffsetCommit(identity: OffsetCommitIdentity, partitions: Iterable<CommittedPartition>): void
  /** Throws for a member that is not (any more) in the group. `memberId` null: not a member, always allowed. */
  validateOffsetFetch(memberId: string | null, memberEpoch: number): void
  /** Throws GROUP_ID_NOT_FOUND for a dead group, NON_EMPTY_GROUP where no offset may be deleted at all. */
  validateOffsetDelete(): void
  /** Throws NON_EMPTY_GROUP, or GROUP_ID_NOT_FOUND for a dead one. */
  validateDelete(): void
  /** Whether a member subscribes to it: then its offsets are not deleted and don't expire (KIP-211, KIP-496). */
  isSubscribedTo(topicName: string): boolean
  /**
   * From when on the offsets of unsubscribed topics age: a time of its own (an empty group: since it became so), `commit`
   * (each offset since its commit), or undefined: none expires now (KIP-211).
   */
  offsetExpirationBase(): number | 'commit' | undefined
  /** The records that remove the group (not its offsets). */
  tombstones(): GroupRecord[]
  members(): GroupMemberView[]
}

export function groupIdNotFound(groupId: string): KafkaError {
  return new KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, `Group ${groupId} not found.`)
}
