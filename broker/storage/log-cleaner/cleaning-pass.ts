/**
 * One pass of compaction over one log, as Kafka's Cleaner: maps the keys of its dirty section, then rewrites all segments from
 * the first up to where the map reaches, group by group, keeping what the map calls newest.
 *
 * Invariants:
 * 1. A record goes only if a newer one of its key, which stays, lies below the high watermark, or if it is a tombstone (or
 *    marker) whose time is over, after all older records of its key went in the same pass or one before: groups are
 *    swapped in offset order, each durably before the next is begun.
 * 2. Offsets and sequence numbers don't move; see `batch-filter.ts`.
 * 3. The active segment, and what lies at or above the last stable offset or the durable recovery point, is not touched:
 *    recovery takes a hole above that for a loss.
 * 4. The log changes only by swaps, each of which checks that what it replaces is what was read. Whatever goes wrong before
 *    leaves the log as it was.
 *
 * It runs beside appends, reads, retention and truncation. On the event loop it only moves chunks between disk and kernel.
 */
import type { Random } from '../../../common/random.ts'
import { readAt } from '../disk-calls.ts'
import { DroppedFileError, type FilePool } from '../file-pool.ts'
import type { LogSegment } from '../log-segment.ts'
import type { ByteBudget } from './byte-budget.ts'
import { groupSegments, type LogToClean } from './cleanable.ts'
import { CleanedSegment } from './cleaned-segment.ts'
import { decodeTransactionIndex, type AbortedTxn } from './cleaned-transactions.ts'
import type { CleanerConfig } from './cleaner-config.ts'
import type { ChunkRead } from './cleaner-kernel.ts'
import type { KernelHost } from './kernel-host.ts'

export interface PassDependencies {
  readonly pool: FilePool
  readonly kernel: KernelHost
  readonly budget: ByteBudget
  readonly random: Random
  readonly config: CleanerConfig
  /** The time that tombstones are judged by. */
  readonly nowMs: number
  /** @throws {@link CleaningAbortedError} if the pass is not to go on. */
  readonly checkAborted: () => void
}

export interface PassResult {
  /** The log is compacted up to here. */
  readonly endOffset: number
  readonly mapBytesRead: number
  readonly bytesRead: number
  readonly bytesWritten: number
  readonly recordsRead: number
  readonly recordsRetained: number
  /** The share of the largest map that was used. */
  readonly mapUtilization: number
}

/** The pass was given up since the log changed under it, is going away, or the broker stops: no failure. */
export class CleaningAbortedError extends Error {
  override readonly name = 'CleaningAbortedError'
}

/** A batch of more bytes is taken for corruption. */
const MAX_BATCH_BYTES = 256 * 1024 * 1024

export async function cleanLog(target: LogToClean, dependencies: PassDependencies): Promise<PassResult> {
  const pass = new CleaningPass(target, dependencies)
  try {
    return await pass.run()
  } catch (error) {
    if (error instanceof DroppedFileError) throw new CleaningAbortedError('a segment was removed', { cause: error })
    throw error
  } finally {
    // If the thread is gone, so is its memory.
    await dependencies.kernel.end().catch(() => undefined)
  }
}

class CleaningPass {
  readonly #target: LogToClean
  readonly #dependencies: PassDependencies
  readonly #cutCount: number
  #mapBytesRead = 0
  #bytesRead = 0
  #bytesWritten = 0
  #recordsRead = 0
  #recordsRetained = 0
  #mapUtilization = 0

  constructor(target: LogToClean, dependencies: PassDependencies) {
    this.#target = target
    this.#dependencies = dependencies
    this.#cutCount = target.log.cutCount
  }

  async run(): Promise<PassResult> {
    const { log, firstDirtyOffset, firstUncleanableOffset, segments } = this.#target
    const { kernel, nowMs } = this.#dependencies
    const latestOffset = await this.#buildMap()
    const endOffset = latestOffset + 1
    if (endOffset <= firstDirtyOffset) {
      throw new Error(`one batch at offset ${firstDirtyOffset} has more keys than log.cleaner.dedupe.buffer.size holds`)
    }
    const { deleteRetentionMs, compression } = log.config
    const compressionLevels = compression.levels ?? {}
    const roundEndOffset = firstUncleanableOffset
    await kernel.beginFilter({ nowMs, deleteRetentionMs, roundEndOffset, latestOffset, compressionLevels })
    await log.persistRecoveryPoint()
    const covered = segments.filter((segment) => segment.baseOffset < endOffset)
    for (const group of groupSegments(covered, firstUncleanableOffset, log.config)) await this.#cleanGroup(group)
    return {
      endOffset,
      mapBytesRead: this.#mapBytesRead,
      bytesRead: this.#bytesRead,
      bytesWritten: this.#bytesWritten,
      recordsRead: this.#recordsRead,
      recordsRetained: this.#recordsRetained,
      mapUtilization: this.#mapUtilization,
    }
  }

