/**
 * A group from one protocol to the other, as records (KIP-848, online migration). Its members go on: those of the classic
 * protocol become classic members of a consumer group, with the assignment that they have, and the other way round.
 */
import type { TargetAssignment } from '../assignor/partition-assignor.ts'
import type { ClassicGroup } from '../classic/classic-group.ts'
import { electProtocol, metadataFor } from '../classic/classic-member.ts'
import {
  assignedPartitions,
  CONSUMER_PROTOCOL_TYPE,
  encodeAssignment,
  parseSubscription,
  type TopicPartitions,
} from '../classic/consumer-protocol.ts'
import type { TopicDirectory } from '../group-shard-context.ts'
import type { GroupRecord } from '../records/group-record.ts'
import type { ConsumerGroup } from './consumer-group.ts'
import { newMember, ownedAt, subscriptionOf, type ConsumerGroupMember } from './consumer-group-member.ts'
import {
  currentAssignmentRecord,
  groupRecord,
  memberRecord,
  targetEpochRecord,
  targetRecord,
} from './consumer-group-records.ts'

/**
 * The records that turn a classic group with members into a consumer group. Undefined where a member's bytes are not those
 * of the consumer protocol.
 */
export function upgradeRecords(
  classic: ClassicGroup,
  topics: TopicDirectory,
  nowMs: number,
): GroupRecord[] | undefined {
  const { groupId, generationId } = classic
  const protocolName = classic.protocolName ?? classic.selectProtocol()
  const taken = new Set<string>()
  const members: ConsumerGroupMember[] = []
  const targets = new Map<string, TargetAssignment>()
  for (const member of classic.allMembers) {
    const subscription = parseSubscription(metadataFor(member, protocolName))
    const assignment = assignedPartitions(member.assignment)
    if (subscription === undefined || assignment === undefined) return undefined
    const target = targetOf(assignment, topics, taken)
    targets.set(member.memberId, target)
    members.push({
      ...newMember(member.memberId),
      instanceId: member.groupInstanceId,
      rackId: subscription.rackId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      rebalanceTimeoutMs: member.rebalanceTimeoutMs,
      subscription: subscriptionOf(subscription.topicNames, null),
      classic: { sessionTimeoutMs: member.sessionTimeoutMs, supportedProtocols: member.protocols },
      memberEpoch: generationId,
      previousMemberEpoch: generationId,
      assigned: ownedAt(target, generationId),
    })
  }
  return [
    ...classic.tombstones(),
    ...members.map((member) => memberRecord(groupId, member)),
    groupRecord(groupId, generationId, 0),
    ...[...targets].map(([memberId, target]) => targetRecord(groupId, memberId, target)),
    targetEpochRecord(groupId, generationId, nowMs),
    ...members.map((member) => currentAssignmentRecord(groupId, member)),
  ]
}

/**
 * The records that turn a consumer group into a classic one, without the members that leave. All others are classic.
 * Undefined where they have no protocol in common.
 */
export function downgradeRecords(
  group: ConsumerGroup,
  leaving: ReadonlySet<string>,
  topics: TopicDirectory,
  nowMs: number,
): GroupRecord[] | undefined {
  const members = [...group.allMembers].flatMap(({ memberId, classic, ...member }) =>
    leaving.has(memberId) || classic === null ? [] : [{ ...member, memberId, classic }],
  )
  const protocolName = electProtocol(members.map(({ classic }) => classic.supportedProtocols))
  if (protocolName === undefined) return undefined
  return [
    ...group.tombstones(),
    {
      type: 'GroupMetadata',
      key: { group: group.groupId },
      value: {
        protocolType: CONSUMER_PROTOCOL_TYPE,
        generation: group.groupEpoch,
        protocol: protocolName,
        leader: members[0]?.memberId ?? null,
        currentStateTimestamp: nowMs,
        members: members.map((member) => {
          const metadata = metadataFor({ protocols: member.classic.supportedProtocols }, protocolName)
          return {
            memberId: member.memberId,
            groupInstanceId: member.instanceId,
            clientId: member.clientId,
            clientHost: member.clientHost,
            rebalanceTimeout: member.rebalanceTimeoutMs,
            sessionTimeout: member.classic.sessionTimeoutMs,
            subscription: metadata,
            assignment: classicAssignment(member, metadata, topics),
          }
        }),
      },
    },
  ]
}

/** What a classic member may work on, in the version of its subscription. */
export function classicAssignment(
  { assigned }: Pick<ConsumerGroupMember, 'assigned'>,
  metadata: Buffer,
  topics: TopicDirectory,
): Buffer {
  const assignment: TopicPartitions[] = []
  for (const [topicId, partitions] of assigned) {
    const topicName = topics.topicNameById(topicId)
    if (topicName !== undefined)
      assignment.push({ topicName, partitions: [...partitions.keys()].sort((a, b) => a - b) })
  }
  return encodeAssignment(parseSubscription(metadata)?.version ?? 0, assignment)
}

/** Of an assignment by a leader, what exists and nobody else has. */
function targetOf(
  assignment: readonly TopicPartitions[],
  topics: TopicDirectory,
  taken: Set<string>,
): TargetAssignment {
  const target = new Map<string, readonly number[]>()
  for (const { topicName, partitions } of assignment) {
    const topic = topics.topic(topicName)
    if (topic === undefined) continue
    const own = [...(target.get(topic.topicId) ?? [])]
    for (const partition of partitions) {
      const key = `${topic.topicId} ${partition}`
      if (partition < 0 || partition >= topic.partitionCount || taken.has(key)) continue
      taken.add(key)
      own.push(partition)
    }
    if (own.length > 0)
      target.set(
        topic.topicId,
        own.sort((a, b) => a - b),
      )
  }
  return target
}
