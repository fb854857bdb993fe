/**
 * OffsetFetch (API key 9): the committed positions of groups.
 *
 * Null topics (from version 2) ask for all of a group. Version 8 asks for several groups at once; topic ids came with
 * 10.
 */
import {
  array,
  bool,
  int16,
  int32,
  int64,
  request,
  response,
  string,
  uuid,
  type Decoded,
  type Input,
} from '../schema.ts'

export const offsetFetchRequest = request(9, {
  name: 'OffsetFetchRequest',
  versions: '1-10',
  flexible: '6+',
  fields: {
    groupId: string('0-7'),
    topics: array(
      '0-7',
      {
        name: string('0-7'),
        partitionIndexes: array('0-7', 'int32'),
      },
      { nullable: '2-7', about: 'Null for all topics of the group.' },
    ),
    groups: array('8+', {
      groupId: string('8+'),
      memberId: string('9+', {
        nullable: true,
        default: null,
        ignorable: true,
        about: 'Null outside of the consumer protocol.',
      }),
      memberEpoch: int32('9+', { default: -1, ignorable: true, about: '-1 outside of the consumer protocol.' }),
      topics: array(
        '8+',
        {
          name: string('8-9', { ignorable: true }),
          topicId: uuid('10+', { ignorable: true }),
          partitionIndexes: array('8+', 'int32'),
        },
        { nullable: true, about: 'Null for all topics of the group.' },
      ),
    }),
    requireStable: bool('7+', {
      about: 'True to get UNSTABLE_OFFSET_COMMIT while a transaction may still change a position.',
    }),
  },
})
export type OffsetFetchRequest = Decoded<typeof offsetFetchRequest>
export type OffsetFetchRequestInput = Input<typeof offsetFetchRequest>

export const offsetFetchResponse = response(9, {
  name: 'OffsetFetchResponse',
  versions: '1-10',
  flexible: '6+',
  fields: {
    throttleTimeMs: int32('3+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    topics: array('0-7', {
      name: string('0-7'),
      partitions: array('0-7', {
        partitionIndex: int32('0-7'),
        committedOffset: int64('0-7', { about: '-1 if there is none.' }),
        committedLeaderEpoch: int32('5-7', { default: -1, ignorable: true }),
        metadata: string('0-7', { nullable: true }),
        errorCode: int16('0-7'),
      }),
    }),
    errorCode: int16('2-7', { ignorable: true }),
    groups: array('8+', {
      groupId: string('8+'),
      topics: array('8+', {
        name: string('8-9', { ignorable: true }),
        topicId: uuid('10+', { ignorable: true }),
        partitions: array('8+', {
          partitionIndex: int32('8+'),
          committedOffset: int64('8+', { about: '-1 if there is none.' }),
          committedLeaderEpoch: int32('8+', { default: -1, ignorable: true }),
          metadata: string('8+', { nullable: true }),
          errorCode: int16('8+'),
        }),
      }),
      errorCode: int16('8+'),
    }),
  },
})
export type OffsetFetchResponse = Decoded<typeof offsetFetchResponse>
export type OffsetFetchResponseInput = Input<typeof offsetFetchResponse>
