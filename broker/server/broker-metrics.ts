/**
 * A broker's Prometheus metrics of the broker as a whole, under the names that Kafka dashboards and alerts use (the JMX
 * exporter rules of Strimzi). Values are collected when they are scraped, from counts that the data path keeps as plain
 * numbers, so that a record or request costs nothing here. Series per partition, topic and group are made elsewhere in
 * this folder.
 */
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import { NO_LEADER } from '../../crds/partition-slice.ts'
import type { CleanerStats } from '../storage/log-cleaner/log-cleaner.ts'
import type { Partition } from '../replication/partition.ts'
import type { Broker } from './broker.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { SocketServer } from './socket-server.ts'

export interface MetricsSources {
  readonly broker: Broker
  readonly server: SocketServer
  readonly memory: MemoryBudget
  readonly listener: string
}

const QUANTILES = [0.5, 0.75, 0.95, 0.98, 0.99, 0.999]

export function createBrokerMetrics(sources: MetricsSources): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addReplicaMetrics(registry, sources)
  addClusterMetrics(registry, sources)
  addLogMetrics(registry, sources)
  addCleanerMetrics(registry, sources)
  addRequestMetrics(registry, sources)
  addServerMetrics(registry, sources)
  return registry
}

function gauge(registry: Registry, name: string, help: string, value: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value())
    },
  })
}

function addReplicaMetrics(registry: Registry, { broker: { replicas } }: MetricsSources): void {
  const counting = (name: string, help: string, counts: (partition: Partition) => boolean): void => {
    gauge(registry, `kafka_server_replicamanager_${name}`, help, () => {
      let count = 0
      for (const partition of replicas.partitions()) if (counts(partition)) count++
      return count
    })
  }
  counting('partitioncount', 'Replicas on this broker', () => true)
  counting('leadercount', 'Partitions that this broker leads', ({ isLeader }) => isLeader)
  counting(
    'underreplicatedpartitions',
    'Led partitions with replicas out of the ISR',
    ({ isUnderReplicated }) => isUnderReplicated,
  )
  counting(
    'underminisrpartitioncount',
    'Led partitions with an ISR below min.insync.replicas',
    ({ isUnderMinIsr }) => isUnderMinIsr,
  )
  counting(
    'atminisrpartitioncount',
    'Led partitions with an ISR of exactly min.insync.replicas',
    ({ isAtMinIsr }) => isAtMinIsr,
  )
  gauge(registry, 'kafka_server_replicamanager_offlinereplicacount', 'Replicas that cannot be served', () => {
    return replicas.offlineKeys().length
  })
}

function addClusterMetrics(registry: Registry, { broker: { metadata } }: MetricsSources): void {
  const partitionCount = (counts: (leader: number) => boolean): number => {
    let count = 0
    for (const { partitions } of metadata.topics())
      for (const { leader } of partitions.values()) if (counts(leader)) count++
    return count
  }
  const prefix = 'kafka_controller_kafkacontroller_'
  gauge(registry, `${prefix}globaltopiccount`, 'Topics of the cluster', () => metadata.topicCount)
  gauge(registry, `${prefix}globalpartitioncount`, 'Partitions of the cluster', () => partitionCount(() => true))
  gauge(registry, `${prefix}offlinepartitionscount`, 'Partitions without a leader', () =>
    partitionCount((leader) => leader === NO_LEADER),
  )
  gauge(
    registry,
    `${prefix}activebrokercount`,
    'Brokers that are not fenced',
    () => metadata.brokers().filter(({ isFenced }) => !isFenced).length,
  )
  gauge(
    registry,
    'kafka_brokers',
    'Brokers that are not fenced',
    () => metadata.brokers().filter(({ isFenced }) => !isFenced).length,
  )
  gauge(
    registry,
    `${prefix}fencedbrokercount`,
    'Brokers that are fenced',
    () => metadata.brokers().filter(({ isFenced }) => isFenced).length,
  )
}

function addLogMetrics(registry: Registry, { broker: { logs } }: MetricsSources): void {
  gauge(registry, 'kafka_log_logmanager_offlinelogdirectorycount', 'Log directories that failed', () =>
    logs.isOffline ? 1 : 0,
  )
}

