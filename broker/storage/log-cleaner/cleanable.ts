/** What of a log may and should be compacted: the rules of Kafka's LogCleanerManager. */
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { readAt } from '../disk-calls.ts'
import type { LogConfig } from '../log-config.ts'
import type { LogSegment } from '../log-segment.ts'
import type { UnifiedLog } from '../unified-log.ts'

/** A log with something to compact. */
export interface LogToClean {
  readonly log: UnifiedLog
  /** What lies before was compacted already. */
  readonly firstDirtyOffset: number
  /** Where a segment begins: what lies there and after may not be compacted yet. */
  readonly firstUncleanableOffset: number
  /** All segments below `firstUncleanableOffset`, ascending. */
  readonly segments: readonly LogSegment[]
  readonly cleanableBytes: number
  /** The share of `cleanableBytes` in what would be read. */
  readonly cleanableRatio: number
  /** By how much `max.compaction.lag.ms` is exceeded; 0: it isn't. */
  readonly compactionDelayMs: number
}

/** Whether the log is to be compacted now. */
export function isDue({ log, cleanableBytes, cleanableRatio, compactionDelayMs }: LogToClean): boolean {
  if (cleanableBytes === 0) return false
  return compactionDelayMs > 0 || cleanableRatio > log.config.minCleanableDirtyRatio
}

/**
 * What of the log may be compacted: whole segments below the active one, the last stable offset, the recovery point, and the
 * first segment with a record younger than `min.compaction.lag.ms`. Undefined for a log that holds nothing.
 */
export async function cleanablePart(log: UnifiedLog, nowMs: number): Promise<LogToClean | undefined> {
  const segments = log.segments()
  const active = segments.at(-1)
  if (active === undefined) return undefined
  const firstDirtyOffset = firstDirtyOffsetOf(log)
  const inactive = segments.slice(0, -1)
  const dirty = inactive.filter((_, i) => (segments[i + 1]?.baseOffset ?? Infinity) > firstDirtyOffset)
  let limit = Math.min(log.lastStableOffset, active.baseOffset, log.recoveryPoint)
  const { minCompactionLagMs } = log.config
  if (minCompactionLagMs > 0) {
    const young = await firstYounger(dirty, nowMs - minCompactionLagMs, log.config)
    limit = Math.min(limit, young?.baseOffset ?? Infinity)
  }
  // The segment that holds the limit stays as it is.
  const holder = inactive.find((_, i) => (segments[i + 1]?.baseOffset ?? Infinity) > limit) ?? active
  const firstUncleanableOffset = holder.baseOffset
  const covered = inactive.filter((segment) => segment.baseOffset < firstUncleanableOffset)
  const cleanable = covered.filter((segment) => dirty.includes(segment))
  const totalBytes = sizeOf(covered)
  if (totalBytes === 0) return undefined
  const cleanableBytes = sizeOf(cleanable)
  return {
    log,
    firstDirtyOffset,
    firstUncleanableOffset,
    segments: covered,
    cleanableBytes,
    cleanableRatio: cleanableBytes / totalBytes,
    compactionDelayMs: await compactionDelay(dirty, nowMs, log.config),
  }
}

/** The checkpoint, unless it can't be right: then all that there is counts as dirty. */
function firstDirtyOffsetOf(log: UnifiedLog): number {
  const { cleanerCheckpoint, logStartOffset, logEndOffset } = log
  if (cleanerCheckpoint === undefined || cleanerCheckpoint < logStartOffset) return logStartOffset
  return cleanerCheckpoint > logEndOffset ? logStartOffset : cleanerCheckpoint
}

async function firstYounger(
  segments: readonly LogSegment[],
  timestamp: number,
  config: LogConfig,
): Promise<LogSegment | undefined> {
  for (const segment of segments) {
    if (segment.maxTimestamp === undefined) await segment.loadIndexes(config.indexIntervalBytes)
    const { maxTimestamp = -1, lastModifiedMs } = segment
    if ((maxTimestamp >= 0 ? maxTimestamp : lastModifiedMs) > timestamp) return segment
  }
  return undefined
}

async function compactionDelay(dirty: readonly LogSegment[], nowMs: number, config: LogConfig): Promise<number> {
  const cleanUntilMs = nowMs - config.maxCompactionLagMs
  if (cleanUntilMs <= 0) return 0
  let earliest = Infinity
  for (const segment of dirty) {
    const timestamp = await firstBatchTimestamp(segment)
    if (timestamp > 0) earliest = Math.min(earliest, timestamp)
  }
  return Math.max(cleanUntilMs - earliest, 0)
}

/** Of segments that grow no more. */
const firstBatchTimestamps = new WeakMap<LogSegment, number>()

async function firstBatchTimestamp(segment: LogSegment): Promise<number> {
  const known = firstBatchTimestamps.get(segment)
  if (known !== undefined) return known
  const header = Buffer.alloc(recordBatch.RECORD_BATCH_OVERHEAD)
  const bytesRead = await segment.withFile((file) => readAt(file, header, 0))
  const timestamp = bytesRead < header.length ? -1 : recordBatch.maxTimestamp(header, 0)
  firstBatchTimestamps.set(segment, timestamp)
  return timestamp
}

function sizeOf(segments: readonly LogSegment[]): number {
  let total = 0
  for (const segment of segments) total += segment.sizeBytes
  return total
}

export interface GroupLimits {
  readonly segmentBytes: number
  readonly segmentIndexBytes: number
  readonly indexIntervalBytes: number
}

/** An entry of the time index; one of the offset index is smaller. */
const INDEX_ENTRY_BYTES = 12
const LEAST_BATCH_BYTES = 61
const MAX_OFFSET_RANGE = 0x7fff_ffff

/**
 * Runs of segments that fit one segment each, with its indexes and the reach of its offsets. `endOffset`: where the last of
 * them ends.
 */
export function groupSegments<S extends { readonly baseOffset: number; readonly sizeBytes: number }>(
  segments: readonly S[],
  endOffset: number,
  { segmentBytes, segmentIndexBytes, indexIntervalBytes }: GroupLimits,
): S[][] {
  const groups: S[][] = []
  let group: S[] = []
  let groupBytes = 0
  for (const [i, segment] of segments.entries()) {
    const bytes = groupBytes + segment.sizeBytes
    const lastOffset = (segments[i + 1]?.baseOffset ?? endOffset) - 1
    const indexBytes = (Math.floor(bytes / Math.max(indexIntervalBytes, LEAST_BATCH_BYTES)) + 1) * INDEX_ENTRY_BYTES
    const isInReach = segment.sizeBytes === 0 || lastOffset - (group[0]?.baseOffset ?? 0) <= MAX_OFFSET_RANGE
    if (group.length > 0 && bytes <= segmentBytes && indexBytes <= segmentIndexBytes && isInReach) {
      group.push(segment)
      groupBytes = bytes
      continue
    }
    group = [segment]
    groupBytes = segment.sizeBytes
    groups.push(group)
  }
  return groups
}
