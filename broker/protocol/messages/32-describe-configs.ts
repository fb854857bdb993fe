/**
 * DescribeConfigs (API key 32): the configs of topics, brokers and groups, with where each value comes from.
 */
import { array, bool, int16, int32, int8, request, response, string, type Decoded, type Input } from '../schema.ts'

export const describeConfigsRequest = request(32, {
  name: 'DescribeConfigsRequest',
  versions: '1-4',
  flexible: '4+',
  fields: {
    resources: array('0+', {
      resourceType: int8('0+', { about: '2: topic; 4: broker; 8: broker logger; 16: client metrics; 32: group.' }),
      resourceName: string('0+'),
      configurationKeys: array('0+', 'string', { nullable: true, about: 'Null for all.' }),
    }),
    includeSynonyms: bool('1+'),
    includeDocumentation: bool('3+'),
  },
})
export type DescribeConfigsRequest = Decoded<typeof describeConfigsRequest>
export type DescribeConfigsRequestInput = Input<typeof describeConfigsRequest>

export const describeConfigsResponse = response(32, {
  name: 'DescribeConfigsResponse',
  versions: '1-4',
  flexible: '4+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    results: array('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: true }),
      resourceType: int8('0+', { about: '2: topic; 4: broker; 8: broker logger; 16: client metrics; 32: group.' }),
      resourceName: string('0+'),
      configs: array('0+', {
        name: string('0+'),
        value: string('0+', { nullable: true, about: 'Null if sensitive.' }),
        readOnly: bool('0+'),
        configSource: int8('1+', {
          default: -1,
          ignorable: true,
          about: '1: topic; 2: broker; 3: default of all brokers; 4: static; 5: built in.',
        }),
        isSensitive: bool('0+'),
        synonyms: array(
          '1+',
          {
            name: string('1+'),
            value: string('1+', { nullable: true }),
            source: int8('1+'),
          },
          { ignorable: true, about: 'All values that the config could have, the one in force first.' },
        ),
        configType: int8('3+', {
          ignorable: true,
          about: '1: boolean; 2: string; 3: int; 4: short; 5: long; 6: double; 7: list; 8: class; 9: password.',
        }),
        documentation: string('3+', { nullable: true, ignorable: true }),
      }),
    }),
  },
})
export type DescribeConfigsResponse = Decoded<typeof describeConfigsResponse>
export type DescribeConfigsResponseInput = Input<typeof describeConfigsResponse>
