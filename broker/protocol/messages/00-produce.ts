/**
 * Produce (API key 0): appends record batches to partitions.
 *
 * Versions 0-2 are reported as supported but refused (KAFKA-18659). Zstandard needs 7; record errors came with 8, the
 * current leader with 10 (KIP-951), the implicit enrolment of partitions in a transaction with 12 (KIP-890), topic ids
 * with 13.
 */
import {
  array,
  int16,
  int32,
  int64,
  records,
  request,
  response,
  string,
  struct,
  uuid,
  type Decoded,
  type Input,
} from '../schema.ts'

export const produceRequest = request(0, {
  name: 'ProduceRequest',
  versions: '3-13',
  flexible: '9+',
  fields: {
    transactionalId: string('3+', {
      nullable: true,
      default: null,
      about: 'Null unless the records belong to a transaction.',
    }),
    acks: int16('0+', { about: '0: no response at all; 1: the leader has appended; -1: the in-sync replicas have.' }),
    timeoutMs: int32('0+', { about: 'How long to wait for the acks.' }),
    topicData: array('0+', {
      name: string('0-12', { ignorable: true }),
      topicId: uuid('13+', { ignorable: true }),
      partitionData: array('0+', {
        index: int32('0+'),
        records: records('0+', { nullable: true, about: 'One record batch.' }),
      }),
    }),
  },
})
export type ProduceRequest = Decoded<typeof produceRequest>
export type ProduceRequestInput = Input<typeof produceRequest>

export const produceResponse = response(0, {
  name: 'ProduceResponse',
  versions: '3-13',
  flexible: '9+',
  fields: {
    responses: array('0+', {
      name: string('0-12', { ignorable: true }),
      topicId: uuid('13+', { ignorable: true }),
      partitionResponses: array('0+', {
        index: int32('0+'),
        errorCode: int16('0+'),
        baseOffset: int64('0+', { about: 'The offset of the first record of the batch.' }),
        logAppendTimeMs: int64('2+', {
          default: -1,
          ignorable: true,
          about: '-1 unless the topic uses log append time.',
        }),
        logStartOffset: int64('5+', { default: -1, ignorable: true }),
        recordErrors: array(
          '8+',
          {
            batchIndex: int32('8+', { about: 'The index of the record in the batch.' }),
            batchIndexErrorMessage: string('8+', { nullable: true, default: null }),
          },
          { ignorable: true, about: 'The records that caused the whole batch to be dropped.' },
        ),
        errorMessage: string('8+', { nullable: true, default: null, ignorable: true }),
        currentLeader: struct(
          '10+',
          {
            leaderId: int32('10+', { default: -1 }),
            leaderEpoch: int32('10+', { default: -1 }),
          },
          { tag: 0, about: 'Set with NOT_LEADER_OR_FOLLOWER: where to go instead.' },
        ),
      }),
    }),
    throttleTimeMs: int32('1+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    nodeEndpoints: array(
      '10+',
      {
        nodeId: int32('10+'),
        host: string('10+'),
        port: int32('10+'),
        rack: string('10+', { nullable: true, default: null }),
      },
      { tag: 0, about: 'The addresses of all current leaders named above.' },
    ),
  },
})
export type ProduceResponse = Decoded<typeof produceResponse>
export type ProduceResponseInput = Input<typeof produceResponse>
