/** Finds records of a log by their timestamps (ListOffsets). */
import * as recordBatch from '../protocol/records/record-batch.ts'
import { RecordCursor } from '../protocol/records/record.ts'
import type { LogSegment } from './log-segment.ts'
import type { TimestampAndOffset } from './log-types.ts'
import { scanSegment } from './segment-scan.ts'

export interface TimeSearchRange {
  readonly segments: readonly LogSegment[]
  readonly logStartOffset: number
  readonly logEndOffset: number
  readonly indexIntervalBytes: number
}

/** The first record in the range whose timestamp is `timestamp` or later. */
export async function findByTimestamp(
  range: TimeSearchRange,
  timestamp: number,
): Promise<TimestampAndOffset | undefined> {
  for (const segment of range.segments) {
    const { offsetIndex, timeIndex } = await segment.loadIndexes(range.indexIntervalBytes)
    if ((segment.maxTimestamp ?? Infinity) < timestamp) continue
    const from = Math.max(timeIndex.lookup(timestamp), range.logStartOffset)
    const found = await findInSegment(segment, offsetIndex.lookup(from), range, timestamp)
    if (found !== undefined) return found
  }
  return undefined
}

/** The first record that has the largest timestamp in the range (KIP-734). */
export async function findMaxTimestamp(range: TimeSearchRange): Promise<TimestampAndOffset | undefined> {
  let best: LogSegment | undefined
  for (const segment of range.segments) {
    await segment.loadIndexes(range.indexIntervalBytes)
    if ((segment.maxTimestamp ?? -1) > (best?.maxTimestamp ?? -1)) best = segment
  }
  const largest = best?.maxTimestamp
  return largest === undefined ? undefined : await findByTimestamp(range, largest)
}

async function findInSegment(
  segment: LogSegment,
  fromPosition: number,
  range: TimeSearchRange,
  timestamp: number,
): Promise<TimestampAndOffset | undefined> {
  let found: TimestampAndOffset | undefined
  await segment.withFile((file) =>
    scanSegment(file, {
      fromPosition,
      endPosition: segment.writtenBytes,
      verifyCrc: false,
      visit: (buffer, position) => {
        if (recordBatch.baseOffset(buffer, position) >= range.logEndOffset) return false
        const isCandidate =
          recordBatch.maxTimestamp(buffer, position) >= timestamp &&
          recordBatch.lastOffset(buffer, position) >= range.logStartOffset
        if (isCandidate) found = findInBatch(buffer, position, range.logStartOffset, timestamp)
        return found === undefined
      },
    }),
  )
  return found
}

function findInBatch(
  buffer: Buffer,
  position: number,
  logStartOffset: number,
  timestamp: number,
): TimestampAndOffset | undefined {
  const cursor = RecordCursor.of(buffer, position)
  while (cursor.next()) {
    if (cursor.timestamp < timestamp || cursor.offset < logStartOffset) continue
    const leaderEpoch = recordBatch.partitionLeaderEpoch(buffer, position)
    return { timestamp: cursor.timestamp, offset: cursor.offset, leaderEpoch }
  }
  return undefined
}
