/** GET /api/v1/topics and /api/v1/topics/{name}: topics, their partitions, and the configs that differ from the defaults. */
import { NO_LEADER, type PartitionEntry } from '../../../../crds/partition-slice.ts'
import { isInternalTopic } from '../../../../crds/topic.ts'
import type { TopicImage } from '../../../metadata/metadata-cache.ts'
import type { ApiSources } from '../web-sources.ts'
import { notFound } from './api-error.ts'
import { integerParam, MAX_PAGE_SIZE, namePage } from './query.ts'

export interface TopicsView {
  readonly total: number
  readonly next: string | null
  readonly topics: readonly TopicSummary[]
  readonly monotonicMs: number
}

/** Sums over the partitions that this broker leads; of the others it knows only where they are. */
export interface TopicSummary {
  readonly name: string
  readonly topicId: string
  readonly isInternal: boolean
  readonly partitionCount: number
  readonly ledHereCount: number
  readonly offlineCount: number
  readonly underReplicatedCount: number
  /** Offsets between the start and the end of the partitions: more than the records after compaction. */
  readonly records: number
  readonly sizeBytes: number
  /** Since the broker's start. */
  readonly recordsIn: number
  readonly bytesIn: number
  readonly bytesOut: number
}

export interface TopicView extends TopicSummary {
  /** Sorted; up to 1,000 from the one that was asked for. */
  readonly partitions: readonly PartitionView[]
  /** To be given as `fromPartition` for more; null: there are none. */
  readonly nextPartition: number | null
  readonly configs: readonly ConfigView[]
  readonly monotonicMs: number
}

export interface PartitionView {
  readonly partition: number
  /** -1: nobody. */
  readonly leader: number
  readonly leaderEpoch: number
  readonly replicas: readonly number[]
  readonly isr: readonly number[]
  /** The rest is null where another broker leads. */
  readonly logStartOffset: number | null
  readonly highWatermark: number | null
  readonly logEndOffset: number | null
  readonly sizeBytes: number | null
  readonly segmentCount: number | null
}

export interface ConfigView {
  readonly name: string
  readonly value: string | null
  /** As in DescribeConfigs: `DYNAMIC_TOPIC_CONFIG`, `STATIC_BROKER_CONFIG`, ... */
  readonly source: string
}

export function listTopics(sources: ApiSources, query: URLSearchParams): TopicsView {
  const { metadata } = sources.broker
  const { total, names, next } = namePage(metadata.topicNames(), query)
  const topics: TopicSummary[] = []
  for (const name of names) {
    const topic = metadata.topic(name)
    if (topic !== undefined) topics.push(summaryOf(sources, topic))
  }
  return { total, next, topics, monotonicMs: sources.clock.monotonicMs() }
}

export function describeTopic(sources: ApiSources, name: string, query: URLSearchParams): TopicView {
  const topic = findTopic(sources, name)
  const first = integerParam(query, 'fromPartition', [0, Number.MAX_SAFE_INTEGER], 0)
  const indexes = [...topic.partitions.keys()].filter((partition) => partition >= first).sort((a, b) => a - b)
  return {
    ...summaryOf(sources, topic),
    partitions: indexes
      .slice(0, MAX_PAGE_SIZE)
      .flatMap((partition) => partitionView(sources, name, partition, topic.partitions.get(partition))),
    nextPartition: indexes[MAX_PAGE_SIZE] ?? null,
    configs: sources.broker.configs.current
      .describeTopic(sources.broker.metadata.topicConfig(name))
      .filter(({ isDefault }) => !isDefault)
      .map(({ name: config, value, source }) => ({ name: config, value, source })),
    monotonicMs: sources.clock.monotonicMs(),
  }
}

/** Throws ApiError for a topic that does not exist. */
export function findTopic({ broker }: ApiSources, name: string): TopicImage {
  const topic = broker.metadata.topic(name)
  if (topic === undefined) throw notFound(`There is no topic '${name.slice(0, 300)}'.`)
  return topic
}

function summaryOf({ broker }: ApiSources, { name, topicId, partitions }: TopicImage): TopicSummary {
  const sums = { ledHereCount: 0, offlineCount: 0, underReplicatedCount: 0 }
  const led = { records: 0, sizeBytes: 0, recordsIn: 0, bytesIn: 0, bytesOut: 0 }
  for (const [index, { leader, isr, replicas }] of partitions) {
    if (leader === NO_LEADER) sums.offlineCount++
    if (isr.length < replicas.length) sums.underReplicatedCount++
    const replica = broker.replicas.partition(name, index)
    if (replica?.isLeader !== true) continue
    const { log, stats } = replica
    sums.ledHereCount++
    led.records += Math.max(0, log.highWatermark - log.logStartOffset)
    led.sizeBytes += log.sizeBytes
    led.recordsIn += stats.recordsIn
    led.bytesIn += stats.bytesIn
    led.bytesOut += stats.bytesOut
  }
  return { name, topicId, isInternal: isInternalTopic(name), partitionCount: partitions.size, ...sums, ...led }
}

function partitionView(
  { broker }: ApiSources,
  topicName: string,
  partition: number,
  entry: PartitionEntry | undefined,
): PartitionView[] {
  if (entry === undefined) return []
  const { leader, leaderEpoch, replicas, isr } = entry
  const replica = broker.replicas.partition(topicName, partition)
  const log = replica?.isLeader === true ? replica.log : undefined
  return [
    {
      partition,
      leader,
      leaderEpoch,
      replicas,
      isr,
      logStartOffset: log?.logStartOffset ?? null,
      highWatermark: log?.highWatermark ?? null,
      logEndOffset: log?.logEndOffset ?? null,
      sizeBytes: log?.sizeBytes ?? null,
      segmentCount: log?.segmentCount ?? null,
    },
  ]
}
