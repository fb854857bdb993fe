/**
 * ConsumerGroupHeartbeat (API key 68): everything that a member of a group of the consumer protocol says and hears
 * (KIP-848).
 *
 * A field that is null has not changed since the last heartbeat. From version 1 on, members make their own ids
 * (KIP-1082).
 */
import { array, int16, int32, request, response, string, struct, uuid, type Decoded, type Input } from '../schema.ts'

export const consumerGroupHeartbeatRequest = request(68, {
  name: 'ConsumerGroupHeartbeatRequest',
  versions: '0-1',
  flexible: '0+',
  fields: {
    groupId: string('0+'),
    memberId: string('0+'),
    memberEpoch: int32('0+', { about: '0 to join, -1 to leave, -2 to leave as a static member that comes back.' }),
    instanceId: string('0+', { nullable: true, default: null }),
    rackId: string('0+', { nullable: true, default: null }),
    rebalanceTimeoutMs: int32('0+', {
      default: -1,
      about: 'How long the member may take to give up partitions; -1 if unchanged.',
    }),
    subscribedTopicNames: array('0+', 'string', { nullable: true, default: null }),
    subscribedTopicRegex: string('1+', { nullable: true, default: null }),
    serverAssignor: string('0+', { nullable: true, default: null }),
    topicPartitions: array(
      '0+',
      {
        topicId: uuid('0+'),
        partitions: array('0+', 'int32'),
      },
      { nullable: true, default: null, about: 'What the member owns.' },
    ),
  },
})
export type ConsumerGroupHeartbeatRequest = Decoded<typeof consumerGroupHeartbeatRequest>
export type ConsumerGroupHeartbeatRequestInput = Input<typeof consumerGroupHeartbeatRequest>

const topicPartitions = {
  topicId: uuid('0+'),
  partitions: array('0+', 'int32'),
}

export const consumerGroupHeartbeatResponse = response(68, {
  name: 'ConsumerGroupHeartbeatResponse',
  versions: '0-1',
  flexible: '0+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: true, default: null }),
    memberId: string('0+', { nullable: true, default: null }),
    memberEpoch: int32('0+'),
    heartbeatIntervalMs: int32('0+'),
    assignment: struct(
      '0+',
      {
        topicPartitions: array('0+', topicPartitions),
      },
      { nullable: true, default: null, about: 'Null if unchanged.' },
    ),
  },
})
export type ConsumerGroupHeartbeatResponse = Decoded<typeof consumerGroupHeartbeatResponse>
export type ConsumerGroupHeartbeatResponseInput = Input<typeof consumerGroupHeartbeatResponse>
