import type { Resource } from './resource.ts'

export interface ClusterSpec {
  /** Kafka's cluster id (base64url uuid); minted once. */
  readonly clusterId: string
  readonly brokers: number
  /** Kafka broker configs for all brokers, set while they run: dotted key to value as text. A broker's own go first. */
  readonly config: Readonly<Record<string, string>>
  /** The first producer id not yet handed out in a block; compare-and-swapped by brokers that take a block. */
  readonly nextProducerId: number
}

export type Cluster = Resource<'Cluster', ClusterSpec, never>

/** The Cluster object's name in a local store. */
export const LOCAL_CLUSTER_NAME = 'ottla'
