/** The quotas that can be set, for whom, and what their values may be; with Kafka's sentences for what can't be set. Pure. */
import { isIP } from 'node:net'
import { isQuotaEntityType, orderedEntity, type QuotaEntityPart } from '../../../crds/client-quota.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'

export type ClientQuotaKey =
  'producer_byte_rate' | 'consumer_byte_rate' | 'request_percentage' | 'controller_mutation_rate'
export type IpQuotaKey = 'connection_creation_rate'

type NumberType = 'INT' | 'LONG' | 'DOUBLE'

const CLIENT_QUOTAS: Readonly<Record<ClientQuotaKey, NumberType>> = {
  producer_byte_rate: 'LONG',
  consumer_byte_rate: 'LONG',
  request_percentage: 'DOUBLE',
  controller_mutation_rate: 'DOUBLE',
}
const IP_QUOTAS: Readonly<Record<IpQuotaKey, NumberType>> = { connection_creation_rate: 'INT' }

const MAX_NAME_LENGTH = 1000
const MAX_VALUES: Readonly<Record<NumberType, number>> = { INT: 2 ** 31 - 1, LONG: 2 ** 63, DOUBLE: Number.MAX_VALUE }

export interface EntityComponent {
  readonly entityType: string
  /** Null: the default of the type. */
  readonly entityName: string | null
}

/** The entity that a request names, in the order in which it is kept. Throws `KafkaError`. */
export function checkedEntity(components: readonly EntityComponent[]): readonly QuotaEntityPart[] {
  if (components.length === 0) throw invalidRequest('Invalid empty client quota entity')
  const parts = components.map(({ entityType, entityName }): QuotaEntityPart => {
    if (!isQuotaEntityType(entityType)) throw invalidRequest(`Unhandled client quota entity type: ${entityType}`)
    if ((entityName?.length ?? 0) > MAX_NAME_LENGTH) {
      throw invalidRequest(`The name of a ${entityType} with quotas has at most ${MAX_NAME_LENGTH} characters`)
    }
    if (entityName === '') throw invalidRequest(`Empty ${entityType} not supported`)
    return { type: entityType, ...(entityName !== null && { name: entityName }) }
  })
  const types = parts.map(({ type }) => type)
  const repeated = types.find((type, i) => types.indexOf(type) !== i)
  if (repeated !== undefined) {
    throw invalidRequest(`Invalid client quota entity, duplicate entity entry ${repeated}`)
  }
  const address = parts.find(({ type }) => type === 'ip')
  if (address !== undefined && parts.length > 1) {
    throw invalidRequest('Invalid quota entity combination, IP entity should not be combined with User or ClientId')
  }
  if (address?.name !== undefined && isIP(address.name) === 0) {
    throw invalidRequest(`${address.name} is not a valid IP address.`)
  }
  return orderedEntity(parts)
}

/** Checks that a quota can be set for an entity, and to this value. Throws `KafkaError`. */
export function checkQuota(entity: readonly QuotaEntityPart[], key: string, value: number): void {
  const quotas: Readonly<Partial<Record<string, NumberType>>> = entity[0]?.type === 'ip' ? IP_QUOTAS : CLIENT_QUOTAS
  const type = Object.hasOwn(quotas, key) ? quotas[key] : undefined
  if (type === undefined) throw invalidRequest(`Invalid configuration key ${key}`)
  if (!(value > 0)) throw invalidRequest(`Quota ${key} must be greater than 0`)
  if (value > MAX_VALUES[type]) {
    throw invalidRequest(`Proposed value for ${key} is too large for ${type === 'INT' ? 'an INT' : `a ${type}`}.`)
  }
  if (type !== 'DOUBLE' && Math.abs(value % 1) > 1e-6) throw invalidRequest(`${key} cannot be a fractional value.`)
}

export function invalidRequest(message: string): KafkaError {
  return new KafkaError(ErrorCode.INVALID_REQUEST, message)
}
