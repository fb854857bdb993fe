/** Decides when a log begins a new segment: at `segment.bytes`, at `segment.ms`, at a full index, at the reach of its offsets. */
import type { Random } from '../../common/random.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import type { LogConfig } from './log-config.ts'
import type { LogSegment } from './log-segment.ts'

export class RollPolicy {
  readonly #random: Random
  #config: LogConfig
  /** Age at which the active segment is rolled: `segment.ms`, or `max.compaction.lag.ms`, less its jitter. */
  #rollAfterMs: number

  constructor(config: LogConfig, random: Random) {
    this.#random = random
    this.#config = config
    this.#rollAfterMs = this.#drawRollAge()
  }

  updateConfig(config: LogConfig): void {
    const isChanged =
      maxSegmentMs(config) !== maxSegmentMs(this.#config) || config.segmentJitterMs !== this.#config.segmentJitterMs
    this.#config = config
    if (isChanged) this.#rollAfterMs = this.#drawRollAge()
  }

  /** A segment was begun: it gets a jitter of its own. */
  rolled(): void {
    this.#rollAfterMs = this.#drawRollAge()
  }

  /** Whether `bytes` with batches up to `lastOffset` need a new segment. */
  mustRollFor(active: LogSegment, bytes: number, lastOffset: number, nowMs: number): boolean {
    if (!active.canHold(lastOffset)) return true
    if (active.sizeBytes === 0) return false
    return (
      active.sizeBytes + bytes > this.#config.segmentBytes ||
      nowMs - active.createdMs >= this.#rollAfterMs ||
      active.isIndexFull(this.#config.segmentIndexBytes)
    )
  }

  /** Whether a segment is rolled though nothing is appended. */
  isOldEnough(active: LogSegment, nowMs: number): boolean {
    return active.sizeBytes > 0 && nowMs - active.createdMs >= this.#rollAfterMs
  }

  /**
   * Where the largest group of batches from `start` ends that fits into one segment: into the active one, if the first
   * batch does.
   */
  endOfGroup(active: LogSegment, records: Buffer, start: number, nowMs: number): number {
    let end = start + recordBatch.sizeInBytes(records, start)
    const firstOffset = recordBatch.baseOffset(records, start)
    const isRolled = this.mustRollFor(active, end - start, recordBatch.lastOffset(records, start), nowMs)
    const usedBytes = isRolled ? 0 : active.sizeBytes
    const baseOffset = isRolled ? firstOffset : active.baseOffset
    while (end < records.length) {
      const next = end + recordBatch.sizeInBytes(records, end)
      if (usedBytes + next - start > this.#config.segmentBytes) break
      if (recordBatch.lastOffset(records, end) - baseOffset > 0x7fff_ffff) break
      end = next
    }
    return end
  }

  #drawRollAge(): number {
    const ageMs = maxSegmentMs(this.#config)
    const jitterMs = Math.min(this.#config.segmentJitterMs, ageMs)
    return ageMs - Math.floor(this.#random.next() * jitterMs)
  }
}

/** Compaction leaves the active segment alone, so records that may wait for it only so long must not stay there longer. */
function maxSegmentMs({ segmentMs, maxCompactionLagMs, cleanupPolicy }: LogConfig): number {
  return cleanupPolicy.compact && maxCompactionLagMs > 0 ? Math.min(segmentMs, maxCompactionLagMs) : segmentMs
}
