/** What tests of the log share: a clock and timers that a test moves, a configuration, batches, an opened log manager. */
import type { Clock } from '../../../common/clock.ts'
import type { Disk } from '../../../common/disk.ts'
import { silentLogger, type Logger } from '../../../common/logger.ts'
import { SeededRandom } from '../../../common/random.ts'
import type { TimerHandle, Timers } from '../../../common/timers.ts'
import { encodeBatch, type EncodeBatchOptions } from '../../protocol/records/encode-batch.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import type { LogConfig } from '../log-config.ts'
import type { LogManagerListener, LogManagerOptions } from '../log-manager-options.ts'
import { LogManager } from '../log-manager.ts'
import type { AppendOutcome, ReadOptions, ReadResult } from '../log-types.ts'
import type { UnifiedLog } from '../unified-log.ts'

export const TOPIC_ID = 'q1Sh-9_ISia_zwGINzRvyQ'

export const logConfig: LogConfig = {
  segmentBytes: 1024 * 1024 * 1024,
  segmentMs: 7 * 24 * 3600 * 1000,
  segmentJitterMs: 0,
  segmentIndexBytes: 10 * 1024 * 1024,
  indexIntervalBytes: 4096,
  retentionMs: -1,
  retentionBytes: -1,
  cleanupPolicy: { delete: true, compact: false },
  maxMessageBytes: 1024 * 1024 + 12,
  flushMessages: 1,
  flushMs: Number.MAX_SAFE_INTEGER,
  messageTimestampType: 'CreateTime',
  messageTimestampBeforeMaxMs: Number.MAX_SAFE_INTEGER,
  messageTimestampAfterMaxMs: Number.MAX_SAFE_INTEGER,
  compression: { type: 'producer' },
  fileDeleteDelayMs: 1000,
  minInSyncReplicas: 1,
  uncleanLeaderElectionEnable: false,
  minCompactionLagMs: 0,
  maxCompactionLagMs: Number.MAX_SAFE_INTEGER,
  minCleanableDirtyRatio: 0.5,
  deleteRetentionMs: 24 * 3600 * 1000,
}

/** Time that moves when a test says so. */
export class ManualTime implements Clock, Timers {
  #nowMs = 1_700_000_000_000
  #timers: { dueMs: number; fire: () => void }[] = []

  wallMs(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  schedule(delayMs: number, fire: () => void): TimerHandle {
    const timer = { dueMs: this.#nowMs + delayMs, fire }
    this.#timers.push(timer)
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((each) => each !== timer)
      },
    }
  }

  advance(ms: number): void {
    this.#nowMs += ms
    const due = this.#timers.filter((timer) => timer.dueMs <= this.#nowMs)
    this.#timers = this.#timers.filter((timer) => timer.dueMs > this.#nowMs)
    for (const timer of due) timer.fire()
  }
}

export interface OpenOptions extends Partial<LogManagerOptions> {
  readonly time?: ManualTime
  readonly config?: Partial<LogConfig>
  readonly logger?: Logger
  readonly listener?: Partial<LogManagerListener>
}

/** A manager of `/data` on `disk`, not opened yet. */
export function newManager(disk: Disk, options: OpenOptions = {}): LogManager {
  const { time = new ManualTime(), config, listener, logger = silentLogger, ...rest } = options
  return new LogManager(
    { disk, clock: time, timers: time, random: new SeededRandom(7), logger },
    {
      folder: '/data',
      clusterId: 'cluster',
      nodeId: 1,
      logConfigOf: () => ({ ...logConfig, ...config }),
      retentionCheckIntervalMs: 300_000,
      recoveryPointIntervalMs: 5000,
      logStartIntervalMs: 60_000,
      producerIdExpirationMs: 86_400_000,
      freeSpaceFloorBytes: 0,
      ...rest,
    },
    { onProgress: () => undefined, onFailure: () => undefined, ...listener },
  )
}

export async function openManager(disk: Disk, options: OpenOptions = {}): Promise<LogManager> {
  const manager = newManager(disk, options)
  await manager.open()
  return manager
}

/** The log `t-0`, made if need be. */
export async function openLog(manager: LogManager, config: Partial<LogConfig> = {}): Promise<UnifiedLog> {
  return await manager.createLog('t', 0, TOPIC_ID, { ...logConfig, ...config })
}

/** Keeps what is logged as an error. */
export function errorLogger(): { readonly logger: Logger; readonly errors: { fields: object; message: string }[] } {
  const errors: { fields: object; message: string }[] = []
  const logger: Logger = {
    ...silentLogger,
    error: (fields, message) => void errors.push({ fields, message }),
    child: () => logger,
  }
  return { logger, errors }
}

/** A producer's batch of `count` records whose values say their number. */
export function batchOf(
  count: number,
  options: Partial<EncodeBatchOptions> & {
    readonly firstValue?: number
    readonly valueBytes?: number
    readonly timestamp?: number
  } = {},
): Buffer {
  const { firstValue = 0, valueBytes = 0, timestamp = 1_700_000_000_000, ...rest } = options
  return encodeBatch({
    records: Array.from({ length: count }, (_, i) => ({
      timestamp: timestamp + i,
      key: null,
      value: `value-${firstValue + i}`.padEnd(valueBytes, '.'),
    })),
    ...rest,
  })
}

/** Appends and expects success; returns the first offset. */
export function append(log: UnifiedLog, records: Buffer, leaderEpoch = 0): number {
  const outcome: AppendOutcome = log.appendAsLeader(records, { leaderEpoch })
  if (!outcome.ok) throw new Error(`append failed: ${outcome.errorCode} ${outcome.message ?? ''}`)
  return outcome.info.firstOffset
}

export function read(log: UnifiedLog, offset: number, options: Partial<ReadOptions> = {}): Promise<ReadResult> {
  return new Promise((resolve) => {
    log.read(offset, { maxBytes: 1024 * 1024, minOneMessage: true, upperBoundOffset: Infinity, ...options }, resolve)
  })
}

/** All bytes of the log from `offset` on, read step by step. */
export async function readAll(log: UnifiedLog, offset = log.logStartOffset, maxBytes = 1024 * 1024): Promise<Buffer> {
  const parts: Buffer[] = []
  let next = offset
  while (next < log.logEndOffset) {
    const result = await read(log, next, { maxBytes })
    if (!result.ok) throw new Error(`read at ${next} failed: ${result.message}`)
    if (result.nextOffset <= next) throw new Error(`read at ${next} gave nothing, the log ends at ${log.logEndOffset}`)
    parts.push(...result.buffers)
    next = result.nextOffset
  }
  return Buffer.concat(parts)
}

/** Base offsets of the batches in `records`. */
export function baseOffsets(records: Buffer): number[] {
  return [...recordBatch.batchPositions(records)].map((position) => recordBatch.baseOffset(records, position))
}
