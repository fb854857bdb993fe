/**
 * One segment of a log: `<base offset>.log` with its indexes.
 *
 * Three sizes, in this order: what was assigned to the segment (`sizeBytes`), what was written whole (`writtenBytes`),
 * what was fsynced (`durableBytes`). Only the log's writer moves them. Index entries are made when bytes are assigned;
 * an entry past the written bytes harms nobody, since no reader asks for an offset there.
 *
 * The indexes of a segment that no longer grows load at their first use and may be let go (`releaseIndexes`). Before that
 * they are complete in memory, and `persistIndexes` appends the new entries to the files.
 */
import type { Disk, DiskFile } from '../../common/disk.ts'
import { invariant } from '../../common/invariant.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { datasync, fileOf, writeFully } from './disk-calls.ts'
import type { FilePool, PooledFile } from './file-pool.ts'
import { DroppedFileError, PooledFile as Pooled } from './file-pool.ts'
import { OffsetIndex } from './offset-index.ts'
import { scanSegment, type ScanResult } from './segment-scan.ts'
import { TimeIndex } from './time-index.ts'

/** Segments up to this size are scanned from one read. */
const WHOLE_READ_BYTES = 64 * 1024
/** Relative offsets in the indexes are int32. */
const MAX_RELATIVE_OFFSET = 0x7fff_ffff

export const segmentSuffixes = ['.log', '.index', '.timeindex', '.txnindex'] as const
export type SegmentSuffix = (typeof segmentSuffixes)[number]

/** `00000000000000000042.log` */
export function segmentFileName(offset: number, suffix: string): string {
  return String(offset).padStart(20, '0') + suffix
}

export interface SegmentIndexes {
  readonly offsetIndex: OffsetIndex
  readonly timeIndex: TimeIndex
}

export class LogSegment {
  readonly baseOffset: number
  readonly file: PooledFile
  readonly #disk: Disk
  readonly #folder: string
  /** Whether the `.log` file was made. */
  isOnDisk: boolean
  sizeBytes: number
  writtenBytes: number
  durableBytes: number
  /** The largest timestamp of the segment; undefined until the time index of an old segment is read; -1: none. */
  maxTimestamp: number | undefined
  offsetOfMaxTimestamp: number
  /** When the segment was begun, by the broker's clock. */
  createdMs: number
  /** When bytes were last added, by the broker's clock. */
  lastModifiedMs: number
  #bytesSinceIndexEntry = 0
  #indexes: SegmentIndexes | undefined
  #loading: Promise<SegmentIndexes> | undefined
  /** Bytes of the index files that hold what is in memory. */
  #persistedOffsetIndexBytes = 0
  #persistedTimeIndexBytes = 0
  /** Whether the files may hold more than those bytes. */
  #mustCutIndexFiles = false
  #hasIndexFiles = true
  /** Bytes may be added: the indexes stay in memory. */
  #isGrowing = false

  private constructor(pool: FilePool, folder: string, baseOffset: number, nowMs: number, isOnDisk: boolean) {
    this.#disk = pool.disk
    this.#folder = folder
    this.baseOffset = baseOffset
    this.file = new Pooled(pool, `${folder}/${segmentFileName(baseOffset, '.log')}`)
    this.isOnDisk = isOnDisk
    this.sizeBytes = 0
    this.writtenBytes = 0
    this.durableBytes = 0
    this.maxTimestamp = -1
    this.offsetOfMaxTimestamp = baseOffset
    this.createdMs = nowMs
    this.lastModifiedMs = nowMs
  }

  /** A new segment; its file is not there yet. `replacesFiles`: index files of that base offset may be there. */
  static begin(pool: FilePool, folder: string, baseOffset: number, nowMs: number, replacesFiles = false): LogSegment {
    const segment = new LogSegment(pool, folder, baseOffset, nowMs, false)
    segment.#indexes = { offsetIndex: new OffsetIndex(baseOffset), timeIndex: new TimeIndex(baseOffset) }
    segment.#mustCutIndexFiles = replacesFiles
    segment.#isGrowing = true
    return segment
  }

  /** A segment that is on disk, with nothing loaded; all of its bytes count as durable. */
  static existing(
    pool: FilePool,
    folder: string,
    baseOffset: number,
    sizeBytes: number,
    times: { createdMs: number; modifiedMs: number },
  ): LogSegment {
    const segment = new LogSegment(pool, folder, baseOffset, times.createdMs, true)
    segment.lastModifiedMs = times.modifiedMs
    segment.sizeBytes = sizeBytes
    segment.writtenBytes = sizeBytes
    segment.durableBytes = sizeBytes
    segment.maxTimestamp = sizeBytes === 0 ? -1 : undefined
    return segment
  }

