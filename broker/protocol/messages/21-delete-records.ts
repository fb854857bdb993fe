/**
 * DeleteRecords (API key 21): moves the log start offset of partitions forward.
 */
import { array, int16, int32, int64, request, response, string, type Decoded, type Input } from '../schema.ts'

export const deleteRecordsRequest = request(21, {
  name: 'DeleteRecordsRequest',
  versions: '0-2',
  flexible: '2+',
  fields: {
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        offset: int64('0+', { about: 'The new log start offset, or -1 for the high watermark.' }),
      }),
    }),
    timeoutMs: int32('0+'),
  },
})
export type DeleteRecordsRequest = Decoded<typeof deleteRecordsRequest>
export type DeleteRecordsRequestInput = Input<typeof deleteRecordsRequest>

export const deleteRecordsResponse = response(21, {
  name: 'DeleteRecordsResponse',
  versions: '0-2',
  flexible: '2+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        lowWatermark: int64('0+', { about: 'The smallest log start offset of the live replicas.' }),
        errorCode: int16('0+'),
      }),
    }),
  },
})
export type DeleteRecordsResponse = Decoded<typeof deleteRecordsResponse>
export type DeleteRecordsResponseInput = Input<typeof deleteRecordsResponse>
