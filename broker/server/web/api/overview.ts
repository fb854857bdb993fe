/** GET /api/v1/overview: the broker and its cluster at a glance. */
import type { Endpoint } from '../../../../crds/broker.ts'
import { NO_LEADER } from '../../../../crds/partition-slice.ts'
import { WEB_ENDPOINT } from '../web-endpoint.ts'
import type { ApiSources } from '../web-sources.ts'

export interface OverviewView {
  readonly brokerId: number
  readonly clusterId: string
  readonly version: string
  readonly uptimeMs: number
  readonly isReady: boolean
  /** Why it is not ready; null when it is. */
  readonly notReadyReason: string | null
  /** Whether /topics/.../records answers. */
  readonly recordsEnabled: boolean
  readonly brokers: readonly BrokerView[]
  readonly topicCount: number
  readonly partitionCount: number
  readonly offlinePartitionCount: number
  readonly underReplicatedPartitionCount: number
  /** Groups that this broker coordinates. */
  readonly groupCount: number
  /** Of this broker. */
  readonly replicaCount: number
  readonly sizeBytes: number
  readonly recordsIn: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** Milliseconds of the broker's own clock, from an arbitrary start: for rates between two answers. */
  readonly monotonicMs: number
}

export interface BrokerView {
  readonly brokerId: number
  readonly isAlive: boolean
  readonly rack: string | null
  /** `host:port` of its Kafka listeners. */
  readonly endpoints: readonly string[]
  /** Of its web port; null where it has not told. */
  readonly webUrl: string | null
}

export function overview(sources: ApiSources, startedMs: number): OverviewView {
  const { broker, brokerId, clusterId, version, clock, groups } = sources
  const { metadata, replicas } = broker
  let partitionCount = 0
  let offlinePartitionCount = 0
  let underReplicatedPartitionCount = 0
  for (const name of metadata.topicNames()) {
    for (const { leader, isr, replicas: assigned } of metadata.topic(name)?.partitions.values() ?? []) {
      partitionCount++
      if (leader === NO_LEADER) offlinePartitionCount++
      if (isr.length < assigned.length) underReplicatedPartitionCount++
    }
  }
  const sums = { sizeBytes: 0, recordsIn: 0, bytesIn: 0, bytesOut: 0 }
  for (const { log, stats } of replicas.partitions()) {
    sums.sizeBytes += log.sizeBytes
    sums.recordsIn += stats.recordsIn
    sums.bytesIn += stats.bytesIn
    sums.bytesOut += stats.bytesOut
  }
  const notReadyReason = sources.notReadyReason() ?? null
  const monotonicMs = clock.monotonicMs()
  return {
    brokerId,
    clusterId,
    version,
    uptimeMs: Math.round(monotonicMs - startedMs),
    isReady: notReadyReason === null,
    notReadyReason,
    recordsEnabled: broker.configs.current.get('ottla.web.records.enable'),
    brokers: metadata.brokers().map(({ brokerId: id, isFenced, rack, endpoints }) => ({
      brokerId: id,
      isAlive: !isFenced,
      rack: rack ?? null,
      endpoints: Object.entries(endpoints).flatMap(([name, endpoint]) =>
        name === WEB_ENDPOINT ? [] : [authority(endpoint)],
      ),
      webUrl: endpoints[WEB_ENDPOINT] === undefined ? null : `http://${authority(endpoints[WEB_ENDPOINT])}/`,
    })),
    topicCount: metadata.topicCount,
    partitionCount,
    offlinePartitionCount,
    underReplicatedPartitionCount,
    groupCount: groups.groupCount,
    replicaCount: replicas.partitionCount,
    ...sums,
    monotonicMs,
  }
}

function authority({ host, port }: Endpoint): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
