/** What is wrong with a ConsumerGroupHeartbeat whatever the group. */
import { ErrorCode, KafkaError } from '../../../protocol/error-codes.ts'
import type { ConsumerGroupHeartbeatRequest } from '../../../protocol/messages/68-consumer-group-heartbeat.ts'
import { JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH } from './consumer-group-member.ts'

/** From here on members make their own ids (KIP-1082). */
const FIRST_VERSION_WITH_OWN_MEMBER_ID = 1

/** Throws INVALID_REQUEST or UNSUPPORTED_ASSIGNOR. */
export function validateHeartbeat(
  request: ConsumerGroupHeartbeatRequest,
  apiVersion: number,
  assignorNames: readonly string[],
): void {
  const { memberEpoch, instanceId, serverAssignor } = request
  if (apiVersion >= FIRST_VERSION_WITH_OWN_MEMBER_ID || memberEpoch > JOIN_EPOCH || memberEpoch === LEAVE_EPOCH)
    require(request.memberId !== '', "MemberId can't be empty.")
  require(request.groupId !== '', "GroupId can't be empty.")
  require(instanceId !== '', "InstanceId can't be empty.")
  require(request.rackId !== '', "RackId can't be empty.")
  if (memberEpoch === JOIN_EPOCH) {
    require(request.rebalanceTimeoutMs !== -1, 'RebalanceTimeoutMs must be provided in first request.')
    require(request.topicPartitions?.length === 0, 'TopicPartitions must be empty when (re-)joining.')
    require(request.subscribedTopicNames !== null ||
      request.subscribedTopicRegex !==
        null, 'Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.')
  } else if (memberEpoch === STATIC_LEAVE_EPOCH) {
    require(instanceId !== null, "InstanceId can't be null.")
  } else {
    require(memberEpoch >= LEAVE_EPOCH, 'MemberEpoch is invalid.')
  }
  if (serverAssignor !== null && !assignorNames.includes(serverAssignor)) {
    throw new KafkaError(
      ErrorCode.UNSUPPORTED_ASSIGNOR,
      `ServerAssignor ${serverAssignor} is not supported. Supported assignors: ${assignorNames.join(', ')}.`,
    )
  }
}

function require(condition: boolean, message: string): void {
  if (!condition) throw new KafkaError(ErrorCode.INVALID_REQUEST, message)
}
