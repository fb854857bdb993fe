/**
 * Reads of one log: from memory what is in the tail cache, from the segment files what isn't, and searches by timestamp.
 *
 * Any number may run at the same time, also while the log is appended to or segments are deleted. What a truncation
 * disturbs is done again, or refused while it lasts: bytes that were read across one are never answered.
 */
import type { Block } from '../../common/block-pool.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { estimateSegmentBytes } from './byte-estimate.ts'
import { DroppedFileError } from './file-pool.ts'
import type { LogConfig } from './log-config.ts'
import type { LogDependencies } from './log-parts.ts'
import { LogReader } from './log-reader.ts'
import type { LogSegment } from './log-segment.ts'
import type { LogSegments } from './log-segments.ts'
import type { ReadOptions, ReadResult, TimestampAndOffset } from './log-types.ts'
import { LogTail } from './tail-cache.ts'
import { findByTimestamp, findMaxTimestamp, type TimeSearchRange } from './time-search.ts'

/** What a read must know of its log. */
export interface ReadableLog {
  readonly topicPartition: string
  readonly config: LogConfig
  readonly logStartOffset: number
  readonly logEndOffset: number
  readonly failure: Error | undefined
}

export class LogReadPath {
  readonly #log: ReadableLog
  readonly #segments: LogSegments
  readonly #dependencies: LogDependencies
  readonly #reader: LogReader
  readonly #tail: LogTail
  /** Resolves once the changes of segments that were asked for are done. */
  readonly #whenSettled: () => Promise<unknown>
  /** Begun and ended truncations: bytes that were read while it stayed the same are those of the log. */
  #changes = 0
  #state: 'open' | 'truncating' | 'closed' = 'open'

  constructor(
    log: ReadableLog,
    segments: LogSegments,
    dependencies: LogDependencies,
    whenSettled: () => Promise<unknown>,
  ) {
    this.#log = log
    this.#segments = segments
    this.#dependencies = dependencies
    this.#tail = new LogTail(dependencies.tailCache)
    this.#reader = new LogReader(segments, dependencies.blocks, (segment) => this.noteIndexUse(segment))
    this.#whenSettled = whenSettled
  }