  /** Maps the keys from the first dirty offset on, as far as the map holds them. Returns the last offset it covers. */
  async #buildMap(): Promise<number> {
    const { firstDirtyOffset, firstUncleanableOffset, segments, log } = this.#target
    const { kernel, config, random } = this.#dependencies
    const hashKey = Uint8Array.from({ length: 16 }, () => Math.floor(random.next() * 256))
    const { dedupeBufferBytes: maxMapBytes, maxLoad } = config
    await kernel.begin({ maxMapBytes, maxLoad, hashKey, startOffset: firstDirtyOffset })
    let latestOffset = -1
    for (const [i, segment] of segments.entries()) {
      const nextBaseOffset = segments[i + 1]?.baseOffset ?? firstUncleanableOffset
      if (nextBaseOffset <= firstDirtyOffset) continue
      let position = 0
      if (segment.baseOffset < firstDirtyOffset) {
        const { offsetIndex } = await segment.loadIndexes(log.config.indexIntervalBytes)
        position = offsetIndex.lookup(firstDirtyOffset)
      }
      const isWhole = await this.#eachChunk(segment, position, async (chunk, abortedTxns) => {
        const indexed = await kernel.index({ chunk, abortedTxns })
        this.#mapBytesRead += indexed.validBytes
        this.#mapUtilization = indexed.mapUtilization
        latestOffset = Math.max(latestOffset, indexed.latestOffset)
        return indexed.isFull ? undefined : indexed
      })
      if (!isWhole) break
      // What is missing at its end was compacted away before.
      latestOffset = Math.max(latestOffset, nextBaseOffset - 1)
    }
    return latestOffset
  }

  /** Rewrites a run of segments as one. */
  async #cleanGroup(group: readonly LogSegment[]): Promise<void> {
    const { log } = this.#target
    const { pool, kernel } = this.#dependencies
    const cleaned = await CleanedSegment.begin(pool, log.folder, group, log.config.indexIntervalBytes)
    let isChanged = group.length > 1
    try {
      let lastRecords: { lastRecords?: ReturnType<typeof log.lastRecordsOfProducers> } = {
        lastRecords: log.lastRecordsOfProducers(),
      }
      for (const segment of group) {
        await this.#eachChunk(segment, 0, async (chunk, abortedTxns) => {
          const filtered = await kernel.filter({ chunk, abortedTxns, ...lastRecords })
          lastRecords = {}
          cleaned.addTransactions(filtered.retainedTxns)
          isChanged ||= filtered.isChanged
          this.#bytesRead += filtered.validBytes
          this.#bytesWritten += filtered.output.length
          this.#recordsRead += filtered.recordsRead
          this.#recordsRetained += filtered.recordsRetained
          if (filtered.output.length > 0) {
            await this.#dependencies.budget.spend(filtered.output.length, this.#dependencies.checkAborted)
            await cleaned.append(filtered.output)
          }
          return filtered
        })
      }
      if (!isChanged) return
      await cleaned.finish()
      this.#dependencies.checkAborted()
      const isReplaced = await log.replaceSegments(group, cleaned, this.#cutCount)
      if (!isReplaced) throw new CleaningAbortedError('the log was changed meanwhile')
    } finally {
      await cleaned.discard()
    }
  }

  /**
   * Reads a segment from `position` on and hands it over chunk by chunk, with its transaction index first; `work` says what
   * it took of a chunk, or undefined to end here. Returns whether all was taken.
   */
  async #eachChunk(
    segment: LogSegment,
    fromPosition: number,
    work: (chunk: Buffer, abortedTxns: readonly AbortedTxn[]) => Promise<ChunkRead | undefined>,
  ): Promise<boolean> {
    const { kernel, budget, config, checkAborted, pool } = this.#dependencies
    const content = await pool.disk.readFile(segment.path('.txnindex'))
    let abortedTxns = content === undefined ? [] : decodeTransactionIndex(content)
    const endPosition = segment.writtenBytes
    let position = fromPosition
    let chunkBytes = config.ioBufferBytes
    while (position < endPosition) {
      checkAborted()
      const buffer = kernel.takeBuffer(Math.min(chunkBytes, endPosition - position))
      const bytesRead = await segment.withFile((file) => readAt(file, buffer, position))
      await budget.spend(bytesRead, checkAborted)
      const taken = await work(buffer.subarray(0, bytesRead), abortedTxns)
      if (taken === undefined) return false
      abortedTxns = []
      position += taken.validBytes
      if (taken.validBytes > 0) continue
      const { neededBytes } = taken
      if (neededBytes <= bytesRead || neededBytes > MAX_BATCH_BYTES || neededBytes > endPosition - position) {
        const where = `${segment.file.path} at position ${position}`
        throw new Error(`no batch in ${where}: it would have ${neededBytes} bytes, ${endPosition - position} are left`)
      }
      chunkBytes = neededBytes
    }
    return true
  }
}