  /** Makes ready to grow with empty indexes: there are no index files, or they are not to be trusted. */
  assumeNoIndexes(mayHaveFiles = true): void {
    this.#isGrowing = true
    this.#indexes = { offsetIndex: new OffsetIndex(this.baseOffset), timeIndex: new TimeIndex(this.baseOffset) }
    this.#persistedOffsetIndexBytes = 0
    this.#persistedTimeIndexBytes = 0
    this.#mustCutIndexFiles = mayHaveFiles
  }

  /** There are no index files: nothing is to be read. */
  noteNoIndexFiles(): void {
    this.#hasIndexFiles = false
  }

  /** The indexes if they are in memory. */
  get indexes(): SegmentIndexes | undefined {
    return this.#indexes
  }

  path(suffix: SegmentSuffix): string {
    return `${this.#folder}/${segmentFileName(this.baseOffset, suffix)}`
  }

  /** Whether a batch that ends at `lastOffset` can be indexed here. */
  canHold(lastOffset: number): boolean {
    return lastOffset - this.baseOffset <= MAX_RELATIVE_OFFSET
  }

  isIndexFull(segmentIndexBytes: number): boolean {
    const indexes = this.#indexes
    if (indexes === undefined) return false
    return indexes.offsetIndex.sizeBytes + 8 > segmentIndexBytes || indexes.timeIndex.sizeBytes + 24 > segmentIndexBytes
  }

  /** Notes the whole batches in `records`, which begin at `position` of the segment. The indexes must be loaded. */
  noteBatches(records: Buffer, position: number, indexIntervalBytes: number): void {
    let offset = 0
    while (offset < records.length) {
      this.noteBatch(records, offset, position + offset, indexIntervalBytes)
      offset += recordBatch.sizeInBytes(records, offset)
    }
  }

  noteBatch(buffer: Buffer, positionInBuffer: number, position: number, indexIntervalBytes: number): void {
    const indexes = this.#indexes
    invariant(indexes !== undefined, 'the indexes of a segment that grows are in memory')
    const lastOffset = recordBatch.lastOffset(buffer, positionInBuffer)
    this.#noteTimestamp(recordBatch.maxTimestamp(buffer, positionInBuffer), lastOffset)
    if (this.#bytesSinceIndexEntry > indexIntervalBytes) {
      indexes.offsetIndex.append(lastOffset, position)
      indexes.timeIndex.maybeAppend(this.maxTimestamp ?? -1, this.offsetOfMaxTimestamp)
      this.#bytesSinceIndexEntry = 0
    }
    this.#bytesSinceIndexEntry += recordBatch.sizeInBytes(buffer, positionInBuffer)
  }

  /** The segment grows no more: the time index ends with its largest timestamp. */
  seal(): void {
    this.#isGrowing = false
    if (this.sizeBytes > 0) this.#indexes?.timeIndex.maybeAppend(this.maxTimestamp ?? -1, this.offsetOfMaxTimestamp)
  }

