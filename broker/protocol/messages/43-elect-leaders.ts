/**
 * ElectLeaders (API key 43): elects leaders: the preferred ones, or, if no in-sync replica lives, any.
 */
import { array, int16, int32, int8, request, response, string, type Decoded, type Input } from '../schema.ts'

export const electLeadersRequest = request(43, {
  name: 'ElectLeadersRequest',
  versions: '0-2',
  flexible: '2+',
  fields: {
    electionType: int8('1+', { about: '0: preferred; 1: unclean.' }),
    topicPartitions: array(
      '0+',
      {
        topic: string('0+'),
        partitions: array('0+', 'int32'),
      },
      { nullable: true, about: 'Null for all partitions.' },
    ),
    timeoutMs: int32('0+', { default: 60000 }),
  },
})
export type ElectLeadersRequest = Decoded<typeof electLeadersRequest>
export type ElectLeadersRequestInput = Input<typeof electLeadersRequest>

export const electLeadersResponse = response(43, {
  name: 'ElectLeadersResponse',
  versions: '0-2',
  flexible: '2+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('1+'),
    replicaElectionResults: array('0+', {
      topic: string('0+'),
      partitionResult: array('0+', {
        partitionId: int32('0+'),
        errorCode: int16('0+'),
        errorMessage: string('0+', { nullable: true }),
      }),
    }),
  },
})
export type ElectLeadersResponse = Decoded<typeof electLeadersResponse>
export type ElectLeadersResponseInput = Input<typeof electLeadersResponse>
