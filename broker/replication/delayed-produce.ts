import type { TimerHandle, Timers } from '../../common/timers.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import type { RecordError } from '../protocol/records/records-error.ts'
import type { OffsetWaiter } from './offset-waiters.ts'

/** What became of one partition's records, as Produce answers it. */
export interface PartitionAppendResult {
  readonly topicName: string
  readonly partition: number
  errorCode: number
  errorMessage: string | null
  readonly recordErrors: readonly RecordError[]
  readonly baseOffset: number
  readonly logAppendTimeMs: number
  readonly logStartOffset: number
}

/** The result of records that were not appended. */
export function failedAppend(
  topicName: string,
  partition: number,
  errorCode: number,
  errorMessage: string | null,
): PartitionAppendResult {
  return {
    topicName,
    partition,
    errorCode,
    errorMessage,
    recordErrors: [],
    baseOffset: -1,
    logAppendTimeMs: -1,
    logStartOffset: -1,
  }
}

/**
 * A Produce request whose records are appended and that waits for their acknowledgement: until each partition's offset
 * is passed, one fails, or the deadline is there. Completes exactly once.
 */
export class DelayedProduce {
  readonly #results: readonly PartitionAppendResult[]
  readonly #done: (results: readonly PartitionAppendResult[]) => void
  readonly #timer: TimerHandle
  readonly #pending = new Set<PartitionAppendResult>()
  #isCompleted = false

  constructor(
    results: readonly PartitionAppendResult[],
    timers: Timers,
    timeoutMs: number,
    done: (results: readonly PartitionAppendResult[]) => void,
  ) {
    this.#results = results
    this.#done = done
    this.#timer = timers.schedule(timeoutMs, () => this.#expire())
  }

  /** A waiter for one partition's result; `check` runs when the offset is passed and may still find an error. */
  waiterFor(result: PartitionAppendResult, check: () => number): OffsetWaiter {
    this.#pending.add(result)
    return {
      offsetPassed: () => this.#settle(result, check()),
      waitFailed: (errorCode) => this.#settle(result, errorCode),
    }
  }

  /** Completes at once if nothing is awaited. */
  completeIfSettled(): void {
    if (this.#pending.size === 0) this.#complete()
  }

  #settle(result: PartitionAppendResult, errorCode: number): void {
    if (this.#isCompleted || !this.#pending.delete(result)) return
    result.errorCode = errorCode
    this.completeIfSettled()
  }

  #expire(): void {
    for (const result of this.#pending) result.errorCode = ErrorCode.REQUEST_TIMED_OUT
    this.#pending.clear()
    this.#complete()
  }

  #complete(): void {
    if (this.#isCompleted) return
    this.#isCompleted = true
    this.#timer.cancel()
    this.#done(this.#results)
  }
}
