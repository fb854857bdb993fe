/**
 * AlterPartitionReassignments (API key 45): begins, changes and cancels reassignments of partitions (KIP-455).
 */
import { array, bool, int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const alterPartitionReassignmentsRequest = request(45, {
  name: 'AlterPartitionReassignmentsRequest',
  versions: '0-1',
  flexible: '0+',
  fields: {
    timeoutMs: int32('0+', { default: 60000 }),
    allowReplicationFactorChange: bool('1+', { default: true }),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        replicas: array('0+', 'int32', { nullable: true, default: null, about: 'Null to cancel.' }),
      }),
    }),
  },
})
export type AlterPartitionReassignmentsRequest = Decoded<typeof alterPartitionReassignmentsRequest>
export type AlterPartitionReassignmentsRequestInput = Input<typeof alterPartitionReassignmentsRequest>

export const alterPartitionReassignmentsResponse = response(45, {
  name: 'AlterPartitionReassignmentsResponse',
  versions: '0-1',
  flexible: '0+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    allowReplicationFactorChange: bool('1+', { default: true, ignorable: true }),
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: true }),
    responses: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
        errorMessage: string('0+', { nullable: true }),
      }),
    }),
  },
})
export type AlterPartitionReassignmentsResponse = Decoded<typeof alterPartitionReassignmentsResponse>
export type AlterPartitionReassignmentsResponseInput = Input<typeof alterPartitionReassignmentsResponse>
