/**
 * Heartbeat (API key 12): keeps a member of a group of the classic protocol alive.
 */
import { int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const heartbeatRequest = request(12, {
  name: 'HeartbeatRequest',
  versions: '0-4',
  flexible: '4+',
  fields: {
    groupId: string('0+'),
    generationId: int32('0+'),
    memberId: string('0+'),
    groupInstanceId: string('3+', { nullable: true, default: null, about: 'Null unless the member is static.' }),
  },
})
export type HeartbeatRequest = Decoded<typeof heartbeatRequest>
export type HeartbeatRequestInput = Input<typeof heartbeatRequest>

export const heartbeatResponse = response(12, {
  name: 'HeartbeatResponse',
  versions: '0-4',
  flexible: '4+',
  fields: {
    throttleTimeMs: int32('1+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
  },
})
export type HeartbeatResponse = Decoded<typeof heartbeatResponse>
export type HeartbeatResponseInput = Input<typeof heartbeatResponse>