function addCleanerMetrics(registry: Registry, { broker: { logs } }: MetricsSources): void {
  const cleaner = (name: string, help: string, stat: keyof CleanerStats): void => {
    gauge(registry, `kafka_log_${name}`, help, () => logs.cleanerStats[stat])
  }
  cleaner('logcleaner_cleaner_recopy_percent', 'Share of the last compacted log that was kept', 'cleanerRecopyPercent')
  cleaner('logcleaner_deadthreadcount', '1 while the log cleaner fails as a whole', 'deadThreadCount')
  cleaner(
    'logcleaner_max_buffer_utilization_percent',
    'Share of log.cleaner.dedupe.buffer.size that the last pass used',
    'maxBufferUtilizationPercent',
  )
  cleaner('logcleaner_max_clean_time_secs', 'Seconds that the last pass took', 'maxCleanTimeSecs')
  cleaner(
    'logcleaner_max_compaction_delay_secs',
    'By how much a log exceeds max.compaction.lag.ms, in seconds',
    'maxCompactionDelaySecs',
  )
  cleaner('logcleanermanager_max_dirty_percent', 'Share of the dirtiest log not compacted yet', 'maxDirtyPercent')
  cleaner(
    'logcleanermanager_time_since_last_run_ms',
    'Milliseconds since the cleaner last looked',
    'timeSinceLastRunMs',
  )
  const ofLogDirectory = (name: string, help: string, stat: keyof CleanerStats): void => {
    new Gauge({
      name: `kafka_log_logcleanermanager_${name}`,
      help,
      labelNames: ['logdirectory'],
      registers: [registry],
      collect() {
        this.set({ logdirectory: logs.folder }, logs.cleanerStats[stat])
      },
    })
  }
  ofLogDirectory(
    'uncleanable_partitions_count',
    'Logs whose compaction fails; it is tried again',
    'uncleanablePartitionsCount',
  )
  ofLogDirectory('uncleanable_bytes', 'Bytes of logs whose compaction fails', 'uncleanableBytes')
}

function addRequestMetrics(registry: Registry, { broker: { requests } }: MetricsSources): void {
  const times = (name: string, help: string, part: 'total' | 'local'): void => {
    new Gauge({
      name: `kafka_network_requestmetrics_${name}`,
      help,
      labelNames: ['request', 'quantile'],
      registers: [registry],
      collect() {
        this.reset()
        for (const [request, measured] of requests.entries()) {
          const values = measured[part].percentilesMs(QUANTILES.map((quantile) => quantile * 100))
          for (const [i, quantile] of QUANTILES.entries()) this.set({ request, quantile }, values[i] ?? 0)
        }
      },
    })
  }
  times('totaltimems', 'Milliseconds from the arrival of a request to its response', 'total')
  times('localtimems', 'Milliseconds in which a request was worked on before it first waited', 'local')
  const counts = (name: string, help: string, field: 'count' | 'errorCount'): void => {
    new Counter({
      name: `kafka_network_requestmetrics_${name}_total`,
      help,
      labelNames: ['request'],
      registers: [registry],
      collect() {
        this.reset()
        for (const [request, measured] of requests.entries()) this.inc({ request }, measured[field])
      },
    })
  }
  counts('requests', 'Requests answered', 'count')
  counts('errors', 'Requests that failed as a whole', 'errorCount')
}

function addServerMetrics(
  registry: Registry,
  { broker: { fetchSessions }, server, memory, listener }: MetricsSources,
): void {
  new Gauge({
    name: 'kafka_server_socket_server_metrics_connection_count',
    help: 'Open client connections',
    labelNames: ['listener'],
    registers: [registry],
    collect() {
      this.set({ listener }, server.connectionCount)
    },
  })
  // One event loop does both kinds of work, so both gauges show what it has left.
  let last = performance.eventLoopUtilization()
  let idle = 1
  const measureIdle = (): number => {
    const now = performance.eventLoopUtilization()
    idle = 1 - performance.eventLoopUtilization(now, last).utilization
    last = now
    return idle
  }
  gauge(
    registry,
    'kafka_server_socketserver_networkprocessoravgidle_percent',
    'Idle share of the event loop since the last scrape',
    measureIdle,
  )
  gauge(
    registry,
    'kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent',
    'Idle share of the event loop since the last scrape',
    () => idle,
  )
  gauge(
    registry,
    'ottla_server_client_memory_bytes',
    'Bytes held for requests and responses',
    () => memory.usedBytes + memory.received.usedBytes,
  )
  gauge(
    registry,
    'kafka_server_fetchsessioncache_numincrementalfetchsessions',
    'Incremental fetch sessions',
    () => fetchSessions.size,
  )
  gauge(
    registry,
    'kafka_server_fetchsessioncache_numincrementalfetchpartitionscached',
    'Partitions of incremental fetch sessions',
    () => fetchSessions.partitionCount,
  )
}
