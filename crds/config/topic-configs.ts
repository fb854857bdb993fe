import {
  atLeast,
  between,
  betweenOr,
  closestName,
  ConfigError,
  listOf,
  oneOf,
  parseConfig,
  throttledReplicas,
  type ConfigDef,
  type ParsedConfig,
} from './config-def.ts'

/**
 * Every topic config of Kafka 4.3, with the broker configs that set its default. Names, types, bounds and defaults are
 * Kafka's, but for one: `flush.messages` defaults to 1, since here an append counts once it is fsynced.
 */
export interface TopicConfigDef extends ConfigDef {
  /** Broker configs that give the default, the strongest first; `factor` converts their unit (hours, minutes) to this one's. */
  readonly synonyms: readonly Synonym[]
}

export interface Synonym {
  readonly name: string
  readonly factor?: number
}

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const MAX_LONG = '9223372036854775807'

export const COMPRESSION_TYPES = ['uncompressed', 'zstd', 'lz4', 'snappy', 'gzip', 'producer'] as const

export const TOPIC_CONFIGS = {
  'cleanup.policy': {
    type: 'list',
    defaultValue: 'delete',
    importance: 'medium',
    validator: listOf('compact', 'delete'),
    documentation:
      'What happens to old segments: "delete" removes them by age or size, "compact" keeps the newest record of each key, both together do both, and an empty list keeps everything.',
    synonyms: [{ name: 'log.cleanup.policy' }],
  },
  'compression.gzip.level': {
    type: 'int',
    defaultValue: '-1',
    importance: 'medium',
    validator: betweenOr(1, 9, -1),
    documentation: 'The level used when compression.type is gzip.',
    synonyms: [{ name: 'compression.gzip.level' }],
  },
  'compression.lz4.level': {
    type: 'int',
    defaultValue: '9',
    importance: 'medium',
    validator: between(1, 17),
    documentation: 'The level used when compression.type is lz4.',
    synonyms: [{ name: 'compression.lz4.level' }],
  },
  'compression.type': {
    type: 'string',
    defaultValue: 'producer',
    importance: 'medium',
    validator: oneOf(...COMPRESSION_TYPES),
    documentation:
      'The codec that batches are stored with; "producer" keeps each batch as the producer sent it, "uncompressed" stores without compression.',
    synonyms: [{ name: 'compression.type' }],
  },
  'compression.zstd.level': {
    type: 'int',
    defaultValue: '3',
    importance: 'medium',
    validator: between(-131072, 22),
    documentation: 'The level used when compression.type is zstd.',
    synonyms: [{ name: 'compression.zstd.level' }],
  },
  'delete.retention.ms': {
    type: 'long',
    defaultValue: '86400000',
    importance: 'medium',
    validator: atLeast(0),
    documentation: 'How long a compacted topic keeps tombstones, so that a slow reader still sees the deletion.',
    synonyms: [{ name: 'log.cleaner.delete.retention.ms' }],
  },
  'file.delete.delay.ms': {
    type: 'long',
    defaultValue: '60000',
    importance: 'medium',
    validator: atLeast(0),
    documentation: 'How long a removed segment stays on disk under another name before its files are deleted.',
    synonyms: [{ name: 'log.segment.delete.delay.ms' }],
  },
  'flush.messages': {
    type: 'long',
    defaultValue: '1',
    importance: 'medium',
    validator: atLeast(1),
    documentation:
      'After how many records the log is fsynced. 1, the default, makes an append count only once it is on disk; a large value leaves the fsync to the operating system.',
    synonyms: [{ name: 'log.flush.interval.messages' }],
  },
  'flush.ms': {
    type: 'long',
    defaultValue: MAX_LONG,
    importance: 'medium',
    validator: atLeast(0),
    documentation: 'The longest time that appended records stay without an fsync, where flush.messages allows it.',
    synonyms: [{ name: 'log.flush.interval.ms' }, { name: 'log.flush.scheduler.interval.ms' }],
  },
  'follower.replication.throttled.replicas': {
    type: 'list',
    defaultValue: '',
    importance: 'medium',
    validator: throttledReplicas,
    documentation: 'Replicas whose copying is throttled on the follower: "*" or partition:broker pairs.',
    synonyms: [],
  },
  'index.interval.bytes': {
    type: 'int',
    defaultValue: '4096',
    importance: 'medium',
    validator: atLeast(0),
    documentation: 'After how many bytes of log the offset index gets a new entry.',
    synonyms: [{ name: 'log.index.interval.bytes' }],
  },
  'leader.replication.throttled.replicas': {
    type: 'list',
    defaultValue: '',
    importance: 'medium',
    validator: throttledReplicas,
    documentation: 'Replicas whose copying is throttled on the leader: "*" or partition:broker pairs.',
    synonyms: [],
  },
  'local.retention.bytes': {
    type: 'long',
    defaultValue: '-2',
    importance: 'medium',
    validator: atLeast(-2),
    documentation: 'With tiered storage, the size that is kept locally; -2 means the value of retention.bytes.',
    synonyms: [{ name: 'log.local.retention.bytes' }],
  },
  'local.retention.ms': {
    type: 'long',
    defaultValue: '-2',
    importance: 'medium',
    validator: atLeast(-2),
    documentation: 'With tiered storage, how long segments are kept locally; -2 means the value of retention.ms.',
    synonyms: [{ name: 'log.local.retention.ms' }],
  },
  'max.compaction.lag.ms': {
    type: 'long',
    defaultValue: MAX_LONG,
    importance: 'medium',
    validator: atLeast(1),
    documentation: 'The longest time that a record of a compacted topic may wait for compaction.',
    synonyms: [{ name: 'log.cleaner.max.compaction.lag.ms' }],
  },
  'max.message.bytes': {
    type: 'int',
    defaultValue: '1048588',
    importance: 'medium',
    validator: atLeast(0),
    documentation: 'The largest record batch that is accepted, after compression.',
    synonyms: [{ name: 'message.max.bytes' }],
  },
  'message.timestamp.after.max.ms': {
    type: 'long',
    defaultValue: '3600000',
    importance: 'medium',
    validator: atLeast(0),
    documentation:
      "How far a record's timestamp may lie after the broker's clock when timestamps are set by producers.",
    synonyms: [{ name: 'log.message.timestamp.after.max.ms' }],
  },
  'message.timestamp.before.max.ms': {
    type: 'long',
    defaultValue: MAX_LONG,
    importance: 'medium',
    validator: atLeast(0),
    documentation:
      "How far a record's timestamp may lie before the broker's clock when timestamps are set by producers.",
    synonyms: [{ name: 'log.message.timestamp.before.max.ms' }],
  },
  'message.timestamp.type': {
    type: 'string',
    defaultValue: 'CreateTime',
    importance: 'medium',
    validator: oneOf('CreateTime', 'LogAppendTime'),
    documentation: 'Whether a record carries the time that the producer set or the time of its append.',
    synonyms: [{ name: 'log.message.timestamp.type' }],
  },
  'min.cleanable.dirty.ratio': {
    type: 'double',
    defaultValue: '0.5',
    importance: 'medium',
    validator: between(0, 1),
    documentation: 'The share of not yet compacted bytes from which a log is compacted.',
    synonyms: [{ name: 'log.cleaner.min.cleanable.ratio' }],
  },
  'min.compaction.lag.ms': {
    type: 'long',
    defaultValue: '0',
    importance: 'medium',
    validator: atLeast(0),
    documentation: 'The shortest time that a record of a compacted topic stays before compaction may drop it.',
    synonyms: [{ name: 'log.cleaner.min.compaction.lag.ms' }],
  },
  'min.insync.replicas': {
    type: 'int',
    defaultValue: '1',
    importance: 'medium',
    validator: atLeast(1),
    documentation: 'How many replicas must be in sync for a write with acks=all to be accepted.',
    synonyms: [{ name: 'min.insync.replicas' }],
  },
  preallocate: {
    type: 'boolean',
    defaultValue: 'false',
    importance: 'medium',
    documentation: 'Whether the file of a new segment gets its full size at once.',
    synonyms: [{ name: 'log.preallocate' }],
  },
  'remote.log.copy.disable': {
    type: 'boolean',
    defaultValue: 'false',
    importance: 'medium',
    documentation: 'With tiered storage, stops copying segments to it. There is no tiered storage here: only false.',
    synonyms: [],
  },
  'remote.log.delete.on.disable': {
    type: 'boolean',
    defaultValue: 'false',
    importance: 'medium',
    documentation:
      'Whether tiered data goes when tiered storage is turned off. There is no tiered storage here: only false.',
    synonyms: [],
  },
  'remote.storage.enable': {
    type: 'boolean',
    defaultValue: 'false',
    importance: 'medium',
    documentation: 'Turns on tiered storage for the topic. There is no tiered storage here: only false.',
    synonyms: [],
  },
  'retention.bytes': {
    type: 'long',
    defaultValue: '-1',
    importance: 'medium',
    documentation: 'The size of a partition beyond which its oldest segments are deleted; -1: no limit.',
    synonyms: [{ name: 'log.retention.bytes' }],
  },
  'retention.ms': {
    type: 'long',
    defaultValue: '604800000',
    importance: 'medium',
    validator: atLeast(-1),
    documentation: 'The age at which segments are deleted; -1: no limit.',
    synonyms: [
      { name: 'log.retention.ms' },
      { name: 'log.retention.minutes', factor: MINUTE_MS },
      { name: 'log.retention.hours', factor: HOUR_MS },
    ],
  },
  'segment.bytes': {
    type: 'int',
    defaultValue: '1073741824',
    importance: 'medium',
    validator: atLeast(1_048_576),
    documentation: 'The size at which a log starts a new segment file.',
    synonyms: [{ name: 'log.segment.bytes' }],
  },
  'segment.index.bytes': {
    type: 'int',
    defaultValue: '10485760',
    importance: 'medium',
    validator: atLeast(4),
    documentation: "The largest size of a segment's offset index; a full index starts a new segment.",
    synonyms: [{ name: 'log.index.size.max.bytes' }],
  },
  'segment.jitter.ms': {
    type: 'long',
    defaultValue: '0',
    importance: 'medium',
    validator: atLeast(0),
    documentation: 'The most that is randomly taken off segment.ms, so that many logs do not roll at the same moment.',
    synonyms: [{ name: 'log.roll.jitter.ms' }, { name: 'log.roll.jitter.hours', factor: HOUR_MS }],
  },
  'segment.ms': {
    type: 'long',
    defaultValue: '604800000',
    importance: 'medium',
    validator: atLeast(1),
    documentation: 'The age at which a log starts a new segment even if the current one is not full.',
    synonyms: [{ name: 'log.roll.ms' }, { name: 'log.roll.hours', factor: HOUR_MS }],
  },
  'unclean.leader.election.enable': {
    type: 'boolean',
    defaultValue: 'false',
    importance: 'medium',
    documentation:
      'Whether a replica that lacks committed records may become the leader when no other can; those records are lost then.',
    synonyms: [{ name: 'unclean.leader.election.enable' }],
  },
} as const satisfies Record<string, TopicConfigDef>

