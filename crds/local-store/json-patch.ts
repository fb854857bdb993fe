import { StoreError, type PatchOperation } from '../resource-store.ts'
import { checkKey, frozenCopy, isJsonObject, jsonEqual, type JsonObject, type JsonValue } from './json-value.ts'

/**
 * RFC 6902 as the Kubernetes API server applies it (which follows its JSON-patch library, not the letter of the RFC):
 * `add` on an existing member replaces it, `replace` of a missing member adds it, and `test` of a missing member against
 * null passes. `move` and `copy` are not used and not supported.
 *
 * The document is not changed: the result shares with it whatever the patch did not touch.
 */
const MAX_OPERATIONS = 10_000

/** Applies all operations. Errors: Invalid, when one can't be applied or a `test` fails. */
export function applyPatch(document: JsonObject, operations: readonly PatchOperation[]): JsonObject {
  if (operations.length > MAX_OPERATIONS) {
    throw new StoreError('Invalid', `a patch has at most ${MAX_OPERATIONS} operations, not ${operations.length}`)
  }
  let result: JsonValue = document
  for (const operation of operations) {
    const path = parsePointer(operation.path)
    if (operation.op === 'test') test(result, operation.path, path, operation.value)
    else result = change(result, operation, path, 0)
  }
  if (!isJsonObject(result)) throw new StoreError('Invalid', 'the patched document is no object')
  return result
}

function parsePointer(pointer: string): string[] {
  if (!pointer.startsWith('/')) throw new StoreError('Invalid', `a patch path starts with '/', not '${pointer}'`)
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function test(document: JsonValue, pointer: string, path: readonly string[], expected: unknown): void {
  let found: JsonValue | undefined = document
  for (const [depth, token] of path.entries()) {
    found = child(found, token)
    if (found === undefined && depth < path.length - 1) {
      throw new StoreError('Invalid', `test failed: there is nothing at ${pointer}`)
    }
  }
  if (found === undefined && expected === null) return
  if (!jsonEqual(found, expected)) throw new StoreError('Invalid', `test failed: ${pointer} has another value`)
}

function child(parent: JsonValue | undefined, token: string): JsonValue | undefined {
  if (Array.isArray(parent)) return (parent as readonly JsonValue[])[arrayIndex(token) ?? -1]
  return isJsonObject(parent) && Object.hasOwn(parent, token) ? parent[token] : undefined
}

function arrayIndex(token: string): number | undefined {
  return /^(0|[1-9]\d{0,8})$/.test(token) ? Number(token) : undefined
}

type Change = Exclude<PatchOperation, { op: 'test' }>

/** A copy of `node` in which the member at `path[depth...]` is changed. */
function change(node: JsonValue, operation: Change, path: readonly string[], depth: number): JsonValue {
  const token = path[depth] ?? ''
  const isLeaf = depth === path.length - 1
  if (Array.isArray(node)) return changeArray(node as readonly JsonValue[], operation, path, depth, token, isLeaf)
  if (!isJsonObject(node))
    throw new StoreError('Invalid', `can't ${operation.op} ${operation.path}: its parent is missing`)
  checkKey(token)
  const existing = child(node, token)
  if (!isLeaf) {
    if (existing === undefined) {
      throw new StoreError('Invalid', `can't ${operation.op} ${operation.path}: its parent is missing`)
    }
    return Object.freeze({ ...node, [token]: change(existing, operation, path, depth + 1) })
  }
  if (operation.op === 'remove') {
    if (existing === undefined) throw new StoreError('Invalid', `can't remove ${operation.path}: it is missing`)
    return Object.freeze(Object.fromEntries(Object.entries(node).filter(([key]) => key !== token)))
  }
  return Object.freeze({ ...node, [token]: frozenCopy(operation.value) })
}

function changeArray(
  node: readonly JsonValue[],
  operation: Change,
  path: readonly string[],
  depth: number,
  token: string,
  isLeaf: boolean,
): JsonValue {
  const index = isLeaf && operation.op === 'add' && token === '-' ? node.length : arrayIndex(token)
  const end = isLeaf && operation.op === 'add' ? node.length : node.length - 1
  if (index === undefined || index > end) {
    throw new StoreError('Invalid', `can't ${operation.op} ${operation.path}: there is no such index`)
  }
  const copy = [...node]
  if (!isLeaf) copy[index] = change(node[index] ?? null, operation, path, depth + 1)
  else if (operation.op === 'remove') copy.splice(index, 1)
  else copy.splice(index, operation.op === 'add' ? 0 : 1, frozenCopy(operation.value))
  return Object.freeze(copy)
}
