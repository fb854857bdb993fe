/**
 * OffsetDelete (API key 47): deletes committed positions of a group (KIP-496). It has no flexible version.
 */
import { array, int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const offsetDeleteRequest = request(47, {
  name: 'OffsetDeleteRequest',
  versions: '0',
  fields: {
    groupId: string('0+'),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
      }),
    }),
  },
})
export type OffsetDeleteRequest = Decoded<typeof offsetDeleteRequest>
export type OffsetDeleteRequestInput = Input<typeof offsetDeleteRequest>

export const offsetDeleteResponse = response(47, {
  name: 'OffsetDeleteResponse',
  versions: '0',
  fields: {
    errorCode: int16('0+'),
    throttleTimeMs: int32('0+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
      }),
    }),
  },
})
export type OffsetDeleteResponse = Decoded<typeof offsetDeleteResponse>
export type OffsetDeleteResponseInput = Input<typeof offsetDeleteResponse>
