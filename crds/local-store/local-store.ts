import type { Clock } from '../../common/clock.ts'
import type { Disk } from '../../common/disk.ts'
import type { Logger } from '../../common/logger.ts'
import type { Random } from '../../common/random.ts'
import { API_VERSION, type ObjectRef } from '../resource.ts'
import {
  StoreError,
  type Kind,
  type Kinds,
  type NewResource,
  type PatchOperation,
  type ResourceStore,
  type Watch,
  type WatchEvent,
} from '../resource-store.ts'
import { checkObjectName, checkResource, hasStatusSubresource } from './admission.ts'
import { Journal, type SnapshotState } from './journal.ts'
import { applyPatch } from './json-patch.ts'
import { deepFreeze, frozenCopy, isJsonObject, jsonEqual, type JsonObject } from './json-value.ts'

/**
 * The local {@link ResourceStore}: all objects in memory, every change in a journal that is synced before the change is
 * answered or shown to anyone.
 *
 * There are two states. *Working* holds every accepted change; new changes are decided against it. *Committed* holds what
 * is durable; reads and watches see only that. Changes that arrive while one batch is being synced form the next batch,
 * so that any number of writers share an fsync. A refusal that was decided against a change that is not committed yet
 * waits for that commit, so that whoever re-reads sees the reason.
 *
 * When the journal fails, what is in flight has an unknown outcome, and every later change is refused: only a restart,
 * which reads the files again, can tell what they hold.
 */
export interface LocalStoreOptions {
  readonly disk: Disk
  /** Holds the store's files and nothing else; made if missing. Only one process may use it at a time. */
  readonly folder: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** The size from which a journal is replaced by a snapshot. */
  readonly rotateBytes?: number
}

export interface LocalStore extends ResourceStore {
  /** Refuses new changes, commits what is in flight, and closes the files. */
  close(): Promise<void>
}

/** The API server's own limit is a little higher. */
const MAX_OBJECT_BYTES = 1024 * 1024
const MAX_BATCH_CHARACTERS = 4 * 1024 * 1024
const DEFAULT_ROTATE_BYTES = 16 * 1024 * 1024

/** Opens the store in `folder`. Throws `JournalCorruptError` when its files are damaged. */
export async function openLocalStore(options: LocalStoreOptions): Promise<LocalStore> {
  const { disk, folder, logger } = options
  await disk.makeFolder(folder)
  await disk.syncFolder(parentFolder(folder))
  const journal = new Journal({ disk, folder, logger, rotateBytes: options.rotateBytes ?? DEFAULT_ROTATE_BYTES })
  const recovered = await journal.recover()
  const state = new State()
  for (const object of recovered.objects) state.put(deepFreeze(object as StoredObject))
  let counter = recovered.counter
  for (const record of recovered.records as JournalRecord[]) {
    counter = Math.max(counter, record.rv)
    if ('put' in record) state.put(deepFreeze(record.put))
    else state.remove(record.remove.kind, keyOf(record.remove))
  }
  await journal.start({ counter, objects: state.all() })
  logger.info({ folder, objects: state.size, changes: recovered.records.length }, 'metadata store opened')
  return new JournalledStore(options, journal, state, counter)
}

type StoredObject = Kinds[Kind]

type JournalRecord =
  | { readonly rv: number; readonly put: StoredObject }
  | { readonly rv: number; readonly remove: ObjectRef & { readonly kind: Kind } }

interface Change {
  readonly record: string
  /** The object after the change, or as it was when it was removed. */
  readonly object: StoredObject
  readonly isRemoval: boolean
  readonly counter: number
  readonly resolve: (object: StoredObject) => void
  readonly reject: (error: StoreError) => void
}

/** Objects by kind and key. */
class State {
  readonly #kinds = new Map<Kind, Map<string, StoredObject>>()

  get(kind: Kind, key: string): StoredObject | undefined {
    return this.#kinds.get(kind)?.get(key)
  }

  put(object: StoredObject): void {
    const objects = this.#kinds.get(object.kind)
    if (objects === undefined) this.#kinds.set(object.kind, new Map([[keyOf(object.metadata), object]]))
    else objects.set(keyOf(object.metadata), object)
  }

  remove(kind: Kind, key: string): void {
    this.#kinds.get(kind)?.delete(key)
  }

