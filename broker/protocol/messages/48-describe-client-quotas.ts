/**
 * DescribeClientQuotas (API key 48): the quotas of users and clients (KIP-546).
 */
import {
  array,
  bool,
  float64,
  int16,
  int32,
  int8,
  request,
  response,
  string,
  type Decoded,
  type Input,
} from '../schema.ts'

export const describeClientQuotasRequest = request(48, {
  name: 'DescribeClientQuotasRequest',
  versions: '0-1',
  flexible: '1+',
  fields: {
    components: array('0+', {
      entityType: string('0+', { about: "'user', 'client-id' or 'ip'." }),
      matchType: int8('0+', { about: '0: the exact name; 1: the default entity; 2: any name.' }),
      match: string('0+', { nullable: true, about: 'Null unless an exact name is asked for.' }),
    }),
    strict: bool('0+', { about: 'True to leave out entities with other components than those asked for.' }),
  },
})
export type DescribeClientQuotasRequest = Decoded<typeof describeClientQuotasRequest>
export type DescribeClientQuotasRequestInput = Input<typeof describeClientQuotasRequest>

export const describeClientQuotasResponse = response(48, {
  name: 'DescribeClientQuotasResponse',
  versions: '0-1',
  flexible: '1+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: true }),
    entries: array(
      '0+',
      {
        entity: array('0+', {
          entityType: string('0+', { about: "'user', 'client-id' or 'ip'." }),
          entityName: string('0+', { nullable: true, about: 'Null for the default entity.' }),
        }),
        values: array('0+', {
          key: string('0+'),
          value: float64('0+'),
        }),
      },
      { nullable: true, about: 'Null on an error.' },
    ),
  },
})
export type DescribeClientQuotasResponse = Decoded<typeof describeClientQuotasResponse>
export type DescribeClientQuotasResponseInput = Input<typeof describeClientQuotasResponse>