  /** Batches were written. The caller's reference to the block goes over to the cache. */
  written(records: Buffer, nextOffset: number, block: Block): void {
    // What was still being written when the log was closed: nobody reads it.
    if (this.#state === 'closed') block.release()
    else this.#tail.add(records, nextOffset, block)
  }

  truncationBegins(): void {
    this.#state = 'truncating'
    this.#changes++
  }

  /** What reaches `offset` is about to go; nothing is being written any more. */
  truncateTo(offset: number): void {
    this.#tail.truncateTo(offset)
  }

  /** What lies below `offset` was compacted: memory holds records that the log no longer has. */
  compactedBefore(offset: number): void {
    this.#tail.dropBefore(offset)
  }

  truncationEnds(): void {
    this.#reader.forgetHints()
    this.#changes++
    if (this.#state === 'truncating') this.#state = 'open'
  }

  close(): void {
    this.#state = 'closed'
    this.#tail.clear()
  }

  /** See `UnifiedLog.read`. */
  read(startOffset: number, options: ReadOptions, done: (result: ReadResult) => void): void {
    if (this.#state === 'closed') {
      done(readFailure(ErrorCode.NOT_LEADER_OR_FOLLOWER, 'the log is closed'))
      return
    }
    const { failure, logStartOffset, logEndOffset } = this.#log
    if (failure !== undefined) {
      done(readFailure(ErrorCode.KAFKA_STORAGE_ERROR, failure.message))
      return
    }
    if (startOffset < logStartOffset || startOffset > logEndOffset) {
      const range = `[${logStartOffset}, ${logEndOffset}]`
      const message = `offset ${startOffset} of ${this.#log.topicPartition} is outside of the log ${range}`
      done(readFailure(ErrorCode.OFFSET_OUT_OF_RANGE, message))
      return
    }
    const upperBoundOffset = Math.min(options.upperBoundOffset, logEndOffset)
    if (startOffset >= upperBoundOffset || (options.maxBytes <= 0 && !options.minOneMessage)) {
      done({ ok: true, buffers: NOTHING, blocks: NO_BLOCKS, sizeBytes: 0, nextOffset: startOffset })
      return
    }
    if (this.#tail.holds(startOffset)) {
      const buffers: Buffer[] = []
      const { maxBytes, minOneMessage } = options
      const blocks: Block[] = []
      const nextOffset = this.#tail.collect(startOffset, upperBoundOffset, maxBytes, minOneMessage, buffers, blocks)
      done({ ok: true, buffers, blocks, sizeBytes: totalBytes(buffers), nextOffset })
      return
    }
    this.#readFromDisk(startOffset, options, upperBoundOffset, done)
  }

  /** See `UnifiedLog.estimateBytesBetween`. */
  estimateBytesBetween(startOffset: number, endOffset: number): number {
    const start = Math.max(startOffset, this.#log.logStartOffset)
    const end = Math.min(endOffset, this.#log.logEndOffset)
    if (start >= end) return 0
    if (this.#tail.holds(start)) return this.#tail.bytesBetween(start, end)
    return estimateSegmentBytes(this.#segments.from(start), start, end, this.#log.logEndOffset)
  }

  /** The first record whose timestamp is `timestamp` or later. */
  async offsetForTimestamp(timestamp: number): Promise<TimestampAndOffset | undefined> {
    return await this.#search((range) => findByTimestamp(range, timestamp))
  }

  /** The first record that has the largest timestamp. */
  async offsetOfMaxTimestamp(): Promise<TimestampAndOffset | undefined> {
    return await this.#search(findMaxTimestamp)
  }

  /** The indexes of a segment that grows no more stay in memory for a while. */
  noteIndexUse(segment: LogSegment): void {
    if (segment !== this.#segments.active) this.#dependencies.indexCache.used(segment)
  }

  #readFromDisk(
    startOffset: number,
    options: ReadOptions,
    upperBoundOffset: number,
    done: (result: ReadResult) => void,
  ): void {
    const changes = this.#changes
    const { maxBytes, minOneMessage } = options
    const { indexIntervalBytes } = this.#log.config
    const request = { startOffset, upperBoundOffset, maxBytes, minOneMessage, indexIntervalBytes }
    this.#reader.read(request, (error, found, nextOffset) => {
      const isTruncating = this.#state === 'truncating'
      if (isTruncating || changes !== this.#changes || error instanceof DroppedFileError) {
        found?.block.release()
        if (isTruncating) done(readFailure(ErrorCode.NOT_LEADER_OR_FOLLOWER, 'the log is truncating'))
        else this.read(startOffset, options, done)
      } else if (error !== null) {
        this.#dependencies.logger.error(
          { topicPartition: this.#log.topicPartition, startOffset, err: error },
          'a read failed',
        )
        done(readFailure(ErrorCode.KAFKA_STORAGE_ERROR, error.message))
      } else {
        const buffers = found === undefined ? NOTHING : [found.records]
        const blocks = found === undefined ? NO_BLOCKS : [found.block]
        done({ ok: true, buffers, blocks, sizeBytes: found?.records.length ?? 0, nextOffset })
      }
    })
  }

  async #search(
    find: (range: TimeSearchRange) => Promise<TimestampAndOffset | undefined>,
  ): Promise<TimestampAndOffset | undefined> {
    for (;;) {
      const changes = this.#changes
      const segments = this.#segments.from(this.#log.logStartOffset)
      try {
        const found = await find({
          segments,
          logStartOffset: this.#log.logStartOffset,
          logEndOffset: this.#log.logEndOffset,
          indexIntervalBytes: this.#log.config.indexIntervalBytes,
        })
        if (!this.#isDisturbed(changes)) return found
      } catch (error) {
        const canTryAgain = this.#isDisturbed(changes) || error instanceof DroppedFileError
        if (!canTryAgain || this.#state === 'closed') throw error
      }
      // Segments were cut or deleted meanwhile: the search starts again on what is left.
      await this.#whenSettled()
      for (const segment of segments) this.noteIndexUse(segment)
    }
  }

  #isDisturbed(changes: number): boolean {
    return changes !== this.#changes || this.#state === 'truncating'
  }
}

const NOTHING: readonly Buffer[] = []
const NO_BLOCKS: readonly Block[] = []

function readFailure(errorCode: number, message: string): ReadResult {
  return { ok: false, errorCode, message }
}

function totalBytes(buffers: readonly Buffer[]): number {
  let total = 0
  for (const buffer of buffers) total += buffer.length
  return total
}
