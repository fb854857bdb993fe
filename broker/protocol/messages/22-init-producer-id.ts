/**
 * InitProducerId (API key 22): gives a producer its id and epoch, or raises the epoch of a transactional one.
 *
 * Version 3 lets a producer go on after an error by naming its id and epoch (KIP-360); version 6 adds two-phase commit
 * (KIP-939).
 */
import { bool, int16, int32, int64, request, response, string, type Decoded, type Input } from '../schema.ts'

export const initProducerIdRequest = request(22, {
  name: 'InitProducerIdRequest',
  versions: '0-6',
  flexible: '2+',
  fields: {
    transactionalId: string('0+', { nullable: true, about: 'Null for a producer that is idempotent only.' }),
    transactionTimeoutMs: int32('0+'),
    producerId: int64('3+', { default: -1, about: 'The id that the producer has, or -1.' }),
    producerEpoch: int16('3+', { default: -1, about: 'The epoch that the producer has, or -1.' }),
    enable2Pc: bool('6+', { about: 'True if an outside coordinator decides on the commit.' }),
    keepPreparedTxn: bool('6+', { about: 'True to go on with the prepared transaction.' }),
  },
})
export type InitProducerIdRequest = Decoded<typeof initProducerIdRequest>
export type InitProducerIdRequestInput = Input<typeof initProducerIdRequest>

export const initProducerIdResponse = response(22, {
  name: 'InitProducerIdResponse',
  versions: '0-6',
  flexible: '2+',
  fields: {
    throttleTimeMs: int32('0+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
    producerId: int64('0+', { default: -1 }),
    producerEpoch: int16('0+'),
    ongoingTxnProducerId: int64('6+', { default: -1, about: 'Of the prepared transaction that goes on, or -1.' }),
    ongoingTxnProducerEpoch: int16('6+', { default: -1, about: 'Of the prepared transaction that goes on, or -1.' }),
  },
})
export type InitProducerIdResponse = Decoded<typeof initProducerIdResponse>
export type InitProducerIdResponseInput = Input<typeof initProducerIdResponse>
