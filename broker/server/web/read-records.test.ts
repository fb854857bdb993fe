import assert from 'node:assert/strict'
import type { Block } from '../../../common/block-pool.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { encodeBatch, type EncodeBatchOptions } from '../../protocol/records/encode-batch.ts'
import {
  readNewestRecords,
  readRecordsFrom,
  type PartitionRecords,
  type ReadableRecords,
  type ReadRecordsLimits,
} from './read-records.ts'

const LIMITS = { maxRecords: 5, maxBytes: 100_000, maxDecompressedBytes: 1_000_000, maxValueBytes: 50 }
const limitsOf = (more: Partial<ReadRecordsLimits> = {}): ReadRecordsLimits => ({
  ...LIMITS,
  decompression: { leftBytes: 5_000_000 },
  ...more,
})

/** A log of batches; its reads fill the memory with other bytes once it is released, as the real one may. */
class BatchLog implements ReadableRecords {
  readonly batches: Buffer[]
  logStartOffset: number
  highWatermark: number
  reads = 0
  held = 0
  /** What estimates are multiplied by: they are only estimates. */
  estimateFactor = 1

  constructor(batches: readonly Omit<EncodeBatchOptions, 'partitionLeaderEpoch'>[]) {
    this.batches = batches.map((batch) => encodeBatch(batch))
    const [first] = this.batches
    const last = this.batches.at(-1)
    this.logStartOffset = first === undefined ? 0 : recordBatch.baseOffset(first, 0)
    this.highWatermark = last === undefined ? 0 : recordBatch.nextOffset(last, 0)
  }

  read(...[startOffset, options, done]: Parameters<ReadableRecords['read']>): void {
    this.reads++
    const found: Buffer[] = []
    let nextOffset = startOffset
    let sizeBytes = 0
    for (const batch of this.batches) {
      const after = recordBatch.nextOffset(batch, 0)
      if (after <= startOffset) continue
      const isTooMuch = sizeBytes + batch.length > options.maxBytes && !(sizeBytes === 0 && options.minOneMessage)
      if (after > options.upperBoundOffset || isTooMuch) break
      found.push(Buffer.from(batch))
      sizeBytes += batch.length
      nextOffset = after
    }
    this.held++
    const release = (): void => {
      this.held--
      for (const buffer of found) buffer.fill(0xee)
    }
    const blocks = [{ release } as unknown as Block]
    setImmediate(() => done({ ok: true, buffers: found, blocks, sizeBytes, nextOffset }))
  }

  estimateBytesBetween(startOffset: number, endOffset: number): number {
    let bytes = 0
    for (const batch of this.batches) {
      if (recordBatch.nextOffset(batch, 0) > startOffset && recordBatch.baseOffset(batch, 0) < endOffset) {
        bytes += batch.length
      }
    }
    return bytes * this.estimateFactor
  }
}

function batchOf(baseOffset: number, values: readonly string[], more: Partial<EncodeBatchOptions> = {}) {
  const records = values.map((value, i) => ({ timestamp: 1000 + baseOffset + i, key: `k${baseOffset + i}`, value }))
  return { baseOffset, records, ...more }
}

const one = (count: number, size = 5): ReturnType<typeof batchOf>[] =>
  Array.from({ length: count }, (_, i) => batchOf(i, ['v'.repeat(size)]))

const offsets = ({ records }: PartitionRecords): number[] => records.map(({ offset }) => offset)

