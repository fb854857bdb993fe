/** Which segments a log may let go: a pure function. */
import type { LogConfig } from './log-config.ts'

export interface RetainedSegment {
  readonly baseOffset: number
  readonly sizeBytes: number
  /** undefined: not known yet; -1: no record has one. */
  readonly maxTimestamp: number | undefined
  /** When bytes were last added, by the broker's clock. */
  readonly lastModifiedMs: number
}

export interface RetentionInput {
  readonly nowMs: number
  readonly config: Pick<LogConfig, 'retentionMs' | 'retentionBytes' | 'cleanupPolicy'>
  readonly logStartOffset: number
  readonly highWatermark: number
  readonly nextOffset: number
}

/**
 * How many of the oldest segments go: those wholly below the log start offset, and with `cleanup.policy=delete` those
 * that are too old or above `retention.bytes`. Never one that reaches the high watermark. The count may include the active
 * segment, if it has records.
 *
 * A segment is as old as its largest timestamp says, but at least as old as its last write: a client that writes
 * timestamps of the future must not pin data for ever.
 */
export function deletableSegments(segments: readonly RetainedSegment[], input: RetentionInput): number {
  const { config, nowMs } = input
  let excessBytes = -Infinity
  if (config.cleanupPolicy.delete && config.retentionBytes >= 0) {
    excessBytes = -config.retentionBytes
    for (const segment of segments) excessBytes += segment.sizeBytes
  }
  let count = 0
  for (const [i, segment] of segments.entries()) {
    const isActive = i === segments.length - 1
    const endOffset = segments[i + 1]?.baseOffset ?? input.nextOffset
    if (endOffset > input.highWatermark || (isActive && segment.sizeBytes === 0)) break
    const isBelowStart = !isActive && endOffset <= input.logStartOffset
    const isTooOld =
      config.cleanupPolicy.delete && config.retentionMs >= 0 && ageMs(segment, nowMs) > config.retentionMs
    const isExcess = !isActive && excessBytes >= segment.sizeBytes
    if (!isBelowStart && !isTooOld && !isExcess) break
    excessBytes -= segment.sizeBytes
    count++
  }
  return count
}

function ageMs(segment: RetainedSegment, nowMs: number): number {
  const { maxTimestamp, lastModifiedMs } = segment
  const recorded =
    maxTimestamp === undefined || maxTimestamp < 0 ? lastModifiedMs : Math.min(maxTimestamp, lastModifiedMs)
  return nowMs - recorded
}
