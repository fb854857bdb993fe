/** What a log manager needs and whom it tells; the settings that a broker seldom changes have defaults. */
import type { Clock } from '../../common/clock.ts'
import type { Disk } from '../../common/disk.ts'
import type { Logger } from '../../common/logger.ts'
import type { Random } from '../../common/random.ts'
import type { Timers } from '../../common/timers.ts'
import type { LogConfig } from './log-config.ts'
import type { CleanerConfig } from './log-cleaner/cleaner-config.ts'
import type { KernelHost } from './log-cleaner/kernel-host.ts'
import type { LogListener } from './unified-log.ts'

export interface LogManagerDependencies {
  readonly disk: Disk
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly logger: Logger
}

export interface LogManagerOptions {
  readonly folder: string
  readonly clusterId: string
  readonly nodeId: number
  /** The configuration in effect of a topic, also of one that nobody knows (any more): then the broker's. */
  readonly logConfigOf: (topicName: string) => LogConfig
  /** `log.retention.check.interval.ms` */
  readonly retentionCheckIntervalMs: number
  /** How often what changed is checkpointed, which bounds what an unclean start reads. */
  readonly recoveryPointIntervalMs: number
  /** `log.flush.start.offset.checkpoint.interval.ms` */
  readonly logStartIntervalMs: number
  /** `replica.high.watermark.checkpoint.interval.ms` */
  readonly highWatermarkIntervalMs?: number
  /** `log.flush.scheduler.interval.ms`, but never "never": flush.ms of topics needs somebody who looks. */
  readonly flushCheckIntervalMs?: number
  /** `producer.id.expiration.ms` */
  readonly producerIdExpirationMs: number
  /** Below so many free bytes, `isBelowFloor`. */
  readonly freeSpaceFloorBytes: number
  readonly freeSpaceCheckIntervalMs?: number
  /** A log is checkpointed after so many bytes, whatever the interval. */
  readonly checkpointBytes?: number
  /** After an unclean stop, a tail up to this is written again where it is, a longer one to a new file. */
  readonly rewriteInPlaceBytes?: number
  readonly tailCacheBytes?: number
  readonly indexCacheBytes?: number
  readonly maxOpenFiles?: number
  /** Size of the memory blocks that records live in. */
  readonly blockBytes?: number
  /** The configuration of the log cleaner at the moment; default: Kafka's defaults with less memory. */
  readonly cleanerConfig?: () => CleanerConfig
  /** Where the heavy work of the log cleaner runs; default: a thread, which lives only while there is work. */
  readonly cleanerKernel?: KernelHost
}

export const defaultCleanerConfig: CleanerConfig = {
  isEnabled: true,
  dedupeBufferBytes: 64 * 1024 * 1024,
  maxLoad: 0.9,
  ioBufferBytes: 512 * 1024,
  maxBytesPerSecond: Infinity,
  backoffMs: 15_000,
}

export interface LogManagerListener extends LogListener {
  /** The whole data dir failed; told once. */
  onOffline?(error: Error): void
  onBelowFloor?(isBelowFloor: boolean): void
}

const DEFAULT_SETTINGS = {
  highWatermarkIntervalMs: 5000,
  flushCheckIntervalMs: 1000,
  freeSpaceCheckIntervalMs: 5000,
  checkpointBytes: 32 * 1024 * 1024,
  rewriteInPlaceBytes: 256 * 1024,
  tailCacheBytes: 16 * 1024 * 1024,
  indexCacheBytes: 64 * 1024 * 1024,
  maxOpenFiles: 4096,
  /** Holds what a consumer asks for at a time by default (1 MiB), and what is read beyond that to find it. */
  blockBytes: 1024 * 1024 + 32 * 1024,
} as const

export type LogManagerSettings = { readonly [K in keyof typeof DEFAULT_SETTINGS]: number }

/** The settings that `options` states, and the defaults of the others. */
export function settingsOf(options: LogManagerOptions): LogManagerSettings {
  return {
    highWatermarkIntervalMs: options.highWatermarkIntervalMs ?? DEFAULT_SETTINGS.highWatermarkIntervalMs,
    flushCheckIntervalMs: options.flushCheckIntervalMs ?? DEFAULT_SETTINGS.flushCheckIntervalMs,
    freeSpaceCheckIntervalMs: options.freeSpaceCheckIntervalMs ?? DEFAULT_SETTINGS.freeSpaceCheckIntervalMs,
    checkpointBytes: options.checkpointBytes ?? DEFAULT_SETTINGS.checkpointBytes,
    rewriteInPlaceBytes: options.rewriteInPlaceBytes ?? DEFAULT_SETTINGS.rewriteInPlaceBytes,
    tailCacheBytes: options.tailCacheBytes ?? DEFAULT_SETTINGS.tailCacheBytes,
    indexCacheBytes: options.indexCacheBytes ?? DEFAULT_SETTINGS.indexCacheBytes,
    maxOpenFiles: options.maxOpenFiles ?? DEFAULT_SETTINGS.maxOpenFiles,
    blockBytes: options.blockBytes ?? DEFAULT_SETTINGS.blockBytes,
  }
}
