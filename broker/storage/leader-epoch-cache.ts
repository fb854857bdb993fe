/**
 * Which leader epoch wrote which offsets of one partition: the start offset of each epoch that has records. Truncation of
 * followers, OffsetForLeaderEpoch and divergence checks in Fetch all rest on it. On disk it is Kafka's
 * `leader-epoch-checkpoint`: text with version, entry count and a line `epoch startOffset` for each.
 *
 * Invariant: epochs and start offsets both grow strictly from entry to entry. {@link LeaderEpochFileCache.assign} keeps
 * it by removing what conflicts, since the newest entry describes the newest records.
 *
 * Changes are made in memory at once and written by {@link LeaderEpochFileCache.flush}; the log awaits that before
 * records of a new epoch count as flushed, so that the file never lacks an epoch that the log durably has. An entry too
 * many, after a crash between a truncation and its flush, is cut off again when the log is loaded.
 */
import type { Disk } from '../../common/disk.ts'
import { invariant } from '../../common/invariant.ts'

export const LEADER_EPOCH_CHECKPOINT = 'leader-epoch-checkpoint'
const VERSION = 0

/** "No such epoch" and "no such offset" in OffsetForLeaderEpoch. */
export const UNDEFINED_EPOCH = -1
export const UNDEFINED_EPOCH_OFFSET = -1

export interface EpochEntry {
  readonly epoch: number
  readonly startOffset: number
}

/** The answer to "where does this epoch end?". */
export interface EpochEndOffset {
  readonly leaderEpoch: number
  /** Exclusive; -1 when it can't be said. */
  readonly endOffset: number
}

const undefinedEndOffset: EpochEndOffset = { leaderEpoch: UNDEFINED_EPOCH, endOffset: UNDEFINED_EPOCH_OFFSET }

/** The file is there, but is no leader epoch checkpoint. The log can rebuild it from its batches. */
export class CorruptEpochCheckpointError extends Error {
  override readonly name = 'CorruptEpochCheckpointError'
}

export class LeaderEpochFileCache {
  readonly #disk: Disk
  readonly #folder: string
  /** Ascending. */
  #entries: EpochEntry[] = []
  /** Counts changes, so that a flush knows whether it wrote the newest state. */
  #version = 0
  #flushedVersion = 0
  #running: Promise<void> | undefined

