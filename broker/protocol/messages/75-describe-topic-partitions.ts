/**
 * DescribeTopicPartitions (API key 75): topics and their partitions, page by page, with eligible leader replicas
 * (KIP-966).
 */
import {
  array,
  bool,
  int16,
  int32,
  request,
  response,
  string,
  struct,
  uuid,
  type Decoded,
  type Input,
} from '../schema.ts'

export const describeTopicPartitionsRequest = request(75, {
  name: 'DescribeTopicPartitionsRequest',
  versions: '0',
  flexible: '0+',
  fields: {
    topics: array(
      '0+',
      {
        name: string('0+'),
      },
      { about: 'Empty for all topics.' },
    ),
    responsePartitionLimit: int32('0+', { default: 2000 }),
    cursor: struct(
      '0+',
      {
        topicName: string('0+'),
        partitionIndex: int32('0+'),
      },
      { nullable: true, default: null, about: 'The first topic and partition of the page, or null.' },
    ),
  },
})
export type DescribeTopicPartitionsRequest = Decoded<typeof describeTopicPartitionsRequest>
export type DescribeTopicPartitionsRequestInput = Input<typeof describeTopicPartitionsRequest>

export const describeTopicPartitionsResponse = response(75, {
  name: 'DescribeTopicPartitionsResponse',
  versions: '0',
  flexible: '0+',
  fields: {
    throttleTimeMs: int32('0+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    topics: array('0+', {
      errorCode: int16('0+'),
      name: string('0+', { nullable: true }),
      topicId: uuid('0+', { ignorable: true }),
      isInternal: bool('0+', { ignorable: true }),
      partitions: array('0+', {
        errorCode: int16('0+'),
        partitionIndex: int32('0+'),
        leaderId: int32('0+', { about: '-1 if there is none.' }),
        leaderEpoch: int32('0+', { default: -1, ignorable: true }),
        replicaNodes: array('0+', 'int32'),
        isrNodes: array('0+', 'int32'),
        eligibleLeaderReplicas: array('0+', 'int32', {
          nullable: true,
          default: null,
          about: 'Replicas outside of the ISR that have all committed records.',
        }),
        lastKnownElr: array('0+', 'int32', {
          nullable: true,
          default: null,
          about: 'The last of those, when there are none left.',
        }),
        offlineReplicas: array('0+', 'int32', { ignorable: true }),
      }),
      topicAuthorizedOperations: int32('0+', {
        default: -2147483648,
        about: 'A bit per operation that the client may perform; the lowest int32 if it did not ask.',
      }),
    }),
    nextCursor: struct(
      '0+',
      {
        topicName: string('0+'),
        partitionIndex: int32('0+'),
      },
      { nullable: true, default: null, about: 'Where to go on, or null at the end.' },
    ),
  },
})
export type DescribeTopicPartitionsResponse = Decoded<typeof describeTopicPartitionsResponse>
export type DescribeTopicPartitionsResponseInput = Input<typeof describeTopicPartitionsResponse>
