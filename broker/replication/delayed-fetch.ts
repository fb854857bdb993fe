import type { ClientSignal } from './client-signal.ts'
import type { TimerHandle, Timers } from '../../common/timers.ts'
import type { FetchParams, FetchPartition } from './fetch-types.ts'
import type { Partition, ReadWaiter } from './partition.ts'

/**
 * A fetch that found less than its `minBytes` and waits: for more data, for a change of leadership, for its deadline, or
 * for its client to leave. Completes exactly once, by calling `read`, which does a second pass over the partitions.
 */
export class DelayedFetch implements ReadWaiter {
  readonly #wanted: readonly FetchPartition[]
  readonly #partitions: readonly (Partition | undefined)[]
  readonly #params: FetchParams
  readonly #read: () => void
  readonly #signal: ClientSignal
  readonly #timer: TimerHandle
  #isCompleted = false

  /** `partitions` are those of `wanted`, in its order; undefined where there is nothing to wait for. */
  constructor(
    wanted: readonly FetchPartition[],
    partitions: readonly (Partition | undefined)[],
    params: FetchParams,
    timers: Timers,
    signal: ClientSignal,
    read: () => void,
  ) {
    this.#wanted = wanted
    this.#partitions = partitions
    this.#params = params
    this.#read = read
    this.#signal = signal
    this.#timer = timers.schedule(params.maxWaitMs, () => this.#complete())
    for (const partition of partitions) partition?.addReader(this)
    signal.onClose(this.#onClose)
  }

  /** Completes at once if the data came while the first pass was reading. */
  completeIfReady(): void {
    if (!this.#isCompleted && this.#availableBytes() >= Math.max(1, this.#params.minBytes)) this.#complete()
  }

  partitionChanged(changed: Partition): void {
    if (this.#isCompleted) return
    if (changed.checkLeader(-1) !== 0 || this.#availableBytes() >= Math.max(1, this.#params.minBytes)) this.#complete()
  }

  /** Bytes that a read would find now, counted up to what the request wants. */
  #availableBytes(): number {
    let availableBytes = 0
    for (let i = 0; i < this.#wanted.length; i++) {
      const wanted = this.#wanted[i]
      const partition = this.#partitions[i]
      if (wanted === undefined || partition === undefined) continue
      const { log } = partition
      const upperBoundOffset = this.#params.isReadCommitted ? log.lastStableOffset : log.highWatermark
      if (upperBoundOffset <= wanted.fetchOffset) continue
      // The usual case needs no byte counts: any record will do.
      if (this.#params.minBytes <= 1) return 1
      availableBytes += Math.min(wanted.maxBytes, log.estimateBytesBetween(wanted.fetchOffset, upperBoundOffset))
      if (availableBytes >= this.#params.minBytes) break
    }
    return availableBytes
  }

  readonly #onClose = (): void => this.#complete()

  #complete(): void {
    if (this.#isCompleted) return
    this.#isCompleted = true
    this.#timer.cancel()
    this.#signal.offClose(this.#onClose)
    for (const partition of this.#partitions) partition?.removeReader(this)
    this.#read()
  }
}
