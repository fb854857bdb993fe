/** Quotas as Kafka's admin clients list and change them (KIP-546); they are ClientQuota resources, one an entity. */
import type { Timers } from '../../../common/timers.ts'
import {
  clientQuotaObjectName,
  QUOTA_ENTITY_TYPES,
  type ClientQuota,
  type QuotaEntityPart,
} from '../../../crds/client-quota.ts'
import { LOCAL_NAMESPACE } from '../../../crds/resource.ts'
import type { ResourceStore } from '../../../crds/resource-store.ts'
import type { MetadataCache } from '../../metadata/metadata-cache.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import { outcomeOf, VISIBLE_TIMEOUT_MS, type AdminOutcome } from '../admin-outcome.ts'
import { CreationLimit } from '../creation-limit.ts'
import { duplicatesOf } from '../duplicates.ts'
import { againOnRaces } from '../store-races.ts'
import { checkedEntity, checkQuota, invalidRequest, type EntityComponent } from './quota-keys.ts'

export interface QuotaFilter {
  readonly entityType: string
  readonly matchType: number
  readonly match: string | null
}

export interface QuotaOperation {
  readonly key: string
  readonly value: number
  readonly remove: boolean
}

export interface QuotaAlteration {
  readonly entity: readonly EntityComponent[]
  readonly ops: readonly QuotaOperation[]
}

interface Dependencies {
  readonly store: ResourceStore
  readonly metadata: MetadataCache
  readonly timers: Timers
}

type Quotas = Readonly<Record<string, number>>

const EXACT = 0
const DEFAULT = 1
const SPECIFIED = 2
/** Far more than anybody configures. */
const MAX_ENTITIES = 10_000

export class QuotaAdmin {
  readonly #dependencies: Dependencies
  readonly #limit = new CreationLimit(MAX_ENTITIES, 'users, client ids and addresses that have quotas')

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** The quotas of the entities that fit all filters, and have no other parts if `isStrict`. Throws `KafkaError`. */
  describe(filters: readonly QuotaFilter[], isStrict: boolean): ClientQuota['spec'][] {
    checkFilters(filters)
    const found: ClientQuota['spec'][] = []
    for (const { spec } of this.#dependencies.metadata.clientQuotas()) {
      if (isStrict && spec.entity.length !== filters.length) continue
      if (filters.every((filter) => spec.entity.some((part) => fits(part, filter)))) found.push(spec)
    }
    return found
  }

  /** Changes the quotas of each entity; one outcome an entity, in order. */
  async alter(alterations: readonly QuotaAlteration[], isValidateOnly: boolean): Promise<AdminOutcome[]> {
    const identities = alterations.map(({ entity }) =>
      JSON.stringify([...entity.map(({ entityType, entityName }) => [entityType, entityName])].sort()),
    )
    const duplicates = duplicatesOf(identities)
    return Promise.all(
      alterations.map((alteration, i) =>
        outcomeOf(async () => {
          if (duplicates.has(identities[i] ?? '')) throw invalidRequest('Ignoring duplicate entity')
          await this.#alterOne(alteration, isValidateOnly)
        }),
      ),
    )
  }

  async #alterOne({ entity: components, ops }: QuotaAlteration, isValidateOnly: boolean): Promise<void> {
    const entity = checkedEntity(components)
    const [repeated] = duplicatesOf(ops.map(({ key }) => key))
    if (repeated !== undefined) throw invalidRequest(`Duplicate quota key ${repeated}`)
    for (const { key, value, remove } of ops) if (!remove) checkQuota(entity, key, value)
    if (isValidateOnly) return
    const { metadata, timers } = this.#dependencies
    const name = clientQuotaObjectName(entity)
    let giveBack: (() => void) | undefined
    const takePlace = (): void => {
      giveBack ??= this.#limit.take(metadata.clientQuotaCount)
    }
    try {
      const settled = await againOnRaces(() => this.#write(name, entity, ops, takePlace))
      // So that a client that asks next, on this broker, sees what it changed.
      await metadata.waitFor(() => sameQuotas(metadata.clientQuota(name)?.spec.quotas ?? {}, settled), {
        timers,
        timeoutMs: VISIBLE_TIMEOUT_MS,
      })
    } finally {
      giveBack?.()
    }
  }

  /** `takePlace`: called before an entity gets its first quota. Returns what quotas the entity has now. */
  async #write(
    name: string,
    entity: readonly QuotaEntityPart[],
    ops: readonly QuotaOperation[],
    takePlace: () => void,
  ): Promise<Quotas> {
    const { store } = this.#dependencies
    const ref = { namespace: LOCAL_NAMESPACE, name }
    const object = await store.get('ClientQuota', ref)
    const before = object?.spec.quotas ?? {}
    const quotas = changed(before, ops)
    if (sameQuotas(before, quotas)) return quotas
    if (object === undefined) {
      takePlace()
      await store.create({ kind: 'ClientQuota', metadata: ref, spec: { entity, quotas } })
    } else if (Object.keys(quotas).length === 0) {
      await store.delete('ClientQuota', ref, { resourceVersion: object.metadata.resourceVersion })
    } else {
      await store.patch('ClientQuota', ref, [
        { op: 'test', path: '/spec/quotas', value: before },
        { op: 'replace', path: '/spec/quotas', value: quotas },
      ])
    }
    return quotas
  }
}

function changed(before: Quotas, ops: readonly QuotaOperation[]): Quotas {
  const quotas = new Map(Object.entries(before))
  for (const { key, value, remove } of ops) {
    if (remove) quotas.delete(key)
    else quotas.set(key, value)
  }
  return Object.fromEntries(quotas)
}

function sameQuotas(a: Quotas, b: Quotas): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}

function checkFilters(filters: readonly QuotaFilter[]): void {
  for (const { entityType, matchType, match } of filters) {
    if (entityType === '') throw invalidRequest('Invalid empty entity type.')
    if (!QUOTA_ENTITY_TYPES.some((type) => type === entityType)) {
      throw new KafkaError(ErrorCode.UNSUPPORTED_VERSION, `Unsupported entity type ${entityType}`)
    }
    if (matchType === EXACT) {
      if (match === null) throw invalidRequest('Request specified MATCH_TYPE_EXACT, but set match string to null.')
    } else if (matchType === DEFAULT || matchType === SPECIFIED) {
      const name = matchType === DEFAULT ? 'MATCH_TYPE_DEFAULT' : 'MATCH_TYPE_SPECIFIED'
      if (match !== null) throw invalidRequest(`Request specified ${name}, but also specified a match string.`)
    } else throw invalidRequest(`Unknown match type ${matchType}`)
  }
  const types = filters.map(({ entityType }) => entityType)
  const [repeated] = duplicatesOf(types)
  if (repeated !== undefined) {
    throw invalidRequest(`Entity type ${repeated} cannot appear more than once in the filter.`)
  }
  if (types.includes('ip') && types.length > 1) {
    throw invalidRequest(
      'Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.',
    )
  }
}

function fits({ type, name }: QuotaEntityPart, { entityType, matchType, match }: QuotaFilter): boolean {
  if (type !== entityType) return false
  if (matchType === SPECIFIED) return true
  return matchType === DEFAULT ? name === undefined : name === match
}
