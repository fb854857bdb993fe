/**
 * IncrementalAlterConfigs (API key 44): changes single configs of resources (KIP-339).
 */
import { array, bool, int16, int32, int8, request, response, string, type Decoded, type Input } from '../schema.ts'

export const incrementalAlterConfigsRequest = request(44, {
  name: 'IncrementalAlterConfigsRequest',
  versions: '0-1',
  flexible: '1+',
  fields: {
    resources: array('0+', {
      resourceType: int8('0+', { about: '2: topic; 4: broker; 8: broker logger; 16: client metrics; 32: group.' }),
      resourceName: string('0+'),
      configs: array('0+', {
        name: string('0+'),
        configOperation: int8('0+', { about: '0: set; 1: delete; 2: append; 3: subtract.' }),
        value: string('0+', { nullable: true }),
      }),
    }),
    validateOnly: bool('0+'),
  },
})
export type IncrementalAlterConfigsRequest = Decoded<typeof incrementalAlterConfigsRequest>
export type IncrementalAlterConfigsRequestInput = Input<typeof incrementalAlterConfigsRequest>

export const incrementalAlterConfigsResponse = response(44, {
  name: 'IncrementalAlterConfigsResponse',
  versions: '0-1',
  flexible: '1+',
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
export type IncrementalAlterConfigsResponse = Decoded<typeof incrementalAlterConfigsResponse>
export type IncrementalAlterConfigsResponseInput = Input<typeof incrementalAlterConfigsResponse>
