/**
 * The state of one producer in one partition, and what an append would make of it. There may be a million producers in a
 * log, so an entry is small: its fields and one array of numbers for the last five batches.
 */
import * as recordBatch from '../protocol/records/record-batch.ts'
import type { EndTransactionMarker } from '../protocol/records/control-record.ts'
import { readEndTransactionMarker } from '../protocol/records/control-record.ts'

/** Batches of a producer that are remembered, so that a repeated one is recognised: as many as it may have in flight. */
export const BATCHES_TO_RETAIN = 5
export const NO_TXN = -1

/** Kafka's error codes that a producer's state can cause. */
export const producerStateErrorCodes = {
  OUT_OF_ORDER_SEQUENCE_NUMBER: 45,
  INVALID_PRODUCER_EPOCH: 47,
  INVALID_TXN_STATE: 48,
  TRANSACTION_COORDINATOR_FENCED: 52,
} as const

/** An append that the state of its producer forbids. */
export class ProducerStateError extends Error {
  override readonly name = 'ProducerStateError'
  readonly errorName: keyof typeof producerStateErrorCodes
  /** The code for the partition's answer. */
  readonly errorCode: number

  constructor(errorName: keyof typeof producerStateErrorCodes, message: string) {
    super(message)
    this.errorName = errorName
    this.errorCode = producerStateErrorCodes[errorName]
  }
}

/** Where an append comes from. A leader checks what clients send; what is replicated was checked by the leader. */
export type ProducerAppendOrigin = 'client' | 'coordinator' | 'replication'

/** A batch that a producer appended. */
export interface BatchMetadata {
  readonly firstSequence: number
  readonly lastSequence: number
  readonly firstOffset: number
  readonly lastOffset: number
  readonly timestamp: number
}

/** A transaction that a marker has just ended. */
export interface CompletedTxn {
  readonly producerId: number
  readonly firstOffset: number
  /** The offset of the marker. */
  readonly lastOffset: number
  readonly isAborted: boolean
}

/** Numbers per batch in {@link ProducerStateEntry}: last sequence, last offset, offset delta, timestamp. */
const BATCH_FIELDS = 4

/** What a partition knows of a producer. */
export class ProducerStateEntry {
  readonly producerId: number
  producerEpoch: number = recordBatch.NO_PRODUCER_EPOCH
  coordinatorEpoch = -1
  /** Of the last append, as its records say. */
  lastTimestamp: number = recordBatch.NO_TIMESTAMP
  /** First offset of the open transaction; -1 while there is none. */
  currentTxnFirstOffset: number = NO_TXN
  /** Monotonic seconds of the last append here, for expiry. */
  lastAppendSeconds = 0
  /** {@link BATCH_FIELDS} numbers per batch, oldest first. */
  #batches: number[] = []

  constructor(producerId: number) {
    this.producerId = producerId
  }

  /** A copy without the batches: the start of what an append makes of this entry. */
  withoutBatches(): ProducerStateEntry {
    const copy = new ProducerStateEntry(this.producerId)
    copy.producerEpoch = this.producerEpoch
    copy.coordinatorEpoch = this.coordinatorEpoch
    copy.lastTimestamp = this.lastTimestamp
    copy.currentTxnFirstOffset = this.currentTxnFirstOffset
    return copy
  }

  get batchCount(): number {
    return this.#batches.length / BATCH_FIELDS
  }

  /** -1 without batches, as the three below. */
  get lastSequence(): number {
    return this.#batches.at(-BATCH_FIELDS) ?? recordBatch.NO_SEQUENCE
  }

  get lastDataOffset(): number {
    return this.#batches.at(1 - BATCH_FIELDS) ?? -1
  }

  get firstSequence(): number {
    return this.batchCount === 0 ? recordBatch.NO_SEQUENCE : this.#batchAt(0).firstSequence
  }

  get firstDataOffset(): number {
    return this.batchCount === 0 ? -1 : this.#batchAt(0).firstOffset
  }

  /** `lastOffset - firstOffset` of the last batch; 0 without batches. */
  get lastOffsetDelta(): number {
    return this.#batches.at(2 - BATCH_FIELDS) ?? 0
  }

