/**
 * All logs of a data dir: opens them at start, makes and deletes them, and sees to what they need regularly.
 *
 * Invariants:
 * - Nothing is reported before the clean-shutdown mark is durably gone.
 * - A log that `createLog` returned is durable with its folder and topic id.
 * - One failed write or fsync of any log takes the whole data dir offline: no log of it takes appends any more. A log
 *   that can't be opened at start fails alone: it can't be had, its folder and its checkpointed offsets stay as they are.
 * - Folders are deleted only by `deleteLog`, in two steps: renamed, and removed after `file.delete.delay.ms`. (Segments
 *   that retention deletes go at once; see `UnifiedLog`.)
 */
import { isNoSpace } from '../../common/disk.ts'
import { BlockPool } from '../../common/block-pool.ts'
import { invariant } from '../../common/invariant.ts'
import { Coalesced } from './coalesced.ts'
import { FilePool } from './file-pool.ts'
import { forEachConcurrently } from './for-each-concurrently.ts'
import { IndexCache } from './index-cache.ts'
import type { LogConfig } from './log-config.ts'
import { checkpointFiles, LogDir, parseLogFolderName, type OffsetCheckpoint } from './log-dir.ts'
import { folderSuffixOf, makeLogFolder, passingFolderName, type FolderSuffix } from './log-folders.ts'
import { loadLog, newLog, NoLogError } from './log-loader.ts'
import {
  defaultCleanerConfig,
  settingsOf,
  type LogManagerDependencies,
  type LogManagerListener,
  type LogManagerOptions,
  type LogManagerSettings,
} from './log-manager-options.ts'
import type { UnifiedLogDependencies } from './unified-log.ts'
import { LogCleaner, type CleanerStats } from './log-cleaner/log-cleaner.ts'
import { WorkerKernel } from './log-cleaner/worker-kernel.ts'
import { LogTasks } from './log-tasks.ts'
import { RecordArena } from './record-arena.ts'
import { TailCache } from './tail-cache.ts'
import type { UnifiedLog } from './unified-log.ts'

const MAX_FREE_BLOCKS = 8
/** Folders that are loaded at the same time. */
const CONCURRENT_LOADS = 64

/** The offsets of one log that the data dir checkpoints. */
interface CheckpointedOffsets {
  readonly recoveryPoint: number
  readonly logStartOffset: number
  readonly highWatermark: number
  /** undefined: the log was never compacted. */
  readonly cleanerCheckpoint: number | undefined
}

/** A log that could not be opened. Its offsets stay in the checkpoints as they were found. */
interface FailedLog extends CheckpointedOffsets {
  readonly error: Error
}

export class LogManager {
  readonly #dependencies: LogManagerDependencies
  readonly #options: LogManagerOptions
  readonly #settings: LogManagerSettings
  readonly #listener: LogManagerListener
  readonly #logs = new Map<string, UnifiedLog>()
  /** Logs that are being made, deleted or set aside, by `topic-partition`. */
  readonly #changing = new Map<string, Promise<unknown>>()
  /** Folders that hold no log that could be opened. */
  readonly #unreadable = new Set<string>()
  /** Logs that are there and could not be opened, by `topic-partition`. */
  readonly #failedLogs = new Map<string, FailedLog>()
  readonly #tasks: LogTasks
  readonly #cleaner: LogCleaner
  readonly #logDependencies: UnifiedLogDependencies
  readonly #pool: FilePool
  readonly #folderSync: Coalesced
  readonly #recoveryPoints: Coalesced
  readonly #logStartOffsets: Coalesced
  readonly #highWatermarks: Coalesced
  readonly #cleanerCheckpoints: Coalesced
  #dir: LogDir | undefined
  #failure: Error | undefined
  #isBelowFloor = false
  #state: 'new' | 'open' | 'closed' = 'new'

