/**
 * Metadata (API key 3): brokers, topics, partitions and their leaders.
 *
 * In version 0 an empty list of topics asks for all of them; from 1 on null does, and an empty list asks for none.
 * Topic ids came with 10, but may be asked for by id only from 12 on. Version 13 has an error for the whole response.
 */
import { array, bool, int16, int32, request, response, string, uuid, type Decoded, type Input } from '../schema.ts'

export const metadataRequest = request(3, {
  name: 'MetadataRequest',
  versions: '0-13',
  flexible: '9+',
  fields: {
    topics: array(
      '0+',
      {
        topicId: uuid('10+', { ignorable: true }),
        name: string('0+', { nullable: '10+', about: 'Null if the topic is asked for by id.' }),
      },
      { nullable: '1+', about: 'Null for all topics.' },
    ),
    allowAutoTopicCreation: bool('4+', { default: true }),
    includeClusterAuthorizedOperations: bool('8-10'),
    includeTopicAuthorizedOperations: bool('8+'),
  },
})
export type MetadataRequest = Decoded<typeof metadataRequest>
export type MetadataRequestInput = Input<typeof metadataRequest>

export const metadataResponse = response(3, {
  name: 'MetadataResponse',
  versions: '0-13',
  flexible: '9+',
  fields: {
    throttleTimeMs: int32('3+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    brokers: array('0+', {
      nodeId: int32('0+'),
      host: string('0+'),
      port: int32('0+'),
      rack: string('1+', { nullable: true, default: null, ignorable: true }),
    }),
    clusterId: string('2+', { nullable: true, default: null, ignorable: true }),
    controllerId: int32('1+', { default: -1, ignorable: true, about: 'The broker that admin requests go to, or -1.' }),
    topics: array('0+', {
      errorCode: int16('0+'),
      name: string('0+', { nullable: '12+', about: 'Null if the topic was asked for by an unknown id.' }),
      topicId: uuid('10+', { ignorable: true }),
      isInternal: bool('1+', { ignorable: true }),
      partitions: array('0+', {
        errorCode: int16('0+'),
        partitionIndex: int32('0+'),
        leaderId: int32('0+', { about: '-1 if there is none.' }),
        leaderEpoch: int32('7+', { default: -1, ignorable: true }),
        replicaNodes: array('0+', 'int32'),
        isrNodes: array('0+', 'int32'),
        offlineReplicas: array('5+', 'int32', { ignorable: true }),
      }),
      topicAuthorizedOperations: int32('8+', {
        default: -2147483648,
        about: 'A bit per operation that the client may perform; the lowest int32 if it did not ask.',
      }),
    }),
    clusterAuthorizedOperations: int32('8-10', {
      default: -2147483648,
      about: 'A bit per operation that the client may perform; the lowest int32 if it did not ask.',
    }),
    errorCode: int16('13+', { ignorable: true }),
  },
})
export type MetadataResponse = Decoded<typeof metadataResponse>
export type MetadataResponseInput = Input<typeof metadataResponse>
