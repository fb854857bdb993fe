/** The records of consumer groups (KIP-848), from the state that they describe. */
import type { TargetAssignment } from '../assignor/partition-assignor.ts'
import type { GroupRecord } from '../records/group-record.ts'
import type { ConsumerGroupMember, OwnedPartitions } from './consumer-group-member.ts'

export function groupRecord(groupId: string, epoch: number, metadataHash: number): GroupRecord {
  return { type: 'ConsumerGroupMetadata', key: { groupId }, value: { epoch, metadataHash } }
}

export function memberRecord(groupId: string, member: ConsumerGroupMember): GroupRecord {
  const { memberId, subscription, classic } = member
  return {
    type: 'ConsumerGroupMemberMetadata',
    key: { groupId, memberId },
    value: {
      instanceId: member.instanceId,
      rackId: member.rackId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      subscribedTopicNames: [...subscription.topicNames],
      subscribedTopicRegex: subscription.regex,
      rebalanceTimeoutMs: member.rebalanceTimeoutMs,
      serverAssignor: member.serverAssignor,
      classicMemberMetadata:
        classic === null
          ? null
          : { sessionTimeoutMs: classic.sessionTimeoutMs, supportedProtocols: [...classic.supportedProtocols] },
    },
  }
}

export function targetRecord(groupId: string, memberId: string, target: TargetAssignment): GroupRecord {
  const topicPartitions = [...target].map(([topicId, partitions]) => ({ topicId, partitions: [...partitions] }))
  return { type: 'ConsumerGroupTargetAssignmentMember', key: { groupId, memberId }, value: { topicPartitions } }
}

export function targetEpochRecord(groupId: string, assignmentEpoch: number, assignmentTimestamp: number): GroupRecord {
  return {
    type: 'ConsumerGroupTargetAssignmentMetadata',
    key: { groupId },
    value: { assignmentEpoch, assignmentTimestamp },
  }
}

export function currentAssignmentRecord(groupId: string, member: ConsumerGroupMember): GroupRecord {
  return {
    type: 'ConsumerGroupCurrentMemberAssignment',
    key: { groupId, memberId: member.memberId },
    value: {
      memberEpoch: member.memberEpoch,
      previousMemberEpoch: member.previousMemberEpoch,
      state: member.state,
      assignedPartitions: recorded(member.assigned),
      partitionsPendingRevocation: recorded(member.pendingRevocation),
    },
  }
}

export function regexRecord(
  groupId: string,
  regularExpression: string,
  topics: readonly string[],
  timestamp: number,
): GroupRecord {
  return {
    type: 'ConsumerGroupRegularExpression',
    key: { groupId, regularExpression },
    // Kafka's version is one of its metadata, which there is none of here; zero makes Kafka resolve again.
    value: { topics: [...topics], version: 0, timestamp },
  }
}

export function regexTombstone(groupId: string, regularExpression: string): GroupRecord {
  return { type: 'ConsumerGroupRegularExpression', key: { groupId, regularExpression }, value: null }
}

/** In Kafka's order: its replay wants the assignments gone before the member. */
export function memberTombstones(groupId: string, memberId: string): GroupRecord[] {
  const key = { groupId, memberId }
  return [
    { type: 'ConsumerGroupCurrentMemberAssignment', key, value: null },
    { type: 'ConsumerGroupTargetAssignmentMember', key, value: null },
    { type: 'ConsumerGroupMemberMetadata', key, value: null },
  ]
}

/** In Kafka's order: the group's own record is the last. */
export function groupTombstones(
  groupId: string,
  memberIds: Iterable<string>,
  regularExpressions: Iterable<string>,
): GroupRecord[] {
  const ids = [...memberIds]
  const ofMembers = (
    type:
      'ConsumerGroupCurrentMemberAssignment' | 'ConsumerGroupTargetAssignmentMember' | 'ConsumerGroupMemberMetadata',
  ): GroupRecord[] => ids.map((memberId) => ({ type, key: { groupId, memberId }, value: null }))
  return [
    ...ofMembers('ConsumerGroupCurrentMemberAssignment'),
    ...ofMembers('ConsumerGroupTargetAssignmentMember'),
    { type: 'ConsumerGroupTargetAssignmentMetadata', key: { groupId }, value: null },
    ...ofMembers('ConsumerGroupMemberMetadata'),
    ...[...regularExpressions].map((regex) => regexTombstone(groupId, regex)),
    { type: 'ConsumerGroupMetadata', key: { groupId }, value: null },
  ]
}

function recorded(owned: OwnedPartitions) {
  return [...owned].map(([topicId, partitions]) => ({
    topicId,
    partitions: [...partitions.keys()],
    assignmentEpochs: [...partitions.values()],
  }))
}
