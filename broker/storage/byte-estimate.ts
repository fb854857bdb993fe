/** How many bytes lie between two offsets of a log, as far as it can be said without a look at the disk. */
import type { LogSegment } from './log-segment.ts'

/**
 * About how many bytes `segments`, the first of which holds `startOffset`, have in `[startOffset, endOffset)`. Exact to
 * about an index interval where the indexes are in memory; elsewhere a segment's bytes are spread evenly over its offsets.
 */
export function estimateSegmentBytes(
  segments: readonly LogSegment[],
  startOffset: number,
  endOffset: number,
  logEndOffset: number,
): number {
  let bytes = 0
  for (const [i, segment] of segments.entries()) {
    if (segment.baseOffset >= endOffset) break
    const segmentEndOffset = segments[i + 1]?.baseOffset ?? logEndOffset
    const from = positionNear(segment, Math.max(startOffset, segment.baseOffset), segmentEndOffset)
    bytes += positionNear(segment, endOffset, segmentEndOffset) - from
  }
  return Math.round(bytes)
}

function positionNear(segment: LogSegment, offset: number, segmentEndOffset: number): number {
  if (offset <= segment.baseOffset) return 0
  if (offset >= segmentEndOffset) return segment.writtenBytes
  const before = segment.indexes?.offsetIndex.entryBefore(offset) ?? { offset: segment.baseOffset, position: 0 }
  const after = segment.indexes?.offsetIndex.entryAfter(offset)
  // Entries may be ahead of what was written.
  const isWritten = after !== undefined && after.offset < segmentEndOffset && after.position <= segment.writtenBytes
  const end = isWritten ? after : { offset: segmentEndOffset, position: segment.writtenBytes }
  if (end.offset <= before.offset || end.position <= before.position) return Math.min(before.position, end.position)
  const share = (offset - before.offset) / (end.offset - before.offset)
  return before.position + share * (end.position - before.position)
}
