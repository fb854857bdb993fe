/** What all resources of the group share: Kubernetes' object shape, reduced to what Ottla reads and writes. */
export const API_GROUP = 'ottla.dev'
export const API_VERSION = `${API_GROUP}/v1alpha1`

export interface ObjectMeta {
  readonly name: string
  readonly namespace: string
  /** Set by the store at creation; another object of the same name has another uid. */
  readonly uid: string
  /** Opaque; changes with each write. */
  readonly resourceVersion: string
  /** Counts changes of `spec`. */
  readonly generation: number
  /** RFC 3339, UTC. */
  readonly creationTimestamp: string
  /** Set while finalizers hold a deleted object. */
  readonly deletionTimestamp?: string
  readonly finalizers?: readonly string[]
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface Resource<K extends string, Spec, Status> {
  readonly apiVersion: typeof API_VERSION
  readonly kind: K
  readonly metadata: ObjectMeta
  readonly spec: Spec
  readonly status?: Status
}

/** A condition as Kubernetes' API conventions have it; `lastTransitionTime` moves only when `status` flips. */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number
  readonly lastTransitionTime: string
}

/** Names one object of a kind. */
export interface ObjectRef {
  readonly namespace: string
  readonly name: string
}

/** The namespace of everything in the local store. */
export const LOCAL_NAMESPACE = 'default'

export function refOf(resource: { readonly metadata: ObjectMeta }): ObjectRef {
  return { namespace: resource.metadata.namespace, name: resource.metadata.name }
}
