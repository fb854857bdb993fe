/**
 * What a coordinator is to the runtime: a replicated state machine over one partition of an internal topic.
 *
 * An operation looks at the state and answers with records and a reply; it changes nothing that is replicated. The runtime
 * appends the records, replays them into the state, and lets the reply go once they are committed. After a restart or
 * a move the state is what replaying the partition gives. State that is not in records (members' timers, joins that wait)
 * may be changed by operations directly, and is lost with the shard.
 */

import type { RecordCursor } from '../../protocol/records/record.ts'

/** What an operation wants done. */
export interface CoordinatorResult<R, Reply> {
  /** Appended all or none, in this order, and replayed before the next operation runs. May be empty. */
  readonly records: readonly R[]
  /** Goes out once the records, and all that was written before them, are committed. */
  readonly reply: Reply
  /**
   * Called once: with NONE after the replay, when the records are committed, or with the error code when they were refused,
   * will not be committed, or nobody can tell. For replies that wait for more than this operation.
   */
  readonly whenSettled?: (errorCode: number) => void
}

/** Timers of a shard, by key. They end with the shard; what they run is an operation. */
export interface CoordinatorTimer<R> {
  /** Replaces what was scheduled with the same key. */
  schedule(key: string, delayMs: number, operation: () => CoordinatorResult<R, unknown>): void
  cancel(key: string): void
  isScheduled(key: string): boolean
}

/** How records are written. */
export interface RecordSerde<R> {
  /** A null value is a tombstone. */
  encode(record: R): { readonly key: Buffer; readonly value: Buffer | null }
  /**
   * The record that the cursor stands at. Undefined for one of a type that this program does not know (a newer one wrote
   * it). The cursor's bytes are valid during the call only: what is kept is copied. Throws for malformed bytes.
   */
  decode(cursor: RecordCursor): R | undefined
}

export interface CoordinatorShard<R> {
  /** Applies a record: one of its own operations, or one read at loading. `offset`: where it stands in the partition. */
  replay(record: R, offset: number): void
  /** The whole partition was replayed; operations come from now on. Timers may be set. */
  onLoaded(): void
  /** The shard ends: waiting clients are told with `errorCode` (NOT_COORDINATOR, ...). */
  onUnloaded(errorCode: number): void
}

export function noRecords<Reply>(reply: Reply): CoordinatorResult<never, Reply> {
  return { records: [], reply }
}
