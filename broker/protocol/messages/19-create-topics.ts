/**
 * CreateTopics (API key 19): creates topics, with explicit assignments or with counts.
 *
 * From version 4 on, -1 stands for the default partition count and replication factor (KIP-464). The response tells
 * configs from 5 on (KIP-525) and the topic id from 7 on.
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
  uuid,
  type Decoded,
  type Input,
} from '../schema.ts'

export const createTopicsRequest = request(19, {
  name: 'CreateTopicsRequest',
  versions: '2-7',
  flexible: '5+',
  fields: {
    topics: array('0+', {
      name: string('0+'),
      numPartitions: int32('0+', { about: '-1 with assignments, or for the default.' }),
      replicationFactor: int16('0+', { about: '-1 with assignments, or for the default.' }),
      assignments: array(
        '0+',
        {
          partitionIndex: int32('0+'),
          brokerIds: array('0+', 'int32'),
        },
        { about: 'Empty to let the broker place the partitions.' },
      ),
      configs: array('0+', {
        name: string('0+'),
        value: string('0+', { nullable: true }),
      }),
    }),
    timeoutMs: int32('0+', { default: 60000 }),
    validateOnly: bool('1+', { about: 'True to check the request only.' }),
  },
})
export type CreateTopicsRequest = Decoded<typeof createTopicsRequest>
export type CreateTopicsRequestInput = Input<typeof createTopicsRequest>

export const createTopicsResponse = response(19, {
  name: 'CreateTopicsResponse',
  versions: '2-7',
  flexible: '5+',
  fields: {
    throttleTimeMs: int32('2+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    topics: array('0+', {
      name: string('0+'),
      topicId: uuid('7+', { ignorable: true }),
      errorCode: int16('0+'),
      errorMessage: string('1+', { nullable: true, ignorable: true }),
      topicConfigErrorCode: int16('5+', {
        tag: 0,
        ignorable: true,
        about: 'Set if the client may create the topic but not see its configs.',
      }),
      numPartitions: int32('5+', { default: -1, ignorable: true }),
      replicationFactor: int16('5+', { default: -1, ignorable: true }),
      configs: array(
        '5+',
        {
          name: string('5+'),
          value: string('5+', { nullable: true }),
          readOnly: bool('5+'),
          configSource: int8('5+', {
            default: -1,
            ignorable: true,
            about: '1: topic; 2: broker; 3: default of all brokers; 4: static; 5: built in.',
          }),
          isSensitive: bool('5+'),
        },
        { nullable: true, ignorable: true, about: 'Null if topicConfigErrorCode is set.' },
      ),
    }),
  },
})
export type CreateTopicsResponse = Decoded<typeof createTopicsResponse>
export type CreateTopicsResponseInput = Input<typeof createTopicsResponse>
