import assert from 'node:assert/strict'
import { encodeEndTransactionMarker } from '../../protocol/records/control-record.ts'
import { encodeBatch, type EncodeBatchOptions } from '../../protocol/records/encode-batch.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { decodeRecords } from '../../protocol/records/record.ts'
import type { LastRecord } from './batch-filter.ts'
import { groupSegments } from './cleanable.ts'
import { decodeTransactionIndex, encodeTransactionIndex, type AbortedTxn } from './cleaned-transactions.ts'
import { CleanerKernel } from './cleaner-kernel.ts'

const NOW = 1_000_000
const RETENTION = 500

function batch(offset: number, texts: readonly string[], options: Partial<EncodeBatchOptions> = {}): Buffer {
  const records = texts.map((text, i) => {
    const [key = '', value] = text.split('=')
    return { timestamp: 100 + i, key, value: value ?? null }
  })
  return encodeBatch({ records, baseOffset: offset, ...options })
}

function marker(offset: number, type: 'COMMIT' | 'ABORT', producerId: number, producerEpoch = 0): Buffer {
  return encodeEndTransactionMarker({
    marker: { type, coordinatorEpoch: 0 },
    producerId,
    producerEpoch,
    timestamp: 100,
    baseOffset: offset,
  })
}

/** One pass over `log`, all of which is dirty. */
function clean(
  log: readonly Buffer[],
  options: {
    readonly nowMs?: number
    readonly abortedTxns?: readonly AbortedTxn[]
    readonly lastRecords?: readonly LastRecord[]
    readonly roundEndOffset?: number
  } = {},
): { output: Buffer; batches: string[]; retainedTxns: readonly AbortedTxn[]; isChanged: boolean } {
  const kernel = new CleanerKernel()
  const abortedTxns = options.abortedTxns ?? []
  const input = Buffer.concat(log)
  kernel.begin({ maxMapBytes: 1 << 20, maxLoad: 0.9, hashKey: new Uint8Array(16).fill(3), startOffset: 0 })
  const { latestOffset, isFull, validBytes } = kernel.index({ chunk: Buffer.from(input), abortedTxns })
  assert.ok(!isFull && validBytes === input.length)
  kernel.beginFilter({
    nowMs: options.nowMs ?? NOW,
    deleteRetentionMs: RETENTION,
    roundEndOffset: options.roundEndOffset ?? -1,
    latestOffset,
    compressionLevels: {},
  })
  const { output, retainedTxns, isChanged } = kernel.filter({
    chunk: Buffer.from(input),
    lastRecords: options.lastRecords ?? [],
    abortedTxns,
  })
  return { output, batches: describeBatches(output), retainedTxns, isChanged }
}

function describeBatches(records: Buffer): string[] {
  return [...recordBatch.batchPositions(records)].map((position) => {
    assert.ok(recordBatch.isValid(records, position))
    const at = `${recordBatch.baseOffset(records, position)}-${recordBatch.lastOffset(records, position)}`
    if (recordBatch.isControlBatch(records, position))
      return `${at} marker ${recordBatch.recordsCount(records, position)}`
    const texts = decodeRecords(records, position).map(({ key, value }) => {
      return `${key?.toString() ?? ''}${value === null ? '' : `=${value.toString()}`}`
    })
    return `${at} ${texts.join()}`
  })
}

