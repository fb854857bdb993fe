import { StoreError } from '../resource-store.ts'

/** JSON as the store keeps it: deeply frozen, without undefined members. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined
}

const MAX_DEPTH = 32

/**
 * A deeply frozen copy of `value` with what JSON would keep of it. Errors: Invalid for what JSON can't hold, for nesting
 * beyond 32 levels, and for a member named `__proto__`.
 */
export function frozenCopy(value: unknown, depth = 0): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new StoreError('Invalid', `a number must be finite, not ${value}`)
    return value
  }
  if (typeof value !== 'object') throw new StoreError('Invalid', `JSON can't hold a value of type ${typeof value}`)
  if (depth >= MAX_DEPTH) throw new StoreError('Invalid', `more than ${MAX_DEPTH} levels of nesting`)
  if (Array.isArray(value)) return Object.freeze(value.map((item: unknown) => frozenCopy(item, depth + 1)))
  const copy: Record<string, JsonValue> = {}
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    checkKey(key)
    copy[key] = frozenCopy(member, depth + 1)
  }
  return Object.freeze(copy)
}

/** Freezes what `JSON.parse` returned, all the way down. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const member of Object.values(value)) deepFreeze(member)
    Object.freeze(value)
  }
  return value
}

/** A member of this name would change an object's prototype instead of being stored. */
export function checkKey(key: string): void {
  if (key === '__proto__') throw new StoreError('Invalid', `'__proto__' can't be the name of a member`)
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Deep equality of JSON; the order of an object's members means nothing, and a member that is undefined is absent. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => jsonEqual(item, b[index]))
    )
  }
  const other = new Map<string, unknown>(Object.entries(b))
  let members = 0
  for (const [key, member] of Object.entries(a)) {
    if (member === undefined) continue
    members++
    if (!jsonEqual(member, other.get(key))) return false
  }
  for (const member of other.values()) if (member !== undefined) members--
  return members === 0
}
