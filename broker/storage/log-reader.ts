/**
 * Reads batches of one log from its segment files.
 *
 * A read looks up its position (a hint left by the read before it, else the offset index), reads once, and skips to the
 * batch that holds the offset; it reads again only if that batch turns out to be larger than what was read. It reads
 * what was written whole when it began. A truncation meanwhile makes its bytes doubtful: the caller compares truncation
 * counts. A deletion doesn't, since the file stays open until the read is done.
 */
import type { Block, BlockPool } from '../../common/block-pool.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { RecordsError } from '../protocol/records/records-error.ts'
import { DroppedFileError } from './file-pool.ts'
import type { LogSegment } from './log-segment.ts'
import type { LogSegments } from './log-segments.ts'
import type { StoredRecords } from './record-arena.ts'

export interface DiskReadOptions {
  readonly startOffset: number
  readonly upperBoundOffset: number
  readonly maxBytes: number
  readonly minOneMessage: boolean
  readonly indexIntervalBytes: number
}

/** `found`: whole batches, undefined if there are none below the bound. */
export type DiskReadDone = (error: Error | null, found: StoredRecords | undefined, nextOffset: number) => void

/** Read beyond `maxBytes`, for the batches between an index entry and the wanted one. */
const SLACK_BYTES = 16 * 1024
/** One read of many small batches takes no more than this, whatever the client allows. */
const MAX_READ_BYTES = 8 * 1024 * 1024
const HINT_COUNT = 4

interface Hint {
  readonly offset: number
  readonly segment: LogSegment
  readonly position: number
}

export class LogReader {
  readonly #segments: LogSegments
  readonly #blocks: BlockPool
  /** Told of each segment whose indexes a read needed. */
  readonly #onIndexUse: (segment: LogSegment) => void
  /** Where the last reads ended, for those that go on there. */
  #hints: Hint[] = []
  #nextHint = 0

  constructor(segments: LogSegments, blocks: BlockPool, onIndexUse: (segment: LogSegment) => void) {
    this.#segments = segments
    this.#blocks = blocks
    this.#onIndexUse = onIndexUse
  }

  read(options: DiskReadOptions, done: DiskReadDone): void {
    const { startOffset } = options
    const segment = this.#segments.floor(startOffset) ?? this.#segments.first
    const hint = this.#hints.find((each) => each.offset === startOffset)
    if (hint !== undefined && !hint.segment.file.isDropped) {
      this.#readAt(hint.segment, hint.position, options, 0, undefined, done)
      return
    }
    this.#readIn(segment, options, false, done)
  }

  /** Positions are not what they were. */
  forgetHints(): void {
    this.#hints = []
    this.#nextHint = 0
  }

  #readIn(segment: LogSegment, options: DiskReadOptions, isSecondTry: boolean, done: DiskReadDone): void {
    const loaded = segment.indexes
    if (loaded !== undefined) {
      this.#onIndexUse(segment)
      const position = loaded.offsetIndex.lookup(options.startOffset)
      const expectedLastOffset = isSecondTry ? undefined : loaded.offsetIndex.lookupOffset(options.startOffset)
      this.#readAt(segment, position, options, SLACK_BYTES + options.indexIntervalBytes, expectedLastOffset, done)
      return
    }
    segment.loadIndexes(options.indexIntervalBytes).then(
      () => this.#readIn(segment, options, isSecondTry, done),
      (error: unknown) => done(asError(error), undefined, options.startOffset),
    )
  }

  #readAt(
    segment: LogSegment,
    position: number,
    options: DiskReadOptions,
    slackBytes: number,
    expectedLastOffset: number | undefined,
    done: DiskReadDone,
  ): void {
    const available = segment.writtenBytes - position
    if (available <= 0) {
      this.#goOn(segment, options, done)
      return
    }
    const wanted = Math.max(Math.min(options.maxBytes, MAX_READ_BYTES), recordBatch.RECORD_BATCH_OVERHEAD) + slackBytes
    const { block, target } = this.#take(Math.min(available, wanted))
    readInto(segment, target, position, (error, bytesRead) => {
      if (error !== null) {
        block.release()
        done(error, undefined, options.startOffset)
        return
      }
      const chunk = target.subarray(0, bytesRead)
      const found = tryFindBatches(chunk, options, expectedLastOffset)
      if (found instanceof Error) {
        block.release()
        const canRebuild = expectedLastOffset !== undefined && segment !== this.#segments.active
        if (canRebuild) this.#readWithNewIndexes(segment, options, done)
        else done(found, undefined, options.startOffset)
        return
      }
      if (found.end > found.start) {
        this.#leaveHint(found.nextOffset, segment, position + found.end)
        done(null, { records: chunk.subarray(found.start, found.end), block }, found.nextOffset)
        return
      }
      block.release()
      if (found.isOver) {
        done(null, undefined, options.startOffset)
      } else if (position + found.start >= segment.writtenBytes) {
        this.#goOn(segment, options, done)
      } else if (bytesRead < target.length) {
        done(new Error(`${segment.file.path} is shorter than it was`), undefined, options.startOffset)
      } else if (found.start > 0) {
        this.#readAt(segment, position + found.start, options, 0, undefined, done)
      } else {
        this.#readLargeBatch(segment, position, found.batchBytes, options, done)
      }
    })
  }

  /** The batch at `position` holds the offset and has more bytes than were read. */
  #readLargeBatch(
    segment: LogSegment,
    position: number,
    batchBytes: number,
    options: DiskReadOptions,
    done: DiskReadDone,
  ): void {
    const fits = batchBytes <= options.maxBytes || options.minOneMessage
    if (!fits) {
      done(null, undefined, options.startOffset)
      return
    }
    const { block, target } = this.#take(batchBytes)
    readInto(segment, target, position, (error, bytesRead) => {
      if (error !== null || bytesRead < batchBytes) {
        block.release()
        done(error ?? new Error(`${segment.file.path} is shorter than it was`), undefined, options.startOffset)
        return
      }
      const nextOffset = recordBatch.nextOffset(target, 0)
      if (nextOffset <= options.startOffset) {
        block.release()
        this.#readAt(segment, position + batchBytes, options, 0, undefined, done)
      } else if (nextOffset > options.upperBoundOffset) {
        block.release()
        done(null, undefined, options.startOffset)
      } else {
        this.#leaveHint(nextOffset, segment, position + batchBytes)
        done(null, { records: target, block }, nextOffset)
      }
    })
  }

  #take(bytes: number): { block: Block; target: Buffer } {
    const block = this.#blocks.take(bytes)
    return { block, target: block.bytes.subarray(0, bytes) }
  }

  /** The segment ends before the offset: it is the first one of the next segment, or was compacted away. */
  #goOn(segment: LogSegment, options: DiskReadOptions, done: DiskReadDone): void {
    if (segment.file.isDropped) {
      // Replaced by a longer one meanwhile: what follows it in the log is not what followed this one.
      done(new DroppedFileError(segment.file.path), undefined, options.startOffset)
      return
    }
    const next = this.#segments.next(segment)
    if (next === undefined) done(null, undefined, options.startOffset)
    else this.#readAt(next, 0, options, 0, undefined, done)
  }

  /** The index led to bytes that are no batch: it is the index that is wrong, if anything can be read at all. */
  #readWithNewIndexes(segment: LogSegment, options: DiskReadOptions, done: DiskReadDone): void {
    this.forgetHints()
    segment.rebuildIndexes(options.indexIntervalBytes).then(
      () => this.#readIn(segment, options, true, done),
      (error: unknown) => done(asError(error), undefined, options.startOffset),
    )
  }

  #leaveHint(offset: number, segment: LogSegment, position: number): void {
    this.#hints[this.#nextHint] = { offset, segment, position }
    this.#nextHint = (this.#nextHint + 1) % HINT_COUNT
  }
}