describe('reading records to look at', () => {
  const newest = async (log: BatchLog, limits: Partial<ReadRecordsLimits> = {}): Promise<PartitionRecords> => {
    const found = await readNewestRecords(log, 3, limitsOf(limits))
    assert.equal(log.held, 0, 'all memory is given back')
    return found
  }

  it('finds nothing in an empty log', async () => {
    assert.deepEqual(await newest(new BatchLog([])), { records: [], notes: [] })
  })

  it('finds the last records, also in the middle of a batch', async () => {
    assert.deepEqual(offsets(await newest(new BatchLog(one(20)))), [15, 16, 17, 18, 19])
    const batches = [batchOf(0, Array<string>(17).fill('x')), batchOf(17, ['y', 'z'])]
    assert.deepEqual(offsets(await newest(new BatchLog(batches))), [14, 15, 16, 17, 18])
    assert.deepEqual(offsets(await newest(new BatchLog(one(3)))), [0, 1, 2])
  })

  it('shows a record as it is', async () => {
    const record = {
      timestamp: 42,
      key: null,
      value: Buffer.from([1, 0xff]),
      headers: [
        { key: 'h', value: 'text' },
        { key: 'h', value: null },
      ],
    }
    const log = new BatchLog([{ baseOffset: 7, records: [record], compression: 'zstd' }])
    const { records } = await newest(log)
    assert.deepEqual(records, [
      {
        partition: 3,
        offset: 7,
        timestampMs: 42,
        timestampType: 'CreateTime',
        key: null,
        value: { type: 'binary', shown: '01ff', sizeBytes: 2, isCut: false },
        headers: [
          { key: 'h', value: { type: 'text', shown: 'text', sizeBytes: 4, isCut: false } },
          { key: 'h', value: null },
        ],
        hasMoreHeaders: false,
        compression: 'zstd',
        sizeBytes: records[0]?.sizeBytes,
      },
    ])
  })

  it('tells the time of the log where that is what counts', async () => {
    const { records } = await newest(new BatchLog([batchOf(0, ['a'], { logAppendTimeMs: 99 })]))
    assert.deepEqual([records[0]?.timestampMs, records[0]?.timestampType], [99, 'LogAppendTime'])
  })

  it('shows committed records alone', async () => {
    const log = new BatchLog(one(20))
    log.highWatermark = 10
    assert.deepEqual(offsets(await newest(log)), [5, 6, 7, 8, 9])
  })

  it('goes further back where compaction has taken offsets', async () => {
    const sparse = Array.from({ length: 10 }, (_, i) => batchOf(i * 1000, ['v']))
    assert.deepEqual(offsets(await newest(new BatchLog(sparse))), [5000, 6000, 7000, 8000, 9000])
  })

  it('leaves out the markers of transactions', async () => {
    const marker = { ...batchOf(2, ['']), isControl: true, isTransactional: true, producerId: 1, producerEpoch: 0 }
    assert.deepEqual(offsets(await newest(new BatchLog([...one(2), marker]))), [0, 1])
  })

  for (const estimateFactor of [1, 0, 1000]) {
    it(`keeps to the bytes it may read, with estimates ${estimateFactor} times what is there`, async () => {
      const log = new BatchLog(one(100, 3000))
      log.estimateFactor = estimateFactor
      const found = await newest(log, { maxRecords: 50, maxBytes: 10_000 })
      const seen = offsets(found)
      assert.ok(seen.length >= 1 && seen.length <= 3, String(seen))
      assert.equal(seen.at(-1), 99)
      assert.ok(found.notes.length > 0)
      assert.ok(log.reads < 30, `${log.reads} reads`)
    })
  }

  it('says that a batch is larger than what it reads', async () => {
    const log = new BatchLog([...one(3), batchOf(3, ['v'.repeat(200_000)])])
    const { records, notes } = await newest(log)
    assert.deepEqual(records, [])
    assert.match(notes.join(), /batch at offset 3 of partition 3 is larger than the 100000 bytes/)
    const later = new BatchLog([batchOf(0, ['v'.repeat(200_000)]), batchOf(1, ['small'])])
    const found = await newest(later)
    assert.deepEqual(offsets(found), [1])
    assert.match(found.notes.join(), /only the last 1 are shown/)
  })

  it('does not decompress a bomb', async () => {
    const log = new BatchLog([batchOf(0, ['0'.repeat(5_000_000)], { compression: 'gzip' }), batchOf(1, ['small'])])
    const { records, notes } = await newest(log)
    assert.deepEqual(
      records.map(({ offset }) => offset),
      [1],
    )
    assert.match(notes.join(), /offset 0 of partition 3 is not shown: .*decompressed/)
  })

  it('decompresses only so much in all', async () => {
    const log = new BatchLog(
      Array.from({ length: 5 }, (_, i) => batchOf(i, ['0'.repeat(900_000)], { compression: 'gzip' })),
    )
    const decompression = { leftBytes: 3_000_000 }
    const { records, notes } = await newest(log, { decompression })
    assert.equal(records.length, 3)
    assert.equal(notes.length, 2)
    assert.match(notes.join(), /offset 4 .* no more is decompressed/)
    assert.equal(decompression.leftBytes, 0)
  })

  it('shows no more than some headers of a record', async () => {
    const headers = Array.from({ length: 1000 }, (_, i) => ({ key: `h${i}`.repeat(500), value: 'v'.repeat(5000) }))
    const log = new BatchLog([{ records: [{ timestamp: 1, key: null, value: null, headers }] }])
    const [record] = (await newest(log, { maxBytes: 10_000_000, maxDecompressedBytes: 10_000_000 })).records
    assert.equal(record?.headers.length, 50)
    assert.equal(record.hasMoreHeaders, true)
    assert.ok(record.headers.every(({ key, value }) => key.length < 250 && (value?.shown.length ?? 0) <= 50))
  })

  it('says why a log can not be read', async () => {
    const log = new BatchLog(one(3))
    log.read = (_offset, _options, done) => done({ ok: false, errorCode: 56, message: 'the disk is gone' })
    const { records, notes } = await readNewestRecords(log, 3, limitsOf())
    assert.deepEqual(records, [])
    assert.match(notes.join(), /can't be read at offset 0: the disk is gone/)
  })

  it('reads from an offset on', async () => {
    const log = new BatchLog([batchOf(0, Array<string>(17).fill('x')), ...one(40).slice(17)])
    const from = async (offset: number): Promise<number[]> => offsets(await readRecordsFrom(log, 3, offset, limitsOf()))
    assert.deepEqual(await from(0), [0, 1, 2, 3, 4])
    assert.deepEqual(await from(14), [14, 15, 16, 17, 18])
    assert.deepEqual(await from(38), [38, 39])
    assert.deepEqual(await from(40), [])
    assert.deepEqual(await from(4000), [])
    log.logStartOffset = 20
    assert.deepEqual(await from(3), [20, 21, 22, 23, 24])
    assert.equal(log.held, 0)
  })
})
