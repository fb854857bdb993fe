/**
 * What one log needs of its topic's configuration, decoded once from Kafka's dotted keys.
 *
 * A LogConfig is immutable; a change of the topic gives the log a new one (`UnifiedLog.updateConfig`). The values were
 * validated where they were set; what can't be decoded here is a bug of that validation and throws.
 */
import type { CompressionConfig, ValidatorConfig } from './log-validator.ts'

export interface LogConfig extends ValidatorConfig {
  /** A segment that would grow past this is rolled first. */
  readonly segmentBytes: number
  /** A segment older than this, by the broker's clock, is rolled. */
  readonly segmentMs: number
  /** Up to this much is taken off `segmentMs`, at random, so that the segments of many logs don't roll at once. */
  readonly segmentJitterMs: number
  /** The bound of each index file; a full index rolls the segment. */
  readonly segmentIndexBytes: number
  readonly indexIntervalBytes: number
  /** -1: no bound. */
  readonly retentionMs: number
  /** -1: no bound. */
  readonly retentionBytes: number
  readonly cleanupPolicy: { readonly delete: boolean; readonly compact: boolean }
  /** 1: an append counts once it is fsynced. More: an fsync after so many records, and appends count when written. */
  readonly flushMessages: number
  readonly flushMs: number
  readonly fileDeleteDelayMs: number
  readonly minInSyncReplicas: number
  readonly uncleanLeaderElectionEnable: boolean
  readonly minCompactionLagMs: number
  readonly maxCompactionLagMs: number
  readonly minCleanableDirtyRatio: number
  readonly deleteRetentionMs: number
}

const compressionConfigTypes = ['producer', 'uncompressed', 'gzip', 'snappy', 'lz4', 'zstd'] as const

/**
 * Decodes a topic's configuration. `resolve` gives the value in effect (topic, else broker, else default) of a topic
 * key as Kafka names it, such as `segment.bytes`.
 */
export function logConfigFrom(resolve: (key: string) => string): LogConfig {
  const integer = (key: string): number => {
    const text = resolve(key).trim()
    // Kafka's Long.MAX_VALUE ("never") is beyond 2^53; the nearest double means the same.
    if (!/^-?\d+$/.test(text)) throw new TypeError(`${key} must be an integer, not "${text}"`)
    return Number(text)
  }
  const policies = resolve('cleanup.policy')
    .split(',')
    .map((policy) => policy.trim())
  const timestampType = resolve('message.timestamp.type').trim()
  if (timestampType !== 'CreateTime' && timestampType !== 'LogAppendTime') {
    throw new TypeError(`message.timestamp.type must be CreateTime or LogAppendTime, not "${timestampType}"`)
  }
  return {
    segmentBytes: integer('segment.bytes'),
    segmentMs: integer('segment.ms'),
    segmentJitterMs: integer('segment.jitter.ms'),
    segmentIndexBytes: integer('segment.index.bytes'),
    indexIntervalBytes: integer('index.interval.bytes'),
    retentionMs: integer('retention.ms'),
    retentionBytes: integer('retention.bytes'),
    cleanupPolicy: { delete: policies.includes('delete'), compact: policies.includes('compact') },
    maxMessageBytes: integer('max.message.bytes'),
    flushMessages: integer('flush.messages'),
    flushMs: integer('flush.ms'),
    messageTimestampType: timestampType,
    messageTimestampBeforeMaxMs: integer('message.timestamp.before.max.ms'),
    messageTimestampAfterMaxMs: integer('message.timestamp.after.max.ms'),
    compression: {
      type: compressionTypeFrom(resolve('compression.type').trim()),
      levels: {
        gzip: integer('compression.gzip.level'),
        lz4: integer('compression.lz4.level'),
        zstd: integer('compression.zstd.level'),
      },
    },
    fileDeleteDelayMs: integer('file.delete.delay.ms'),
    minInSyncReplicas: integer('min.insync.replicas'),
    uncleanLeaderElectionEnable: resolve('unclean.leader.election.enable').trim() === 'true',
    minCompactionLagMs: integer('min.compaction.lag.ms'),
    maxCompactionLagMs: integer('max.compaction.lag.ms'),
    minCleanableDirtyRatio: Number(resolve('min.cleanable.dirty.ratio')),
    deleteRetentionMs: integer('delete.retention.ms'),
  }
}

function compressionTypeFrom(name: string): CompressionConfig['type'] {
  const type = compressionConfigTypes.find((each) => each === name)
  if (type === undefined)
    throw new TypeError(`compression.type must be producer, uncompressed or a codec, not "${name}"`)
  return type
}
