/**
 * ListPartitionReassignments (API key 46): the reassignments under way (KIP-455).
 */
import { array, int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const listPartitionReassignmentsRequest = request(46, {
  name: 'ListPartitionReassignmentsRequest',
  versions: '0',
  flexible: '0+',
  fields: {
    timeoutMs: int32('0+', { default: 60000 }),
    topics: array(
      '0+',
      {
        name: string('0+'),
        partitionIndexes: array('0+', 'int32'),
      },
      { nullable: true, default: null, about: 'Null for all.' },
    ),
  },
})
export type ListPartitionReassignmentsRequest = Decoded<typeof listPartitionReassignmentsRequest>
export type ListPartitionReassignmentsRequestInput = Input<typeof listPartitionReassignmentsRequest>

export const listPartitionReassignmentsResponse = response(46, {
  name: 'ListPartitionReassignmentsResponse',
  versions: '0',
  flexible: '0+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: true }),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        replicas: array('0+', 'int32'),
        addingReplicas: array('0+', 'int32'),
        removingReplicas: array('0+', 'int32'),
      }),
    }),
  },
})
export type ListPartitionReassignmentsResponse = Decoded<typeof listPartitionReassignmentsResponse>
export type ListPartitionReassignmentsResponseInput = Input<typeof listPartitionReassignmentsResponse>
