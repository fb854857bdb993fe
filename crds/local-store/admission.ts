import type { Kind, NewResource } from '../resource-store.ts'
import { StoreError } from '../resource-store.ts'
import { clientQuotaObjectName, isQuotaEntityType, orderedEntity, type QuotaEntityPart } from '../client-quota.ts'
import { groupConfigObjectName } from '../group-config.ts'
import { MAX_ENTRIES_PER_SLICE, NO_LEADER, parsePartitionKey } from '../partition-slice.ts'
import { topicNameProblem } from '../topic.ts'
import { isJsonObject, jsonEqual, type JsonObject, type JsonValue } from './json-value.ts'

/**
 * What the schemas and rules of the custom resource definitions check on a Kubernetes API server, checked here for the
 * local store: the shape of a `spec`, and which changes of one are allowed. Pure. Errors: Invalid.
 */
const MAX_PARTITIONS = 100_000
const MAX_REPLICAS = 32_767
const MAX_BROKER_ID = 2_147_483_647
const MAX_CONFIG_KEYS = 200
const MAX_CONFIG_TEXT = 10_000
const MAX_QUOTAS = 20
const MAX_QUOTA_NAME = 1000
const MAX_GROUP_ID = 1000
const TOPIC_ID = /^[A-Za-z0-9_-]{22}$/
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

export function hasStatusSubresource(kind: Kind): boolean {
  return kind === 'Topic' || kind === 'Broker'
}

/** Checks the name of an object that is to be created. */
export function checkObjectName(resource: NewResource<Kind>): void {
  const { name, namespace } = resource.metadata
  check(OBJECT_NAME.test(name) && name.length <= 253, `metadata.name '${name}' is no valid object name`)
  check(
    OBJECT_NAME.test(namespace) && namespace.length <= 63,
    `metadata.namespace '${namespace}' is no valid namespace`,
  )
}

/** Checks a whole object against its kind's schema, and a change of it against its kind's transition rules. */
export function checkResource(kind: Kind, object: JsonObject, before: JsonObject | undefined): void {
  const spec = object['spec']
  check(isJsonObject(spec), 'spec must be an object')
  const specBefore = isJsonObject(before?.['spec']) ? before['spec'] : undefined
  checkMetadata(object['metadata'])
  switch (kind) {
    case 'Topic':
      checkTopic(object, spec, specBefore)
      return
    case 'PartitionSlice':
      checkSlice(spec, specBefore)
      return
    case 'Broker':
      checkBroker(spec, specBefore)
      return
    case 'Cluster':
      checkCluster(spec, specBefore)
      return
    case 'ClientQuota':
      checkClientQuota(object, spec)
      return
    case 'GroupConfig':
      checkGroupConfig(object, spec)
  }
}

function checkMetadata(metadata: JsonValue | undefined): void {
  check(isJsonObject(metadata), 'metadata must be an object')
  for (const field of ['labels', 'annotations']) checkTextMap(metadata[field], `metadata.${field}`)
  const finalizers = metadata['finalizers']
  check(
    finalizers === undefined || (isArray(finalizers) && finalizers.length <= 16 && finalizers.every(isText)),
    'metadata.finalizers must be a list of texts',
  )
}

function checkTopic(object: JsonObject, spec: JsonObject, before: JsonObject | undefined): void {
  const metadata = object['metadata']
  const topicName = spec['topicName'] ?? (isJsonObject(metadata) ? metadata['name'] : undefined)
  check(isText(topicName), 'spec.topicName must be a text')
  const problem = topicNameProblem(topicName)
  check(problem === undefined, `spec.topicName: ${problem ?? ''}`)
  checkInteger(spec['partitions'], 'spec.partitions', 1, MAX_PARTITIONS)
  checkInteger(spec['replicas'], 'spec.replicas', 1, MAX_REPLICAS)
  check(isJsonObject(spec['config']), 'spec.config must be an object')
  checkTextMap(spec['config'], 'spec.config')
  const policy = spec['deletionPolicy']
  check(
    policy === undefined || policy === 'Delete' || policy === 'Retain',
    'spec.deletionPolicy must be Delete or Retain',
  )
  const assignments = spec['assignments']
  if (assignments !== undefined) {
    check(isArray(assignments) && assignments.length <= MAX_PARTITIONS, 'spec.assignments must be a list')
    for (const replicas of assignments) checkBrokerIds(replicas, 'spec.assignments', 1)
  }
  if (before === undefined) return
  check(before['topicName'] === spec['topicName'], 'spec.topicName is immutable')
  check(Number(before['partitions']) <= Number(spec['partitions']), 'spec.partitions can only grow')
}

