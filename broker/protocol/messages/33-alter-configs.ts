/**
 * AlterConfigs (API key 33): replaces all configs of a resource. IncrementalAlterConfigs is its successor.
 */
import { array, bool, int16, int32, int8, request, response, string, type Decoded, type Input } from '../schema.ts'

export const alterConfigsRequest = request(33, {
  name: 'AlterConfigsRequest',
  versions: '0-2',
  flexible: '2+',
  fields: {
    resources: array('0+', {
      resourceType: int8('0+', { about: '2: topic; 4: broker; 8: broker logger; 16: client metrics; 32: group.' }),
      resourceName: string('0+'),
      configs: array('0+', {
        name: string('0+'),
        value: string('0+', { nullable: true }),
      }),
    }),
    validateOnly: bool('0+'),
  },
})
export type AlterConfigsRequest = Decoded<typeof alterConfigsRequest>
export type AlterConfigsRequestInput = Input<typeof alterConfigsRequest>

export const alterConfigsResponse = response(33, {
  name: 'AlterConfigsResponse',
  versions: '0-2',
  flexible: '2+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    responses: array('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: true }),
      resourceType: int8('0+', { about: '2: topic; 4: broker; 8: broker logger; 16: client metrics; 32: group.' }),
      resourceName: string('0+'),
    }),
  },
})
export type AlterConfigsResponse = Decoded<typeof alterConfigsResponse>
export type AlterConfigsResponseInput = Input<typeof alterConfigsResponse>
