/**
 * DescribeProducers (API key 61): the producers that a partition remembers (KIP-664).
 */
import { array, int16, int32, int64, request, response, string, type Decoded, type Input } from '../schema.ts'

export const describeProducersRequest = request(61, {
  name: 'DescribeProducersRequest',
  versions: '0',
  flexible: '0+',
  fields: {
    topics: array('0+', {
      name: string('0+'),
      partitionIndexes: array('0+', 'int32'),
    }),
  },
})
export type DescribeProducersRequest = Decoded<typeof describeProducersRequest>
export type DescribeProducersRequestInput = Input<typeof describeProducersRequest>

export const describeProducersResponse = response(61, {
  name: 'DescribeProducersResponse',
  versions: '0',
  flexible: '0+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
        errorMessage: string('0+', { nullable: true, default: null }),
        activeProducers: array('0+', {
          producerId: int64('0+'),
          producerEpoch: int32('0+'),
          lastSequence: int32('0+', { default: -1 }),
          lastTimestamp: int64('0+', { default: -1 }),
          coordinatorEpoch: int32('0+', { about: '-1 if no marker was written.' }),
          currentTxnStartOffset: int64('0+', { default: -1, about: '-1 if no transaction is open.' }),
        }),
      }),
    }),
  },
})
export type DescribeProducersResponse = Decoded<typeof describeProducersResponse>
export type DescribeProducersResponseInput = Input<typeof describeProducersResponse>
