/** A segment that a cleaner writes: `.cleaned` files beside the log, until they are swapped in or discarded. */
import type { DiskFile } from '../../../common/disk.ts'
import { datasync, writeFully } from '../disk-calls.ts'
import type { FilePool } from '../file-pool.ts'
import { LogSegment, segmentFileName } from '../log-segment.ts'
import { encodeTransactionIndex, type AbortedTxn } from './cleaned-transactions.ts'
import { CLEANED_SUFFIX, discardCleaned } from './segment-swap.ts'

/** Written bytes are synced in portions: one fsync of a whole segment would hold up those of the producers. */
const SYNC_EVERY_BYTES = 4 * 1024 * 1024

export class CleanedSegment {
  readonly segment: LogSegment
  readonly #pool: FilePool
  readonly #folder: string
  readonly #file: DiskFile
  readonly #indexIntervalBytes: number
  readonly #txns: AbortedTxn[] = []
  #isTaken = false

  private constructor(pool: FilePool, folder: string, segment: LogSegment, file: DiskFile, indexIntervalBytes: number) {
    this.#pool = pool
    this.#folder = folder
    this.segment = segment
    this.#file = file
    this.#indexIntervalBytes = indexIntervalBytes
  }

  /** Begins the replacement of `replaced`: a run of segments of the log in `folder`. */
  static async begin(
    pool: FilePool,
    folder: string,
    replaced: readonly LogSegment[],
    indexIntervalBytes: number,
  ): Promise<CleanedSegment> {
    const baseOffset = replaced[0]?.baseOffset ?? 0
    const segment = LogSegment.begin(pool, folder, baseOffset, replaced[0]?.createdMs ?? 0)
    segment.lastModifiedMs = replaced.reduce((latest, each) => Math.max(latest, each.lastModifiedMs), 0)
    segment.isOnDisk = true
    await discardCleaned(pool.disk, folder, baseOffset)
    const file = await pool.disk.open(segment.path('.log') + CLEANED_SUFFIX, 'create')
    return new CleanedSegment(pool, folder, segment, file, indexIntervalBytes)
  }

  /** Adds whole batches. */
  async append(records: Buffer): Promise<void> {
    const { segment } = this
    await writeFully(this.#file, [records], segment.sizeBytes)
    segment.noteBatches(records, segment.sizeBytes, this.#indexIntervalBytes)
    segment.sizeBytes += records.length
    segment.writtenBytes = segment.sizeBytes
    if (segment.writtenBytes - segment.durableBytes >= SYNC_EVERY_BYTES) await this.#sync()
  }

  addTransactions(txns: readonly AbortedTxn[]): void {
    this.#txns.push(...txns)
  }

  /** Makes the segment and its indexes durable under their passing names. */
  async finish(): Promise<void> {
    const { segment } = this
    segment.seal()
    await this.#sync()
    const { indexes } = segment
    await this.#writeIndex('.index', indexes?.offsetIndex.content() ?? Buffer.alloc(0))
    await this.#writeIndex('.timeindex', indexes?.timeIndex.content() ?? Buffer.alloc(0))
    if (this.#txns.length > 0) await this.#writeIndex('.txnindex', encodeTransactionIndex(this.#txns))
    segment.noteIndexFilesWritten()
  }

  /** Hands the open file over to the segment, which is about to become part of the log. Its name on disk changes later. */
  takeOver(): void {
    this.#isTaken = true
    this.segment.file.pin()
    this.segment.file.adopt(this.#file)
  }

  /** Removes the files, unless the segment is part of the log by now. */
  async discard(): Promise<void> {
    if (this.#isTaken) return
    await this.#file.close()
    await discardCleaned(this.#pool.disk, this.#folder, this.segment.baseOffset)
  }

  async #sync(): Promise<void> {
    await datasync(this.#file)
    this.segment.durableBytes = this.segment.writtenBytes
  }

  async #writeIndex(suffix: '.index' | '.timeindex' | '.txnindex', content: Buffer): Promise<void> {
    const path = `${this.#folder}/${segmentFileName(this.segment.baseOffset, suffix)}${CLEANED_SUFFIX}`
    const file = await this.#pool.disk.open(path, 'create')
    try {
      if (content.length > 0) await writeFully(file, [content], 0)
      await datasync(file)
    } finally {
      await file.close()
    }
  }
}
