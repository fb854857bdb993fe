/**
 * CreatePartitions (API key 37): adds partitions to topics.
 */
import { array, bool, int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const createPartitionsRequest = request(37, {
  name: 'CreatePartitionsRequest',
  versions: '0-3',
  flexible: '2+',
  fields: {
    topics: array('0+', {
      name: string('0+'),
      count: int32('0+', { about: 'The new number of all partitions.' }),
      assignments: array(
        '0+',
        {
          brokerIds: array('0+', 'int32'),
        },
        { nullable: true, about: 'For each new partition, or null to let the broker place them.' },
      ),
    }),
    timeoutMs: int32('0+'),
    validateOnly: bool('0+'),
  },
})
export type CreatePartitionsRequest = Decoded<typeof createPartitionsRequest>
export type CreatePartitionsRequestInput = Input<typeof createPartitionsRequest>

export const createPartitionsResponse = response(37, {
  name: 'CreatePartitionsResponse',
  versions: '0-3',
  flexible: '2+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    results: array('0+', {
      name: string('0+'),
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: true, default: null }),
    }),
  },
})
export type CreatePartitionsResponse = Decoded<typeof createPartitionsResponse>
export type CreatePartitionsResponseInput = Input<typeof createPartitionsResponse>
