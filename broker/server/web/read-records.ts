/**
 * Reads the newest records of a partition, or those from an offset on, for people to look at.
 *
 * Place: beside the data path, under limits of its own: whole batches are read, decompressed and walked here on the event
 * loop, so each step is bounded, and what exceeds the bounds is left out with a note. Reads committed records alone
 * (below the high watermark), as consumers do; markers of transactions are no records.
 *
 * The newest records can't be found by counting back: after compaction offsets are missing, and batches differ in size. So
 * it begins as many offsets before the end as records are wanted, comes nearer while more bytes would be read than
 * allowed, and goes further back while there are too few.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { releaseAll } from '../../../common/block-pool.ts'
import { compressionTypeOf, type CompressionType } from '../../protocol/compression/compression.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { decompressedRecords, RecordCursor } from '../../protocol/records/record.ts'
import { RecordsError } from '../../protocol/records/records-error.ts'
import type { ReadResult } from '../../storage/log-types.ts'
import { bytesView, cutText, type BytesView } from './bytes-view.ts'

export interface RecordView {
  readonly partition: number
  readonly offset: number
  /** Milliseconds since 1970; -1: none. */
  readonly timestampMs: number
  readonly timestampType: 'CreateTime' | 'LogAppendTime'
  readonly key: BytesView | null
  readonly value: BytesView | null
  readonly headers: readonly { readonly key: string; readonly value: BytesView | null }[]
  /** There are more headers than those shown. */
  readonly hasMoreHeaders: boolean
  /** Of its batch: `none`, `gzip`, ... */
  readonly compression: string
  /** Of the record in its uncompressed batch. */
  readonly sizeBytes: number
}

/** What is needed of a log; a UnifiedLog is one. */
export interface ReadableRecords {
  readonly logStartOffset: number
  readonly highWatermark: number
  read(
    startOffset: number,
    options: { readonly maxBytes: number; readonly minOneMessage: boolean; readonly upperBoundOffset: number },
    done: (result: ReadResult) => void,
  ): void
  estimateBytesBetween(startOffset: number, endOffset: number): number
}

export interface ReadRecordsLimits {
  readonly maxRecords: number
  /** Read from the log, for all records together; a batch that is larger is left out. */
  readonly maxBytes: number
  /** Of one batch without its compression. */
  readonly maxDecompressedBytes: number
  /** What may still be decompressed, over all batches of a request: counted down. */
  readonly decompression: { leftBytes: number }
  /** Shown of a key or value. */
  readonly maxValueBytes: number
}

export interface PartitionRecords {
  /** In offset order. */
  readonly records: readonly RecordView[]
  /** What was left out, as sentences for people. */
  readonly notes: readonly string[]
}

const MAX_HEADERS = 50
const MAX_HEADER_KEY_LENGTH = 200
const MAX_HEADER_VALUE_BYTES = 1024
const MAX_ATTEMPTS = 12
const YIELD_BYTES = 1024 * 1024

/** The last `limits.maxRecords` committed records, fewer when they would exceed the limits. */
export async function readNewestRecords(
  log: ReadableRecords,
  partition: number,
  limits: ReadRecordsLimits,
): Promise<PartitionRecords> {
  let best: PartitionRecords | undefined
  let distance = limits.maxRecords
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const endOffset = log.highWatermark
    const startOffset = Math.max(log.logStartOffset, endOffset - distance)
    if (startOffset >= endOffset) break
    const isTooMuch = log.estimateBytesBetween(startOffset, endOffset) > limits.maxBytes
    if (isTooMuch && endOffset - startOffset > 1 && best === undefined) {
      distance = Math.ceil((endOffset - startOffset) / 4)
      continue
    }
    if (isTooMuch && best !== undefined) return withNote(best, partition, limits)
    const scan = await scanRecords(log, partition, startOffset, endOffset, limits, 'newest')
    if (scan.end === 'failed') return scan
    if (scan.end === 'too-much' && endOffset - startOffset > 1) {
      // The estimate was wrong: what was read is not the end of the log.
      if (best !== undefined) return withNote(best, partition, limits)
      distance = Math.ceil((endOffset - startOffset) / 4)
      continue
    }
    best = scan
    if (scan.records.length >= limits.maxRecords || startOffset === log.logStartOffset) break
    distance = Math.max(distance, 1) * 4
  }
  return best ?? { records: [], notes: [] }
}

/** The first `limits.maxRecords` committed records from `startOffset` on; from the log's start if that is later. */
export async function readRecordsFrom(
  log: ReadableRecords,
  partition: number,
  startOffset: number,
  limits: ReadRecordsLimits,
): Promise<PartitionRecords> {
  const first = Math.max(startOffset, log.logStartOffset)
  if (first >= log.highWatermark) return { records: [], notes: [] }
  return scanRecords(log, partition, first, log.highWatermark, limits, 'first')
}

/** Says that there are older records that would have been wanted. */
function withNote(
  { records, notes }: PartitionRecords,
  partition: number,
  limits: ReadRecordsLimits,
): PartitionRecords {
  const limit = `no more than ${limits.maxBytes} bytes are read at once`
  return {
    records,
    notes: [...notes, `Of partition ${partition} only the last ${records.length} are shown: ${limit}.`],
  }
}

interface Scan extends PartitionRecords {
  /** Whether all was read, more than may be read at once would have to be, or the log could not be read. */
  readonly end: 'complete' | 'too-much' | 'failed'
}

