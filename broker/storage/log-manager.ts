/**
 * All logs of a data dir: opens them at start, makes and deletes them, and does what they need regularly: retention,
 * flushes by age, checkpoints of offsets, a look at the free space.
 *
 * Invariants:
 * - Nothing is reported before the clean-shutdown mark is durably gone.
 * - A log that `createLog` returned is durable with its folder and topic id.
 * - One failed write or fsync of any log takes the whole data dir offline: no log of it takes appends any more.
 * - Folders are deleted only by `deleteLog`, in two steps: renamed, and removed after `file.delete.delay.ms`.
 */
import { BlockPool } from '../../common/block-pool.ts'
import type { Clock } from '../../common/clock.ts'
import type { Disk } from '../../common/disk.ts'
import { invariant } from '../../common/invariant.ts'
import type { Logger } from '../../common/logger.ts'
import type { Random } from '../../common/random.ts'
import type { TimerHandle, Timers } from '../../common/timers.ts'
import { datasync, writeFully } from './disk-calls.ts'
import { FilePool } from './file-pool.ts'
import { IndexCache } from './index-cache.ts'
import { LeaderEpochFileCache } from './leader-epoch-cache.ts'
import type { LogConfig } from './log-config.ts'
import { checkpointFiles, LogDir, parseLogFolderName, type OffsetCheckpoint } from './log-dir.ts'
import { formatPartitionMetadata, loadLog, NoLogError, PARTITION_METADATA, producerStateOptions } from './log-loader.ts'
import { LogSegment, segmentFileName } from './log-segment.ts'
import { LogSegments } from './log-segments.ts'
import { ProducerStateManager } from './producer-state-manager.ts'
import { RecordArena } from './record-arena.ts'
import { TailCache } from './tail-cache.ts'
import type { LogHost, LogListener, UnifiedLogDependencies } from './log-parts.ts'
import { UnifiedLog } from './unified-log.ts'

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
  readonly tailCacheBytes?: number
  readonly indexCacheBytes?: number
  readonly maxOpenFiles?: number
}

export interface LogManagerListener extends LogListener {
  /** The whole data dir failed; told once. */
  onOffline?(error: Error): void
  onBelowFloor?(isBelowFloor: boolean): void
}

const DEFAULTS = {
  highWatermarkIntervalMs: 5000,
  flushCheckIntervalMs: 1000,
  freeSpaceCheckIntervalMs: 5000,
  checkpointBytes: 32 * 1024 * 1024,
  tailCacheBytes: 32 * 1024 * 1024,
  indexCacheBytes: 64 * 1024 * 1024,
  maxOpenFiles: 4096,
} as const

/** Holds what a consumer asks for at a time by default (1 MiB), and what is read beyond that to find it. */
const BLOCK_BYTES = 1024 * 1024 + 32 * 1024
const MAX_FREE_BLOCKS = 16
/** Folders that are loaded at the same time. */
const CONCURRENT_LOADS = 64
/** Logs that a periodic task works on at the same time. */
const CONCURRENT_TASKS = 4
const CHECKPOINTS_PER_ROUND = 500
/** A file name has at most 255 bytes; the topic id and the suffix need 30. */
const MAX_FOLDER_STEM = 200

const DELETE_SUFFIX = '-delete'
const STRAY_SUFFIX = '-stray'
const NEW_SUFFIX = '-new'

export class LogManager {
  readonly #dependencies: LogManagerDependencies
  readonly #options: LogManagerOptions
  readonly #settings: { readonly [K in keyof typeof DEFAULTS]: number }
  readonly #listener: LogManagerListener
  readonly #logs = new Map<string, UnifiedLog>()
  /** Logs that are being made, deleted or set aside, by `topic-partition`. */
  readonly #changing = new Map<string, Promise<unknown>>()
  /** Folders that hold no log that could be opened. */
  readonly #unreadable = new Set<string>()
  readonly #timers = new Set<TimerHandle>()
  readonly #logDependencies: UnifiedLogDependencies
  readonly #pool: FilePool
  readonly #folderSync: Coalesced
  readonly #recoveryPoints: Coalesced
  readonly #logStartOffsets: Coalesced
  readonly #highWatermarks: Coalesced
  #dir: LogDir | undefined
  #failure: Error | undefined
  #isBelowFloor = false
  #state: 'new' | 'open' | 'closed' = 'new'