function checkSlice(spec: JsonObject, before: JsonObject | undefined): void {
  checkInteger(spec['allocationEpoch'], 'spec.allocationEpoch', 0)
  const entries = spec['entries']
  check(isJsonObject(entries), 'spec.entries must be an object')
  const keys = Object.keys(entries)
  check(
    keys.length <= MAX_ENTRIES_PER_SLICE,
    `a slice has at most ${MAX_ENTRIES_PER_SLICE} entries, not ${keys.length}`,
  )
  const entriesBefore = isJsonObject(before?.['entries']) ? before['entries'] : undefined
  let isSameAllocation = true
  for (const key of keys) {
    const entry = entries[key]
    const entryBefore = entriesBefore?.[key]
    // What the patch did not touch is shared with the object before it, and was checked then.
    if (entry !== undefined && entry === entryBefore) continue
    check(parsePartitionKey(key) !== undefined, `spec.entries: '${key}' is not a topic name and a partition`)
    check(isJsonObject(entry), `spec.entries.${key} must be an object`)
    checkEntry(key, entry)
    if (isJsonObject(entryBefore)) checkTransition(key, entryBefore, entry)
    else isSameAllocation = false
  }
  if (before === undefined || entriesBefore === undefined) return
  if (Object.keys(entriesBefore).some((key) => !Object.hasOwn(entries, key))) isSameAllocation = false
  const [epochBefore, epoch] = [Number(before['allocationEpoch']), Number(spec['allocationEpoch'])]
  check(epoch >= epochBefore, 'spec.allocationEpoch can only grow')
  check(
    isSameAllocation || epoch > epochBefore,
    'spec.allocationEpoch must grow in a change that adds or removes entries',
  )
}

function checkEntry(key: string, entry: JsonObject): void {
  const at = `spec.entries.${key}`
  check(isText(entry['topicId']) && TOPIC_ID.test(entry['topicId']), `${at}.topicId must be 22 characters of base64url`)
  const replicas = checkBrokerIds(entry['replicas'], `${at}.replicas`, 1)
  const epochs = entry['brokerEpochs']
  check(
    isArray(epochs) && epochs.length === replicas.length && epochs.every((epoch) => isInteger(epoch, -1)),
    `${at}.brokerEpochs must have an epoch for each replica`,
  )
  checkInteger(entry['leader'], `${at}.leader`, NO_LEADER, MAX_BROKER_ID)
  checkInteger(entry['leaderEpoch'], `${at}.leaderEpoch`, 0, MAX_BROKER_ID)
  checkInteger(entry['partitionEpoch'], `${at}.partitionEpoch`, 0)
  checkInteger(entry['minIsr'], `${at}.minIsr`, 1, MAX_BROKER_ID)
  const isr = checkBrokerIds(entry['isr'], `${at}.isr`, 0)
  const elr = checkBrokerIds(entry['elr'], `${at}.elr`, 0)
  check(
    [...isr, ...elr].every((id) => replicas.includes(id)),
    `${at}: isr and elr must be replicas`,
  )
  check(!elr.some((id) => isr.includes(id)), `${at}: isr and elr must not overlap`)
  const leader = Number(entry['leader'])
  check(leader === NO_LEADER || isr.includes(leader), `${at}.leader must be -1 or a member of isr`)
  for (const field of ['addingReplicas', 'removingReplicas']) {
    if (entry[field] !== undefined) checkBrokerIds(entry[field], `${at}.${field}`, 0)
  }
  if (entry['unclean'] !== undefined) checkInteger(entry['unclean'], `${at}.unclean`, 0, MAX_BROKER_ID)
}

function checkTransition(key: string, before: JsonObject, entry: JsonObject): void {
  if (jsonEqual(before, entry)) return
  const at = `spec.entries.${key}`
  check(before['topicId'] === entry['topicId'], `${at}.topicId is immutable`)
  check(
    Number(entry['partitionEpoch']) > Number(before['partitionEpoch']),
    `${at}.partitionEpoch must grow with each change`,
  )
  check(Number(entry['leaderEpoch']) >= Number(before['leaderEpoch']), `${at}.leaderEpoch can't go back`)
}

function checkBroker(spec: JsonObject, before: JsonObject | undefined): void {
  checkInteger(spec['brokerId'], 'spec.brokerId', 0, MAX_BROKER_ID)
  const directoryId = spec['directoryId']
  check(directoryId === undefined || isText(directoryId), 'spec.directoryId must be a text')
  for (const field of ['cordoned', 'drain']) {
    check(spec[field] === undefined || typeof spec[field] === 'boolean', `spec.${field} must be true or false`)
  }
  checkTextMap(spec['config'], 'spec.config')
  if (before === undefined) return
  check(before['brokerId'] === spec['brokerId'], 'spec.brokerId is immutable')
}