  /** The remembered batches, oldest first. */
  batches(): BatchMetadata[] {
    return Array.from({ length: this.batchCount }, (_, index) => this.#batchAt(index))
  }

  /** The remembered batch of exactly this epoch and these sequences: the one of which the given batch is a repetition. */
  findDuplicate(producerEpoch: number, firstSequence: number, lastSequence: number): BatchMetadata | undefined {
    if (producerEpoch !== this.producerEpoch) return undefined
    for (let index = 0; index < this.batchCount; index++) {
      if (this.#batches[index * BATCH_FIELDS] !== lastSequence) continue
      const batch = this.#batchAt(index)
      if (batch.firstSequence === firstSequence) return batch
    }
    return undefined
  }

  /** Adds a batch; another epoch than before forgets the older ones. */
  addBatch(
    producerEpoch: number,
    lastSequence: number,
    lastOffset: number,
    offsetDelta: number,
    timestamp: number,
  ): void {
    this.updateProducerEpoch(producerEpoch)
    this.lastTimestamp = timestamp
    const batches = this.#batches
    if (this.batchCount < BATCHES_TO_RETAIN) {
      // A literal and `concat` take exactly the room they need, where `push` or a spread would take it for 16 more.
      const added = [lastSequence, lastOffset, offsetDelta, timestamp]
      this.#batches = batches.length === 0 ? added : batches.concat(added)
      return
    }
    const last = batches.length - BATCH_FIELDS
    // `copyWithin` on an array of numbers takes twenty times as long.
    for (let i = 0; i < last; i++) batches[i] = batches[i + BATCH_FIELDS] ?? 0
    batches[last] = lastSequence
    batches[last + 1] = lastOffset
    batches[last + 2] = offsetDelta
    batches[last + 3] = timestamp
  }

  updateProducerEpoch(producerEpoch: number): void {
    if (this.producerEpoch === producerEpoch) return
    this.producerEpoch = producerEpoch
    this.#batches = []
  }

  /** Takes over what `next`, made by {@link withoutBatches} and appends, adds to this entry. */
  update(next: ProducerStateEntry): void {
    this.updateProducerEpoch(next.producerEpoch)
    const added = next.#batches
    for (let i = 0; i < added.length; i += BATCH_FIELDS) {
      this.addBatch(next.producerEpoch, added[i] ?? -1, added[i + 1] ?? -1, added[i + 2] ?? 0, added[i + 3] ?? -1)
    }
    this.coordinatorEpoch = next.coordinatorEpoch
    this.currentTxnFirstOffset = next.currentTxnFirstOffset
    this.lastTimestamp = next.lastTimestamp
  }

  #batchAt(index: number): BatchMetadata {
    const position = index * BATCH_FIELDS
    const lastSequence = this.#batches[position] ?? -1
    const lastOffset = this.#batches[position + 1] ?? -1
    const offsetDelta = this.#batches[position + 2] ?? 0
    return {
      firstSequence: recordBatch.decrementSequence(lastSequence, offsetDelta),
      lastSequence,
      firstOffset: lastOffset - offsetDelta,
      lastOffset,
      timestamp: this.#batches[position + 3] ?? recordBatch.NO_TIMESTAMP,
    }
  }
}

/**
 * What an append would do to one producer: batch by batch it checks and gathers, and leaves the entry itself alone until
 * {@link ProducerStateManager.applyAppend}. The rules are Kafka's (ProducerAppendInfo; KIP-98, KIP-360).
 */
export class ProducerAppendInfo {
  readonly #topicPartition: string
  readonly #origin: ProducerAppendOrigin
  readonly #current: ProducerStateEntry
  /** The entry as it will be; its batches are only those of this append. */
  readonly updated: ProducerStateEntry
  /** First offsets of the transactions that begin in this append, ascending. */
  readonly startedTxns: number[] = []

  constructor(topicPartition: string, origin: ProducerAppendOrigin, current: ProducerStateEntry) {
    this.#topicPartition = topicPartition
    this.#origin = origin
    this.#current = current
    this.updated = current.withoutBatches()
  }

  /**
   * Adds the batch at `position`, whose offsets are assigned.
   *
   * @returns the transaction that it ends, if it is a marker of one with records here.
   * @throws {@link ProducerStateError}; {@link RecordsError} for a malformed marker.
   */
  append(records: Buffer, position: number): CompletedTxn | undefined {
    const producerEpoch = recordBatch.producerEpoch(records, position)
    if (!recordBatch.isControlBatch(records, position)) {
      this.#appendData(records, position, producerEpoch)
      return undefined
    }
    const found = readEndTransactionMarker(records, position)
    if (found === undefined) return undefined
    const offset = recordBatch.baseOffset(records, position)
    return this.#appendMarker(found.marker, producerEpoch, offset, found.timestamp)
  }

