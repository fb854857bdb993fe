/** Opens the folder of one partition: after a clean stop it reads the end of the log, after an unclean one it recovers. */
import type { DiskEntry } from '../../common/disk.ts'
import { CorruptEpochCheckpointError, LEADER_EPOCH_CHECKPOINT, LeaderEpochFileCache } from './leader-epoch-cache.ts'
import type { LogConfig } from './log-config.ts'
import { recoverLog, RECOVERY_SUFFIX, type RecoveredLog } from './log-recovery.ts'
import { LogSegment } from './log-segment.ts'
import { LogSegments } from './log-segments.ts'
import { beginSegmentFile } from './log-truncation.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { ProducerStateManager, type ProducerStateManagerOptions } from './producer-state-manager.ts'
import { replayProducers } from './replay-producers.ts'
import { scanSegment } from './segment-scan.ts'
import { recoverSwaps } from './log-cleaner/segment-swap.ts'
import type { OffsetRange } from './log-parts.ts'
import { UnifiedLog, type UnifiedLogDependencies } from './unified-log.ts'

/** A longer tail is worth a checkpoint before the log is served. */
const CHECKPOINT_AT_ONCE_BYTES = 1024 * 1024

export const PARTITION_METADATA = 'partition.metadata'

export interface LoadInput {
  readonly folder: string
  readonly topicName: string
  readonly partitionIndex: number
  readonly config: LogConfig
  /** Whether the last stop of the data dir was clean. */
  readonly isClean: boolean
  /** From the checkpoints of the data dir; 0 where they have none. */
  readonly recoveryPoint: number
  readonly logStartOffset: number
  readonly highWatermark: number
  /** The log was compacted up to here; undefined: never. */
  readonly cleanerCheckpoint?: number | undefined
  readonly producerIdExpirationMs: number
}

/** The folder holds no log that could be opened: its making was never finished, or somebody meddled with it. */
export class NoLogError extends Error {
  override readonly name = 'NoLogError'
}

export async function loadLog(input: LoadInput, dependencies: UnifiedLogDependencies): Promise<UnifiedLog> {
  const { folder, topicName, partitionIndex, config } = input
  const { disk } = dependencies.pool
  let entries = await disk.list(folder)
  const hasSwapped = await recoverSwaps(
    disk,
    folder,
    entries.map((entry) => entry.name),
  )
  if (hasSwapped) entries = await disk.list(folder)
  const topicId = await readTopicId(input, dependencies)
  const names = new Set(entries.map((entry) => entry.name))
  await removeLeftovers(folder, entries, names, dependencies)
  const found = await findSegments(folder, entries, names, dependencies)
  const logStartOffset = Math.max(input.logStartOffset, found[0]?.baseOffset ?? 0)
  const present = await dropSegmentsBelow(folder, found, logStartOffset, dependencies)
  const epochs = await openEpochs(folder, names, present, dependencies)
  const clean = input.isClean ? await readEnd(present, config) : undefined
  const end = clean ?? (await recover(input, present, epochs, dependencies))

  const lostBelowRecoveryPoint = lossOf(input, logStartOffset, end)
  if (lostBelowRecoveryPoint !== undefined) reportLoss(input, lostBelowRecoveryPoint, end, dependencies)
  let { segments, logEndOffset } = end
  if (segments.length === 0 || logEndOffset < logStartOffset) {
    segments = [await startAnew(folder, segments, logStartOffset, dependencies)]
    logEndOffset = logStartOffset
  }
  epochs.truncateFromEnd(logEndOffset)
  epochs.truncateFromStart(logStartOffset)
  const list = new LogSegments(segments)
  const trustedEnd =
    clean === undefined ? Math.min(Math.max(input.recoveryPoint, logStartOffset), logEndOffset) : logEndOffset
  const producers = await openProducers(input, names, list, logStartOffset, logEndOffset, trustedEnd, dependencies)
  list.active.file.closeIfIdle()
  const log = new UnifiedLog(
    {
      topicName,
      partitionIndex,
      topicId,
      folder,
      config,
      segments: list,
      producers,
      epochs,
      logStartOffset,
      logEndOffset,
      highWatermark: input.highWatermark,
      recoveryPoint: Math.min(trustedEnd, logEndOffset),
      cleanerCheckpoint: input.cleanerCheckpoint,
      // The process that ended may have made a segment file and not got to the sync of the folder.
      isFolderSynced: clean !== undefined,
      lostBelowRecoveryPoint,
    },
    dependencies,
  )
  // What was recovered is on disk; with its indexes and producer state there too, the next start need not look at it. For
  // a short tail that can wait for the checkpoints of every day: thousands of logs may have one.
  if (log.needsCheckpoint && end.checkedBytes > CHECKPOINT_AT_ONCE_BYTES) await log.checkpoint()
  return log
}