  list(kind: Kind): StoredObject[] {
    return [...(this.#kinds.get(kind)?.values() ?? [])]
  }

  all(): StoredObject[] {
    return [...this.#kinds.keys()].flatMap((kind) => this.list(kind))
  }

  get size(): number {
    return [...this.#kinds.values()].reduce((sum, objects) => sum + objects.size, 0)
  }

  copy(): State {
    const copy = new State()
    for (const [kind, objects] of this.#kinds) copy.#kinds.set(kind, new Map(objects))
    return copy
  }
}

class JournalledStore implements LocalStore {
  readonly #options: LocalStoreOptions
  readonly #journal: Journal
  readonly #committed: State
  readonly #working: State
  #counter: number
  #committedCounter: number
  #queue: Change[] = []
  #flushing: Promise<void> | undefined
  #failure: StoreError | undefined
  #isClosed = false
  readonly #watches = new Map<Kind, Set<WatchQueue>>()

  constructor(options: LocalStoreOptions, journal: Journal, state: State, counter: number) {
    this.#options = options
    this.#journal = journal
    this.#committed = state
    this.#working = state.copy()
    this.#counter = counter
    this.#committedCounter = counter
  }

  get failure(): StoreError | undefined {
    return this.#failure
  }

  // The state is in memory: these are asynchronous by the interface only.
  // eslint-disable-next-line @typescript-eslint/require-await
  async get<K extends Kind>(kind: K, ref: ObjectRef): Promise<Kinds[K] | undefined> {
    this.#checkOpen()
    return this.#committed.get(kind, keyOf(ref)) as Kinds[K] | undefined
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async list<K extends Kind>(kind: K): Promise<readonly Kinds[K][]> {
    this.#checkOpen()
    return this.#committed.list(kind) as Kinds[K][]
  }

  async create<K extends Kind>(resource: NewResource<K>): Promise<Kinds[K]> {
    return (await this.#change(() => this.#created(resource))) as Kinds[K]
  }

  async patch<K extends Kind>(
    kind: K,
    ref: ObjectRef,
    operations: readonly PatchOperation[],
    options?: { readonly subresource?: 'status' },
  ): Promise<Kinds[K]> {
    return (await this.#change(() => this.#patched(kind, ref, operations, options?.subresource))) as Kinds[K]
  }

  async delete(
    kind: Kind,
    ref: ObjectRef,
    preconditions?: { readonly uid?: string; readonly resourceVersion?: string },
  ): Promise<void> {
    await this.#change(() => this.#deleted(kind, ref, preconditions))
  }

  watch<K extends Kind>(kind: K, listener: (event: WatchEvent<K>) => void): Watch {
    this.#checkOpen()
    // The queue only ever gets events of `kind`.
    const queue = new WatchQueue(listener as unknown as (event: WatchEvent<Kind>) => void, this.#options.logger)
    const queues = this.#watches.get(kind) ?? new Set()
    this.#watches.set(kind, queues.add(queue))
    queue.push({ type: 'sync', items: this.#committed.list(kind) })
    return {
      close: () => {
        queues.delete(queue)
        queue.close()
      },
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    while (this.#flushing !== undefined) await this.#flushing
    for (const queues of this.#watches.values()) for (const queue of queues) queue.close()
    this.#watches.clear()
    await this.#journal.close()
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new StoreError('Unavailable', 'the store is closed')
  }

  /** Decides a change, queues it, and answers when it is committed. */
  async #change(decide: () => Decision): Promise<StoredObject> {
    this.#checkOpen()
    if (this.#failure !== undefined) throw this.#failure
    let decision: Decision
    try {
      decision = decide()
    } catch (error) {
      await this.#settled()
      throw error
    }
    const { object, isRemoval, isChange } = decision
    if (!isChange) {
      await this.#settled()
      return object
    }
    return await new Promise((resolve, reject) => {
      const counter = this.#counter
      const record = isRemoval
        ? `{"rv":${counter},"remove":${JSON.stringify({ kind: object.kind, namespace: object.metadata.namespace, name: object.metadata.name })}}`
        : `{"rv":${counter},"put":${decision.json}}`
      if (isRemoval) this.#working.remove(object.kind, keyOf(object.metadata))
      else this.#working.put(object)
      this.#queue.push({ record, object, isRemoval, counter, resolve, reject })
      this.#flushing ??= this.#flush()
    })
  }

  /** Waits until what is accepted so far is committed, or has failed. */
  async #settled(): Promise<void> {
    if (this.#counter === this.#committedCounter || this.#failure !== undefined) return
    const target = this.#counter
    while (this.#committedCounter < target && this.#flushing !== undefined) await this.#flushing
    // Read again: the wait may have ended by a failure.
    const failure = this.#failure as StoreError | undefined
    if (failure !== undefined) throw failure
  }

  async #flush(): Promise<void> {
    // Lets all who write in this turn of the event loop join the first batch.
    await Promise.resolve()
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch()
      try {
        await this.#journal.append(batch.map((change) => change.record))
      } catch (error) {
        this.#fail(error, batch)
        break
      }
      this.#commit(batch)
      if (this.#journal.wantsRotation) await this.#journal.rotate(this.#snapshotState())
    }
    this.#flushing = undefined
  }

  #takeBatch(): Change[] {
    let characters = 0
    let count = 0
    for (const change of this.#queue) {
      characters += change.record.length
      if (count > 0 && characters > MAX_BATCH_CHARACTERS) break
      count++
    }
    return this.#queue.splice(0, count)
  }

  #commit(batch: readonly Change[]): void {
    for (const { object, isRemoval, counter, resolve } of batch) {
      if (isRemoval) this.#committed.remove(object.kind, keyOf(object.metadata))
      else this.#committed.put(object)
      this.#committedCounter = counter
      for (const queue of this.#watches.get(object.kind) ?? []) {
        queue.push({ type: isRemoval ? 'delete' : 'put', object })
      }
      resolve(object)
    }
  }

  #fail(error: unknown, batch: readonly Change[]): void {
    this.#options.logger.error({ error, folder: this.#options.folder }, 'the metadata journal failed')
    const cause = { cause: error }
    const message = "the metadata journal can't be written; restart the process once its disk works again"
    this.#failure = new StoreError('Unavailable', message, cause)
    for (const change of batch) change.reject(new StoreError('UnknownOutcome', message, cause))
    // These were never handed to the disk.
    for (const change of this.#queue.splice(0)) change.reject(this.#failure)
  }

  #snapshotState(): SnapshotState {
    return { counter: this.#committedCounter, objects: this.#committed.all() }
  }

  #created(resource: NewResource<Kind>): Decision {
    checkObjectName(resource)
    const { kind, metadata } = resource
    if (this.#working.get(kind, keyOf(metadata)) !== undefined) {
      throw new StoreError('AlreadyExists', `${describe(kind, metadata)} exists already`)
    }
    const object = frozenCopy({
      apiVersion: API_VERSION,
      kind,
      metadata: {
        name: metadata.name,
        namespace: metadata.namespace,
        uid: uuid(this.#options.random),
        resourceVersion: String(this.#counter + 1),
        generation: 1,
        creationTimestamp: this.#timestamp(),
        finalizers: metadata.finalizers?.length === 0 ? undefined : metadata.finalizers,
        labels: metadata.labels,
        annotations: metadata.annotations,
      },
      spec: resource.spec,
    })
    return this.#accept(kind, object as JsonObject, undefined)
  }

  #patched(
    kind: Kind,
    ref: ObjectRef,
    operations: readonly PatchOperation[],
    subresource: 'status' | undefined,
  ): Decision {
    if (subresource !== undefined && !hasStatusSubresource(kind)) {
      throw new StoreError('Invalid', `${kind} has no status subresource`)
    }
    const before = this.#existing(kind, ref)
    const document = before as unknown as JsonObject
    const patched = applyPatch(document, operations)
    const next: Record<string, JsonObject[string]> =
      subresource === 'status' ? { ...document, status: patched['status'] } : { ...patched, status: document['status'] }
    if (!hasStatusSubresource(kind)) next['status'] = patched['status']
    if (next['status'] === undefined) delete next['status']
    if (next['apiVersion'] !== API_VERSION || next['kind'] !== kind) {
      throw new StoreError('Invalid', 'apiVersion and kind are immutable')
    }
    const metadata = this.#patchedMetadata(before, next['metadata'])
    const isSpecChange = !jsonEqual(document['spec'], next['spec'])
    next['metadata'] = metadata
    if (!isSpecChange && jsonEqual(document, next)) return { object: before, isRemoval: false, isChange: false }
    next['metadata'] = Object.freeze({
      ...metadata,
      generation: before.metadata.generation + (isSpecChange ? 1 : 0),
      resourceVersion: String(this.#counter + 1),
    })
    return this.#accept(kind, Object.freeze(next), before)
  }

  /** What of a patch's changes of the metadata is taken; Errors: Invalid, Conflict. */
  #patchedMetadata(before: StoredObject, patched: JsonObject[string]): JsonObject {
    if (!isJsonObject(patched)) throw new StoreError('Invalid', 'metadata must be an object')
    const old = before.metadata
    for (const field of ['name', 'namespace', 'uid'] as const) {
      if (patched[field] !== old[field]) throw new StoreError('Invalid', `metadata.${field} is immutable`)
    }
    if (patched['resourceVersion'] !== undefined && patched['resourceVersion'] !== old.resourceVersion) {
      throw new StoreError('Conflict', 'the object has another resourceVersion')
    }
    const { finalizers, labels, annotations } = patched
    const added = Array.isArray(finalizers)
      ? finalizers.filter((name) => !(old.finalizers ?? []).includes(String(name)))
      : []
    if (old.deletionTimestamp !== undefined && added.length > 0) {
      throw new StoreError('Invalid', 'an object that is being deleted gets no new finalizers')
    }
    const kept: Record<string, JsonObject[string]> = { ...old }
    for (const [field, value] of Object.entries({ finalizers, labels, annotations })) {
      if (value === undefined || (Array.isArray(value) && value.length === 0)) {
        // An empty list of finalizers is none.
        Reflect.deleteProperty(kept, field)
      } else {
        kept[field] = value
      }
    }
    return Object.freeze(kept)
  }

  #deleted(
    kind: Kind,
    ref: ObjectRef,
    preconditions: { readonly uid?: string; readonly resourceVersion?: string } | undefined,
  ): Decision {
    const before = this.#existing(kind, ref)
    for (const field of ['uid', 'resourceVersion'] as const) {
      const expected = preconditions?.[field]
      if (expected !== undefined && expected !== before.metadata[field]) {
        throw new StoreError('Conflict', `${describe(kind, ref)} has another ${field}`)
      }
    }
    if (before.metadata.deletionTimestamp !== undefined) return { object: before, isRemoval: false, isChange: false }
    const metadata = Object.freeze({
      ...before.metadata,
      deletionTimestamp: this.#timestamp(),
      generation: before.metadata.generation + 1,
      resourceVersion: String(this.#counter + 1),
    })
    const object = Object.freeze({ ...before, metadata }) as unknown as JsonObject
    return this.#accept(kind, object, before)
  }

  /** The last checks of a changed object, and its number. */
  #accept(kind: Kind, object: JsonObject, before: StoredObject | undefined): Decision {
    checkResource(kind, object, before as unknown as JsonObject | undefined)
    const json = JSON.stringify(object)
    if (json.length > MAX_OBJECT_BYTES) {
      throw new StoreError('Invalid', `an object has at most ${MAX_OBJECT_BYTES} bytes, not ${json.length}`)
    }
    this.#counter++
    // `checkResource` has established the shape.
    const stored = object as unknown as StoredObject
    const isRemoval = stored.metadata.deletionTimestamp !== undefined && (stored.metadata.finalizers ?? []).length === 0
    return { object: stored, isRemoval, isChange: true, json }
  }

  #existing(kind: Kind, ref: ObjectRef): StoredObject {
    const object = this.#working.get(kind, keyOf(ref))
    if (object === undefined) throw new StoreError('NotFound', `${describe(kind, ref)} does not exist`)
    return object
  }

  #timestamp(): string {
    return `${new Date(this.#options.clock.wallMs()).toISOString().slice(0, 19)}Z`
  }
}

interface Decision {
  readonly object: StoredObject
  readonly isRemoval: boolean
  /** False: the object is already as asked for. */
  readonly isChange: boolean
  readonly json?: string
}

/** Hands events to one listener, in order, from a microtask of its own. */
class WatchQueue {
  readonly #listener: (event: WatchEvent<Kind>) => void
  readonly #logger: Logger
  #events: WatchEvent<Kind>[] = []
  #isScheduled = false
  #isClosed = false

  constructor(listener: (event: WatchEvent<Kind>) => void, logger: Logger) {
    this.#listener = listener
    this.#logger = logger
  }

  push(event: WatchEvent<Kind>): void {
    this.#events.push(event)
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => this.#deliver())
  }

  close(): void {
    this.#isClosed = true
    this.#events = []
  }

  #deliver(): void {
    // Whatever the listener causes to be pushed meanwhile is delivered by this same loop.
    for (let index = 0; index < this.#events.length && !this.#isClosed; index++) {
      const event = this.#events[index]
      if (event === undefined) break
      try {
        this.#listener(event)
      } catch (error) {
        this.#logger.error({ error }, 'a watch listener failed')
      }
    }
    this.#events = []
    this.#isScheduled = false
  }
}

function keyOf(ref: ObjectRef): string {
  return `${ref.namespace}/${ref.name}`
}

function describe(kind: Kind, ref: ObjectRef): string {
  return `${kind} ${ref.namespace}/${ref.name}`
}

function uuid(random: Random): string {
  const bytes = random.bytes(16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function parentFolder(folder: string): string {
  const parent = folder.replace(/\/+$/, '').replace(/\/?[^/]*$/, '')
  if (parent !== '') return parent
  return folder.startsWith('/') ? '/' : '.'
}