  /** The indexes, from the files if need be; rebuilt from the segment if the files can't be right. */
  async loadIndexes(indexIntervalBytes: number): Promise<SegmentIndexes> {
    if (this.#indexes !== undefined) return this.#indexes
    this.#loading ??= this.#load(indexIntervalBytes).finally(() => {
      this.#loading = undefined
    })
    return await this.#loading
  }

  /** Lets go of indexes that the files hold in full. */
  releaseIndexes(): void {
    const indexes = this.#indexes
    if (indexes === undefined || this.#isGrowing || this.#mustCutIndexFiles) return
    if (this.#persistedOffsetIndexBytes < indexes.offsetIndex.sizeBytes) return
    if (this.#persistedTimeIndexBytes < indexes.timeIndex.sizeBytes) return
    this.#indexes = undefined
  }

  /** Makes ready to grow: reads what the files hold, drops entries at or above `beforeOffset`, and notes the batches after the last entry. */
  async restore(
    beforeOffset: number,
    indexIntervalBytes: number,
    visit?: (buffer: Buffer, position: number) => void,
  ): Promise<ScanResult> {
    this.#isGrowing = true
    const indexes = await this.#settledIndexes()
    if (indexes.offsetIndex.lastOffset >= beforeOffset) {
      indexes.offsetIndex.truncateTo(beforeOffset)
      this.#mustCutIndexFiles = true
    }
    if (indexes.timeIndex.lastOffset >= beforeOffset) {
      indexes.timeIndex.truncateTo(beforeOffset)
      this.#mustCutIndexFiles = true
    }
    this.#persistedOffsetIndexBytes = Math.min(this.#persistedOffsetIndexBytes, indexes.offsetIndex.sizeBytes)
    this.#persistedTimeIndexBytes = Math.min(this.#persistedTimeIndexBytes, indexes.timeIndex.sizeBytes)
    this.maxTimestamp = indexes.timeIndex.lastTimestamp
    this.offsetOfMaxTimestamp = Math.max(indexes.timeIndex.lastOffset, this.baseOffset)
    this.#bytesSinceIndexEntry = 0
    if (this.writtenBytes === 0) return { endPosition: 0, isComplete: true, problem: undefined }
    const fromPosition = indexes.offsetIndex.lastPosition
    let isPromised = fromPosition === 0
    const result = await this.#scan(fromPosition, (buffer, position, filePosition) => {
      isPromised ||= recordBatch.lastOffset(buffer, position) === indexes.offsetIndex.lastOffset
      if (!isPromised || recordBatch.lastOffset(buffer, position) >= beforeOffset) return false
      this.#noteScanned(buffer, position, filePosition, indexIntervalBytes)
      visit?.(buffer, position)
      return true
    })
    if (isPromised) return result
    // The last entry leads to no batch, or to another: it's the index that is wrong, so it is built anew.
    this.assumeNoIndexes()
    return await this.restore(beforeOffset, indexIntervalBytes, visit)
  }

  /** Makes the segment end at `position`, in memory. */
  cut(position: number): void {
    this.sizeBytes = position
    this.writtenBytes = position
    this.durableBytes = Math.min(this.durableBytes, position)
  }

  /**
   * Brings the index files up to memory, durably but for their directory entries. Returns whether a file may be new.
   * One call at a time.
   */
  async persistIndexes(): Promise<boolean> {
    const indexes = this.#indexes
    if (indexes === undefined) return false
    const mustCut = this.#mustCutIndexFiles
    const offsets = indexes.offsetIndex.content(this.#persistedOffsetIndexBytes)
    const times = indexes.timeIndex.content(this.#persistedTimeIndexBytes)
    const isNew = this.#persistedOffsetIndexBytes === 0 || this.#persistedTimeIndexBytes === 0
    if (offsets.length === 0 && times.length === 0 && !mustCut) return false
    await this.#appendTo('.index', this.#persistedOffsetIndexBytes, offsets, mustCut)
    await this.#appendTo('.timeindex', this.#persistedTimeIndexBytes, times, mustCut)
    // A reader found them wrong meanwhile and had them rebuilt: the files are to be written anew.
    if (this.#indexes !== indexes) return isNew
    this.#persistedOffsetIndexBytes += offsets.length
    this.#persistedTimeIndexBytes += times.length
    this.#mustCutIndexFiles = false
    return isNew
  }

  /** The files hold what is in memory: whoever made the segment has written them. */
  noteIndexFilesWritten(): void {
    this.#persistedOffsetIndexBytes = this.#indexes?.offsetIndex.sizeBytes ?? 0
    this.#persistedTimeIndexBytes = this.#indexes?.timeIndex.sizeBytes ?? 0
  }

  /** Builds the indexes of a segment that grows no more anew from its batches. */
  async rebuildIndexes(indexIntervalBytes: number): Promise<SegmentIndexes> {
    this.#loading ??= this.#rebuild(indexIntervalBytes).finally(() => {
      this.#loading = undefined
    })
    return await this.#loading
  }

  /** Runs `work` with the open file. */
  async withFile<T>(work: (file: DiskFile) => Promise<T>): Promise<T> {
    const file = await new Promise<DiskFile>((resolve, reject) => {
      this.file.use((error, opened) => {
        if (opened === undefined) reject(error ?? new Error('no file'))
        else resolve(opened)
      })
    })
    try {
      return await work(file)
    } finally {
      this.file.release()
    }
  }

  /** Removes the files; not durable until the folder is synced. Readers that have the file open read on. */
  async remove(): Promise<void> {
    await this.file.drop()
    for (const suffix of segmentSuffixes) await this.#disk.remove(this.path(suffix))
  }

  #noteTimestamp(timestamp: number, lastOffset: number): void {
    if (timestamp <= (this.maxTimestamp ?? -1)) return
    this.maxTimestamp = timestamp
    this.offsetOfMaxTimestamp = lastOffset
  }

  /** As {@link noteBatch}, for a batch that the index may have already. */
  #noteScanned(buffer: Buffer, position: number, filePosition: number, indexIntervalBytes: number): void {
    const lastOffset = recordBatch.lastOffset(buffer, position)
    if (lastOffset > (this.#indexes?.offsetIndex.lastOffset ?? -1)) {
      this.noteBatch(buffer, position, filePosition, indexIntervalBytes)
    } else {
      this.#noteTimestamp(recordBatch.maxTimestamp(buffer, position), lastOffset)
      this.#bytesSinceIndexEntry += recordBatch.sizeInBytes(buffer, position)
    }
  }

  async #scan(
    fromPosition: number,
    visit: (buffer: Buffer, position: number, filePosition: number) => boolean,
  ): Promise<ScanResult> {
    const endPosition = this.writtenBytes
    const visitInReach = (buffer: Buffer, position: number, filePosition: number): boolean => {
      const lastOffset = recordBatch.lastOffset(buffer, position)
      return lastOffset >= this.baseOffset && this.canHold(lastOffset) && visit(buffer, position, filePosition)
    }
    const options = { fromPosition, endPosition, verifyCrc: false, visit: visitInReach }
    if (endPosition > WHOLE_READ_BYTES) return await this.withFile((file) => scanSegment(file, options))
    // A start with thousands of small logs: one operation instead of open, read and close.
    const content = await this.#disk.readFile(this.path('.log'))
    return await scanSegment(fileOf(content ?? Buffer.alloc(0)), options)
  }

  /** What is in memory or in the files, with no load or rebuild for a reader under way that would replace it. */
  async #settledIndexes(): Promise<SegmentIndexes> {
    while (this.#loading !== undefined) await this.#loading.catch(() => undefined)
    if (this.#indexes !== undefined) return this.#indexes
    this.#loading = this.#readIndexFiles().finally(() => {
      this.#loading = undefined
    })
    this.#indexes = await this.#loading
    return this.#indexes
  }

  async #load(indexIntervalBytes: number): Promise<SegmentIndexes> {
    const indexes = await this.#readIndexFiles()
    this.#expectOwnFiles()
    // A missing index only makes reads slow; it is worth a scan where there is much to search.
    const isMissing = indexes.offsetIndex.entryCount === 0 && this.writtenBytes > 16 * indexIntervalBytes
    const lacksTime = indexes.timeIndex.entryCount === 0 && this.writtenBytes > 0
    if (isMissing || lacksTime) return await this.#rebuild(indexIntervalBytes)
    this.#indexes = indexes
    this.maxTimestamp = indexes.timeIndex.lastTimestamp
    this.offsetOfMaxTimestamp = Math.max(indexes.timeIndex.lastOffset, this.baseOffset)
    return indexes
  }

  async #rebuild(indexIntervalBytes: number): Promise<SegmentIndexes> {
    const indexes = { offsetIndex: new OffsetIndex(this.baseOffset), timeIndex: new TimeIndex(this.baseOffset) }
    this.#indexes = indexes
    this.#persistedOffsetIndexBytes = 0
    this.#persistedTimeIndexBytes = 0
    this.#mustCutIndexFiles = true
    this.maxTimestamp = -1
    this.offsetOfMaxTimestamp = this.baseOffset
    this.#bytesSinceIndexEntry = 0
    await this.#scan(0, (buffer, position, filePosition) => {
      this.noteBatch(buffer, position, filePosition, indexIntervalBytes)
      return true
    })
    this.#expectOwnFiles()
    this.seal()
    return indexes
  }

  /** What was read by name may be of the segment that compaction has put in the place of this one. */
  #expectOwnFiles(): void {
    if (!this.file.isDropped) return
    this.#indexes = undefined
    throw new DroppedFileError(this.file.path)
  }

  /** What the files hold, or empty indexes if they hold nonsense. */
  async #readIndexFiles(): Promise<SegmentIndexes> {
    const offsets = this.#hasIndexFiles ? await this.#disk.readFile(this.path('.index')) : undefined
    const times = this.#hasIndexFiles ? await this.#disk.readFile(this.path('.timeindex')) : undefined
    let offsetIndex = new OffsetIndex(this.baseOffset, offsets)
    let timeIndex = new TimeIndex(this.baseOffset, times)
    if (!offsetIndex.isSane(this.writtenBytes) || !timeIndex.isSane()) {
      offsetIndex = new OffsetIndex(this.baseOffset)
      timeIndex = new TimeIndex(this.baseOffset)
    }
    this.#persistedOffsetIndexBytes = offsetIndex.sizeBytes
    this.#persistedTimeIndexBytes = timeIndex.sizeBytes
    this.#mustCutIndexFiles =
      (offsets?.length ?? 0) !== offsetIndex.sizeBytes || (times?.length ?? 0) !== timeIndex.sizeBytes
    return { offsetIndex, timeIndex }
  }

  async #appendTo(suffix: SegmentSuffix, position: number, bytes: Buffer, mustCut: boolean): Promise<void> {
    if (bytes.length === 0 && !mustCut) return
    this.#hasIndexFiles = true
    const file = await this.#disk.open(this.path(suffix), 'write')
    try {
      if (mustCut) await file.truncate(position)
      if (bytes.length > 0) await writeFully(file, [bytes], position)
      await datasync(file)
    } finally {
      await file.close()
    }
  }
}
