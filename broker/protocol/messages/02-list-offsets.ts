/**
 * ListOffsets (API key 2): finds offsets by timestamp, or the special ones of a partition.
 *
 * The special timestamps are -1 (latest), -2 (earliest), -3 (the record of the largest timestamp, from version 7), -4
 * (earliest local, from 8), -5 (last tiered, from 9) and -6 (earliest that waits for upload, from 11).
 */
import {
  array,
  int16,
  int32,
  int64,
  int8,
  request,
  response,
  saturatingInt64,
  string,
  type Decoded,
  type Input,
} from '../schema.ts'

export const listOffsetsRequest = request(2, {
  name: 'ListOffsetsRequest',
  versions: '1-11',
  flexible: '6+',
  fields: {
    replicaId: int32('0+', { about: 'The broker that asks, or -1 for a client.' }),
    isolationLevel: int8('2+', { about: '0: read uncommitted; 1: read committed.' }),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        currentLeaderEpoch: int32('4+', {
          default: -1,
          ignorable: true,
          about: 'The leader epoch that the client knows, or -1.',
        }),
        timestamp: saturatingInt64('0+', { about: 'In ms, or one of the special values.' }),
      }),
    }),
    timeoutMs: int32('10+', { ignorable: true, about: 'How long a search in tiered storage may take.' }),
  },
})
export type ListOffsetsRequest = Decoded<typeof listOffsetsRequest>
export type ListOffsetsRequestInput = Input<typeof listOffsetsRequest>

export const listOffsetsResponse = response(2, {
  name: 'ListOffsetsResponse',
  versions: '1-11',
  flexible: '6+',
  fields: {
    throttleTimeMs: int32('2+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
        timestamp: int64('1+', { default: -1, about: 'Of the record found, or -1.' }),
        offset: int64('1+', { default: -1, about: '-1 if there is no such record.' }),
        leaderEpoch: int32('4+', { default: -1 }),
      }),
    }),
  },
})
export type ListOffsetsResponse = Decoded<typeof listOffsetsResponse>
export type ListOffsetsResponseInput = Input<typeof listOffsetsResponse>
