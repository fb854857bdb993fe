/**
 * FindCoordinator (API key 10): which broker coordinates a group or a transactional id.
 *
 * Versions up to 3 ask for one key, later ones for several (KIP-699).
 */
import { array, int16, int32, int8, request, response, string, type Decoded, type Input } from '../schema.ts'

export const findCoordinatorRequest = request(10, {
  name: 'FindCoordinatorRequest',
  versions: '0-6',
  flexible: '3+',
  fields: {
    key: string('0-3'),
    keyType: int8('1+', { about: '0: group; 1: transaction; 2: share group.' }),
    coordinatorKeys: array('4+', 'string'),
  },
})
export type FindCoordinatorRequest = Decoded<typeof findCoordinatorRequest>
export type FindCoordinatorRequestInput = Input<typeof findCoordinatorRequest>

export const findCoordinatorResponse = response(10, {
  name: 'FindCoordinatorResponse',
  versions: '0-6',
  flexible: '3+',
  fields: {
    throttleTimeMs: int32('1+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0-3'),
    errorMessage: string('1-3', { nullable: true, ignorable: true }),
    nodeId: int32('0-3'),
    host: string('0-3'),
    port: int32('0-3'),
    coordinators: array('4+', {
      key: string('4+'),
      nodeId: int32('4+'),
      host: string('4+'),
      port: int32('4+'),
      errorCode: int16('4+'),
      errorMessage: string('4+', { nullable: true, ignorable: true }),
    }),
  },
})
export type FindCoordinatorResponse = Decoded<typeof findCoordinatorResponse>
export type FindCoordinatorResponseInput = Input<typeof findCoordinatorResponse>
