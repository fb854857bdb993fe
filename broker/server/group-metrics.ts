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
import { familiesText, labelText, type LabelledRow, type MetricFamily } from './metric-family.ts'
import { partitionLag } from './partition-lag.ts'

export interface GroupSources {
  readonly groups: GroupViews
  readonly metadata: MetadataCache
  readonly replicas: ReplicaManager
  /** The most series of one metric. */
  readonly maxSeries: number
}

/** A name longer than this is no label that anybody can use, and thousands of them would fill the memory of who scrapes. */
const MAX_GROUP_ID_LENGTH = 1024

interface OffsetRow extends LabelledRow {
  readonly offset: number
  readonly lag: number | undefined
}

interface TopicRow extends LabelledRow {
  offset: number
  /** Undefined where the lag of a partition is not known here. */
  lag: number | undefined
}

interface GroupRow extends LabelledRow {
  readonly memberCount: number
}

interface Snapshot {
  readonly groups: GroupRow[]
  readonly topics: TopicRow[]
  readonly offsets: OffsetRow[]
  leftOut: number
}

/** The text of all metrics of groups, as of the call. */
export function groupMetrics(sources: GroupSources): Iterable<string> {
  const snapshot: Snapshot = { groups: [], topics: [], offsets: [], leftOut: 0 }
  const { maxSeries } = sources
  let arePartitionsTold = true
  for (const group of sources.groups.groups()) {
    if (group.groupId.length > MAX_GROUP_ID_LENGTH || snapshot.groups.length >= maxSeries) {
      snapshot.leftOut++
      continue
    }
    const groupLabels = labelText({ consumergroup: group.groupId })
    snapshot.groups.push({ labels: groupLabels, memberCount: group.memberCount })
    const topics = new Map<string, TopicRow>()
    for (const { topicName, partition, offset } of group.offsets()) {
      const lag = partitionLag(sources, topicName, partition, offset)
      if (lag === 'no-partition') continue
      let topic = topics.get(topicName)
      if (topic === undefined) {
        if (snapshot.topics.length + topics.size >= maxSeries) {
          snapshot.leftOut++
          continue
        }
        topic = { labels: `${groupLabels},${labelText({ topic: topicName })}`, offset: 0, lag: 0 }
        topics.set(topicName, topic)
      }
      topic.offset += offset
      topic.lag = lag === undefined || topic.lag === undefined ? undefined : topic.lag + lag
      if (!arePartitionsTold) snapshot.leftOut++
      else if (snapshot.offsets.length < maxSeries) {
        snapshot.offsets.push({ labels: `${topic.labels},${labelText({ partition })}`, offset, lag })
      } else {
        // A part of the groups would look like the whole: then rather none.
        arePartitionsTold = false
        snapshot.leftOut += snapshot.offsets.length + 1
        snapshot.offsets.length = 0
      }
    }
    snapshot.topics.push(...topics.values())
  }
  return textOf(snapshot)
}

function* textOf({ groups, topics, offsets, leftOut }: Snapshot): Generator<string, void> {
  yield* familiesText(OFFSET_FAMILIES, offsets)
  yield* familiesText(TOPIC_FAMILIES, topics)
  yield* familiesText(GROUP_FAMILIES, groups)
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
