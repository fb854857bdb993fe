/**
 * Recovery of one log after an unclean stop: checks what follows the recovery point, drops a torn tail, and writes the
 * good tail to new files.
 *
 * Why the tail is written anew: what a killed process has written may be in the page cache only, and after a failed fsync
 * the kernel calls pages clean that the disk never got, so a second fsync proves nothing. Bytes that are written once more
 * do: their pages are dirty again, and the fsync that follows has to bring them to the disk, or fail.
 *
 * Steps, for each segment from the one that holds the recovery point on:
 * 1. Find the position of the recovery point (its index entries below are trusted, as they were durable before it moved).
 * 2. Check the batches that follow (CRC, offsets and leader epochs don't go back). A short tail is written again where it
 *    is and synced; this is what thousands of logs with a few new records each cost at a start. A longer one goes to a
 *    temporary file, so that a bad place of the disk is left behind: fsync, rename to the segment of the first offset
 *    that it may hold, fsync of the folder.
 * 3. Cut the older segment at the position, and fsync it. A crash before leaves both; so at each unclean start the segment
 *    before the one that holds the recovery point is cut where that one starts.
 * 4. Behind the first bad byte everything goes, later segments included, the newest first; so does what follows a hole
 *    above the recovery point.
 */
import type { Disk } from '../../common/disk.ts'
import type { Logger } from '../../common/logger.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { datasync, writeFully } from './disk-calls.ts'
import type { FilePool } from './file-pool.ts'
import type { LeaderEpochFileCache } from './leader-epoch-cache.ts'
import type { OffsetRange } from './log-parts.ts'
import { LogSegment, segmentFileName } from './log-segment.ts'
import { scanSegment } from './segment-scan.ts'

export const RECOVERY_SUFFIX = '.log.recovered'

export interface RecoveryInput {
  readonly pool: FilePool
  readonly folder: string
  readonly topicPartition: string
  /** Ascending, with nothing loaded. */
  readonly segments: readonly LogSegment[]
  readonly recoveryPoint: number
  readonly indexIntervalBytes: number
  /** Holds nothing at or past the recovery point; gets what the batches say. */
  readonly epochs: LeaderEpochFileCache
  /** A tail up to this is written again where it is. */
  readonly rewriteInPlaceBytes: number
  /** Offsets may be missing between batches. */
  readonly mayHaveGaps: boolean
  readonly logger: Logger
}

export interface RecoveredLog {
  readonly segments: LogSegment[]
  readonly logEndOffset: number
  /** Bytes of the tail that were checked. */
  readonly checkedBytes: number
  /** Offsets below the recovery point that are missing though what follows is there. */
  readonly gap: OffsetRange | undefined
  /** Base offsets of the segments that were removed because they lay behind bytes that are bad. */
  readonly removedSegments: readonly number[]
}

export async function recoverLog(input: RecoveryInput): Promise<RecoveredLog> {
  const recovery = new Recovery(input)
  return await recovery.run()
}

class Recovery {
  readonly #input: RecoveryInput
  readonly #disk: Disk
  readonly #kept: LogSegment[] = []
  #logEndOffset = 0
  #checkedBytes = 0
  #gap: OffsetRange | undefined
  readonly #removedSegments: number[] = []

  constructor(input: RecoveryInput) {
    this.#input = input
    this.#disk = input.pool.disk
  }