export type TopicConfigName = keyof typeof TOPIC_CONFIGS

export function isTopicConfigName(name: string): name is TopicConfigName {
  return Object.hasOwn(TOPIC_CONFIGS, name)
}

export function topicConfigDef(name: TopicConfigName): TopicConfigDef {
  return TOPIC_CONFIGS[name]
}

/** Parses one topic config. Throws {@link ConfigError}, also for an unknown name. */
export function parseTopicConfig(name: string, text: string): ParsedConfig {
  if (!isTopicConfigName(name)) {
    const near = closestName(name, Object.keys(TOPIC_CONFIGS))
    throw new ConfigError(
      name,
      `Unknown topic config name: ${name}${near === undefined ? '' : ` (did you mean ${near}?)`}`,
    )
  }
  const parsed = parseConfig(name, topicConfigDef(name), text)
  if (name.startsWith('remote.') && parsed.value === true) {
    throw new ConfigError(name, `Invalid value true for configuration ${name}: tiered storage is not supported`)
  }
  return parsed
}

/**
 * Checks a topic's configs, each alone and against each other; what is not in `config` has the value that `defaultOf`
 * gives. Throws {@link ConfigError} for the first problem.
 */
export function validateTopicConfig(
  config: Readonly<Record<string, string>>,
  defaultOf: (name: TopicConfigName) => ParsedConfig = defaultTopicConfig,
): void {
  const parsed = new Map<string, ParsedConfig>()
  for (const [name, text] of Object.entries(config)) parsed.set(name, parseTopicConfig(name, text))
  const of = (name: TopicConfigName): ParsedConfig => parsed.get(name) ?? defaultOf(name)
  const min = of('min.compaction.lag.ms')
  const max = of('max.compaction.lag.ms')
  if (Number(min.value) > Number(max.value)) {
    throw new ConfigError(
      'min.compaction.lag.ms',
      `conflict topic config setting min.compaction.lag.ms (${min.text}) > max.compaction.lag.ms (${max.text})`,
    )
  }
}

export function defaultTopicConfig(name: TopicConfigName): ParsedConfig {
  const def = TOPIC_CONFIGS[name]
  return parseConfig(name, def, def.defaultValue)
}