/** The log in a folder that was just made for it: empty, from offset 0 on. */
export async function newLog(
  input: Pick<LoadInput, 'folder' | 'topicName' | 'partitionIndex' | 'config' | 'producerIdExpirationMs'> & {
    readonly topicId: string
  },
  dependencies: UnifiedLogDependencies,
): Promise<UnifiedLog> {
  const { pool, clock } = dependencies
  const { folder, topicName, partitionIndex, topicId, config } = input
  const nowMs = clock.wallMs()
  const segment = LogSegment.existing(pool, folder, 0, 0, { createdMs: nowMs, modifiedMs: nowMs })
  segment.assumeNoIndexes(false)
  segment.noteNoIndexFiles()
  return new UnifiedLog(
    {
      topicName,
      partitionIndex,
      topicId,
      folder,
      config,
      segments: new LogSegments([segment]),
      producers: await ProducerStateManager.open(producerStateOptions(input, dependencies), []),
      epochs: new LeaderEpochFileCache(pool.disk, folder),
      logStartOffset: 0,
      logEndOffset: 0,
      highWatermark: 0,
      recoveryPoint: 0,
      cleanerCheckpoint: undefined,
      isFolderSynced: true,
      lostBelowRecoveryPoint: undefined,
    },
    dependencies,
  )
}

export function formatPartitionMetadata(topicId: string): string {
  return `version: 0\ntopic_id: ${topicId}`
}

async function readTopicId(input: LoadInput, { pool }: UnifiedLogDependencies): Promise<string> {
  const content = await pool.disk.readFile(`${input.folder}/${PARTITION_METADATA}`)
  const match = /^version: 0\ntopic_id: ([A-Za-z0-9_-]{22})\n?$/.exec(content?.toString('latin1') ?? '')
  if (match?.[1] === undefined) throw new NoLogError(`${input.folder}/${PARTITION_METADATA} is missing or malformed`)
  return match[1]
}

/** Removes what no restart needs: temporary files, files marked as deleted, indexes without a segment. */
async function removeLeftovers(
  folder: string,
  entries: readonly DiskEntry[],
  names: ReadonlySet<string>,
  { pool }: UnifiedLogDependencies,
): Promise<void> {
  let hasRemoved = false
  for (const { name, isFolder } of entries) {
    if (isFolder) continue
    const index = /^(\d{20})\.(?:index|timeindex|txnindex)$/.exec(name)
    const isOrphan = index !== null && !names.has(`${index[1] ?? ''}.log`)
    if (!isOrphan && !name.endsWith('.deleted') && !name.endsWith('.tmp') && !name.endsWith(RECOVERY_SUFFIX)) continue
    await pool.disk.remove(`${folder}/${name}`)
    hasRemoved = true
  }
  if (hasRemoved) await pool.disk.syncFolder(folder)
}

async function findSegments(
  folder: string,
  entries: readonly DiskEntry[],
  names: ReadonlySet<string>,
  { pool }: UnifiedLogDependencies,
): Promise<LogSegment[]> {
  const segments: LogSegment[] = []
  for (const { name, isFolder } of entries) {
    if (isFolder || !/^\d{20}\.log$/.test(name)) continue
    const stat = await pool.disk.stat(`${folder}/${name}`)
    if (stat === undefined) continue
    const baseOffset = Number(name.slice(0, 20))
    const segment = LogSegment.existing(pool, folder, baseOffset, stat.sizeBytes, stat)
    const stem = name.slice(0, 20)
    if (!names.has(`${stem}.index`) && !names.has(`${stem}.timeindex`)) segment.noteNoIndexFiles()
    segments.push(segment)
  }
  return segments.sort((a, b) => a.baseOffset - b.baseOffset)
}

/** A deletion that a crash interrupted goes on: the log start offset was made durable before it began. */
async function dropSegmentsBelow(
  folder: string,
  segments: LogSegment[],
  logStartOffset: number,
  { pool }: UnifiedLogDependencies,
): Promise<LogSegment[]> {
  let count = 0
  while (count + 1 < segments.length && (segments[count + 1]?.baseOffset ?? Infinity) <= logStartOffset) count++
  if (count === 0) return segments
  for (const segment of segments.slice(0, count)) await segment.remove()
  await pool.disk.syncFolder(folder)
  return segments.slice(count)
}

/** The end of a log that was closed cleanly; undefined if it does not look like that. */
async function readEnd(segments: LogSegment[], config: LogConfig): Promise<RecoveredLog | undefined> {
  const active = segments.at(-1)
  if (active === undefined) return undefined
  let logEndOffset = active.baseOffset
  const { isComplete } = await active.restore(Infinity, config.indexIntervalBytes, (buffer, position) => {
    logEndOffset = recordBatch.nextOffset(buffer, position)
  })
  return isComplete ? { segments, logEndOffset, checkedBytes: 0, gap: undefined, removedSegments: [] } : undefined
}

