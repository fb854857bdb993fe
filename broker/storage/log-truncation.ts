/**
 * Removal of the end of a log, or of all of it, from the disk: durable when it resolves, and whatever a crash leaves
 * meanwhile is a log without a gap. The caller sees to it that nothing is appended, written or flushed, and that the
 * recovery point on disk is at or below where the log may end.
 */
import * as recordBatch from '../protocol/records/record-batch.ts'
import { datasync } from './disk-calls.ts'
import type { FilePool } from './file-pool.ts'
import type { LogParts } from './log-parts.ts'
import { LogSegment } from './log-segment.ts'
import type { LogSegments } from './log-segments.ts'
import { replayProducers } from './replay-producers.ts'

/** The end of a batch at or below `offset`, as near as the offset index says: the log will not be cut below it. */
export async function batchBoundaryBefore(
  segments: LogSegments,
  offset: number,
  indexIntervalBytes: number,
): Promise<number> {
  const segment = segments.floor(offset) ?? segments.first
  if (segment.baseOffset === offset) return offset
  const { offsetIndex } = await segment.loadIndexes(indexIntervalBytes)
  const entry = offsetIndex.entryBefore(offset - 1)
  return entry === undefined ? segment.baseOffset : entry.offset + 1
}

/**
 * Cuts off the batches that reach `offset`, which is not below the first segment. Returns where the log ends now: at the
 * end of a batch, at or below `offset`.
 */
export async function cutLogAt(
  { folder, segments, producers, epochs }: LogParts,
  offset: number,
  logStartOffset: number,
  indexIntervalBytes: number,
  pool: FilePool,
): Promise<number> {
  // From the newest to the oldest, each removal durable before the next.
  while (segments.count > 1 && segments.active.baseOffset >= offset) {
    const { active } = segments
    segments.removeActive()
    await active.remove()
    await pool.disk.syncFolder(folder)
  }
  const { active } = segments
  let logEndOffset = active.baseOffset
  const { endPosition } = await active.restore(offset, indexIntervalBytes, (buffer, position) => {
    logEndOffset = recordBatch.nextOffset(buffer, position)
  })
  await active.withFile(async (file) => {
    await file.truncate(endPosition)
    await datasync(file)
  })
  active.cut(endPosition)
  active.durableBytes = endPosition
  active.file.unpin()
  await active.persistIndexes()
  epochs.truncateFromEnd(logEndOffset)
  await epochs.flush()
  await producers.truncateAndReload(Math.min(logStartOffset, logEndOffset), logEndOffset)
  await replayProducers(producers, segments, logEndOffset, indexIntervalBytes)
  return logEndOffset
}

/** Removes everything and begins a segment at `offset`. */
export async function startLogAnewAt(
  { folder, segments, producers, epochs }: LogParts,
  offset: number,
  nowMs: number,
  pool: FilePool,
): Promise<void> {
  while (segments.count > 1) {
    const { active } = segments
    segments.removeActive()
    await active.remove()
    await pool.disk.syncFolder(folder)
  }
  await segments.first.remove()
  await pool.disk.syncFolder(folder)
  await producers.truncateFullyAndStartAt(offset)
  epochs.clear()
  await epochs.flush()
  segments.replaceAll(await beginSegmentFile(folder, offset, nowMs, pool))
}

/** A new segment whose file is there, durably. */
export async function beginSegmentFile(
  folder: string,
  baseOffset: number,
  nowMs: number,
  pool: FilePool,
): Promise<LogSegment> {
  const segment = LogSegment.begin(pool, folder, baseOffset, nowMs)
  segment.file.adopt(await pool.disk.open(segment.path('.log'), 'create'))
  segment.isOnDisk = true
  await pool.disk.syncFolder(folder)
  return segment
}
