/**
 * Metrics of consumer groups by kafka_exporter's names, for the groups that this broker coordinates, with or without
 * members.
 *
 * The snapshot is taken in one turn of the event loop: a lag is what lay between a committed offset and the high watermark
 * at one moment, so it is never negative by a race; a commit beyond the log (after a truncation, or a tool's) counts as 0.
 * Partitions that no longer exist have no metrics. Bounded: with more committed offsets than a limit only sums per
 * topic are told.
 */
import type { GroupViews } from '../coordinator/group/group-view.ts'
import type { MetadataCache } from '../metadata/metadata-cache.ts'
import type { ReplicaManager } from '../replication/replica-manager.ts'
import { familiesText, labelsOf, labelText, type LabelledRow, type MetricFamily } from './metric-family.ts'

export interface GroupSources {
  readonly groups: GroupViews
  readonly metadata: Pick<MetadataCache, 'partition'>
  readonly replicas: Pick<ReplicaManager, 'partitions'>
  /** The most series of one metric. */
  readonly maxSeries: number
}

/** A name longer than this is no label that anybody can use, and thousands of them would fill the memory of who scrapes. */
const MAX_GROUP_ID_LENGTH = 1024

interface GroupRow extends LabelledRow {
  readonly memberCount: number
}

interface TopicRow {
  readonly group: GroupRow
  readonly topicName: string
  offset: number
  /** Undefined where the lag of a partition is not known here. */
  lag: number | undefined
}

interface OffsetRow {
  readonly topic: TopicRow
  readonly partition: number
  readonly offset: number
  readonly lag: number | undefined
}

/** High watermarks of the partitions that this broker leads, by topic and partition. */
type Ends = ReadonlyMap<string, readonly (number | undefined)[]>

/** The text of all metrics of groups, as of the call. */
export function groupMetrics(sources: GroupSources): Iterable<string> {
  const snapshot = new Snapshot(sources)
  for (const group of sources.groups.groups()) {
    if (group.groupId.length > MAX_GROUP_ID_LENGTH || snapshot.groups.length >= sources.maxSeries) {
      snapshot.leftOut++
      continue
    }
    const row = { labels: labelText({ consumergroup: group.groupId }), memberCount: group.memberCount }
    snapshot.groups.push(row)
    for (const { topicName, partition, offset } of group.offsets()) snapshot.add(row, topicName, partition, offset)
  }
  return textOf(snapshot)
}

/** Numbers and references alone: the text is made afterwards, a little at a time. */
class Snapshot {
  readonly groups: GroupRow[] = []
  readonly topics: TopicRow[] = []
  readonly offsets: OffsetRow[] = []
  leftOut = 0
  readonly #sources: GroupSources
  readonly #ends: Ends
  #topicsOfGroup = new Map<string, TopicRow>()
  #arePartitionsTold = true

  constructor(sources: GroupSources) {
    this.#sources = sources
    this.#ends = endsOf(sources)
  }

  /** The offsets of one group come one after the other. */
  add(group: GroupRow, topicName: string, partition: number, offset: number): void {
    const { metadata, maxSeries } = this.#sources
    const end = this.#ends.get(topicName)?.[partition]
    if (end === undefined && metadata.partition(topicName, partition) === undefined) return
    const lag = end === undefined ? undefined : Math.max(0, end - offset)
    const topic = this.#topicOf(group, topicName)
    if (topic === undefined) return
    topic.offset += offset
    topic.lag = lag === undefined || topic.lag === undefined ? undefined : topic.lag + lag
    if (!this.#arePartitionsTold) this.leftOut++
    else if (this.offsets.length < maxSeries) this.offsets.push({ topic, partition, offset, lag })
    else {
      // A part of the groups would look like the whole: then rather none.
      this.#arePartitionsTold = false
      this.leftOut += this.offsets.length + 1
      this.offsets.length = 0
    }
  }

  #topicOf(group: GroupRow, topicName: string): TopicRow | undefined {
    if (this.topics.at(-1)?.group !== group) this.#topicsOfGroup = new Map()
    let topic = this.#topicsOfGroup.get(topicName)
    if (topic !== undefined) return topic
    if (this.topics.length >= this.#sources.maxSeries) {
      this.leftOut++
      return undefined
    }
    topic = { group, topicName, offset: 0, lag: 0 }
    this.#topicsOfGroup.set(topicName, topic)
    this.topics.push(topic)
    return topic
  }
}

function endsOf({ replicas }: GroupSources): Ends {
  const ends = new Map<string, (number | undefined)[]>()
  for (const { topicName, partition, isLeader, highWatermark } of replicas.partitions()) {
    if (!isLeader) continue
    let ofTopic = ends.get(topicName)
    if (ofTopic === undefined) ends.set(topicName, (ofTopic = []))
    ofTopic[partition] = highWatermark
  }
  return ends
}

function* textOf({ groups, topics, offsets, leftOut }: Snapshot): Generator<string, void> {
  const labelsOfTopic = ({ group, topicName }: TopicRow): string => `${group.labels},topic="${topicName}"`
  yield* familiesText(OFFSET_FAMILIES, offsets, ({ topic, partition }) => {
    return `${labelsOfTopic(topic)},partition="${partition}"`
  })
  yield* familiesText(TOPIC_FAMILIES, topics, labelsOfTopic)
  yield* familiesText(GROUP_FAMILIES, groups, labelsOf)
  yield [
    '# HELP ottla_metrics_consumergroup_leftout Groups and offsets that have no series of their own, by ottla.metrics.group.series.max',
    '# TYPE ottla_metrics_consumergroup_leftout gauge',
    `ottla_metrics_consumergroup_leftout ${leftOut}\n`,
  ].join('\n')
}

const OFFSET_FAMILIES: readonly MetricFamily<OffsetRow>[] = [
  {
    name: 'kafka_consumergroup_current_offset',
    type: 'gauge',
    help: 'Committed offset of the group in the partition',
    value: ({ offset }) => offset,
  },
  {
    name: 'kafka_consumergroup_lag',
    type: 'gauge',
    help: 'Offsets between the committed one and the end of the partition',
    value: ({ lag }) => lag,
  },
]

const TOPIC_FAMILIES: readonly MetricFamily<TopicRow>[] = [
  {
    name: 'kafka_consumergroup_current_offset_sum',
    type: 'gauge',
    help: 'Sum of the committed offsets of the group in the topic',
    value: ({ offset }) => offset,
  },
  {
    name: 'kafka_consumergroup_lag_sum',
    type: 'gauge',
    help: 'Sum of the lags of the group in the topic',
    value: ({ lag }) => lag,
  },
]

const GROUP_FAMILIES: readonly MetricFamily<GroupRow>[] = [
  {
    name: 'kafka_consumergroup_members',
    type: 'gauge',
    help: 'Members of the group',
    value: ({ memberCount }) => memberCount,
  },
]