  constructor(dependencies: LogManagerDependencies, options: LogManagerOptions, listener: LogManagerListener) {
    const { disk, clock, random, logger } = dependencies
    this.#dependencies = dependencies
    this.#options = options
    this.#settings = { ...DEFAULTS, ...definedSettings(options) }
    this.#listener = listener
    this.#pool = new FilePool(disk, this.#settings.maxOpenFiles)
    this.#folderSync = new Coalesced(() => disk.syncFolder(options.folder))
    this.#recoveryPoints = new Coalesced(() => this.#write(checkpointFiles.recoveryPoint, (log) => log.recoveryPoint))
    this.#logStartOffsets = new Coalesced(() =>
      this.#write(checkpointFiles.logStartOffset, (log) => log.logStartOffset),
    )
    this.#highWatermarks = new Coalesced(() => this.#write(checkpointFiles.highWatermark, (log) => log.highWatermark))
    const host: LogHost = {
      persistRecoveryPoints: () => this.#recoveryPoints.run(),
      persistLogStartOffsets: () => this.#logStartOffsets.run(),
      recoveryPointMoved: () => this.#recoveryPointMoved(),
    }
    const blocks = new BlockPool({ blockBytes: BLOCK_BYTES, maxFreeBlocks: MAX_FREE_BLOCKS })
    this.#logDependencies = {
      pool: this.#pool,
      tailCache: new TailCache(this.#settings.tailCacheBytes),
      blocks,
      arena: new RecordArena(blocks),
      indexCache: new IndexCache(this.#settings.indexCacheBytes),
      clock,
      random,
      logger,
      listener: {
        onProgress: (log) => this.#listener.onProgress(log),
        onFailure: (log, error) => this.#onLogFailure(log, error),
      },
      host,
      checkpointBytes: this.#settings.checkpointBytes,
    }
  }

  /** UUID of this data dir, minted at its first use. */
  get directoryId(): string {
    return this.#openDir.directoryId
  }

  /** The broker epoch that the clean-shutdown mark held, if the last stop was clean. */
  get cleanShutdownEpoch(): number | undefined {
    return this.#openDir.cleanShutdownEpoch
  }

  get folder(): string {
    return this.#options.folder
  }

  /** Why no log takes appends any more. */
  get failure(): Error | undefined {
    return this.#failure
  }

  get isOffline(): boolean {
    return this.#failure !== undefined
  }

  /** Less space is free than the floor: producers are to be refused. */
  get isBelowFloor(): boolean {
    return this.#isBelowFloor
  }