  #appendData(records: Buffer, position: number, producerEpoch: number): void {
    const firstOffset = recordBatch.baseOffset(records, position)
    this.#checkProducerEpoch(producerEpoch, firstOffset)
    if (this.#origin === 'client') {
      this.#checkSequence(producerEpoch, recordBatch.baseSequence(records, position), firstOffset)
    }
    const isTransactional = recordBatch.isTransactional(records, position)
    if (this.updated.currentTxnFirstOffset !== NO_TXN && !isTransactional) {
      throw new ProducerStateError(
        'INVALID_TXN_STATE',
        `producer ${this.updated.producerId} wrote outside of its open transaction at offset ${firstOffset} of ` +
          this.#topicPartition,
      )
    }
    this.updated.addBatch(
      producerEpoch,
      recordBatch.lastSequence(records, position),
      recordBatch.lastOffset(records, position),
      recordBatch.lastOffsetDelta(records, position),
      recordBatch.maxTimestamp(records, position),
    )
    if (isTransactional && this.updated.currentTxnFirstOffset === NO_TXN) {
      this.updated.currentTxnFirstOffset = firstOffset
      this.startedTxns.push(firstOffset)
    }
  }

  #appendMarker(
    marker: EndTransactionMarker,
    producerEpoch: number,
    offset: number,
    timestamp: number,
  ): CompletedTxn | undefined {
    const updated = this.updated
    this.#checkProducerEpoch(producerEpoch, offset)
    if (marker.coordinatorEpoch < updated.coordinatorEpoch && this.#origin !== 'replication') {
      throw new ProducerStateError(
        'TRANSACTION_COORDINATOR_FENCED',
        `a marker for producer ${updated.producerId} at offset ${offset} of ${this.#topicPartition} has the coordinator ` +
          `epoch ${marker.coordinatorEpoch}, the last one had ${updated.coordinatorEpoch}`,
      )
    }
    // A marker without records before it leaves the last stable offset alone and is no completed transaction.
    const firstOffset = updated.currentTxnFirstOffset
    updated.updateProducerEpoch(producerEpoch)
    updated.coordinatorEpoch = marker.coordinatorEpoch
    updated.lastTimestamp = timestamp
    updated.currentTxnFirstOffset = NO_TXN
    if (firstOffset === NO_TXN) return undefined
    return {
      producerId: updated.producerId,
      firstOffset,
      lastOffset: offset,
      isAborted: marker.type === 'ABORT',
    }
  }

  #checkProducerEpoch(producerEpoch: number, offset: number): void {
    if (producerEpoch >= this.updated.producerEpoch || this.#origin === 'replication') return
    throw new ProducerStateError(
      'INVALID_PRODUCER_EPOCH',
      `producer ${this.updated.producerId} has the epoch ${producerEpoch} at offset ${offset} of ` +
        `${this.#topicPartition}, which is less than its last one, ${this.updated.producerEpoch}`,
    )
  }

  #checkSequence(producerEpoch: number, firstSequence: number, offset: number): void {
    const { updated } = this
    if (producerEpoch !== updated.producerEpoch) {
      // A new epoch starts at 0, but a producer of which nothing is known may start anywhere: its records were deleted.
      if (firstSequence === 0 || updated.producerEpoch === recordBatch.NO_PRODUCER_EPOCH) return
      throw new ProducerStateError(
        'OUT_OF_ORDER_SEQUENCE_NUMBER',
        `producer ${updated.producerId} starts its epoch ${producerEpoch} with the sequence ${firstSequence} at offset ` +
          `${offset} of ${this.#topicPartition}, after epoch ${updated.producerEpoch}`,
      )
    }
    const lastSequence = this.#lastSequence(producerEpoch)
    if (this.#current.producerEpoch === recordBatch.NO_PRODUCER_EPOCH) return
    if (firstSequence === recordBatch.incrementSequence(lastSequence, 1)) return
    throw new ProducerStateError(
      'OUT_OF_ORDER_SEQUENCE_NUMBER',
      `producer ${updated.producerId} sent the sequence ${firstSequence} for offset ${offset} of ` +
        `${this.#topicPartition}, after ${lastSequence}`,
    )
  }

  #lastSequence(producerEpoch: number): number {
    if (this.updated.batchCount > 0) return this.updated.lastSequence
    if (producerEpoch === this.#current.producerEpoch) return this.#current.lastSequence
    return recordBatch.NO_SEQUENCE
  }
}
