import {
  atLeast,
  between,
  closestName,
  listOf,
  oneOf,
  ConfigError,
  parseConfig,
  type ConfigDef,
  type ConfigTypes,
  type ParsedConfig,
} from './config-def.ts'
import { TOPIC_CONFIGS } from './topic-configs.ts'

/**
 * The broker configs that Ottla honours: Kafka's names, types and bounds, and a few limits of its own that begin with
 * `ottla.`. A key that is not here is refused, so that a setting that would have no effect is noticed.
 *
 * Defaults that differ from Kafka's: `log.flush.interval.messages` is 1 (an append counts once it is fsynced), the
 * recovery point is checkpointed every 5 s (what follows it is read again at a start), `queued.max.request.bytes` is
 * bounded, `log.cleaner.dedupe.buffer.size` is half as large.
 */
export interface BrokerConfigDef extends ConfigDef {
  /** May it change while the broker runs, and for one broker alone? */
  readonly update: 'read-only' | 'per-broker' | 'cluster-wide'
  /** The controllers decide by it too, so that one broker alone can't have another value while it runs. */
  readonly isOfWholeCluster?: true
}

const topicDefault = (name: keyof typeof TOPIC_CONFIGS): Pick<BrokerConfigDef, 'documentation' | 'validator'> => {
  const def: ConfigDef = TOPIC_CONFIGS[name]
  const documentation = `The default of the topic config ${name}. ${def.documentation}`
  return def.validator === undefined ? { documentation } : { documentation, validator: def.validator }
}