async function recover(
  input: LoadInput,
  segments: LogSegment[],
  epochs: LeaderEpochFileCache,
  dependencies: UnifiedLogDependencies,
): Promise<RecoveredLog> {
  const { pool, logger } = dependencies
  const topicPartition = `${input.topicName}-${input.partitionIndex}`
  if (input.isClean) logger.warn({ topicPartition }, 'the end of the log is not what a clean stop leaves')
  epochs.truncateFromEnd(input.recoveryPoint)
  return await recoverLog({
    pool,
    folder: input.folder,
    topicPartition,
    segments,
    recoveryPoint: input.recoveryPoint,
    indexIntervalBytes: input.config.indexIntervalBytes,
    epochs,
    rewriteInPlaceBytes: dependencies.rewriteInPlaceBytes,
    // Compaction leaves gaps on purpose; the topic's policy may have changed since.
    mayHaveGaps: input.config.cleanupPolicy.compact || input.cleanerCheckpoint !== undefined,
    logger,
  })
}

/**
 * What the disk no longer has though it was durable once: everything below the recovery point was fsynced before that was
 * written, and it is lowered before a truncation begins.
 */
function lossOf(input: LoadInput, logStartOffset: number, end: RecoveredLog): OffsetRange | undefined {
  if (end.gap !== undefined) return end.gap
  const startOffset = Math.max(end.segments.length === 0 ? 0 : end.logEndOffset, logStartOffset)
  return startOffset < input.recoveryPoint ? { startOffset, endOffset: input.recoveryPoint } : undefined
}

function reportLoss(
  { topicName, partitionIndex, folder, recoveryPoint }: LoadInput,
  { startOffset, endOffset }: OffsetRange,
  { logEndOffset, removedSegments }: RecoveredLog,
  { logger }: UnifiedLogDependencies,
): void {
  const topicPartition = `${topicName}-${partitionIndex}`
  const lost = `offsets ${startOffset} to ${endOffset - 1} of ${topicPartition} are gone`
  logger.error(
    { topicPartition, folder, startOffset, endOffset, recoveryPoint, logEndOffset, removedSegments },
    `${lost}: they were on this disk durably, and the disk has lost them; the log goes on with what there is`,
  )
}

/** An empty log that starts at `offset`, in place of what there is. */
async function startAnew(
  folder: string,
  segments: readonly LogSegment[],
  offset: number,
  { pool, clock }: UnifiedLogDependencies,
): Promise<LogSegment> {
  for (const segment of [...segments].reverse()) {
    await segment.remove()
    await pool.disk.syncFolder(folder)
  }
  return await beginSegmentFile(folder, offset, clock.wallMs(), pool)
}

async function openEpochs(
  folder: string,
  names: ReadonlySet<string>,
  segments: readonly LogSegment[],
  { pool, logger }: UnifiedLogDependencies,
): Promise<LeaderEpochFileCache> {
  if (!names.has(LEADER_EPOCH_CHECKPOINT)) return new LeaderEpochFileCache(pool.disk, folder)
  try {
    return await LeaderEpochFileCache.open(pool.disk, folder)
  } catch (error) {
    if (!(error instanceof CorruptEpochCheckpointError)) throw error
    logger.warn({ folder, reason: error.message }, 'the leader epochs are read from the batches')
    const epochs = new LeaderEpochFileCache(pool.disk, folder)
    for (const segment of segments) await noteEpochs(segment, epochs)
    return epochs
  }
}

async function noteEpochs(segment: LogSegment, epochs: LeaderEpochFileCache): Promise<void> {
  await segment.withFile((file) =>
    scanSegment(file, {
      fromPosition: 0,
      endPosition: segment.writtenBytes,
      verifyCrc: false,
      visit: (buffer, position) => {
        const leaderEpoch = recordBatch.partitionLeaderEpoch(buffer, position)
        if (leaderEpoch >= 0) epochs.assign(leaderEpoch, recordBatch.baseOffset(buffer, position))
        return true
      },
    }),
  )
}

/** The producer state at the log's end: from the last snapshot at or before `trustedEnd`, and the batches since. */
async function openProducers(
  input: LoadInput,
  names: ReadonlySet<string>,
  segments: LogSegments,
  logStartOffset: number,
  logEndOffset: number,
  trustedEnd: number,
  { pool, clock, logger }: UnifiedLogDependencies,
): Promise<ProducerStateManager> {
  const producers = await ProducerStateManager.open(producerStateOptions(input, { pool, clock, logger }), names)
  const hadSnapshot = producers.snapshotOffsets().some((offset) => offset > logStartOffset && offset <= trustedEnd)
  await producers.truncateAndReload(logStartOffset, trustedEnd)
  // No snapshot was ever due: until there, no producer had written.
  if (!hadSnapshot) producers.applyAppend({ duplicate: undefined, updates: [], completedTxns: [] }, trustedEnd)
  await replayProducers(producers, segments, logEndOffset, input.config.indexIntervalBytes)
  return producers
}

function producerStateOptions(
  input: Pick<LoadInput, 'folder' | 'topicName' | 'partitionIndex' | 'producerIdExpirationMs'>,
  { pool, clock, logger }: Pick<UnifiedLogDependencies, 'pool' | 'clock' | 'logger'>,
): ProducerStateManagerOptions {
  return {
    topicPartition: `${input.topicName}-${input.partitionIndex}`,
    disk: pool.disk,
    folder: input.folder,
    clock,
    logger,
    producerIdExpirationMs: input.producerIdExpirationMs,
    maxTransactionTimeoutMs: 15 * 60 * 1000,
  }
}
