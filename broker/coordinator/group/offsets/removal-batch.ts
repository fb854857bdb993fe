/**
 * Removals of offsets that one operation makes: as many as fit well into one batch of records, however long names are. What
 * does not fit is left to the next operation.
 */
import type { GroupRecord } from '../records/group-record.ts'

const MAX_BYTES = 256 * 1024
const RECORD_OVERHEAD_BYTES = 32
/** UTF-8 takes at most this for each UTF-16 unit. */
const MAX_BYTES_PER_CHAR = 3

export class RemovalBatch {
  readonly records: GroupRecord[] = []
  #sizeBytes = 0

  /** There may be more to remove than what is in it. */
  get isFull(): boolean {
    return this.#sizeBytes >= MAX_BYTES
  }

  /** Takes a removal, or is full and doesn't. */
  add(group: string, topic: string, partition: number): void {
    if (this.isFull) return
    this.#sizeBytes += RECORD_OVERHEAD_BYTES + (group.length + topic.length) * MAX_BYTES_PER_CHAR
    this.records.push({ type: 'OffsetCommit', key: { group, topic, partition }, value: null })
  }
}
