/**
 * What a pass over a log knows of the transactions that it meets: which batches are of aborted ones and may go, and which
 * markers may go since nothing of their transaction is left. Kafka's CleanedTransactionMetadata.
 *
 * Batches are shown to it in offset order. Which transactions were aborted comes from the transaction indexes of the
 * segments, given before their batches; the aborted ones of which something is left are given back for the new index.
 */
import { readEndTransactionMarker } from '../../protocol/records/control-record.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'

/** One entry of a transaction index (`.txnindex`). */
export interface AbortedTxn {
  readonly producerId: number
  readonly firstOffset: number
  readonly lastOffset: number
  readonly lastStableOffset: number
}

interface OngoingAbort {
  readonly txn: AbortedTxn
  /** A batch of the transaction is still there. */
  hasBatch: boolean
}

export class CleanedTransactions {
  /** Known and not reached yet, by first offset. */
  readonly #upcoming: AbortedTxn[] = []
  readonly #ongoingAborts = new Map<number, OngoingAbort>()
  /** Producers of transactions that end in a commit, as far as is known, and of which a batch is there. */
  readonly #ongoingCommits = new Set<number>()
  #retained: AbortedTxn[] = []

  addAborted(txns: readonly AbortedTxn[]): void {
    if (txns.length === 0) return
    this.#upcoming.push(...txns)
    this.#upcoming.sort((a, b) => a.firstOffset - b.firstOffset)
  }

  /** Takes out the aborted transactions that ended since the last call and of which something is left. */
  takeRetained(): AbortedTxn[] {
    const retained = this.#retained
    this.#retained = []
    return retained
  }

  /** Notes the control batch at `position`. Returns whether nothing of its transaction is left. */
  onControlBatch(buffer: Buffer, position: number): boolean {
    this.#reach(recordBatch.lastOffset(buffer, position))
    // Emptied before, and kept for its producer's state only.
    if (recordBatch.recordsCount(buffer, position) === 0) return true
    const marker = readEndTransactionMarker(buffer, position)?.marker
    // Control records of other kinds concern no transaction.
    if (marker === undefined) return false
    const producerId = recordBatch.producerId(buffer, position)
    if (marker.type === 'COMMIT') return !this.#ongoingCommits.delete(producerId)
    const ongoing = this.#ongoingAborts.get(producerId)
    this.#ongoingAborts.delete(producerId)
    if (ongoing?.hasBatch !== true) return true
    this.#retained.push(ongoing.txn)
    return false
  }

  /** Notes the data batch at `position`. Returns whether it is of an aborted transaction. */
  onBatch(buffer: Buffer, position: number): boolean {
    this.#reach(recordBatch.lastOffset(buffer, position))
    if (!recordBatch.isTransactional(buffer, position)) return false
    const producerId = recordBatch.producerId(buffer, position)
    const ongoing = this.#ongoingAborts.get(producerId)
    if (ongoing !== undefined) {
      ongoing.hasBatch = true
      return true
    }
    this.#ongoingCommits.add(producerId)
    return false
  }

  #reach(offset: number): void {
    while ((this.#upcoming[0]?.firstOffset ?? Infinity) <= offset) {
      const txn = this.#upcoming.shift()
      if (txn !== undefined && !this.#ongoingAborts.has(txn.producerId)) {
        this.#ongoingAborts.set(txn.producerId, { txn, hasBatch: false })
      }
    }
  }
}

/** Version int16, producerId, firstOffset, lastOffset, lastStableOffset int64. */
const ENTRY_BYTES = 34

export function decodeTransactionIndex(content: Buffer): AbortedTxn[] {
  const txns: AbortedTxn[] = []
  for (let position = 0; position + ENTRY_BYTES <= content.length; position += ENTRY_BYTES) {
    txns.push({
      producerId: recordBatch.readInt64(content, position + 2),
      firstOffset: recordBatch.readInt64(content, position + 10),
      lastOffset: recordBatch.readInt64(content, position + 18),
      lastStableOffset: recordBatch.readInt64(content, position + 26),
    })
  }
  return txns
}

export function encodeTransactionIndex(txns: readonly AbortedTxn[]): Buffer {
  const content = Buffer.alloc(txns.length * ENTRY_BYTES)
  for (const [i, txn] of txns.entries()) {
    const position = i * ENTRY_BYTES
    recordBatch.writeInt64(content, txn.producerId, position + 2)
    recordBatch.writeInt64(content, txn.firstOffset, position + 10)
    recordBatch.writeInt64(content, txn.lastOffset, position + 18)
    recordBatch.writeInt64(content, txn.lastStableOffset, position + 26)
  }
  return content
}
