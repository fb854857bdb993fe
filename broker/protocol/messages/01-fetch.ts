/**
 * Fetch (API key 1): reads record batches, for consumers and for the replicas that follow a leader.
 *
 * Incremental sessions came with version 7 (KIP-227), leader epochs with 9 (KIP-320), fetching from followers with 11
 * (KIP-392), truncation by diverging epoch with 12 (KIP-595), topic ids with 13, the replica's epoch with 15
 * (KIP-903), node endpoints with 16 (KIP-951), directory ids with 17, the replica's high watermark with 18 (KIP-1166).
 */
import {
  array,
  int16,
  int32,
  int64,
  int8,
  records,
  request,
  response,
  saturatingInt64,
  string,
  struct,
  uuid,
  type Decoded,
  type Input,
} from '../schema.ts'

export const fetchRequest = request(1, {
  name: 'FetchRequest',
  versions: '4-18',
  flexible: '12+',
  fields: {
    clusterId: string('12+', { nullable: true, default: null, tag: 0, ignorable: true }),
    replicaId: int32('0-14', {
      default: -1,
      about: 'The broker that follows, or -1 for a consumer. From version 15 on, see replicaState.',
    }),
    replicaState: struct(
      '15+',
      {
        replicaId: int32('15+', { default: -1, about: 'The broker that follows, or -1 for a consumer.' }),
        replicaEpoch: int64('15+', { default: -1, about: 'The broker epoch of the follower.' }),
      },
      { tag: 1 },
    ),
    maxWaitMs: int32('0+', { about: 'How long to wait for minBytes.' }),
    minBytes: int32('0+'),
    maxBytes: int32('3+', {
      default: 0x7fffffff,
      ignorable: true,
      about: 'A soft limit: the first batch is returned whatever its size (KIP-74).',
    }),
    isolationLevel: int8('4+', { ignorable: true, about: '0: read uncommitted; 1: read committed.' }),
    sessionId: int32('7+', { ignorable: true, about: '0 for none.' }),
    sessionEpoch: int32('7+', {
      default: -1,
      ignorable: true,
      about: '0 begins a session, -1 ends it or does without.',
    }),
    topics: array('0+', {
      topic: string('0-12', { ignorable: true }),
      topicId: uuid('13+', { ignorable: true }),
      partitions: array('0+', {
        partition: int32('0+'),
        currentLeaderEpoch: int32('9+', {
          default: -1,
          ignorable: true,
          about: 'The leader epoch that the client knows, or -1.',
        }),
        fetchOffset: int64('0+'),
        lastFetchedEpoch: int32('12+', {
          default: -1,
          about: 'The epoch of the last record before fetchOffset, or -1.',
        }),
        logStartOffset: int64('5+', { default: -1, ignorable: true, about: 'Of the follower; -1 from consumers.' }),
        partitionMaxBytes: int32('0+', { about: 'A soft limit, as maxBytes.' }),
        replicaDirectoryId: uuid('17+', { tag: 0, ignorable: true }),
        highWatermark: saturatingInt64('18+', {
          default: Infinity,
          tag: 1,
          ignorable: true,
          about: 'What the replica knows: -1 if nothing, no limit if it does not tell.',
        }),
      }),
    }),
    forgottenTopicsData: array(
      '7+',
      {
        topic: string('7-12', { ignorable: true }),
        topicId: uuid('13+', { ignorable: true }),
        partitions: array('7+', 'int32'),
      },
      { about: 'Partitions to take out of the session.' },
    ),
    rackId: string('11+', { ignorable: true }),
  },
})
export type FetchRequest = Decoded<typeof fetchRequest>
export type FetchRequestInput = Input<typeof fetchRequest>

export const fetchResponse = response(1, {
  name: 'FetchResponse',
  versions: '4-18',
  flexible: '12+',
  fields: {
    throttleTimeMs: int32('1+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('7+', { ignorable: true }),
    sessionId: int32('7+', { about: '0 if there is no session.' }),
    responses: array('0+', {
      topic: string('0-12', { ignorable: true }),
      topicId: uuid('13+', { ignorable: true }),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
        highWatermark: int64('0+'),
        lastStableOffset: int64('4+', {
          default: -1,
          ignorable: true,
          about: 'The first offset of an open transaction, or the high watermark.',
        }),
        logStartOffset: int64('5+', { default: -1, ignorable: true }),
        divergingEpoch: struct(
          '12+',
          {
            epoch: int32('12+', { default: -1 }),
            endOffset: int64('12+', { default: -1 }),
          },
          {
            tag: 0,
            about: 'Set if the logs differ at fetchOffset: the largest epoch that both may share, and its end.',
          },
        ),
        currentLeader: struct(
          '12+',
          {
            leaderId: int32('12+', { default: -1 }),
            leaderEpoch: int32('12+', { default: -1 }),
          },
          { tag: 1, about: 'Set if the request went to the wrong broker.' },
        ),
        snapshotId: struct(
          '12+',
          {
            endOffset: int64('0+', { default: -1 }),
            epoch: int32('0+', { default: -1 }),
          },
          { tag: 2, about: 'Only in the metadata log of Kafka itself.' },
        ),
        abortedTransactions: array(
          '4+',
          {
            producerId: int64('4+'),
            firstOffset: int64('4+'),
          },
          { nullable: true, ignorable: true, about: 'Null unless the isolation level is read committed.' },
        ),
        preferredReadReplica: int32('11+', { default: -1, about: 'A closer replica to fetch from, or -1.' }),
        records: records('0+', {
          nullable: true,
          about: 'Empty rather than null where there are none: not all clients take null.',
        }),
      }),
    }),
    nodeEndpoints: array(
      '16+',
      {
        nodeId: int32('16+'),
        host: string('16+'),
        port: int32('16+'),
        rack: string('16+', { nullable: true, default: null }),
      },
      { tag: 0, about: 'The addresses of all current leaders named above.' },
    ),
  },
})
export type FetchResponse = Decoded<typeof fetchResponse>
export type FetchResponseInput = Input<typeof fetchResponse>