  /** The largest producer id in any log; -1 without one. */
  get highestProducerId(): number {
    let highest = -1
    for (const log of this.#logs.values()) highest = Math.max(highest, log.highestProducerId)
    return highest
  }

  /** Segment files that are open. */
  get openFileCount(): number {
    return this.#pool.openCount
  }

  get logCount(): number {
    return this.#logs.size
  }

  logs(): IterableIterator<UnifiedLog> {
    return this.#logs.values()
  }

  getLog(topicName: string, partitionIndex: number): UnifiedLog | undefined {
    return this.#logs.get(`${topicName}-${partitionIndex}`)
  }

  /**
   * Takes the data dir and opens all logs in it.
   *
   * @throws `DataDirError` with a sentence for a person when the data dir is in use, of another broker, or not writable.
   */
  async open(): Promise<void> {
    invariant(this.#state === 'new', 'a log manager opens once')
    const { disk, random, clock, logger } = this.#dependencies
    const { folder, clusterId, nodeId } = this.#options
    const startMs = clock.monotonicMs()
    const dir = await LogDir.open(disk, folder, { clusterId, nodeId }, random)
    this.#dir = dir
    try {
      await this.#loadAll(dir)
      this.#state = 'open'
      await this.#recoveryPoints.run()
      await this.#checkSpace()
    } catch (error) {
      this.#state = 'closed'
      dir.close()
      throw error
    }
    this.#startTasks()
    const isClean = dir.cleanShutdownEpoch !== undefined
    const elapsedMs = Math.round(clock.monotonicMs() - startMs)
    logger.info({ folder, logs: this.#logs.size, isClean, elapsedMs }, 'the data dir is open')
  }

  /**
   * Returns the log, which is made durably if it isn't there.
   *
   * @throws when a log of another topic id has that name: the owner decides what becomes of that.
   */
  async createLog(topicName: string, partitionIndex: number, topicId: string, config: LogConfig): Promise<UnifiedLog> {
    const key = `${topicName}-${partitionIndex}`
    invariant(parseLogFolderName(key)?.topicName === topicName, `${key} is no name of a partition`)
    return await this.#change(key, async () => {
      const existing = this.#logs.get(key)
      if (existing !== undefined) {
        if (existing.topicId === topicId) return existing
        throw new Error(`${key} is there already, of the topic id ${existing.topicId} instead of ${topicId}`)
      }
      if (this.#failure !== undefined) throw this.#failure
      const log = await this.#make(topicName, partitionIndex, topicId, config)
      this.#logs.set(key, log)
      return log
    })
  }

  /** Takes a log away for good: at once for everybody, from the disk after `file.delete.delay.ms`. */
  async deleteLog(topicName: string, partitionIndex: number): Promise<void> {
    const log = this.getLog(topicName, partitionIndex)
    const delayMs = log?.config.fileDeleteDelayMs ?? 0
    const folder = await this.#moveAway(`${topicName}-${partitionIndex}`, DELETE_SUFFIX)
    if (folder === undefined) return
    this.#later(delayMs, () => this.#removeFolder(folder))
  }

  /** Takes a log away and keeps its folder under another name, until a person decides. */
  async setAside(topicName: string, partitionIndex: number): Promise<void> {
    await this.#moveAway(`${topicName}-${partitionIndex}`, STRAY_SUFFIX)
  }

  /** Makes everything durable, and states so with `brokerEpoch` unless something had failed. Gives the data dir back. */
  async close({ brokerEpoch }: { readonly brokerEpoch: number }): Promise<void> {
    if (this.#state !== 'open') return
    this.#state = 'closed'
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
    await Promise.allSettled(this.#changing.values())
    const dir = this.#openDir
    try {
      const errors: unknown[] = []
      await forEachConcurrently([...this.#logs.values()], CONCURRENT_LOADS, (log) =>
        // One log that can't be closed must not keep the others from it.
        log.close().catch((error: unknown) => errors.push(error)),
      )
      if (this.#failure === undefined && errors.length > 0) throw errors[0]
      if (this.#failure === undefined) {
        await this.#recoveryPoints.run()
        await this.#logStartOffsets.run()
        await this.#highWatermarks.run()
        await dir.writeCleanMark(brokerEpoch)
      }
    } finally {
      dir.close()
    }
  }

  /** One round of retention over all logs: what the timer does. */
  async applyRetention(): Promise<void> {
    await this.#eachLog('retention', (log) => log.deleteOldSegments())
  }

  /** Checkpoints all logs that changed. */
  async checkpointAll(): Promise<void> {
    await this.#checkpoint([...this.#logs.values()])
  }

  get #openDir(): LogDir {
    invariant(this.#dir !== undefined, 'the log manager is open')
    return this.#dir
  }

  async #loadAll(dir: LogDir): Promise<void> {
    const { disk, logger } = this.#dependencies
    const recoveryPoints = await dir.readCheckpoint(checkpointFiles.recoveryPoint)
    const logStartOffsets = await dir.readCheckpoint(checkpointFiles.logStartOffset)
    const highWatermarks = await dir.readCheckpoint(checkpointFiles.highWatermark)
    const names = (await disk.list(dir.folder)).filter((entry) => entry.isFolder).map((entry) => entry.name)
    await forEachConcurrently(names, CONCURRENT_LOADS, async (name) => {
      if (isNamedBy(name, DELETE_SUFFIX) || isNamedBy(name, NEW_SUFFIX)) {
        await disk.removeFolder(`${dir.folder}/${name}`)
        return
      }
      const parsed = isNamedBy(name, STRAY_SUFFIX) ? undefined : parseLogFolderName(name)
      if (parsed === undefined) return
      try {
        this.#logs.set(name, await this.#load(name, parsed, { recoveryPoints, logStartOffsets, highWatermarks }))
      } catch (error) {
        if (!(error instanceof NoLogError)) {
          const reason = error instanceof Error ? error.message : String(error)
          throw new Error(`the log in ${dir.folder}/${name} can't be opened: ${reason}`, { cause: error })
        }
        logger.warn({ folder: name, reason: error.message }, 'a folder is left alone: it holds no log')
        this.#unreadable.add(name)
      }
    })
  }

  async #load(
    name: string,
    { topicName, partitionIndex }: { topicName: string; partitionIndex: number },
    offsets: Record<'recoveryPoints' | 'logStartOffsets' | 'highWatermarks', OffsetCheckpoint>,
  ): Promise<UnifiedLog> {
    return await loadLog(
      {
        folder: `${this.#options.folder}/${name}`,
        topicName,
        partitionIndex,
        config: this.#options.logConfigOf(topicName),
        isClean: this.#openDir.cleanShutdownEpoch !== undefined,
        recoveryPoint: offsets.recoveryPoints.get(name) ?? 0,
        logStartOffset: offsets.logStartOffsets.get(name) ?? 0,
        highWatermark: offsets.highWatermarks.get(name) ?? 0,
        producerIdExpirationMs: this.#options.producerIdExpirationMs,
      },
      this.#logDependencies,
    )
  }

  /** Makes the folder under another name and renames it when it is whole. */
  async #make(topicName: string, partitionIndex: number, topicId: string, config: LogConfig): Promise<UnifiedLog> {
    const { disk, clock } = this.#dependencies
    const key = `${topicName}-${partitionIndex}`
    if (this.#unreadable.delete(key)) {
      const aside = this.#awayName(key, topicId, STRAY_SUFFIX)
      await disk.rename(`${this.#options.folder}/${key}`, `${this.#options.folder}/${aside}`)
    }
    const unfinished = `${this.#options.folder}/${this.#awayName(key, topicId, NEW_SUFFIX)}`
    await disk.removeFolder(unfinished)
    await disk.makeFolder(unfinished)
    const metadata = await disk.open(`${unfinished}/${PARTITION_METADATA}`, 'create')
    await writeFully(metadata, [Buffer.from(formatPartitionMetadata(topicId))], 0)
    await datasync(metadata)
    await metadata.close()
    await (await disk.open(`${unfinished}/${segmentFileName(0, '.log')}`, 'create')).close()
    await disk.syncFolder(unfinished)
    const folder = `${this.#options.folder}/${key}`
    await disk.rename(unfinished, folder)
    await this.#folderSync.run()
    const nowMs = clock.wallMs()
    const segment = LogSegment.existing(this.#pool, folder, 0, 0, { createdMs: nowMs, modifiedMs: nowMs })
    segment.assumeNoIndexes(false)
    segment.noteNoIndexFiles()
    const { producerIdExpirationMs } = this.#options
    const producers = await ProducerStateManager.open(
      producerStateOptions({ folder, topicName, partitionIndex, producerIdExpirationMs }, this.#logDependencies),
      [],
    )
    return new UnifiedLog(
      {
        topicName,
        partitionIndex,
        topicId,
        folder,
        config,
        segments: new LogSegments([segment]),
        producers,
        epochs: new LeaderEpochFileCache(disk, folder),
        logStartOffset: 0,
        logEndOffset: 0,
        highWatermark: 0,
        recoveryPoint: 0,
      },
      this.#logDependencies,
    )
  }

  /** Ends a log and renames its folder, durably. Returns the new path; undefined when there is no such log. */
  async #moveAway(key: string, suffix: string): Promise<string | undefined> {
    return await this.#change(key, async () => {
      const log = this.#logs.get(key)
      if (log === undefined) return undefined
      this.#logs.delete(key)
      await log.abandon()
      const folder = `${this.#options.folder}/${this.#awayName(key, log.topicId, suffix)}`
      // The checkpoints forget the log first: one that is made anew under this name must not get its offsets.
      await this.#recoveryPoints.run()
      await this.#logStartOffsets.run()
      await this.#highWatermarks.run()
      await this.#dependencies.disk.rename(log.folder, folder)
      await this.#folderSync.run()
      return folder
    })
  }

  /** Unique for a topic id; the topic's name is cut so that the file system takes it. */
  #awayName(key: string, topicId: string, suffix: string): string {
    const dash = key.lastIndexOf('-')
    const stem = key.slice(0, dash).slice(0, MAX_FOLDER_STEM)
    return `${stem}${key.slice(dash)}.${topicId}${suffix}`
  }

  /** Runs `change` after those of the same name that were asked for before. */
  async #change<T>(key: string, change: () => Promise<T>): Promise<T> {
    invariant(this.#state === 'open', 'the log manager is open')
    const before = this.#changing.get(key)
    const result = (async () => {
      await before?.catch(() => undefined)
      return await change()
    })()
    this.#changing.set(key, result)
    try {
      return await result
    } finally {
      if (this.#changing.get(key) === result) this.#changing.delete(key)
    }
  }

  async #write(file: string, offsetOf: (log: UnifiedLog) => number): Promise<void> {
    if (this.#state === 'new') return
    const offsets: [string, number][] = []
    for (const [key, log] of this.#logs) offsets.push([key, offsetOf(log)])
    await this.#openDir.writeCheckpoint(file, offsets)
  }

  #recoveryPointMoved(): void {
    // While all logs are being loaded, the checkpoint that is on disk is the one to keep.
    if (this.#state !== 'open') return
    this.#recoveryPoints.run().catch((error: unknown) => this.#goOffline(error))
  }

  #startTasks(): void {
    const { retentionCheckIntervalMs, recoveryPointIntervalMs, logStartIntervalMs } = this.#options
    const { highWatermarkIntervalMs, flushCheckIntervalMs, freeSpaceCheckIntervalMs } = this.#settings
    this.#every(retentionCheckIntervalMs, () => this.applyRetention())
    this.#every(Math.min(recoveryPointIntervalMs, 5000), () => this.#checkpointLongestTails())
    this.#every(logStartIntervalMs, () => this.#logStartOffsets.run())
    this.#every(highWatermarkIntervalMs, () => this.#highWatermarks.run())
    this.#every(flushCheckIntervalMs, () => this.#flushByAge())
    this.#every(freeSpaceCheckIntervalMs, () => this.#checkSpace())
  }

  /** Runs `task` again and again, `intervalMs` after its last end. */
  #every(intervalMs: number, task: () => Promise<void>): void {
    this.#later(intervalMs, async () => {
      try {
        if (this.#failure === undefined) await task()
      } finally {
        if (this.#state === 'open') this.#every(intervalMs, task)
      }
    })
  }

  #later(delayMs: number, task: () => Promise<void>): void {
    if (this.#state !== 'open') return
    const timer = this.#dependencies.timers.schedule(Math.min(delayMs, 0x7fff_ffff), () => {
      this.#timers.delete(timer)
      task().catch((error: unknown) => this.#goOffline(error))
    })
    this.#timers.add(timer)
  }

  async #eachLog(
    what: string,
    work: (log: UnifiedLog) => Promise<unknown>,
    logs: readonly UnifiedLog[] = [...this.#logs.values()],
  ): Promise<void> {
    await forEachConcurrently(logs, CONCURRENT_TASKS, async (log) => {
      if (log.failure !== undefined || this.#logs.get(log.topicPartition) !== log) return
      try {
        await work(log)
      } catch (error) {
        // The log was deleted meanwhile, or the disk fails.
        if (this.#logs.get(log.topicPartition) !== log) return
        throw new Error(`${what} of ${log.topicPartition} failed`, { cause: error })
      }
    })
  }

  /**
   * Checkpoints the logs with the longest tails. A round is bounded, since each log costs a few fsyncs: with thousands of
   * logs that get a little each, short tails wait for a later round, and an unclean start has as much more to check.
   */
  async #checkpointLongestTails(): Promise<void> {
    const changed = [...this.#logs.values()].filter((log) => log.needsCheckpoint)
    if (changed.length > CHECKPOINTS_PER_ROUND) changed.sort((a, b) => b.tailBytes - a.tailBytes)
    await this.#checkpoint(changed.slice(0, CHECKPOINTS_PER_ROUND))
  }

  async #checkpoint(logs: readonly UnifiedLog[]): Promise<void> {
    await this.#eachLog(
      'a checkpoint',
      async (log) => {
        if (log.needsCheckpoint) await log.checkpoint()
      },
      logs,
    )
  }

  async #flushByAge(): Promise<void> {
    const nowMs = this.#dependencies.clock.monotonicMs()
    await this.#eachLog('a flush', async (log) => {
      const sinceMs = log.unflushedSinceMs
      if (sinceMs !== undefined && nowMs - sinceMs >= log.config.flushMs) await log.flush()
    })
  }

  async #checkSpace(): Promise<void> {
    const { freeBytes } = await this.#dependencies.disk.space(this.#options.folder)
    const isBelowFloor = freeBytes < this.#options.freeSpaceFloorBytes
    if (isBelowFloor === this.#isBelowFloor) return
    this.#isBelowFloor = isBelowFloor
    const fields = { folder: this.#options.folder, freeBytes, floorBytes: this.#options.freeSpaceFloorBytes }
    if (isBelowFloor) this.#dependencies.logger.warn(fields, 'the disk is nearly full: producers are refused')
    else this.#dependencies.logger.info(fields, 'there is space on the disk again')
    this.#listener.onBelowFloor?.(isBelowFloor)
  }

  async #removeFolder(folder: string): Promise<void> {
    await this.#dependencies.disk.removeFolder(folder)
    await this.#folderSync.run()
  }

  #onLogFailure(log: UnifiedLog, error: Error): void {
    this.#listener.onFailure(log, error)
    // A log that is deleted or loaded at the moment fails alone.
    if (this.#logs.get(log.topicPartition) === log) this.#goOffline(error)
  }

  #goOffline(cause: unknown): void {
    if (this.#failure !== undefined) return
    const reason = cause instanceof Error ? cause.message : String(cause)
    const failure = new Error(`the data dir ${this.#options.folder} is offline: ${reason}`, { cause })
    this.#failure = failure
    this.#dependencies.logger.error(
      { folder: this.#options.folder, err: cause },
      'the data dir is offline: a write or an fsync failed, and what the disk holds is uncertain; restart the broker once the disk is well',
    )
    for (const log of this.#logs.values()) log.fail(failure)
    this.#listener.onOffline?.(failure)
  }
}

