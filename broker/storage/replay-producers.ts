/** Brings the producer state of a log from its last snapshot up to an offset, by the batches in between. */
import * as recordBatch from '../protocol/records/record-batch.ts'
import type { LogSegments } from './log-segments.ts'
import type { ProducerStateManager } from './producer-state-manager.ts'
import { scanSegment } from './segment-scan.ts'

export async function replayProducers(
  producers: ProducerStateManager,
  segments: LogSegments,
  endOffset: number,
  indexIntervalBytes: number,
): Promise<void> {
  if (producers.mapEndOffset >= endOffset) return
  for (const segment of segments.from(producers.mapEndOffset)) {
    if (segment.writtenBytes === 0 || segment.baseOffset >= endOffset) continue
    const { offsetIndex } = await segment.loadIndexes(indexIntervalBytes)
    await segment.withFile((file) =>
      scanSegment(file, {
        fromPosition: offsetIndex.lookup(producers.mapEndOffset),
        endPosition: segment.writtenBytes,
        verifyCrc: false,
        visit: (buffer, position) => {
          if (recordBatch.baseOffset(buffer, position) >= endOffset) return false
          replayBatch(producers, buffer, position)
          return true
        },
      }),
    )
  }
  producers.applyAppend({ duplicate: undefined, updates: [], completedTxns: [] }, endOffset)
}

/** Notes one batch, unless the state covers it. */
export function replayBatch(producers: ProducerStateManager, buffer: Buffer, position: number): void {
  const nextOffset = recordBatch.nextOffset(buffer, position)
  if (nextOffset <= producers.mapEndOffset) return
  if (recordBatch.hasProducerId(buffer, position)) {
    const batch = buffer.subarray(position, position + recordBatch.sizeInBytes(buffer, position))
    const prepared = producers.prepareAppend(batch, 'replication')
    producers.applyAppend(prepared, nextOffset)
    for (const completedTxn of prepared.completedTxns) producers.completeTxn(completedTxn)
  } else {
    producers.applyAppend(NO_UPDATES, nextOffset)
  }
}

const NO_UPDATES = { duplicate: undefined, updates: [], completedTxns: [] }
