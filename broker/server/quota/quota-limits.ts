/** Which limit of one quota is in force for a client: the most specific that is set, in Kafka's order. */
import type { QuotaEntityPart } from '../../../crds/client-quota.ts'

export interface EffectiveLimit {
  readonly limit: number
  /** Who shares the limit: a user on its own, a client id on its own, or the two together; empty where it plays no part. */
  readonly user: string
  readonly clientId: string
}

/** The default entity of a type. */
const DEFAULT = Symbol('default')
/** The type plays no part in the entity. */
const NONE = Symbol('none')
type Part = string | typeof DEFAULT | typeof NONE

export class QuotaLimits {
  readonly #limits = new Map<Part, Map<Part, number>>()

  get isEmpty(): boolean {
    return this.#limits.size === 0
  }

  /** `entity`: a user, a client id, or both. */
  add(entity: readonly QuotaEntityPart[], limit: number): void {
    const partOf = (type: QuotaEntityPart['type']): Part => {
      const part = entity.find((each) => each.type === type)
      return part === undefined ? NONE : (part.name ?? DEFAULT)
    }
    const user = partOf('user')
    const ofUser = this.#limits.get(user) ?? new Map<Part, number>()
    this.#limits.set(user, ofUser.set(partOf('client-id'), limit))
  }

  /** Clients without an id are not reached by quotas of client ids, as in Kafka. */
  find(user: string, clientId: string): EffectiveLimit | undefined {
    for (const userPart of [user, DEFAULT] as const) {
      const ofUser = this.#limits.get(userPart)
      if (ofUser === undefined) continue
      const together = clientId === '' ? undefined : (ofUser.get(clientId) ?? ofUser.get(DEFAULT))
      if (together !== undefined) return { limit: together, user, clientId }
      const alone = ofUser.get(NONE)
      if (alone !== undefined) return { limit: alone, user, clientId: '' }
    }
    const ofClients = clientId === '' ? undefined : this.#limits.get(NONE)
    const limit = ofClients?.get(clientId) ?? ofClients?.get(DEFAULT)
    return limit === undefined ? undefined : { limit, user: '', clientId }
  }
}