describe('cleaner kernel', () => {
  it('leaves what is newest as it is, byte by byte', () => {
    const log = [batch(0, ['a=1', 'b=1']), batch(2, ['c=1'], { compression: 'zstd' })]
    const { output, isChanged } = clean(log)
    assert.deepEqual(output, Buffer.concat(log))
    assert.equal(isChanged, false)
  })

  it('keeps offsets, sequences, epochs and timestamps of what it thins out', () => {
    const producer = { producerId: 8, producerEpoch: 3, baseSequence: 40, partitionLeaderEpoch: 6 }
    const { output, batches } = clean([batch(10, ['a=1', 'b=1', 'c=1'], producer), batch(13, ['a=2', 'c=2'])])
    assert.deepEqual(batches, ['10-12 b=1', '13-14 a=2,c=2'])
    assert.equal(recordBatch.producerId(output, 0), 8)
    assert.equal(recordBatch.producerEpoch(output, 0), 3)
    assert.equal(recordBatch.baseSequence(output, 0), 40)
    assert.equal(recordBatch.lastSequence(output, 0), 42)
    assert.equal(recordBatch.partitionLeaderEpoch(output, 0), 6)
    assert.equal(recordBatch.maxTimestamp(output, 0), 101)
    assert.deepEqual(
      decodeRecords(output, 0).map(({ offset, timestamp }) => [offset, timestamp]),
      [[11, 101]],
    )
  })

  it('gives batches with tombstones a delete horizon once, and keeps their timestamps', () => {
    for (const compression of ['none', 'lz4'] as const) {
      for (const logAppendTimeMs of [undefined, 777]) {
        const options = { compression, ...(logAppendTimeMs === undefined ? {} : { logAppendTimeMs }) }
        const first = clean([batch(0, ['a=1', 'a', 'b=1'], options)])
        assert.deepEqual(first.batches, ['0-2 a,b=1'])
        assert.ok(recordBatch.hasDeleteHorizon(first.output, 0))
        assert.equal(recordBatch.baseTimestamp(first.output, 0), NOW + RETENTION)
        assert.equal(recordBatch.maxTimestamp(first.output, 0), logAppendTimeMs ?? 102)
        assert.deepEqual(
          decodeRecords(first.output, 0).map(({ timestamp }) => timestamp),
          logAppendTimeMs === undefined ? [101, 102] : [777, 777],
        )
        const again = clean([first.output], { nowMs: NOW + RETENTION - 1 })
        assert.equal(again.isChanged, false, 'a later pass sets no other horizon')
        const last = clean([first.output], { nowMs: NOW + RETENTION })
        assert.deepEqual(last.batches, ['0-2 b=1'])
      }
    }
  })

  it('leaves of an empty batch what a producer or the end of the pass needs', () => {
    const log = [
      batch(0, ['a=1'], { producerId: 1, producerEpoch: 0, baseSequence: 0 }),
      batch(1, ['a=2'], { producerId: 1, producerEpoch: 0, baseSequence: 1, compression: 'gzip' }),
      batch(2, ['a=3'], { producerId: 2, producerEpoch: 0, baseSequence: 0 }),
      batch(3, ['a=4']),
      batch(4, ['a']),
    ]
    const lastRecords = [{ producerId: 1, lastDataOffset: 1, producerEpoch: 0 }]
    const first = clean(log, { lastRecords, roundEndOffset: 5 })
    assert.deepEqual(first.batches, ['1-1 ', '4-4 a'])
    const position = recordBatch.batchEnd(first.output, 0)
    assert.equal(recordBatch.baseSequence(first.output, 0), 1)
    assert.equal(recordBatch.compressionId(first.output, 0), 0)
    const horizonOver = { nowMs: NOW + RETENTION, roundEndOffset: 5 }
    assert.deepEqual(clean([first.output.subarray(position)], horizonOver).batches, ['4-4 '])
    assert.deepEqual(clean([first.output], { nowMs: NOW + RETENTION, roundEndOffset: 9 }).batches, [])
  })

  it('drops records without a key, which the topic has from before it was compacted', () => {
    const mixed = encodeBatch({
      records: [
        { timestamp: 1, key: null, value: 'x' },
        { timestamp: 1, key: '', value: 'an empty key is one' },
      ],
    })
    assert.deepEqual(clean([mixed]).batches, ['0-1 =an empty key is one'])
  })

  it('keeps a marker until nothing of its transaction is left and its horizon is over', () => {
    const txn = { isTransactional: true, producerId: 9, producerEpoch: 0, baseSequence: 0 }
    const begun = [batch(0, ['a=1'], txn), marker(1, 'COMMIT', 9)]
    assert.deepEqual(clean(begun).batches, ['0-0 a=1', '1-1 marker 1'])
    const first = clean([...begun, batch(2, ['a=2'])])
    assert.deepEqual(first.batches, ['1-1 marker 1', '2-2 a=2'], 'its data went in this pass')
    assert.ok(!recordBatch.hasDeleteHorizon(first.output, 0))
    const second = clean([first.output])
    assert.deepEqual(second.batches, ['1-1 marker 1', '2-2 a=2'])
    assert.ok(recordBatch.hasDeleteHorizon(second.output, 0))
    assert.deepEqual(clean([second.output], { nowMs: NOW + RETENTION - 1 }).batches.length, 2)
    assert.deepEqual(clean([second.output], { nowMs: NOW + RETENTION }).batches, ['2-2 a=2'])
    const lastRecords = [{ producerId: 9, lastDataOffset: -1, producerEpoch: 0 }]
    const kept = clean([second.output], { nowMs: NOW + RETENTION, lastRecords })
    assert.deepEqual(kept.batches, ['1-1 marker 0', '2-2 a=2'], 'it has the epoch of a producer')
  })

  it('drops the records of aborted transactions, which count for no key', () => {
    const aborted = [{ producerId: 9, firstOffset: 1, lastOffset: 2, lastStableOffset: 3 }]
    const log = [
      batch(0, ['a=1']),
      batch(1, ['a=aborted', 'b=aborted'], {
        isTransactional: true,
        producerId: 9,
        producerEpoch: 0,
        baseSequence: 0,
      }),
      marker(3, 'ABORT', 9),
      batch(4, ['c=1']),
    ]
    const first = clean(log, { abortedTxns: aborted })
    assert.deepEqual(first.batches, ['0-0 a=1', '3-3 marker 1', '4-4 c=1'])
    assert.deepEqual(first.retainedTxns, aborted, 'readers must know of it as long as the marker stays')
    const second = clean([first.output], { abortedTxns: first.retainedTxns })
    assert.deepEqual(second.retainedTxns, [])
    assert.ok(recordBatch.hasDeleteHorizon(second.output, recordBatch.batchEnd(second.output, 0)))
    assert.deepEqual(clean([second.output], { nowMs: NOW + RETENTION }).batches, ['0-0 a=1', '4-4 c=1'])
  })

  it('reads and writes transaction indexes', () => {
    const txns = [
      { producerId: 2 ** 40, firstOffset: 1, lastOffset: 2 ** 35, lastStableOffset: 3 },
      { producerId: 4, firstOffset: 5, lastOffset: 6, lastStableOffset: 7 },
    ]
    assert.deepEqual(decodeTransactionIndex(encodeTransactionIndex(txns)), txns)
    assert.equal(encodeTransactionIndex(txns).length, 68)
  })

  it('says how much it needs of a batch that is not whole', () => {
    const kernel = new CleanerKernel()
    kernel.begin({ maxMapBytes: 1 << 20, maxLoad: 0.9, hashKey: new Uint8Array(16), startOffset: 0 })
    const whole = batch(0, ['a=1'])
    for (let length = 0; length < whole.length; length++) {
      const { validBytes, neededBytes } = kernel.index({
        chunk: Buffer.from(whole.subarray(0, length)),
        abortedTxns: [],
      })
      assert.equal(validBytes, 0)
      assert.equal(neededBytes, length < 12 ? 17 : whole.length)
    }
  })
})

