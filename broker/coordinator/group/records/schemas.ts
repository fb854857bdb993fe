/**
 * The records of `__consumer_offsets`, as Kafka's group coordinator writes them: a key that names its type by its version
 * number, and a value with a version of its own. Sources: KIP-848, KIP-1101, KIP-1263.
 */
import {
  array,
  bytes,
  data,
  int32,
  int64,
  int8,
  saturatingInt64,
  string,
  struct,
  uuid,
  type Decoded,
} from '../../../protocol/schema.ts'

export const offsetCommitKey = data({
  name: 'OffsetCommitKey',
  versions: '0',
  fields: { group: string('0'), topic: string('0'), partition: int32('0') },
})

export const offsetCommitValue = data({
  name: 'OffsetCommitValue',
  versions: '0-4',
  flexible: '4+',
  fields: {
    offset: int64('0+'),
    leaderEpoch: int32('3+', { default: -1, ignorable: true }),
    metadata: string('0+'),
    commitTimestamp: int64('0+', { about: 'Milliseconds since 1970 when the commit was accepted.' }),
    expireTimestamp: int64('1', { default: -1, ignorable: true, about: 'Set by clients older than KIP-211.' }),
    topicId: uuid('4+', { tag: 0, ignorable: true }),
  },
})
export type OffsetCommitValue = Decoded<typeof offsetCommitValue>

export const groupMetadataKey = data({
  name: 'GroupMetadataKey',
  versions: '0',
  fields: { group: string('0') },
})

export const groupMetadataValue = data({
  name: 'GroupMetadataValue',
  versions: '0-4',
  flexible: '4+',
  fields: {
    protocolType: string('0+'),
    generation: int32('0+'),
    protocol: string('0+', { nullable: '0+' }),
    leader: string('0+', { nullable: '0+' }),
    currentStateTimestamp: int64('2+', { default: -1, ignorable: true }),
    members: array('0+', {
      memberId: string('0+'),
      groupInstanceId: string('3+', { nullable: '3+', default: null, ignorable: true }),
      clientId: string('0+'),
      clientHost: string('0+'),
      rebalanceTimeout: int32('1+', { default: -1, ignorable: true }),
      sessionTimeout: int32('0+'),
      subscription: bytes('0+'),
      assignment: bytes('0+'),
    }),
  },
})
export type GroupMetadataValue = Decoded<typeof groupMetadataValue>

const groupIdKey = (name: string) => data({ name, versions: '0', fields: { groupId: string('0') } })
const memberKey = (name: string) =>
  data({ name, versions: '0', fields: { groupId: string('0'), memberId: string('0') } })

export const consumerGroupMetadataKey = groupIdKey('ConsumerGroupMetadataKey')

export const consumerGroupMetadataValue = data({
  name: 'ConsumerGroupMetadataValue',
  versions: '0',
  flexible: '0+',
  fields: {
    epoch: int32('0+'),
    metadataHash: saturatingInt64('0+', {
      tag: 0,
      about:
        'Of the subscribed topics; another one means a rebalance (KIP-1101). One beyond 2^53, of another program, reads as Infinity: as another one.',
    }),
  },
})

export const consumerGroupMemberMetadataKey = memberKey('ConsumerGroupMemberMetadataKey')

export const consumerGroupMemberMetadataValue = data({
  name: 'ConsumerGroupMemberMetadataValue',
  versions: '0',
  flexible: '0+',
  fields: {
    instanceId: string('0+', { nullable: '0+' }),
    rackId: string('0+', { nullable: '0+' }),
    clientId: string('0+'),
    clientHost: string('0+'),
    subscribedTopicNames: array('0+', 'string'),
    subscribedTopicRegex: string('0+', { nullable: '0+' }),
    rebalanceTimeoutMs: int32('0+', { default: -1 }),
    serverAssignor: string('0+', { nullable: '0+' }),
    classicMemberMetadata: struct(
      '0+',
      {
        sessionTimeoutMs: int32('0+'),
        supportedProtocols: array('0+', { name: string('0+'), metadata: bytes('0+') }),
      },
      { nullable: '0+', default: null, tag: 0, about: 'Null unless the member speaks the classic protocol.' },
    ),
  },
})
export type ConsumerGroupMemberMetadataValue = Decoded<typeof consumerGroupMemberMetadataValue>

export const consumerGroupTargetAssignmentMetadataKey = groupIdKey('ConsumerGroupTargetAssignmentMetadataKey')

export const consumerGroupTargetAssignmentMetadataValue = data({
  name: 'ConsumerGroupTargetAssignmentMetadataValue',
  versions: '0',
  flexible: '0+',
  fields: {
    assignmentEpoch: int32('0+'),
    assignmentTimestamp: int64('0+', { tag: 0, ignorable: true }),
  },
})

export const consumerGroupTargetAssignmentMemberKey = memberKey('ConsumerGroupTargetAssignmentMemberKey')

export const consumerGroupTargetAssignmentMemberValue = data({
  name: 'ConsumerGroupTargetAssignmentMemberValue',
  versions: '0',
  flexible: '0+',
  fields: { topicPartitions: array('0+', { topicId: uuid('0+'), partitions: array('0+', 'int32') }) },
})

export const consumerGroupCurrentMemberAssignmentKey = memberKey('ConsumerGroupCurrentMemberAssignmentKey')

const topicPartitions = {
  topicId: uuid('0+'),
  partitions: array('0+', 'int32'),
  assignmentEpochs: array('0+', 'int32', { nullable: '0+', default: null, tag: 0 }),
}

export const consumerGroupCurrentMemberAssignmentValue = data({
  name: 'ConsumerGroupCurrentMemberAssignmentValue',
  versions: '0',
  flexible: '0+',
  fields: {
    memberEpoch: int32('0+'),
    previousMemberEpoch: int32('0+'),
    state: int8('0+'),
    assignedPartitions: array('0+', topicPartitions),
    partitionsPendingRevocation: array('0+', topicPartitions),
  },
})
export type ConsumerGroupCurrentMemberAssignmentValue = Decoded<typeof consumerGroupCurrentMemberAssignmentValue>

export const consumerGroupRegularExpressionKey = data({
  name: 'ConsumerGroupRegularExpressionKey',
  versions: '0',
  fields: { groupId: string('0'), regularExpression: string('0') },
})

export const consumerGroupRegularExpressionValue = data({
  name: 'ConsumerGroupRegularExpressionValue',
  versions: '0',
  flexible: '0+',
  fields: { topics: array('0+', 'string'), version: int64('0+'), timestamp: int64('0+') },
})