  /** An empty cache over `<folder>/leader-epoch-checkpoint`, which it overwrites at the first flush of a change. */
  constructor(disk: Disk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  /** Reads the checkpoint; a missing one is empty. @throws {@link CorruptEpochCheckpointError} */
  static async open(disk: Disk, folder: string): Promise<LeaderEpochFileCache> {
    const cache = new LeaderEpochFileCache(disk, folder)
    const content = await disk.readFile(cache.#path())
    if (content !== undefined) {
      for (const entry of parseCheckpoint(content.toString('latin1'))) cache.assign(entry.epoch, entry.startOffset)
    }
    cache.#flushedVersion = cache.#version
    return cache
  }

  /** All entries, ascending: a copy. */
  entries(): EpochEntry[] {
    return [...this.#entries]
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0
  }

  /** The newest epoch that has records. */
  latestEpoch(): number | undefined {
    return this.latestEntry()?.epoch
  }

  latestEntry(): EpochEntry | undefined {
    return this.#entries.at(-1)
  }

  earliestEntry(): EpochEntry | undefined {
    return this.#entries[0]
  }

  /** The largest epoch below `epoch` (default: below the latest one). */
  previousEpoch(epoch?: number): number | undefined {
    if (epoch === undefined) return this.#entries.at(-2)?.epoch
    return this.#entries[this.#floorIndex(epoch - 1)]?.epoch
  }

  /** The entry of exactly this epoch. */
  entryOf(epoch: number): EpochEntry | undefined {
    const entry = this.#entries[this.#floorIndex(epoch)]
    return entry?.epoch === epoch ? entry : undefined
  }

  /** The epoch that wrote `offset`; undefined before the first entry. */
  epochForOffset(offset: number): number | undefined {
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const entry = this.#entries[i]
      if (entry !== undefined && entry.startOffset <= offset) return entry.epoch
    }
    return undefined
  }

  /**
   * Records that `epoch` starts at `startOffset`; nothing happens when it is the latest epoch already and starts no later.
   * Entries with this or a later epoch, or that start at this offset or later, are removed.
   *
   * @returns whether anything changed, and so a flush is due.
   */
  assign(epoch: number, startOffset: number): boolean {
    invariant(epoch >= 0 && startOffset >= 0, `epoch ${epoch} can't start at offset ${startOffset}`)
    const latest = this.latestEntry()
    if (latest !== undefined && latest.epoch === epoch && latest.startOffset <= startOffset) return false
    this.#removeFromEnd((entry) => entry.epoch >= epoch || entry.startOffset >= startOffset)
    this.#entries.push({ epoch, startOffset })
    this.#version++
    return true
  }

  /**
   * The end of the records of `requestedEpoch`, or of the largest epoch below it that has records, as OffsetForLeaderEpoch
   * wants it: where the next epoch starts, or the log end for the latest one. An epoch below all known ones ends where the
   * first known one starts. Undefined (-1, -1) for -1 and for an epoch above all known ones.
   */
  endOffsetFor(requestedEpoch: number, logEndOffset: number): EpochEndOffset {
    if (requestedEpoch === UNDEFINED_EPOCH) return undefinedEndOffset
    if (this.latestEpoch() === requestedEpoch) return { leaderEpoch: requestedEpoch, endOffset: logEndOffset }
    const floor = this.#floorIndex(requestedEpoch)
    const higher = this.#entries[floor + 1]
    if (higher === undefined) return undefinedEndOffset
    return { leaderEpoch: this.#entries[floor]?.epoch ?? requestedEpoch, endOffset: higher.startOffset }
  }

  /** Removes the epochs that start at `endOffset` or later: the log was truncated to there. Returns whether any did. */
  truncateFromEnd(endOffset: number): boolean {
    const removed = this.#removeFromEnd((entry) => entry.startOffset >= endOffset)
    if (removed > 0) this.#version++
    return removed > 0
  }

  /**
   * The log starts at `startOffset` now: removes the epochs that end before, and lets the one that holds the offset start
   * there. Returns whether anything changed.
   */
  truncateFromStart(startOffset: number): boolean {
    let holder = -1
    for (let i = 0; i < this.#entries.length; i++) {
      if ((this.#entries[i]?.startOffset ?? Infinity) <= startOffset) holder = i
    }
    const entry = this.#entries[holder]
    if (entry === undefined || (holder === 0 && entry.startOffset === startOffset)) return false
    this.#entries = [{ epoch: entry.epoch, startOffset }, ...this.#entries.slice(holder + 1)]
    this.#version++
    return true
  }

  /** Forgets everything. */
  clear(): void {
    if (this.#entries.length === 0) return
    this.#entries = []
    this.#version++
  }

  /** Whether the file lacks a change. */
  get isDirty(): boolean {
    return this.#flushedVersion !== this.#version
  }

  /**
   * Makes all changes so far durable; does nothing when they are. Calls may overlap: one write runs at a time, and the next
   * one covers all who wait. After a failure the changes are still due.
   */
  async flush(): Promise<void> {
    const version = this.#version
    while (this.#flushedVersion < version) {
      if (this.#running !== undefined) {
        await this.#running
        continue
      }
      this.#running = this.#write()
      try {
        await this.#running
      } finally {
        this.#running = undefined
      }
    }
  }

  async #write(): Promise<void> {
    const version = this.#version
    await this.#disk.replaceFile(this.#path(), formatCheckpoint(this.#entries))
    this.#flushedVersion = version
  }

  #path(): string {
    return `${this.#folder}/${LEADER_EPOCH_CHECKPOINT}`
  }

  /** Index of the last entry with an epoch of at most `epoch`; -1 if there is none. */
  #floorIndex(epoch: number): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#entries[middle]?.epoch ?? Infinity) <= epoch) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #removeFromEnd(matches: (entry: EpochEntry) => boolean): number {
    const before = this.#entries.length
    for (let last = this.latestEntry(); last !== undefined && matches(last); last = this.latestEntry()) {
      this.#entries.pop()
    }
    return before - this.#entries.length
  }
}

function formatCheckpoint(entries: readonly EpochEntry[]): string {
  const lines = entries.map((entry) => `${entry.epoch} ${entry.startOffset}\n`)
  return `${VERSION}\n${entries.length}\n${lines.join('')}`
}

function parseCheckpoint(content: string): EpochEntry[] {
  const lines = content.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const [version, count, ...rest] = lines
  if (version !== String(VERSION)) {
    throw new CorruptEpochCheckpointError(`${LEADER_EPOCH_CHECKPOINT} has version ${version ?? '(none)'}, expected 0`)
  }
  if (count !== String(rest.length)) {
    throw new CorruptEpochCheckpointError(
      `${LEADER_EPOCH_CHECKPOINT} has ${rest.length} entries, its header says ${count ?? 'nothing'}`,
    )
  }
  return rest.map((line) => {
    const match = /^(\d{1,10}) (\d{1,16})$/.exec(line)
    const epoch = Number(match?.[1])
    const startOffset = Number(match?.[2])
    if (!Number.isSafeInteger(epoch) || !Number.isSafeInteger(startOffset)) {
      throw new CorruptEpochCheckpointError(`${LEADER_EPOCH_CHECKPOINT} has a malformed line: ${JSON.stringify(line)}`)
    }
    return { epoch, startOffset }
  })
}