describe('groups of segments', () => {
  const limits = { segmentBytes: 100, segmentIndexBytes: 1 << 20, indexIntervalBytes: 4096 }
  const group = (segments: readonly [number, number][], endOffset: number, more = {}): number[][] =>
    groupSegments(
      segments.map(([baseOffset, sizeBytes]) => ({ baseOffset, sizeBytes })),
      endOffset,
      { ...limits, ...more },
    ).map((each) => each.map(({ baseOffset }) => baseOffset))

  it('are as large as a segment may be, and have at least one each', () => {
    assert.deepEqual(
      group(
        [
          [0, 50],
          [10, 50],
          [20, 1],
          [30, 200],
          [40, 0],
        ],
        50,
      ),
      [[0, 10], [20], [30], [40]],
    )
  })

  it('reach no further than offsets in an index do', () => {
    const far = 2 ** 31
    assert.deepEqual(
      group(
        [
          [0, 10],
          [5, 10],
          [far, 10],
        ],
        far + 1,
      ),
      [[0, 5], [far]],
    )
    assert.deepEqual(
      group(
        [
          [0, 10],
          [5, 10],
        ],
        far + 1,
      ),
      [[0], [5]],
    )
    assert.deepEqual(
      group(
        [
          [0, 10],
          [far, 0],
        ],
        far + 9,
      ),
      [[0, far]],
      'an empty one has no offsets',
    )
  })

  it('fit their indexes', () => {
    const sizes: [number, number][] = [
      [0, 6100],
      [10, 6100],
    ]
    const more = { segmentBytes: 1e6, indexIntervalBytes: 61 }
    assert.deepEqual(group(sizes, 20, { ...more, segmentIndexBytes: 201 * 12 }), [[0, 10]])
    assert.deepEqual(group(sizes, 20, { ...more, segmentIndexBytes: 200 * 12 }), [[0], [10]])
  })
})
