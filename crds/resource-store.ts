import type { Broker } from './broker.ts'
import type { ClientQuota } from './client-quota.ts'
import type { Cluster } from './cluster.ts'
import type { GroupConfig } from './group-config.ts'
import type { PartitionSlice } from './partition-slice.ts'
import type { ObjectRef } from './resource.ts'
import type { Topic } from './topic.ts'

/** The kinds that a store holds. */
export interface Kinds {
  Cluster: Cluster
  Topic: Topic
  PartitionSlice: PartitionSlice
  Broker: Broker
  ClientQuota: ClientQuota
  GroupConfig: GroupConfig
}
export type Kind = keyof Kinds

/** RFC 6902, with the API server's semantics: `add` on an existing member replaces it, `replace` needs a `test` of the same value before it. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

export type StoreErrorReason =
  /** The object does not exist. */
  | 'NotFound'
  | 'AlreadyExists'
  /** A precondition (uid, resourceVersion) of a delete, or a resourceVersion, did not hold. Not done. */
  | 'Conflict'
  /** A `test` of the patch failed, or the patched object breaks its schema. Not done. Re-read to tell which. */
  | 'Invalid'
  /** The store refused before doing anything (overload, closed). Not done. */
  | 'Unavailable'
  /** No answer, or one that says nothing: it may have been done, or may still be done later. */
  | 'UnknownOutcome'

export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly reason: StoreErrorReason

  constructor(reason: StoreErrorReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** An object to create: the store fills in the rest of the metadata; `status` can't be set at creation. */
export interface NewResource<K extends Kind> {
  readonly kind: K
  readonly metadata: ObjectRef & {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
  }
  readonly spec: Kinds[K]['spec']
}

export type WatchEvent<K extends Kind> =
  /** The whole state, first and after each relist: what is missing from it is gone. */
  | { readonly type: 'sync'; readonly items: readonly Kinds[K][] }
  | { readonly type: 'put'; readonly object: Kinds[K] }
  | { readonly type: 'delete'; readonly object: Kinds[K] }

export interface Watch {
  close(): void
}

/**
 * The one metadata interface. Objects that it returns are immutable snapshots, shared: never change them.
 *
 * Reads are consistent: `get` and `list` see every write that was answered before they were called. Watches deliver each
 * kind's changes in order, but nothing orders the watches of two kinds. All methods reject with {@link StoreError}.
 */
export interface ResourceStore {
  /** Why no change is taken any more, until a restart; undefined while all is well. */
  readonly failure?: StoreError | undefined
  get<K extends Kind>(kind: K, ref: ObjectRef): Promise<Kinds[K] | undefined>
  list<K extends Kind>(kind: K): Promise<readonly Kinds[K][]>
  /** Errors: AlreadyExists, Invalid, Unavailable, UnknownOutcome. */
  create<K extends Kind>(resource: NewResource<K>): Promise<Kinds[K]>
  /**
   * Applies all operations or none. Without `subresource` changes of `status` are ignored; with `status` only `status`
   * changes. Kinds without a status subresource (all but Topic and Broker) take only the former.
   * Errors: NotFound, Invalid, Unavailable, UnknownOutcome.
   */
  patch<K extends Kind>(
    kind: K,
    ref: ObjectRef,
    operations: readonly PatchOperation[],
    options?: { readonly subresource?: 'status' },
  ): Promise<Kinds[K]>
  /** With finalizers left, sets `deletionTimestamp`; the object goes when the last finalizer does. Errors: NotFound, Conflict. */
  delete(
    kind: Kind,
    ref: ObjectRef,
    preconditions?: { readonly uid?: string; readonly resourceVersion?: string },
  ): Promise<void>
  /** Calls `listener` with a `sync` and then with each change, never from within the call itself. */
  watch<K extends Kind>(kind: K, listener: (event: WatchEvent<K>) => void): Watch
}