interface Found {
  /** The batches that are the answer: empty if there are none. */
  readonly start: number
  readonly end: number
  readonly nextOffset: number
  /** The batch at `start` reaches the bound, or doesn't fit: there is no answer. */
  readonly isOver: boolean
  /** Bytes of the batch at `start` if it is incomplete in the chunk. */
  readonly batchBytes: number
}

/** As {@link findBatches}; an error if the bytes are no batches, or not those that the index promised. */
function tryFindBatches(
  chunk: Buffer,
  options: DiskReadOptions,
  expectedLastOffset: number | undefined,
): Found | RecordsError {
  try {
    if (expectedLastOffset !== undefined && chunk.length >= recordBatch.RECORD_BATCH_OVERHEAD) {
      recordBatch.batchEnd(chunk, 0)
      if (recordBatch.lastOffset(chunk, 0) !== expectedLastOffset) {
        return new RecordsError('CORRUPT_MESSAGE', `the offset index is wrong about offset ${expectedLastOffset}`)
      }
    }
    return findBatches(chunk, options)
  } catch (error) {
    if (error instanceof RecordsError) return error
    throw error
  }
}

/** The whole batches in `chunk` from the one that holds the offset, within bound and size. */
function findBatches(chunk: Buffer, options: DiskReadOptions): Found {
  const { startOffset, upperBoundOffset, maxBytes, minOneMessage } = options
  let start = 0
  let end = 0
  let nextOffset = startOffset
  for (let position = 0; ;) {
    const batchEnd = recordBatch.batchEnd(chunk, position)
    if (batchEnd < 0) {
      const isSized = chunk.length - position >= recordBatch.LOG_OVERHEAD
      const batchBytes = isSized ? recordBatch.sizeInBytes(chunk, position) : 0
      return {
        start: end > start ? start : position,
        end: end > start ? end : position,
        nextOffset,
        isOver: false,
        batchBytes,
      }
    }
    const after = recordBatch.nextOffset(chunk, position)
    if (after > startOffset) {
      const isFirst = end === start
      if (isFirst) start = end = position
      const isTooLarge = batchEnd - start > maxBytes && !(isFirst && minOneMessage)
      if (after > upperBoundOffset || isTooLarge) return { start, end, nextOffset, isOver: true, batchBytes: 0 }
      end = batchEnd
      nextOffset = after
    }
    position = batchEnd
  }
}

function readInto(
  segment: LogSegment,
  target: Buffer,
  position: number,
  done: (error: Error | null, bytesRead: number) => void,
): void {
  segment.file.use((error, file) => {
    if (file === undefined) {
      done(error ?? new DroppedFileError(segment.file.path), 0)
      return
    }
    file.read(target, position, (readError, bytesRead) => {
      segment.file.release()
      done(readError, bytesRead)
    })
  })
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
