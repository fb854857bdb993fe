/**
 * OffsetCommit (API key 8): stores the positions of a group.
 *
 * Members of groups of the consumer protocol (KIP-848) use version 9 or newer; topic ids came with 10.
 */
import { array, int16, int32, int64, request, response, string, uuid, type Decoded, type Input } from '../schema.ts'

export const offsetCommitRequest = request(8, {
  name: 'OffsetCommitRequest',
  versions: '2-10',
  flexible: '8+',
  fields: {
    groupId: string('0+'),
    generationIdOrMemberEpoch: int32('1+', {
      default: -1,
      ignorable: true,
      about: 'The generation of a classic member, the epoch of a consumer protocol member, or -1.',
    }),
    memberId: string('1+', { ignorable: true }),
    groupInstanceId: string('7+', { nullable: true, default: null, about: 'Null unless the member is static.' }),
    retentionTimeMs: int64('2-4', { default: -1, ignorable: true, about: '-1 for the default of the broker.' }),
    topics: array('0+', {
      name: string('0-9', { ignorable: true }),
      topicId: uuid('10+', { ignorable: true }),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        committedOffset: int64('0+'),
        committedLeaderEpoch: int32('6+', { default: -1, ignorable: true }),
        committedMetadata: string('0+', { nullable: true }),
      }),
    }),
  },
})
export type OffsetCommitRequest = Decoded<typeof offsetCommitRequest>
export type OffsetCommitRequestInput = Input<typeof offsetCommitRequest>

export const offsetCommitResponse = response(8, {
  name: 'OffsetCommitResponse',
  versions: '2-10',
  flexible: '8+',
  fields: {
    throttleTimeMs: int32('3+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    topics: array('0+', {
      name: string('0-9', { ignorable: true }),
      topicId: uuid('10+', { ignorable: true }),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
      }),
    }),
  },
})
export type OffsetCommitResponse = Decoded<typeof offsetCommitResponse>
export type OffsetCommitResponseInput = Input<typeof offsetCommitResponse>
