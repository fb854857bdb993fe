/**
 * ConsumerGroupDescribe (API key 69): state and members of groups of the consumer protocol (KIP-848).
 */
import {
  array,
  bool,
  int16,
  int32,
  int8,
  request,
  response,
  string,
  struct,
  uuid,
  type Decoded,
  type Input,
} from '../schema.ts'

export const consumerGroupDescribeRequest = request(69, {
  name: 'ConsumerGroupDescribeRequest',
  versions: '0-1',
  flexible: '0+',
  fields: {
    groupIds: array('0+', 'string'),
    includeAuthorizedOperations: bool('0+'),
  },
})
export type ConsumerGroupDescribeRequest = Decoded<typeof consumerGroupDescribeRequest>
export type ConsumerGroupDescribeRequestInput = Input<typeof consumerGroupDescribeRequest>

const topicPartitions = {
  topicId: uuid('0+'),
  topicName: string('0+'),
  partitions: array('0+', 'int32'),
}

const assignment = {
  topicPartitions: array('0+', topicPartitions),
}

export const consumerGroupDescribeResponse = response(69, {
  name: 'ConsumerGroupDescribeResponse',
  versions: '0-1',
  flexible: '0+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    groups: array('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: true, default: null }),
      groupId: string('0+'),
      groupState: string('0+'),
      groupEpoch: int32('0+'),
      assignmentEpoch: int32('0+'),
      assignorName: string('0+'),
      members: array('0+', {
        memberId: string('0+'),
        instanceId: string('0+', { nullable: true, default: null }),
        rackId: string('0+', { nullable: true, default: null }),
        memberEpoch: int32('0+'),
        clientId: string('0+'),
        clientHost: string('0+'),
        subscribedTopicNames: array('0+', 'string'),
        subscribedTopicRegex: string('0+', { nullable: true, default: null }),
        assignment: struct('0+', assignment),
        targetAssignment: struct('0+', assignment, { about: 'What the member will own.' }),
        memberType: int8('1+', { default: -1, ignorable: true, about: '0: classic; 1: consumer; -1: unknown.' }),
      }),
      authorizedOperations: int32('0+', {
        default: -2147483648,
        about: 'A bit per operation that the client may perform; the lowest int32 if it did not ask.',
      }),
    }),
  },
})
export type ConsumerGroupDescribeResponse = Decoded<typeof consumerGroupDescribeResponse>
export type ConsumerGroupDescribeResponseInput = Input<typeof consumerGroupDescribeResponse>