  async run(): Promise<RecoveredLog> {
    const { segments, recoveryPoint } = this.#input
    let first = segments.findLastIndex((segment) => segment.baseOffset <= recoveryPoint)
    if (first < 0) first = 0
    this.#kept.push(...segments.slice(0, first))
    const firstOffset = segments[first]?.baseOffset ?? recoveryPoint
    const previous = segments[first - 1]
    if (previous !== undefined) {
      await this.#cutOverlap(previous, firstOffset)
      this.#noteGapBefore(firstOffset)
    }
    this.#logEndOffset = firstOffset
    for (let i = first; i < segments.length; i++) {
      const segment = segments[i]
      if (segment === undefined) break
      if (i > first && this.#isStranded(segment)) {
        this.#warn('what lay before this segment is gone', segment)
        await this.#removeFrom(segments, i)
        break
      }
      const problem = await this.#recoverSegment(segment, segments[i + 1]?.baseOffset ?? Infinity)
      if (problem === undefined) continue
      this.#warn(problem, segment)
      await this.#removeFrom(segments, i + 1)
      break
    }
    for (const segment of this.#kept.slice(0, -1)) segment.seal()
    return {
      segments: this.#kept,
      logEndOffset: this.#logEndOffset,
      checkedBytes: this.#checkedBytes,
      gap: this.#gap,
      removedSegments: this.#removedSegments,
    }
  }

  /** Step 3 of a recovery that did not get that far. */
  async #cutOverlap(segment: LogSegment, offset: number): Promise<void> {
    this.#logEndOffset = segment.baseOffset
    const { endPosition } = await segment.restore(offset, this.#input.indexIntervalBytes, (buffer, at) => {
      this.#logEndOffset = recordBatch.nextOffset(buffer, at)
    })
    if (endPosition === segment.writtenBytes) return
    await this.#cut(segment, endPosition)
    segment.seal()
  }

  /**
   * A segment begins where the one before ends; only compaction changes that, and only below the recovery point. So what
   * lies between was lost, and was not durable yet: what follows goes too. A replica with a hole would never fetch it again.
   */
  #isStranded(segment: LogSegment): boolean {
    return this.#logEndOffset >= this.#input.recoveryPoint && segment.baseOffset > this.#logEndOffset
  }

  /** Returns what is wrong with the bytes at which the log ends now, if they are wrong. */
  async #recoverSegment(segment: LogSegment, nextBaseOffset: number): Promise<string | undefined> {
    const { recoveryPoint, indexIntervalBytes } = this.#input
    let position = 0
    if (segment.baseOffset < recoveryPoint) {
      const trusted = await segment.restore(recoveryPoint, indexIntervalBytes, (buffer, at) => {
        this.#logEndOffset = recordBatch.nextOffset(buffer, at)
      })
      position = trusted.endPosition
      this.#kept.push(segment)
      if (trusted.problem !== undefined) {
        await this.#cut(segment, position)
        return `below the recovery point: ${trusted.problem}`
      }
      if (position === segment.writtenBytes) return undefined
    } else if (segment.writtenBytes === 0) {
      if (await this.#dropIfStranded(segment)) return undefined
      segment.assumeNoIndexes()
      this.#logEndOffset = Math.max(this.#logEndOffset, segment.baseOffset)
      this.#kept.push(segment)
      return undefined
    }
    return await this.#rewriteTail(segment, position, nextBaseOffset)
  }

  /** An empty segment that starts past the end of the log: what lay before was lost. */
  async #dropIfStranded(segment: LogSegment): Promise<boolean> {
    if (this.#kept.length === 0 || segment.baseOffset <= this.#logEndOffset) return false
    await segment.remove()
    await this.#disk.syncFolder(this.#input.folder)
    return true
  }

  async #rewriteTail(segment: LogSegment, position: number, nextBaseOffset: number): Promise<string | undefined> {
    const startOffset = this.#logEndOffset
    const isShort = segment.writtenBytes - position <= this.#input.rewriteInPlaceBytes
    try {
      if (isShort) return await this.#checkInPlace(segment, position, nextBaseOffset, true)
      return await this.#copyTail(segment, position, nextBaseOffset)
    } catch (error) {
      if (!isNoSpace(error)) throw error
      // A full disk must not keep a broker from starting. The tail stays where it is; an fsync is the best there is.
      this.#input.logger.warn(
        { topicPartition: this.#input.topicPartition },
        'no space to write the recovered tail anew; it is synced in place',
      )
      this.#logEndOffset = startOffset
      // The attempt that failed has noted epochs of the very batches that are read again now.
      this.#input.epochs.truncateFromEnd(startOffset)
      if (isShort && position > 0) await segment.restore(startOffset, this.#input.indexIntervalBytes)
      return await this.#checkInPlace(segment, position, nextBaseOffset, false)
    }
  }

  async #copyTail(segment: LogSegment, position: number, nextBaseOffset: number): Promise<string | undefined> {
    const target = this.#newSegment(segment, position === 0 ? segment.baseOffset : this.#logEndOffset)
    const temporary = `${this.#input.folder}/${segmentFileName(target.baseOffset, RECOVERY_SUFFIX)}`
    const copy = await this.#disk.open(temporary, 'create')
    try {
      let copiedBytes = 0
      const { problem } = await this.#checkTail(segment, position, nextBaseOffset, target, async (bytes) => {
        await writeFully(copy, [bytes], copiedBytes)
        copiedBytes += bytes.length
      })
      await datasync(copy)
      await copy.close()
      await this.#replace(segment, position, target, temporary)
      return problem
    } catch (error) {
      await copy.close().catch(() => undefined)
      await this.#disk.remove(temporary)
      throw error
    }
  }

  /** Checks the tail of `segment`, notes in `target` what is good, and hands it to `write`. */
  async #checkTail(
    segment: LogSegment,
    fromPosition: number,
    nextBaseOffset: number,
    target: LogSegment,
    write: ((bytes: Buffer) => Promise<void>) | undefined,
  ): Promise<{ endPosition: number; problem: string | undefined }> {
    const { epochs, indexIntervalBytes } = this.#input
    const tailEnd = segment.writtenBytes
    let refusal: string | undefined
    const result = await segment.withFile((file) =>
      scanSegment(file, {
        fromPosition,
        endPosition: tailEnd,
        verifyCrc: true,
        visit: (buffer, position) => {
          refusal = this.#refusalOf(buffer, position, nextBaseOffset, target)
          if (refusal !== undefined) return false
          this.#noteGapBefore(recordBatch.baseOffset(buffer, position))
          target.noteBatch(buffer, position, target.sizeBytes, indexIntervalBytes)
          target.sizeBytes += recordBatch.sizeInBytes(buffer, position)
          const leaderEpoch = recordBatch.partitionLeaderEpoch(buffer, position)
          if (leaderEpoch >= 0) epochs.assign(leaderEpoch, recordBatch.baseOffset(buffer, position))
          this.#logEndOffset = recordBatch.nextOffset(buffer, position)
          return true
        },
        ...(write === undefined ? {} : { visitRun: write }),
      }),
    )
    this.#checkedBytes += tailEnd - fromPosition
    target.writtenBytes = target.sizeBytes
    target.durableBytes = target.sizeBytes
    const isOverlap = refusal === OVERLAP
    return {
      endPosition: result.endPosition,
      problem: isOverlap ? undefined : (refusal ?? result.problem),
    }
  }

  #newSegment(segment: LogSegment, baseOffset: number): LogSegment {
    const created = LogSegment.begin(this.#input.pool, this.#input.folder, baseOffset, segment.createdMs, true)
    created.lastModifiedMs = segment.lastModifiedMs
    created.isOnDisk = true
    return created
  }

  /** The base offset and the leader epoch lie outside of the CRC: only the order shows that they are wrong. */
  #refusalOf(buffer: Buffer, position: number, nextBaseOffset: number, target: LogSegment): string | undefined {
    if (recordBatch.baseOffset(buffer, position) < this.#logEndOffset) return 'offsets go back'
    if (recordBatch.lastOffset(buffer, position) >= nextBaseOffset) return OVERLAP
    if (!target.canHold(recordBatch.lastOffset(buffer, position))) return 'an offset out of the reach of its segment'
    const latestEpoch = this.#input.epochs.latestEpoch() ?? -1
    const leaderEpoch = recordBatch.partitionLeaderEpoch(buffer, position)
    return leaderEpoch >= 0 && leaderEpoch < latestEpoch ? 'leader epochs go back' : undefined
  }

  /** Puts the recovered tail in the place of the old one. */
  async #replace(segment: LogSegment, position: number, recovered: LogSegment, temporary: string): Promise<void> {
    if (recovered.sizeBytes === 0 && (position > 0 || this.#kept.length > 0)) {
      await this.#disk.remove(temporary)
      if (position > 0) {
        await this.#cut(segment, position)
      } else {
        await segment.remove()
        await this.#disk.syncFolder(this.#input.folder)
      }
      return
    }
    // Whoever still has the old file open keeps it; there is nobody yet.
    if (position === 0) await segment.file.drop()
    await this.#disk.rename(temporary, recovered.path('.log'))
    await this.#disk.syncFolder(this.#input.folder)
    if (position > 0) await this.#cut(segment, position)
    this.#kept.push(recovered)
  }

  /** Leaves the good part of the tail in its file, written once more or only synced. */
  async #checkInPlace(
    segment: LogSegment,
    position: number,
    nextBaseOffset: number,
    mustRewrite: boolean,
  ): Promise<string | undefined> {
    const { writtenBytes } = segment
    if (position === 0) segment.assumeNoIndexes()
    segment.sizeBytes = position
    segment.maxTimestamp ??= -1
    const problem = await segment.withFile(async (file) => {
      let rewrittenTo = position
      const rewrite = async (bytes: Buffer): Promise<void> => {
        await writeFully(file, [bytes], rewrittenTo)
        rewrittenTo += bytes.length
      }
      const checked = await this.#checkTail(
        segment,
        position,
        nextBaseOffset,
        segment,
        mustRewrite ? rewrite : undefined,
      )
      if (checked.endPosition < writtenBytes) await file.truncate(checked.endPosition)
      await datasync(file)
      return checked.problem
    })
    if (position > 0) return problem
    // With bytes below the recovery point, its entry in the folder was durable before that moved past it.
    if (segment.sizeBytes > 0 || this.#kept.length === 0) {
      await this.#disk.syncFolder(this.#input.folder)
      this.#kept.push(segment)
    } else {
      await segment.remove()
      await this.#disk.syncFolder(this.#input.folder)
    }
    return problem
  }

  async #cut(segment: LogSegment, position: number): Promise<void> {
    await segment.withFile(async (file) => {
      await file.truncate(position)
      await datasync(file)
    })
    segment.cut(position)
  }

  async #removeFrom(segments: readonly LogSegment[], index: number): Promise<void> {
    for (const segment of segments.slice(index).reverse()) {
      this.#removedSegments.unshift(segment.baseOffset)
      await segment.remove()
      await this.#disk.syncFolder(this.#input.folder)
    }
  }

  /** Something starts at `offset`: what is missing before it, below the recovery point, was there once. */
  #noteGapBefore(offset: number): void {
    const { recoveryPoint, mayHaveGaps } = this.#input
    const endOffset = Math.min(offset, recoveryPoint)
    if (mayHaveGaps || this.#logEndOffset >= endOffset) return
    this.#gap ??= { startOffset: this.#logEndOffset, endOffset }
  }

  #warn(problem: string, segment: LogSegment): void {
    const { topicPartition, logger, recoveryPoint } = this.#input
    logger.warn(
      { topicPartition, segment: segment.baseOffset, recoveryPoint, logEndOffset: this.#logEndOffset, problem },
      'the log was cut after its last good batch',
    )
  }
}

/** Bytes that the next segment has too: what an interrupted recovery left. They are cut, and all is well. */
const OVERLAP = 'offsets of the next segment'

function isNoSpace(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}
