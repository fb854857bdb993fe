/**
 * The recovery point of one log, and what must be durable before it moves: segments, index entries, leader epochs, and a
 * snapshot of the producer state. Checkpoints and truncations run one at a time; the log queues them.
 */
import { type Disk, isNoSpace } from '../../common/disk.ts'
import type { LogParts } from './log-parts.ts'
import type { LogWriter } from './log-writer.ts'

export class LogCheckpointer {
  readonly #disk: Disk
  readonly #parts: LogParts
  readonly #writer: LogWriter
  #recoveryPoint: number
  #tailBytes = 0
  /** Snapshots of rolls that are being written. */
  #rollSnapshots: Promise<unknown> = Promise.resolve()

  constructor(disk: Disk, parts: LogParts, writer: LogWriter, recoveryPoint: number) {
    this.#disk = disk
    this.#parts = parts
    this.#writer = writer
    this.#recoveryPoint = recoveryPoint
  }

  get recoveryPoint(): number {
    return this.#recoveryPoint
  }

  /** Bytes that were written since the last checkpoint. */
  get tailBytes(): number {
    return this.#tailBytes
  }

  noteWritten(bytes: number): void {
    this.#tailBytes += bytes
  }

  /** The log is about to be cut, or was cut, there. */
  lowerTo(offset: number): void {
    this.#recoveryPoint = Math.min(this.#recoveryPoint, offset)
  }

  /** The log starts anew, durably, and empty, at `offset`. */
  startAt(offset: number): void {
    this.#recoveryPoint = offset
  }

  /** The state is exactly that of the new segment's base offset now: encoded at once, written when the disk can. */
  snapshotAtRoll(): void {
    if (this.#mustSnapshot()) this.#rollSnapshots = Promise.all([this.#rollSnapshots, this.#takeRollSnapshot()])
  }

  async whenSnapshotsAreWritten(): Promise<void> {
    await this.#rollSnapshots
  }

  /**
   * Makes all before `nextOffset`, the log's current one, durable with what belongs to it. Returns whether the recovery
   * point moved.
   */
  async checkpoint(nextOffset: number): Promise<boolean> {
    const { producers, epochs, segments } = this.#parts
    this.#tailBytes = 0
    if (this.#writer.failure !== undefined) throw this.#writer.failure
    const snapshot = this.#mustSnapshot() ? producers.takeSnapshot() : undefined
    // Noticed below; until then its failure must not count as unhandled.
    snapshot?.catch(() => undefined)
    await this.#writer.flushTo(nextOffset)
    await snapshot
    await this.#persistIndexesBefore(nextOffset)
    if (epochs.isDirty) await epochs.flush()
    await producers.removeStraySnapshots(segments.baseOffsets())
    if (nextOffset <= this.#recoveryPoint) return false
    this.#recoveryPoint = nextOffset
    return true
  }

  #mustSnapshot(): boolean {
    const { producers } = this.#parts
    return !producers.isEmpty || producers.latestSnapshotOffset !== undefined
  }

  async #takeRollSnapshot(): Promise<void> {
    try {
      await this.#parts.producers.takeSnapshot()
    } catch (error) {
      // Without this snapshot an unclean start has more to read; nothing is lost.
      if (!isNoSpace(error)) this.#writer.fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  async #persistIndexesBefore(offset: number): Promise<void> {
    let hasNewFile = false
    for (const segment of [...this.#parts.segments.all()]) {
      if (segment.baseOffset < offset && (await segment.persistIndexes())) hasNewFile = true
    }
    if (hasNewFile) await this.#disk.syncFolder(this.#parts.folder)
  }
}