/** Reads `[startOffset, endOffset)`; keeps the `first` or the `newest` records of it. */
async function scanRecords(
  log: ReadableRecords,
  partition: number,
  startOffset: number,
  endOffset: number,
  limits: ReadRecordsLimits,
  kept: 'first' | 'newest',
): Promise<Scan> {
  const records: RecordView[] = []
  const notes: string[] = []
  let bytesLeft = limits.maxBytes
  let offset = startOffset
  while (offset < endOffset) {
    if (kept === 'first' && records.length >= limits.maxRecords) break
    const result = await read(log, offset, endOffset, bytesLeft)
    if (!result.ok) {
      notes.push(`Partition ${partition} can't be read at offset ${offset}: ${result.message}.`)
      return { records, notes, end: 'failed' }
    }
    try {
      for (const buffer of result.buffers) {
        for (const position of recordBatch.batchPositions(buffer)) {
          if (kept === 'first' && records.length >= limits.maxRecords) break
          const leftBytes = limits.decompression.leftBytes
          const range = { partition, startOffset: offset, endOffset }
          const problem = addRecords(buffer, position, range, limits, kept, records)
          if (problem !== undefined) notes.push(problem)
          // Each batch that costs time leaves the event loop to others.
          if (leftBytes - limits.decompression.leftBytes > YIELD_BYTES) await nextTurn()
        }
      }
    } finally {
      releaseAll(result.blocks)
    }
    if (result.nextOffset === offset) {
      // A batch that is larger than what is left. Its end is not known without reading it.
      const limit = `larger than the ${limits.maxBytes} bytes that are read at once`
      if (bytesLeft === limits.maxBytes) {
        notes.push(`The batch at offset ${offset} of partition ${partition} is ${limit}, and is not shown.`)
      }
      return { records, notes, end: 'too-much' }
    }
    bytesLeft -= result.sizeBytes
    offset = result.nextOffset
  }
  return { records, notes, end: 'complete' }
}

/** Adds the records of one batch; returns a sentence where it can't be looked into. */
function addRecords(
  buffer: Buffer,
  position: number,
  range: { readonly partition: number; readonly startOffset: number; readonly endOffset: number },
  limits: ReadRecordsLimits,
  kept: 'first' | 'newest',
  records: RecordView[],
): string | undefined {
  if (recordBatch.isControlBatch(buffer, position)) return undefined
  const { partition, startOffset, endOffset } = range
  const { maxRecords, maxValueBytes } = limits
  try {
    const compression = compressionTypeOf(recordBatch.compressionId(buffer, position))
    const timestampType = recordBatch.isLogAppendTime(buffer, position) ? 'LogAppendTime' : 'CreateTime'
    const cursor = cursorOf(buffer, position, sectionOf(buffer, position, compression, limits))
    while (cursor.next()) {
      if (cursor.offset < startOffset || cursor.offset >= endOffset) continue
      if (kept === 'first' && records.length >= maxRecords) break
      const headers = cursor.headerCount === 0 ? [] : cursor.headers(MAX_HEADERS)
      records.push({
        partition,
        offset: cursor.offset,
        timestampMs: cursor.timestamp,
        timestampType,
        key: bytesView(cursor.key(), maxValueBytes),
        value: bytesView(cursor.value(), maxValueBytes),
        headers: headers.map(({ key, value }) => ({
          key: cutText(key, MAX_HEADER_KEY_LENGTH),
          value: bytesView(value, Math.min(maxValueBytes, MAX_HEADER_VALUE_BYTES)),
        })),
        hasMoreHeaders: cursor.headerCount > MAX_HEADERS,
        compression,
        sizeBytes: cursor.sizeInBytes,
      })
      if (records.length > 2 * maxRecords) records.splice(0, records.length - maxRecords)
    }
    if (records.length > maxRecords) records.splice(0, records.length - maxRecords)
    return undefined
  } catch (error) {
    if (!(error instanceof RecordsError)) throw error
    return `The batch at offset ${recordBatch.baseOffset(buffer, position)} of partition ${partition} is not shown: ${error.message}.`
  }
}

/** The records without their compression. What fails has cost as much as it was allowed. */
function sectionOf(buffer: Buffer, position: number, compression: CompressionType, limits: ReadRecordsLimits): Buffer {
  if (compression === 'none') return decompressedRecords(buffer, position)
  const { decompression } = limits
  const maxBytes = Math.min(limits.maxDecompressedBytes, decompression.leftBytes)
  if (maxBytes <= 0) throw new RecordsError('MESSAGE_TOO_LARGE', 'no more is decompressed for one request')
  decompression.leftBytes -= maxBytes
  const section = decompressedRecords(buffer, position, maxBytes)
  decompression.leftBytes += maxBytes - section.length
  return section
}

function cursorOf(buffer: Buffer, position: number, records: Buffer): RecordCursor {
  const section = {
    records,
    count: recordBatch.recordsCount(buffer, position),
    baseOffset: recordBatch.baseOffset(buffer, position),
    baseTimestamp: recordBatch.baseTimestamp(buffer, position),
  }
  return recordBatch.isLogAppendTime(buffer, position)
    ? new RecordCursor({ ...section, logAppendTime: recordBatch.maxTimestamp(buffer, position) })
    : new RecordCursor(section)
}

function read(log: ReadableRecords, offset: number, endOffset: number, maxBytes: number): Promise<ReadResult> {
  return new Promise((resolve) => {
    // A batch may reach beyond the end that was taken, if more was committed meanwhile.
    const upperBoundOffset = Math.max(endOffset, log.highWatermark)
    log.read(offset, { maxBytes, minOneMessage: false, upperBoundOffset }, resolve)
  })
}
