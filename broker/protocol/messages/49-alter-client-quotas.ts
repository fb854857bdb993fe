/**
 * AlterClientQuotas (API key 49): changes the quotas of users and clients (KIP-546).
 */
import { array, bool, float64, int16, int32, request, response, string, type Decoded, type Input } from '../schema.ts'

export const alterClientQuotasRequest = request(49, {
  name: 'AlterClientQuotasRequest',
  versions: '0-1',
  flexible: '1+',
  fields: {
    entries: array('0+', {
      entity: array('0+', {
        entityType: string('0+', { about: "'user', 'client-id' or 'ip'." }),
        entityName: string('0+', { nullable: true, about: 'Null for the default entity.' }),
      }),
      ops: array('0+', {
        key: string('0+'),
        value: float64('0+'),
        remove: bool('0+'),
      }),
    }),
    validateOnly: bool('0+'),
  },
})
export type AlterClientQuotasRequest = Decoded<typeof alterClientQuotasRequest>
export type AlterClientQuotasRequestInput = Input<typeof alterClientQuotasRequest>

export const alterClientQuotasResponse = response(49, {
  name: 'AlterClientQuotasResponse',
  versions: '0-1',
  flexible: '1+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    entries: array('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: true }),
      entity: array('0+', {
        entityType: string('0+', { about: "'user', 'client-id' or 'ip'." }),
        entityName: string('0+', { nullable: true, about: 'Null for the default entity.' }),
      }),
    }),
  },
})
export type AlterClientQuotasResponse = Decoded<typeof alterClientQuotasResponse>
export type AlterClientQuotasResponseInput = Input<typeof alterClientQuotasResponse>
