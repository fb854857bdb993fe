/**
 * Metrics per topic and partition: Kafka's own (by the names of the JMX exporter's usual rules) and kafka_exporter's.
 *
 * A snapshot is taken in one turn of the event loop, so that offsets in different metrics fit together; the text is made
 * from it afterwards. Each series comes from one broker of a cluster, so that sums over brokers are right: that of a
 * partition from its leader, that of a partition without one from the first broker that is alive.
 */
import { NO_LEADER, type PartitionEntry } from '../../crds/partition-slice.ts'
import type { MetadataCache } from '../metadata/metadata-cache.ts'
import type { PartitionStats } from '../replication/partition.ts'
import type { ReplicaManager } from '../replication/replica-manager.ts'
import { familiesText, labelsOf, labelText, type LabelledRow, type MetricFamily } from './metric-family.ts'

/** A replica of this broker. */
interface ReplicaRow extends LabelledRow {
  readonly topicName: string
  readonly isLeader: boolean
  readonly isUnderMinIsr: boolean
  readonly isAtMinIsr: boolean
  readonly highWatermark: number
  readonly logStartOffset: number
  readonly logEndOffset: number
  readonly sizeBytes: number
  readonly segmentCount: number
}

/** A partition that this broker tells of. */
interface ClusterRow extends LabelledRow {
  readonly entry: PartitionEntry
}

interface TopicRow extends LabelledRow, Readonly<PartitionStats> {}

interface TopicSizeRow extends LabelledRow {
  readonly partitionCount: number
}

export interface PartitionSources {
  readonly brokerId: number
  readonly metadata: MetadataCache
  readonly replicas: ReplicaManager
}

/** The text of all metrics per topic and partition, as of the call. */
export function partitionMetrics(sources: PartitionSources): Iterable<string> {
  const replicas: ReplicaRow[] = []
  const topics = new Map<string, TopicRow>()
  for (const {
    topicName,
    partition,
    log,
    stats,
    isLeader,
    isUnderMinIsr,
    isAtMinIsr,
  } of sources.replicas.partitions()) {
    const labels = labelText({ topic: topicName, partition })
    const { highWatermark, logStartOffset, logEndOffset, sizeBytes, segmentCount } = log
    replicas.push({
      labels,
      topicName,
      isLeader,
      isUnderMinIsr,
      isAtMinIsr,
      highWatermark,
      logStartOffset,
      logEndOffset,
      sizeBytes,
      segmentCount,
    })
    topics.set(topicName, addStats(topics.get(topicName), topicName, stats))
  }
  const { partitions, sizes } = clusterRows(sources)
  return textOf(replicas, [...topics.values()], partitions, sizes)
}

function* textOf(
  replicas: readonly ReplicaRow[],
  topics: readonly TopicRow[],
  partitions: readonly ClusterRow[],
  sizes: readonly TopicSizeRow[],
): Generator<string, void> {
  yield* familiesText(TOPIC_FAMILIES, topics, labelsOf)
  yield* familiesText(REPLICA_FAMILIES, replicas, labelsOf)
  yield* familiesText(TOPIC_SIZE_FAMILIES, sizes, labelsOf)
  yield* familiesText(CLUSTER_FAMILIES, partitions, labelsOf)
}

function addStats(sum: TopicRow | undefined, topicName: string, stats: Readonly<PartitionStats>): TopicRow {
  if (sum === undefined) return { labels: labelText({ topic: topicName }), ...stats }
  return {
    labels: sum.labels,
    recordsIn: sum.recordsIn + stats.recordsIn,
    bytesIn: sum.bytesIn + stats.bytesIn,
    bytesOut: sum.bytesOut + stats.bytesOut,
    produceRequests: sum.produceRequests + stats.produceRequests,
    fetchRequests: sum.fetchRequests + stats.fetchRequests,
    failedProduceRequests: sum.failedProduceRequests + stats.failedProduceRequests,
    failedFetchRequests: sum.failedFetchRequests + stats.failedFetchRequests,
  }
}

function clusterRows({ brokerId, metadata }: PartitionSources): { partitions: ClusterRow[]; sizes: TopicSizeRow[] } {
  const firstAlive = metadata.brokers().find(({ isFenced }) => !isFenced)?.brokerId
  const isTold = ({ leader }: PartitionEntry): boolean => (leader === NO_LEADER ? firstAlive : leader) === brokerId
  const partitions: ClusterRow[] = []
  const sizes: TopicSizeRow[] = []
  for (const topic of metadata.topics()) {
    for (const [partition, entry] of topic.partitions) {
      if (isTold(entry)) partitions.push({ labels: labelText({ topic: topic.name, partition }), entry })
    }
    if (firstAlive === brokerId) {
      sizes.push({ labels: labelText({ topic: topic.name }), partitionCount: topic.partitions.size })
    }
  }
  return { partitions, sizes }
}

