/** What retention does with the segments of a log; which of them go is decided in `retention.ts`. */
import type { FilePool } from './file-pool.ts'
import type { LogConfig } from './log-config.ts'
import type { LogParts } from './log-parts.ts'
import type { LogSegment } from './log-segment.ts'

/** Retention by time needs the largest timestamp of the oldest segments: as far as a look at them goes. */
export async function loadTimestampsForRetention(
  segments: readonly LogSegment[],
  config: LogConfig,
  nowMs: number,
  onIndexUse: (segment: LogSegment) => void,
): Promise<void> {
  if (config.retentionMs < 0 || !config.cleanupPolicy.delete) return
  const oldest = nowMs - config.retentionMs
  for (const segment of [...segments]) {
    if (segment.maxTimestamp === undefined) {
      await segment.loadIndexes(config.indexIntervalBytes)
      onIndexUse(segment)
    }
    if (Math.min(segment.maxTimestamp ?? Infinity, segment.lastModifiedMs) >= oldest) break
  }
}

/**
 * Deletes the files of segments that were taken out of the log. The log start offset that says so is durable already:
 * whatever a crash leaves of them is known to be a leftover.
 */
export async function deleteSegmentFiles(
  { folder, producers, epochs }: LogParts,
  removed: readonly LogSegment[],
  logStartOffset: number,
  pool: FilePool,
): Promise<void> {
  for (const segment of removed) await segment.remove()
  await pool.disk.syncFolder(folder)
  producers.onLogStartOffsetIncremented(logStartOffset)
  await producers.deleteSnapshotsBefore(logStartOffset)
  if (epochs.truncateFromStart(logStartOffset)) await epochs.flush()
}
