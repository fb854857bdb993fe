/**
 * DeleteTopics (API key 20): deletes topics: by name up to version 5, by name or id from 6 on.
 */
import { array, int16, int32, request, response, string, uuid, type Decoded, type Input } from '../schema.ts'

export const deleteTopicsRequest = request(20, {
  name: 'DeleteTopicsRequest',
  versions: '1-6',
  flexible: '4+',
  fields: {
    topics: array('6+', {
      name: string('6+', { nullable: true, default: null, about: 'Null if the topic is named by id.' }),
      topicId: uuid('6+'),
    }),
    topicNames: array('0-5', 'string', { ignorable: true }),
    timeoutMs: int32('0+'),
  },
})
export type DeleteTopicsRequest = Decoded<typeof deleteTopicsRequest>
export type DeleteTopicsRequestInput = Input<typeof deleteTopicsRequest>

export const deleteTopicsResponse = response(20, {
  name: 'DeleteTopicsResponse',
  versions: '1-6',
  flexible: '4+',
  fields: {
    throttleTimeMs: int32('1+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    responses: array('0+', {
      name: string('0+', { nullable: '6+', about: 'Null if the topic was named by an unknown id.' }),
      topicId: uuid('6+', { ignorable: true }),
      errorCode: int16('0+'),
      errorMessage: string('5+', { nullable: true, default: null, ignorable: true }),
    }),
  },
})
export type DeleteTopicsResponse = Decoded<typeof deleteTopicsResponse>
export type DeleteTopicsResponseInput = Input<typeof deleteTopicsResponse>