/** Runs one at a time; calls that come meanwhile share the next run, which sees all that was so when they came. */
class Coalesced {
  readonly #work: () => Promise<void>
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  run(): Promise<void> {
    if (this.#next !== undefined) return this.#next
    if (this.#running === undefined) return this.#start()
    this.#next = this.#running.then(
      () => this.#startNext(),
      () => this.#startNext(),
    )
    return this.#next
  }

  #start(): Promise<void> {
    const running = this.#work().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }

  #startNext(): Promise<void> {
    this.#next = undefined
    return this.#start()
  }
}

/** Begins nothing new after a failure, and throws it when nothing runs any more. */
async function forEachConcurrently<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const errors: unknown[] = []
  const worker = async (): Promise<void> => {
    while (next < items.length && errors.length === 0) {
      const item = items[next++]
      if (item === undefined) continue
      try {
        await work(item)
      } catch (error) {
        errors.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker))
  if (errors.length > 0) throw errors[0]
}

/** Whether a folder got its name by `#awayName`. */
function isNamedBy(name: string, suffix: string): boolean {
  return name.endsWith(suffix) && /-\d+\.[A-Za-z0-9_-]{22}-[a-z]+$/.test(name)
}

function definedSettings(options: LogManagerOptions): Partial<Record<keyof typeof DEFAULTS, number>> {
  const settings: Partial<Record<keyof typeof DEFAULTS, number>> = {}
  const { highWatermarkIntervalMs, flushCheckIntervalMs, freeSpaceCheckIntervalMs } = options
  const { checkpointBytes, tailCacheBytes, indexCacheBytes, maxOpenFiles } = options
  if (highWatermarkIntervalMs !== undefined) settings.highWatermarkIntervalMs = highWatermarkIntervalMs
  if (flushCheckIntervalMs !== undefined) settings.flushCheckIntervalMs = flushCheckIntervalMs
  if (freeSpaceCheckIntervalMs !== undefined) settings.freeSpaceCheckIntervalMs = freeSpaceCheckIntervalMs
  if (checkpointBytes !== undefined) settings.checkpointBytes = checkpointBytes
  if (tailCacheBytes !== undefined) settings.tailCacheBytes = tailCacheBytes
  if (indexCacheBytes !== undefined) settings.indexCacheBytes = indexCacheBytes
  if (maxOpenFiles !== undefined) settings.maxOpenFiles = maxOpenFiles
  return settings
}
