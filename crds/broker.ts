import type { Condition, Resource } from './resource.ts'

export interface BrokerSpec {
  /** The ordinal; fixed for the life of the cluster. */
  readonly brokerId: number
  /**
   * Recorded by the operator with the acknowledgement. Another one in the status means that the disk was lost; it is
   * recorded in its turn once every entry says so.
   */
  readonly directoryId?: string
  /** Takes no new replicas. */
  readonly cordoned?: boolean
  /** Is to give up all its replicas. */
  readonly drain?: boolean
  /** Kafka broker configs for this broker alone, set while it runs: dotted key to value as text. */
  readonly config?: Readonly<Record<string, string>>
}

export interface Endpoint {
  readonly host: string
  readonly port: number
}

export interface BrokerStatus {
  /** From the broker: new at each start. */
  readonly incarnation?: string
  /** From the broker: on the volume. */
  readonly directoryId?: string
  /** From the broker: the broker epoch of the incarnation that shut down cleanly, read from the clean-shutdown mark; absent after an unclean stop. */
  readonly cleanShutdownEpoch?: number
  /** From the broker, by listener name. */
  readonly endpoints?: Readonly<Record<string, Endpoint>>
  readonly rack?: string
  readonly version?: string
  /** From the broker: keys of entries that it can't serve; elections pass it over for these. */
  readonly offline?: readonly string[]
  /** From the broker: the highest producer id in its logs; blocks of new ids start above it. */
  readonly highestProducerId?: number
  /** From the operator: the incarnation it has acknowledged, and the epoch it gave to it. */
  readonly acknowledged?: { readonly incarnation: string; readonly brokerEpoch: number }
  readonly conditions?: readonly Condition[]
}

export type Broker = Resource<'Broker', BrokerSpec, BrokerStatus>

export function brokerObjectName(brokerId: number): string {
  return `broker-${brokerId}`
}
