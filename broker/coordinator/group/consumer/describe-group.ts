/** A consumer group as ConsumerGroupDescribe tells it. */
import { ErrorCode } from '../../../protocol/error-codes.ts'
import type { ConsumerGroupDescribeResponseInput } from '../../../protocol/messages/69-consumer-group-describe.ts'
import type { GroupShardContext, TopicDirectory } from '../group-shard-context.ts'
import type { ConsumerGroup } from './consumer-group.ts'

const CLASSIC_MEMBER = 0
const CONSUMER_MEMBER = 1

export function describeGroup(
  group: ConsumerGroup,
  { topics, config }: GroupShardContext,
): NonNullable<ConsumerGroupDescribeResponseInput['groups']>[number] {
  const assignorNames = config().consumerAssignors
  const votes = new Map<string, number>()
  const members = [...group.allMembers].map((member) => {
    const { memberId, subscription, serverAssignor } = member
    if (serverAssignor !== null) votes.set(serverAssignor, (votes.get(serverAssignor) ?? 0) + 1)
    return {
      memberId,
      instanceId: member.instanceId,
      rackId: member.rackId,
      memberEpoch: member.memberEpoch,
      clientId: member.clientId,
      clientHost: member.clientHost,
      subscribedTopicNames: [...subscription.topicNames],
      subscribedTopicRegex: subscription.regex,
      assignment: named(
        topics,
        [...member.assigned].map(([topicId, partitions]) => [topicId, [...partitions.keys()]]),
      ),
      targetAssignment: named(topics, group.targetOf(memberId)),
      memberType: member.classic === null ? CONSUMER_MEMBER : CLASSIC_MEMBER,
    }
  })
  let assignorName = assignorNames[0] ?? ''
  for (const name of assignorNames) if ((votes.get(name) ?? 0) > (votes.get(assignorName) ?? 0)) assignorName = name
  return {
    errorCode: ErrorCode.NONE,
    groupId: group.groupId,
    groupState: group.stateName,
    groupEpoch: group.groupEpoch,
    assignmentEpoch: group.targetEpoch,
    assignorName,
    members,
  }
}

/** Topics that are gone have no name. */
function named(
  topics: TopicDirectory,
  assignment: Iterable<readonly [topicId: string, partitions: readonly number[]]>,
) {
  const topicPartitions: { topicId: string; topicName: string; partitions: number[] }[] = []
  for (const [topicId, partitions] of assignment) {
    const topicName = topics.topicNameById(topicId)
    if (topicName !== undefined) topicPartitions.push({ topicId, topicName, partitions: [...partitions] })
  }
  return { topicPartitions }
}