  constructor(dependencies: LogManagerDependencies, options: LogManagerOptions, listener: LogManagerListener) {
    const { disk, clock, timers, random, logger } = dependencies
    this.#dependencies = dependencies
    this.#options = options
    this.#settings = settingsOf(options)
    this.#listener = listener
    this.#pool = new FilePool(disk, this.#settings.maxOpenFiles)
    this.#folderSync = new Coalesced(() => disk.syncFolder(options.folder))
    this.#recoveryPoints = new Coalesced(() => this.#writeCheckpoint('recoveryPoint'))
    this.#logStartOffsets = new Coalesced(() => this.#writeCheckpoint('logStartOffset'))
    this.#highWatermarks = new Coalesced(() => this.#writeCheckpoint('highWatermark'))
    this.#cleanerCheckpoints = new Coalesced(() => this.#writeCheckpoint('cleanerCheckpoint'))
    this.#cleaner = new LogCleaner(
      {
        logs: () => this.#logs.values(),
        holds: (log) => this.#logs.get(log.topicPartition) === log,
        isServing: () => this.#state === 'open' && this.#failure === undefined,
        persistCheckpoints: () => this.#cleanerCheckpoints.run(),
      },
      {
        pool: this.#pool,
        kernel: options.cleanerKernel ?? new WorkerKernel(),
        clock,
        timers,
        random,
        logger,
        config: options.cleanerConfig ?? (() => defaultCleanerConfig),
      },
    )
    this.#tasks = new LogTasks(
      {
        isServing: () => this.#state === 'open' && this.#failure === undefined,
        logs: () => this.#logs.values(),
        holds: (log) => this.#logs.get(log.topicPartition) === log,
        taskFailed: (error) => this.#goOffline(error),
        taskPostponed: (error) => this.#taskPostponed(error),
      },
      clock,
      timers,
    )
    const blocks = new BlockPool({ blockBytes: this.#settings.blockBytes, maxFreeBlocks: MAX_FREE_BLOCKS })
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
      host: {
        persistRecoveryPoints: () => this.#recoveryPoints.run(),
        persistLogStartOffsets: () => this.#logStartOffsets.run(),
        recoveryPointMoved: () => this.#recoveryPointMoved(),
      },
      checkpointBytes: this.#settings.checkpointBytes,
      rewriteInPlaceBytes: this.#settings.rewriteInPlaceBytes,
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

  /** What the log cleaner has done and has to do. */
  get cleanerStats(): CleanerStats {
    return this.#cleaner.stats
  }

  get logCount(): number {
    return this.#logs.size
  }

  logs(): IterableIterator<UnifiedLog> {
    return this.#logs.values()
  }

  /** Why logs that are there could not be opened, by `topic-partition`. */
  failedLogs(): ReadonlyMap<string, { readonly error: Error }> {
    return this.#failedLogs
  }

  getLog(topicName: string, partitionIndex: number): UnifiedLog | undefined {
    return this.#logs.get(`${topicName}-${partitionIndex}`)
  }

  /**
   * Takes the data dir and opens all logs in it. A log that can't be opened is left out, see {@link failedLogs}.
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
    const failedLogs = this.#failedLogs.size
    logger.info({ folder, logs: this.#logs.size, failedLogs, isClean, elapsedMs }, 'the data dir is open')
  }

  /**
   * Returns the log, which is made durably if it isn't there.
   *
   * @throws when a log of another topic id has that name: the owner decides what becomes of that. Also when the log is
   * there and could not be opened at start.
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
      const failed = this.#failedLogs.get(key)
      if (failed !== undefined) throw failed.error
      const log = await this.#make(topicName, partitionIndex, topicId, config)
      this.#logs.set(key, log)
      return log
    })
  }

  /** Takes a log away for good: at once for everybody, from the disk after `file.delete.delay.ms`. */
  async deleteLog(topicName: string, partitionIndex: number): Promise<void> {
    const log = this.getLog(topicName, partitionIndex)
    const delayMs = log?.config.fileDeleteDelayMs ?? 0
    const folder = await this.#moveAway(`${topicName}-${partitionIndex}`, '-delete')
    if (folder === undefined) return
    this.#tasks.later(delayMs, () => this.#removeFolder(folder))
  }

  /** Takes a log away and keeps its folder under another name, until a person decides. */
  async setAside(topicName: string, partitionIndex: number): Promise<void> {
    await this.#moveAway(`${topicName}-${partitionIndex}`, '-stray')
  }

  /** Makes everything durable, and states so with `brokerEpoch` unless something had failed. Gives the data dir back. */
  async close({ brokerEpoch }: { readonly brokerEpoch: number }): Promise<void> {
    if (this.#state !== 'open') return
    this.#state = 'closed'
    this.#tasks.stop()
    await this.#cleaner.stop()
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
        // Whoever could not be opened was not closed cleanly either.
        if (this.#failedLogs.size === 0) await dir.writeCleanMark(brokerEpoch)
      }
    } finally {
      dir.close()
    }
  }

  /** One round of retention over all logs: what the timer does. */
  async applyRetention(): Promise<void> {
    await this.#tasks.applyRetention()
  }

  /** Compacts the logs that are due: what the log cleaner does now and then. */
  async compact(): Promise<void> {
    await this.#cleaner.run()
  }

  /** Checkpoints all logs that changed. */
  async checkpointAll(): Promise<void> {
    await this.#tasks.checkpointAll()
  }

  get #openDir(): LogDir {
    invariant(this.#dir !== undefined, 'the log manager is open')
    return this.#dir
  }

  async #loadAll(dir: LogDir): Promise<void> {
    const { disk } = this.#dependencies
    const recoveryPoints = await dir.readCheckpoint(checkpointFiles.recoveryPoint)
    const logStartOffsets = await dir.readCheckpoint(checkpointFiles.logStartOffset)
    const highWatermarks = await dir.readCheckpoint(checkpointFiles.highWatermark)
    const cleanerCheckpoints = await dir.readCheckpoint(checkpointFiles.cleanerCheckpoint)
    const offsetOf = (offsets: OffsetCheckpoint, name: string): number => offsets.get(name) ?? 0
    const names = (await disk.list(dir.folder)).filter((entry) => entry.isFolder).map((entry) => entry.name)
    await forEachConcurrently(names, CONCURRENT_LOADS, async (name) => {
      const suffix = folderSuffixOf(name)
      if (suffix === '-delete' || suffix === '-new') {
        await disk.removeFolder(`${dir.folder}/${name}`)
      } else if (suffix === undefined) {
        await this.#loadIfLog(name, {
          recoveryPoint: offsetOf(recoveryPoints, name),
          logStartOffset: offsetOf(logStartOffsets, name),
          highWatermark: offsetOf(highWatermarks, name),
          cleanerCheckpoint: cleanerCheckpoints.get(name),
        })
      }
    })
  }

  /** Opens the log in a folder, if the folder's name is that of one. What is wrong with it concerns no other log. */
  async #loadIfLog(name: string, offsets: CheckpointedOffsets): Promise<void> {
    const parsed = parseLogFolderName(name)
    if (parsed === undefined) return
    const { logger } = this.#dependencies
    const folder = `${this.#options.folder}/${name}`
    const { topicName, partitionIndex } = parsed
    try {
      const { logConfigOf, producerIdExpirationMs } = this.#options
      const isClean = this.#openDir.cleanShutdownEpoch !== undefined
      const config = logConfigOf(topicName)
      const input = { folder, topicName, partitionIndex, config, isClean, producerIdExpirationMs, ...offsets }
      this.#logs.set(name, await loadLog(input, this.#logDependencies))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      // What has a recovery point was a log: it must not be taken for an unfinished one, and replaced.
      if (error instanceof NoLogError && offsets.recoveryPoint === 0) {
        logger.warn({ folder, reason }, 'a folder is left alone: it holds no log')
        this.#unreadable.add(name)
        return
      }
      logger.error({ folder, err: error }, 'a log could not be opened: it is offline until the broker is restarted')
      const failure = new Error(`the log in ${folder} could not be opened: ${reason}`, { cause: error })
      this.#failedLogs.set(name, { ...offsets, error: failure })
    }
  }

  async #make(topicName: string, partitionIndex: number, topicId: string, config: LogConfig): Promise<UnifiedLog> {
    const { disk } = this.#dependencies
    const { folder: dataDir, producerIdExpirationMs } = this.#options
    const key = `${topicName}-${partitionIndex}`
    if (this.#unreadable.delete(key)) {
      await disk.rename(`${dataDir}/${key}`, `${dataDir}/${passingFolderName(key, topicId, '-stray')}`)
    }
    const folder = await makeLogFolder(disk, dataDir, key, topicId)
    await this.#folderSync.run()
    const input = { folder, topicName, partitionIndex, topicId, config, producerIdExpirationMs }
    return await newLog(input, this.#logDependencies)
  }

  /** Ends a log and renames its folder, durably. Returns the new path; undefined when there is no such log. */
  async #moveAway(key: string, suffix: FolderSuffix): Promise<string | undefined> {
    return await this.#change(key, async () => {
      const log = this.#logs.get(key)
      if (log === undefined) return undefined
      this.#logs.delete(key)
      await this.#cleaner.abort(log)
      await log.abandon()
      const folder = `${this.#options.folder}/${passingFolderName(key, log.topicId, suffix)}`
      // The checkpoints forget the log first: one that is made anew under this name must not get its offsets.
      await this.#recoveryPoints.run()
      await this.#logStartOffsets.run()
      await this.#highWatermarks.run()
      if (log.cleanerCheckpoint !== undefined) await this.#cleanerCheckpoints.run()
      await this.#dependencies.disk.rename(log.folder, folder)
      await this.#folderSync.run()
      return folder
    })
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

  async #writeCheckpoint(what: keyof CheckpointedOffsets): Promise<void> {
    if (this.#state === 'new') return
    const offsets: [string, number][] = []
    for (const [key, log] of [...this.#logs, ...this.#failedLogs]) {
      const offset = log[what]
      if (offset !== undefined) offsets.push([key, offset])
    }
    await this.#openDir.writeCheckpoint(checkpointFiles[what], offsets)
  }

  #recoveryPointMoved(): void {
    // While all logs are being loaded, the checkpoint that is on disk is the one to keep.
    if (this.#state !== 'open') return
    this.#recoveryPoints.run().catch((error: unknown) => {
      // Without room on the disk the older checkpoint stands, which is still a good one.
      if (isNoSpace(error)) this.#taskPostponed(error)
      else this.#goOffline(error)
    })
  }

  #startTasks(): void {
    const { retentionCheckIntervalMs, recoveryPointIntervalMs, logStartIntervalMs } = this.#options
    const { highWatermarkIntervalMs, flushCheckIntervalMs, freeSpaceCheckIntervalMs } = this.#settings
    const tasks = this.#tasks
    tasks.every(retentionCheckIntervalMs, () => tasks.applyRetention())
    tasks.every(recoveryPointIntervalMs, () => tasks.checkpointLongestTails())
    tasks.every(logStartIntervalMs, () => this.#logStartOffsets.run())
    tasks.every(highWatermarkIntervalMs, () => this.#highWatermarks.run())
    tasks.every(flushCheckIntervalMs, () => tasks.flushByAge())
    tasks.every(freeSpaceCheckIntervalMs, () => this.#checkSpace())
    this.#cleaner.start()
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

  #taskPostponed(error: unknown): void {
    const { folder } = this.#options
    this.#dependencies.logger.warn({ folder, err: error }, 'no room on the disk for a checkpoint; it is tried again')
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