const topicCounter = (name: string, help: string, field: keyof PartitionStats): MetricFamily<TopicRow> => ({
  name: `kafka_server_brokertopicmetrics_${name}_total`,
  type: 'counter',
  help,
  value: (row) => row[field],
})

const TOPIC_FAMILIES: readonly MetricFamily<TopicRow>[] = [
  topicCounter('messagesin', 'Records taken from producers', 'recordsIn'),
  topicCounter('bytesin', 'Bytes taken from producers', 'bytesIn'),
  topicCounter('bytesout', 'Bytes given to consumers', 'bytesOut'),
  topicCounter('totalproducerequests', 'Partitions of Produce requests', 'produceRequests'),
  topicCounter('totalfetchrequests', 'Partitions of Fetch requests', 'fetchRequests'),
  topicCounter('failedproducerequests', 'Partitions of Produce requests that failed', 'failedProduceRequests'),
  topicCounter('failedfetchrequests', 'Partitions of Fetch requests that failed', 'failedFetchRequests'),
]

const REPLICA_FAMILIES: readonly MetricFamily<ReplicaRow>[] = [
  {
    name: 'kafka_cluster_partition_underminisr',
    type: 'gauge',
    help: '1 while the ISR is below min.insync.replicas',
    value: (row) => (row.isLeader ? Number(row.isUnderMinIsr) : undefined),
  },
  {
    name: 'kafka_cluster_partition_atminisr',
    type: 'gauge',
    help: '1 while the ISR is exactly min.insync.replicas',
    value: (row) => (row.isLeader ? Number(row.isAtMinIsr) : undefined),
  },
  { name: 'kafka_log_log_size', type: 'gauge', help: 'Bytes of all segments', value: (row) => row.sizeBytes },
  {
    name: 'kafka_log_log_logendoffset',
    type: 'gauge',
    help: 'The offset after the last record',
    value: (row) => row.logEndOffset,
  },
  { name: 'kafka_log_log_logstartoffset', type: 'gauge', help: 'The first offset', value: (row) => row.logStartOffset },
  { name: 'kafka_log_log_numlogsegments', type: 'gauge', help: 'Segments', value: (row) => row.segmentCount },
  {
    name: 'kafka_topic_partition_current_offset',
    type: 'gauge',
    help: 'The offset after the last committed record: the high watermark',
    value: (row) => (row.isLeader ? row.highWatermark : undefined),
  },
  {
    name: 'kafka_topic_partition_oldest_offset',
    type: 'gauge',
    help: 'The first offset',
    value: (row) => (row.isLeader ? row.logStartOffset : undefined),
  },
]

const TOPIC_SIZE_FAMILIES: readonly MetricFamily<TopicSizeRow>[] = [
  {
    name: 'kafka_topic_partitions',
    type: 'gauge',
    help: 'Partitions of the topic',
    value: ({ partitionCount }) => partitionCount,
  },
]

const CLUSTER_FAMILIES: readonly MetricFamily<ClusterRow>[] = [
  {
    name: 'kafka_topic_partition_leader',
    type: 'gauge',
    help: 'Broker id of the leader; -1: there is none',
    value: ({ entry }) => entry.leader,
  },
  {
    name: 'kafka_topic_partition_leader_is_preferred',
    type: 'gauge',
    help: '1 while the first replica leads',
    value: ({ entry }) => Number(entry.leader === entry.replicas[0]),
  },
  {
    name: 'kafka_topic_partition_replicas',
    type: 'gauge',
    help: 'Replicas of the partition',
    value: ({ entry }) => entry.replicas.length,
  },
  {
    name: 'kafka_topic_partition_in_sync_replica',
    type: 'gauge',
    help: 'Replicas in the ISR',
    value: ({ entry }) => entry.isr.length,
  },
  {
    name: 'kafka_topic_partition_under_replicated_partition',
    type: 'gauge',
    help: '1 while replicas are out of the ISR',
    value: ({ entry }) => Number(entry.isr.length < entry.replicas.length),
  },
]
