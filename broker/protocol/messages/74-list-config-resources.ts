/**
 * ListConfigResources (API key 74): the names of the resources that have configs (KIP-1142). Version 0 lists those of
 * client metrics only.
 */
import { array, int16, int32, int8, request, response, string, type Decoded, type Input } from '../schema.ts'

export const listConfigResourcesRequest = request(74, {
  name: 'ListConfigResourcesRequest',
  versions: '0-1',
  flexible: '0+',
  fields: {
    resourceTypes: array('1+', 'int8', { about: 'Empty for all types.' }),
  },
})
export type ListConfigResourcesRequest = Decoded<typeof listConfigResourcesRequest>
export type ListConfigResourcesRequestInput = Input<typeof listConfigResourcesRequest>

export const listConfigResourcesResponse = response(74, {
  name: 'ListConfigResourcesResponse',
  versions: '0-1',
  flexible: '0+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
    configResources: array('0+', {
      resourceName: string('0+'),
      resourceType: int8('1+', {
        default: 16,
        ignorable: true,
        about: '2: topic; 4: broker; 8: broker logger; 16: client metrics; 32: group.',
      }),
    }),
  },
})
export type ListConfigResourcesResponse = Decoded<typeof listConfigResourcesResponse>
export type ListConfigResourcesResponseInput = Input<typeof listConfigResourcesResponse>