function checkCluster(spec: JsonObject, before: JsonObject | undefined): void {
  check(isText(spec['clusterId']) && spec['clusterId'] !== '', 'spec.clusterId must be a text')
  checkInteger(spec['brokers'], 'spec.brokers', 1, MAX_BROKER_ID)
  check(isJsonObject(spec['config']), 'spec.config must be an object')
  checkTextMap(spec['config'], 'spec.config')
  checkInteger(spec['nextProducerId'], 'spec.nextProducerId', 0)
  if (before === undefined) return
  check(before['clusterId'] === spec['clusterId'], 'spec.clusterId is immutable')
  check(Number(before['nextProducerId']) <= Number(spec['nextProducerId']), 'spec.nextProducerId can only grow')
}

function checkClientQuota(object: JsonObject, spec: JsonObject): void {
  const entity = spec['entity']
  check(isArray(entity) && entity.length > 0 && entity.length <= 2, 'spec.entity must have one or two parts')
  const parts: QuotaEntityPart[] = []
  for (const part of entity) {
    check(isJsonObject(part), 'spec.entity must hold objects')
    const { type, name } = part
    check(isText(type) && isQuotaEntityType(type), 'spec.entity.type must be user, client-id or ip')
    check(name === undefined || (isText(name) && name.length <= MAX_QUOTA_NAME), 'spec.entity.name must be a text')
    parts.push({ type, ...(name !== undefined && { name }) })
  }
  const types = parts.map(({ type }) => type)
  check(new Set(types).size === types.length, 'spec.entity names a type twice')
  check(!types.includes('ip') || types.length === 1, 'spec.entity: an ip stands alone')
  check(
    types.join() ===
      orderedEntity(parts)
        .map(({ type }) => type)
        .join(),
    'spec.entity must be in the order user, client-id',
  )
  const quotas = spec['quotas']
  check(isJsonObject(quotas), 'spec.quotas must be an object')
  const values = Object.values(quotas)
  check(
    values.length <= MAX_QUOTAS && values.every((value) => typeof value === 'number' && value > 0),
    'spec.quotas must be positive numbers',
  )
  checkNamedBy(object, clientQuotaObjectName(parts))
}

function checkGroupConfig(object: JsonObject, spec: JsonObject): void {
  const groupId = spec['groupId']
  check(isText(groupId) && groupId !== '' && groupId.length <= MAX_GROUP_ID, 'spec.groupId must be a text')
  check(isJsonObject(spec['config']), 'spec.config must be an object')
  checkTextMap(spec['config'], 'spec.config')
  checkNamedBy(object, groupConfigObjectName(groupId))
}

/** A name that follows from the spec makes what it follows from unique and immutable. */
function checkNamedBy(object: JsonObject, expected: string): void {
  const metadata = object['metadata']
  check(isJsonObject(metadata) && metadata['name'] === expected, `metadata.name must be ${expected}`)
}

function checkBrokerIds(value: JsonValue | undefined, at: string, minLength: number): readonly number[] {
  check(
    isArray(value) && value.length >= minLength && value.length <= MAX_REPLICAS,
    `${at} must be a list of broker ids`,
  )
  const ids = value.filter((id): id is number => isInteger(id, 0) && id <= MAX_BROKER_ID)
  check(ids.length === value.length && new Set(ids).size === ids.length, `${at} must be distinct broker ids`)
  return ids
}

function checkTextMap(value: JsonValue | undefined, at: string): void {
  if (value === undefined) return
  check(isJsonObject(value), `${at} must be an object`)
  const members = Object.values(value)
  check(members.length <= MAX_CONFIG_KEYS, `${at} has at most ${MAX_CONFIG_KEYS} keys`)
  check(
    members.every((member) => isText(member) && member.length <= MAX_CONFIG_TEXT),
    `${at} must have texts of at most ${MAX_CONFIG_TEXT} characters`,
  )
}

function checkInteger(value: JsonValue | undefined, at: string, min: number, max = Number.MAX_SAFE_INTEGER): void {
  check(isInteger(value, min) && value <= max, `${at} must be an integer from ${min} to ${max}`)
}

function isInteger(value: JsonValue | undefined, min: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= min
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string'
}

function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}

function check(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new StoreError('Invalid', problem)
}
