import { createHash } from 'node:crypto'
import type { Resource } from './resource.ts'

/** What a quota can be set for, by the names that Kafka's quota APIs use. */
export const QUOTA_ENTITY_TYPES = ['user', 'client-id', 'ip'] as const
export type QuotaEntityType = (typeof QUOTA_ENTITY_TYPES)[number]

/** One part of whom a quota is for; without a name it is the default of its type. */
export interface QuotaEntityPart {
  readonly type: QuotaEntityType
  readonly name?: string
}

/** The quotas of one entity: a user, a client id, both together, or an address, or a default of these (KIP-546). */
export interface ClientQuotaSpec {
  /** In the order of {@link QUOTA_ENTITY_TYPES}; each type at most once; immutable. */
  readonly entity: readonly QuotaEntityPart[]
  /** By Kafka's name, such as `producer_byte_rate`. */
  readonly quotas: Readonly<Record<string, number>>
}

export type ClientQuota = Resource<'ClientQuota', ClientQuotaSpec, never>

/** The object name for an entity: a pure function of it, so that an entity can't belong to two objects. */
export function clientQuotaObjectName(entity: readonly QuotaEntityPart[]): string {
  const identity = JSON.stringify(entity.map(({ type, name }) => [type, name ?? null]))
  return `quota-${createHash('sha256').update(identity).digest('hex').slice(0, 32)}`
}

/** The parts in the order in which they are kept. */
export function orderedEntity(entity: readonly QuotaEntityPart[]): readonly QuotaEntityPart[] {
  const rank = ({ type }: QuotaEntityPart): number => QUOTA_ENTITY_TYPES.indexOf(type)
  return [...entity].sort((a, b) => rank(a) - rank(b))
}

export function isQuotaEntityType(type: string): type is QuotaEntityType {
  return QUOTA_ENTITY_TYPES.some((known) => known === type)
}