export const BROKER_CONFIGS = {
  'auto.create.topics.enable': {
    type: 'boolean',
    defaultValue: 'true',
    importance: 'high',
    update: 'read-only',
    documentation: 'Whether a topic is created when a client that allows it asks for one that does not exist.',
  },
  'broker.rack': {
    type: 'string',
    defaultValue: null,
    importance: 'medium',
    update: 'read-only',
    documentation: 'Where the broker stands; replicas of a partition are spread over racks.',
  },
  'compression.gzip.level': {
    type: 'int',
    defaultValue: '-1',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('compression.gzip.level'),
  },
  'compression.lz4.level': {
    type: 'int',
    defaultValue: '9',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('compression.lz4.level'),
  },
  'compression.type': {
    type: 'string',
    defaultValue: 'producer',
    importance: 'high',
    update: 'cluster-wide',
    ...topicDefault('compression.type'),
  },
  'compression.zstd.level': {
    type: 'int',
    defaultValue: '3',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('compression.zstd.level'),
  },
  'connections.max.idle.ms': {
    type: 'long',
    defaultValue: '600000',
    importance: 'medium',
    update: 'read-only',
    documentation: 'A connection without a request for this long is closed.',
  },
  'default.replication.factor': {
    type: 'int',
    defaultValue: '1',
    importance: 'medium',
    validator: atLeast(1),
    update: 'cluster-wide',
    documentation: 'Replicas of a topic that is created automatically or without a replication factor.',
  },
  'delete.topic.enable': {
    type: 'boolean',
    defaultValue: 'true',
    importance: 'high',
    update: 'read-only',
    documentation: 'Whether clients may delete topics.',
  },
  'fetch.max.bytes': {
    type: 'int',
    defaultValue: '57671680',
    importance: 'medium',
    validator: atLeast(1024),
    update: 'read-only',
    documentation: 'The most bytes of records that one fetch response carries, whatever the client asks for.',
  },
  'group.consumer.assignors': {
    type: 'list',
    defaultValue: 'uniform,range',
    importance: 'medium',
    validator: listOf('uniform', 'range'),
    update: 'read-only',
    documentation: 'The server-side assignors of consumer groups (KIP-848); members that name none get the first.',
  },
  'group.consumer.heartbeat.interval.ms': {
    type: 'int',
    defaultValue: '5000',
    importance: 'medium',
    validator: atLeast(1),
    update: 'cluster-wide',
    documentation: 'How often members of consumer groups (KIP-848) are to send heartbeats.',
  },
  'group.consumer.max.heartbeat.interval.ms': {
    type: 'int',
    defaultValue: '15000',
    importance: 'medium',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The upper bound of what may be set for one group.',
  },
  'group.consumer.max.session.timeout.ms': {
    type: 'int',
    defaultValue: '60000',
    importance: 'medium',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The upper bound of what may be set for one group.',
  },
  'group.consumer.max.size': {
    type: 'int',
    defaultValue: '2147483647',
    importance: 'medium',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The most members of one consumer group (KIP-848).',
  },
  'group.consumer.migration.policy': {
    type: 'string',
    defaultValue: 'bidirectional',
    importance: 'medium',
    validator: oneOf('bidirectional', 'upgrade', 'downgrade', 'disabled'),
    update: 'read-only',
    documentation: 'Whether a group may change between the classic protocol and that of KIP-848 while it consumes.',
  },
  'group.consumer.min.heartbeat.interval.ms': {
    type: 'int',
    defaultValue: '5000',
    importance: 'medium',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The lower bound of what may be set for one group.',
  },
  'group.consumer.min.session.timeout.ms': {
    type: 'int',
    defaultValue: '45000',
    importance: 'medium',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The lower bound of what may be set for one group.',
  },
  'group.consumer.regex.refresh.interval.ms': {
    type: 'int',
    defaultValue: '600000',
    importance: 'medium',
    validator: atLeast(10_000),
    update: 'read-only',
    documentation: 'How often subscribed patterns are matched again with the topics that exist.',
  },
  'group.consumer.session.timeout.ms': {
    type: 'int',
    defaultValue: '45000',
    importance: 'medium',
    validator: atLeast(1),
    update: 'cluster-wide',
    documentation: 'Without a heartbeat for this long a member leaves its consumer group (KIP-848).',
  },
  'group.initial.rebalance.delay.ms': {
    type: 'int',
    defaultValue: '3000',
    importance: 'medium',
    validator: atLeast(0),
    update: 'read-only',
    documentation: 'How long an empty classic group waits for more members before its first rebalance.',
  },
  'group.max.session.timeout.ms': {
    type: 'int',
    defaultValue: '1800000',
    importance: 'medium',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The longest session timeout that a member of a classic group may ask for.',
  },
  'group.max.size': {
    type: 'int',
    defaultValue: '2147483647',
    importance: 'medium',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The most members of one classic group.',
  },
  'group.min.session.timeout.ms': {
    type: 'int',
    defaultValue: '6000',
    importance: 'medium',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The shortest session timeout that a member of a classic group may ask for.',
  },
  'log.cleaner.backoff.ms': {
    type: 'long',
    defaultValue: '15000',
    importance: 'medium',
    validator: atLeast(0),
    update: 'cluster-wide',
    documentation: 'How long the log cleaner rests when no log is to be compacted.',
  },
  'log.cleaner.dedupe.buffer.size': {
    type: 'long',
    defaultValue: '67108864',
    importance: 'medium',
    validator: between(1024 * 1024, 16 * 1024 * 1024 * 1024),
    update: 'cluster-wide',
    documentation:
      'The most memory for the keys that compaction compares, 24 bytes for each. It is taken as keys come, and given back after each log; a log with more keys is compacted in several passes.',
  },
  'log.cleaner.delete.retention.ms': {
    type: 'long',
    defaultValue: '86400000',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('delete.retention.ms'),
  },
  'log.cleaner.enable': {
    type: 'boolean',
    defaultValue: 'true',
    importance: 'medium',
    update: 'read-only',
    documentation: 'Whether logs with cleanup.policy=compact are compacted at all. Without it, they grow for ever.',
  },
  'log.cleaner.io.buffer.load.factor': {
    type: 'double',
    defaultValue: '0.9',
    importance: 'medium',
    validator: between(0.1, 1),
    update: 'cluster-wide',
    documentation:
      'How full log.cleaner.dedupe.buffer.size may get. Fuller takes more keys in a pass, and longer for each.',
  },
  'log.cleaner.io.buffer.size': {
    type: 'int',
    defaultValue: '524288',
    importance: 'medium',
    validator: between(4096, 64 * 1024 * 1024),
    update: 'cluster-wide',
    documentation: 'How much the log cleaner reads at a time.',
  },
  'log.cleaner.io.max.bytes.per.second': {
    type: 'double',
    defaultValue: '1.7976931348623157E308',
    importance: 'medium',
    validator: atLeast(1),
    update: 'cluster-wide',
    documentation: 'The most bytes that the log cleaner reads and writes in a second, together and on average.',
  },
  'log.cleaner.max.compaction.lag.ms': {
    type: 'long',
    defaultValue: '9223372036854775807',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('max.compaction.lag.ms'),
  },
  'log.cleaner.min.cleanable.ratio': {
    type: 'double',
    defaultValue: '0.5',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('min.cleanable.dirty.ratio'),
  },
  'log.cleaner.min.compaction.lag.ms': {
    type: 'long',
    defaultValue: '0',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('min.compaction.lag.ms'),
  },
  'log.cleanup.policy': {
    type: 'list',
    defaultValue: 'delete',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('cleanup.policy'),
  },
  'log.flush.interval.messages': {
    type: 'long',
    defaultValue: '1',
    importance: 'high',
    update: 'cluster-wide',
    isOfWholeCluster: true,
    ...topicDefault('flush.messages'),
  },
  'log.flush.interval.ms': {
    type: 'long',
    defaultValue: null,
    importance: 'high',
    update: 'cluster-wide',
    ...topicDefault('flush.ms'),
  },
  'log.flush.offset.checkpoint.interval.ms': {
    type: 'int',
    defaultValue: '5000',
    importance: 'high',
    validator: atLeast(0),
    update: 'read-only',
    documentation: 'How often the recovery points are written; only what follows them is read again after a crash.',
  },
  'log.flush.scheduler.interval.ms': {
    type: 'long',
    defaultValue: '9223372036854775807',
    importance: 'high',
    update: 'read-only',
    documentation: 'The default of log.flush.interval.ms.',
  },
  'log.flush.start.offset.checkpoint.interval.ms': {
    type: 'int',
    defaultValue: '60000',
    importance: 'high',
    validator: atLeast(0),
    update: 'read-only',
    documentation: 'How often the log start offsets are written.',
  },
  'log.index.interval.bytes': {
    type: 'int',
    defaultValue: '4096',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('index.interval.bytes'),
  },
  'log.index.size.max.bytes': {
    type: 'int',
    defaultValue: '10485760',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('segment.index.bytes'),
  },
  'log.local.retention.bytes': {
    type: 'long',
    defaultValue: '-2',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('local.retention.bytes'),
  },
  'log.local.retention.ms': {
    type: 'long',
    defaultValue: '-2',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('local.retention.ms'),
  },
  'log.message.timestamp.after.max.ms': {
    type: 'long',
    defaultValue: '3600000',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('message.timestamp.after.max.ms'),
  },
  'log.message.timestamp.before.max.ms': {
    type: 'long',
    defaultValue: '9223372036854775807',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('message.timestamp.before.max.ms'),
  },
  'log.message.timestamp.type': {
    type: 'string',
    defaultValue: 'CreateTime',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('message.timestamp.type'),
  },
  'log.preallocate': {
    type: 'boolean',
    defaultValue: 'false',
    importance: 'medium',
    update: 'cluster-wide',
    ...topicDefault('preallocate'),
  },
  'log.retention.bytes': {
    type: 'long',
    defaultValue: '-1',
    importance: 'high',
    update: 'cluster-wide',
    ...topicDefault('retention.bytes'),
  },
  'log.retention.check.interval.ms': {
    type: 'long',
    defaultValue: '300000',
    importance: 'medium',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'How often logs are looked through for segments that retention lets go.',
  },
  'log.retention.hours': {
    type: 'int',
    defaultValue: '168',
    importance: 'high',
    update: 'read-only',
    documentation: 'The default of the topic config retention.ms in hours; log.retention.minutes and .ms go first.',
  },
  'log.retention.minutes': {
    type: 'int',
    defaultValue: null,
    importance: 'high',
    update: 'read-only',
    documentation: 'The default of the topic config retention.ms in minutes; log.retention.ms goes first.',
  },
  'log.retention.ms': {
    type: 'long',
    defaultValue: null,
    importance: 'high',
    update: 'cluster-wide',
    ...topicDefault('retention.ms'),
  },
  'log.roll.hours': {
    type: 'int',
    defaultValue: '168',
    importance: 'high',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The default of the topic config segment.ms in hours; log.roll.ms goes first.',
  },
  'log.roll.jitter.hours': {
    type: 'int',
    defaultValue: '0',
    importance: 'high',
    validator: atLeast(0),
    update: 'read-only',
    documentation: 'The default of the topic config segment.jitter.ms in hours; log.roll.jitter.ms goes first.',
  },
  'log.roll.jitter.ms': {
    type: 'long',
    defaultValue: null,
    importance: 'high',
    update: 'cluster-wide',
    ...topicDefault('segment.jitter.ms'),
  },
  'log.roll.ms': {
    type: 'long',
    defaultValue: null,
    importance: 'high',
    update: 'cluster-wide',
    ...topicDefault('segment.ms'),
  },
  'log.segment.bytes': {
    type: 'int',
    defaultValue: '1073741824',
    importance: 'high',
    update: 'cluster-wide',
    ...topicDefault('segment.bytes'),
  },
  'log.segment.delete.delay.ms': {
    type: 'long',
    defaultValue: '60000',
    importance: 'high',
    update: 'cluster-wide',
    ...topicDefault('file.delete.delay.ms'),
  },
  'max.connections': {
    type: 'int',
    defaultValue: '2147483647',
    importance: 'medium',
    validator: atLeast(0),
    update: 'cluster-wide',
    documentation: 'The most connections that the broker holds.',
  },
  'max.connections.per.ip': {
    type: 'int',
    defaultValue: '2147483647',
    importance: 'medium',
    validator: atLeast(0),
    update: 'cluster-wide',
    documentation: 'The most connections that the broker holds from one address.',
  },
  'max.incremental.fetch.session.cache.slots': {
    type: 'int',
    defaultValue: '1000',
    importance: 'medium',
    validator: atLeast(0),
    update: 'read-only',
    documentation: 'How many incremental fetch sessions (KIP-227) the broker keeps.',
  },
  'max.request.partition.size.limit': {
    type: 'int',
    defaultValue: '2000',
    importance: 'medium',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The most partitions that one DescribeTopicPartitions response carries.',
  },
  'message.max.bytes': {
    type: 'int',
    defaultValue: '1048588',
    importance: 'high',
    update: 'cluster-wide',
    ...topicDefault('max.message.bytes'),
  },
  'min.insync.replicas': {
    type: 'int',
    defaultValue: '1',
    importance: 'high',
    update: 'cluster-wide',
    isOfWholeCluster: true,
    ...topicDefault('min.insync.replicas'),
  },
  'num.partitions': {
    type: 'int',
    defaultValue: '1',
    importance: 'medium',
    validator: atLeast(1),
    update: 'cluster-wide',
    documentation: 'Partitions of a topic that is created automatically or without a partition count.',
  },
  'offset.metadata.max.bytes': {
    type: 'int',
    defaultValue: '4096',
    importance: 'high',
    validator: atLeast(0),
    update: 'read-only',
    documentation: 'The most bytes of metadata that a commit may carry for a partition.',
  },
  'offsets.commit.timeout.ms': {
    type: 'int',
    defaultValue: '5000',
    importance: 'high',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'How long a commit waits until it is committed by all in-sync replicas.',
  },
  'offsets.retention.check.interval.ms': {
    type: 'long',
    defaultValue: '600000',
    importance: 'high',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'How often expired offsets are looked for.',
  },
  'offsets.retention.minutes': {
    type: 'int',
    defaultValue: '10080',
    importance: 'high',
    validator: atLeast(1),
    update: 'cluster-wide',
    documentation:
      'How long the offsets of an empty group, and of topics that a group no longer subscribes to, are kept (KIP-211).',
  },
  'offsets.topic.num.partitions': {
    type: 'int',
    defaultValue: '50',
    importance: 'high',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'Partitions of __consumer_offsets; must not change once it exists.',
  },
  'offsets.topic.replication.factor': {
    type: 'short',
    defaultValue: '3',
    importance: 'high',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'Replicas of __consumer_offsets; fewer where there are fewer brokers.',
  },
  'offsets.topic.segment.bytes': {
    type: 'int',
    defaultValue: '104857600',
    importance: 'high',
    // What the topic itself takes: a smaller value would be refused each time that a client asks for its coordinator.
    validator: TOPIC_CONFIGS['segment.bytes'].validator,
    update: 'read-only',
    documentation: 'The segment size of __consumer_offsets; small, so that compaction and loading are quick.',
  },
  'ottla.connection.max.requests': {
    type: 'int',
    defaultValue: '256',
    importance: 'medium',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The most requests of one connection that are worked on at once; more wait in the socket.',
  },
  'ottla.disk.free.bytes.min': {
    type: 'long',
    defaultValue: '536870912',
    importance: 'high',
    validator: atLeast(0),
    update: 'read-only',
    documentation: 'With less free space than this on the data volume, producers get a retriable error; reads go on.',
  },
  'ottla.metrics.group.series.max': {
    type: 'int',
    defaultValue: '100000',
    importance: 'low',
    validator: atLeast(0),
    update: 'cluster-wide',
    documentation:
      'The most series that a scrape gets of one metric of consumer groups. With more committed offsets than this, lag is told per topic and not per partition.',
  },
  'ottla.web.hosts': {
    type: 'list',
    defaultValue: '',
    importance: 'medium',
    update: 'cluster-wide',
    documentation:
      'Host names under which browsers may open the page of the web port, beside localhost, addresses and the name that it listens on; * allows all. Others are refused, so that no foreign site can pose as the page.',
  },
  'ottla.web.records.enable': {
    type: 'boolean',
    defaultValue: 'true',
    importance: 'high',
    update: 'cluster-wide',
    documentation:
      'Whether the page and the API of the web port show the contents of records to whoever reaches the port.',
  },
  'producer.id.expiration.ms': {
    type: 'int',
    defaultValue: '86400000',
    importance: 'low',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'How long a partition remembers an idempotent producer after its last append.',
  },
  'queued.max.request.bytes': {
    type: 'long',
    defaultValue: '268435456',
    importance: 'medium',
    update: 'read-only',
    documentation:
      'The bytes of requests and responses that the broker holds before it stops reading from connections; -1: no limit.',
  },
  'quota.window.num': {
    type: 'int',
    defaultValue: '11',
    importance: 'low',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'Over how many windows the rates are measured that client quotas limit.',
  },
  'quota.window.size.seconds': {
    type: 'int',
    defaultValue: '1',
    importance: 'low',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The length of one such window.',
  },
  'socket.request.max.bytes': {
    type: 'int',
    defaultValue: '104857600',
    importance: 'high',
    validator: atLeast(1),
    update: 'read-only',
    documentation: 'The largest request that is read; a longer one closes its connection.',
  },
  'unclean.leader.election.enable': {
    type: 'boolean',
    defaultValue: 'false',
    importance: 'high',
    update: 'cluster-wide',
    isOfWholeCluster: true,
    ...topicDefault('unclean.leader.election.enable'),
  },
} as const satisfies Record<string, BrokerConfigDef>

