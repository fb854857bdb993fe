/**
 * OffsetForLeaderEpoch (API key 23): where a leader epoch ends in the leader's log: how clients and replicas find
 * where theirs diverged.
 */
import { array, int16, int32, int64, request, response, string, type Decoded, type Input } from '../schema.ts'

export const offsetForLeaderEpochRequest = request(23, {
  name: 'OffsetForLeaderEpochRequest',
  versions: '2-4',
  flexible: '4+',
  fields: {
    replicaId: int32('3+', {
      default: -2,
      ignorable: true,
      about: 'The broker that follows; -1 for a consumer, -2 for a debugging one.',
    }),
    topics: array('0+', {
      topic: string('0+'),
      partitions: array('0+', {
        partition: int32('0+'),
        currentLeaderEpoch: int32('2+', {
          default: -1,
          ignorable: true,
          about: 'The leader epoch that the client knows, or -1.',
        }),
        leaderEpoch: int32('0+', { about: 'The epoch to look up.' }),
      }),
    }),
  },
})
export type OffsetForLeaderEpochRequest = Decoded<typeof offsetForLeaderEpochRequest>
export type OffsetForLeaderEpochRequestInput = Input<typeof offsetForLeaderEpochRequest>

export const offsetForLeaderEpochResponse = response(23, {
  name: 'OffsetForLeaderEpochResponse',
  versions: '2-4',
  flexible: '4+',
  fields: {
    throttleTimeMs: int32('2+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    topics: array('0+', {
      topic: string('0+'),
      partitions: array('0+', {
        errorCode: int16('0+'),
        partition: int32('0+'),
        leaderEpoch: int32('1+', {
          default: -1,
          ignorable: true,
          about: 'The largest epoch of the log up to the one asked for, or -1.',
        }),
        endOffset: int64('0+', { default: -1, about: 'Where that epoch ends (exclusive), or -1.' }),
      }),
    }),
  },
})
export type OffsetForLeaderEpochResponse = Decoded<typeof offsetForLeaderEpochResponse>
export type OffsetForLeaderEpochResponseInput = Input<typeof offsetForLeaderEpochResponse>