export type BrokerConfigName = keyof typeof BROKER_CONFIGS

/** The type of a broker config's value: null where it has no default and none is set. */
export type BrokerConfigValue<K extends BrokerConfigName> =
  | ConfigTypes[(typeof BROKER_CONFIGS)[K]['type']]
  | ((typeof BROKER_CONFIGS)[K]['defaultValue'] extends null ? null : never)

export function isBrokerConfigName(name: string): name is BrokerConfigName {
  return Object.hasOwn(BROKER_CONFIGS, name)
}

export function brokerConfigDef(name: BrokerConfigName): BrokerConfigDef {
  return BROKER_CONFIGS[name]
}

/** Parses one broker config. Throws {@link ConfigError}, also for an unknown name. */
export function parseBrokerConfig(name: string, text: string): ParsedConfig {
  if (!isBrokerConfigName(name)) {
    const near = closestName(name, Object.keys(BROKER_CONFIGS))
    throw new ConfigError(
      name,
      `Unknown broker config name: ${name}${near === undefined ? '' : ` (did you mean ${near}?)`}`,
    )
  }
  return parseConfig(name, brokerConfigDef(name), text)
}

/** Checks broker configs, each alone and against each other. Throws {@link ConfigError} for the first problem. */
export function validateBrokerConfig(config: Readonly<Record<string, string>>): void {
  const value = (name: BrokerConfigName): number => {
    const text = config[name] ?? brokerConfigDef(name).defaultValue
    return Number(parseBrokerConfig(name, text ?? '0').value)
  }
  for (const [name, text] of Object.entries(config)) parseBrokerConfig(name, text)
  if (value('log.cleaner.min.compaction.lag.ms') > value('log.cleaner.max.compaction.lag.ms')) {
    throw new ConfigError(
      'log.cleaner.min.compaction.lag.ms',
      'log.cleaner.min.compaction.lag.ms must not be greater than log.cleaner.max.compaction.lag.ms',
    )
  }
  if (value('message.max.bytes') > value('socket.request.max.bytes')) {
    throw new ConfigError(
      'message.max.bytes',
      `message.max.bytes (${value('message.max.bytes')}) must not be greater than socket.request.max.bytes (${value('socket.request.max.bytes')}): such a batch could never arrive`,
    )
  }
}
