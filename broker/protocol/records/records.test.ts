import assert from 'node:assert/strict'
import { randomInt, SeededRandom } from '../../../common/random.ts'
import { compressionTypes } from '../compression/compression.ts'
import { encodeEndTransactionMarker, readEndTransactionMarker } from './control-record.ts'
import type { RecordToEncode } from './encode-batch.ts'
import { encodeBatch } from './encode-batch.ts'
import * as recordBatch from './record-batch.ts'
import { decodeRecords, offsetOfMaxTimestamp, RecordCursor } from './record.ts'
import { RecordsError } from './records-error.ts'
import { emptySummary, renumberRecords, scanRecords } from './scan-records.ts'
import { randomRecords } from './testing/random-records.ts'
import { readVarint, readVarlong, sizeOfVarint, sizeOfVarlong, varintEnd, writeVarint, writeVarlong } from './varint.ts'

function toBuffer(value: Buffer | string | null): Buffer | null {
  return typeof value === 'string' ? Buffer.from(value) : value
}

function expected(records: readonly RecordToEncode[], baseOffset: number): object[] {
  return records.map((record, index) => ({
    offset: baseOffset + index,
    timestamp: record.timestamp,
    key: toBuffer(record.key),
    value: toBuffer(record.value),
    headers: (record.headers ?? []).map((header) => ({ key: header.key, value: toBuffer(header.value) })),
  }))
}

/** Scans an uncompressed batch as the validator does. */
function scan(batch: Buffer): void {
  const count = recordBatch.recordsCount(batch, 0)
  scanRecords(batch, recordBatch.RECORD_BATCH_OVERHEAD, batch.length, count, 0, emptySummary())
}

function isInvalidRecord(error: unknown): boolean {
  return error instanceof RecordsError && error.errorName === 'INVALID_RECORD'
}

describe('varint', () => {
  it('writes what it reads, in the size it announces', () => {
    const buffer = Buffer.alloc(16)
    for (const value of [0, -1, 1, 63, -64, 64, -65, 8191, 8192, 2 ** 20, 2 ** 27, 0x7fff_ffff, -0x8000_0000]) {
      assert.equal(writeVarint(buffer, value, 1), 1 + sizeOfVarint(value))
      assert.equal(readVarint(buffer, 1), value)
      assert.equal(varintEnd, 1 + sizeOfVarint(value))
    }
    for (const value of [
      0,
      -1,
      63,
      -64,
      64,
      2 ** 27,
      -(2 ** 27) - 1,
      2 ** 28,
      2 ** 34,
      -(2 ** 41),
      2 ** 52,
      -(2 ** 52),
    ]) {
      assert.equal(writeVarlong(buffer, value, 1), 1 + sizeOfVarlong(value))
      assert.equal(readVarlong(buffer, 1), value)
      assert.equal(varintEnd, 1 + sizeOfVarlong(value))
    }
  })

  it('reads the extremes of int64 approximately and refuses longer ones', () => {
    const most = Buffer.from([...Array<number>(9).fill(0xff), 0x01])
    assert.equal(readVarlong(most, 0), -(2 ** 63))
    assert.equal(varintEnd, 10)
    assert.throws(() => readVarlong(Buffer.alloc(11, 0xff), 0), isInvalidRecord)
    assert.throws(() => readVarint(Buffer.alloc(6, 0xff), 0), isInvalidRecord)
  })
})

describe('records', () => {
  it('decode to what was encoded, with every codec', () => {
    const random = new SeededRandom(1)
    for (const compression of compressionTypes) {
      for (let round = 0; round < 25; round++) {
        const records = randomRecords(random)
        const baseOffset = randomInt(random, 0, 2 ** 40)
        const batch = encodeBatch({ records, baseOffset, compression })
        assert.equal(recordBatch.isValid(batch, 0), true)
        assert.equal(recordBatch.batchEnd(batch, 0), batch.length)
        assert.deepEqual(decodeRecords(batch, 0), expected(records, baseOffset))
        assert.equal(recordBatch.maxTimestamp(batch, 0), Math.max(...records.map((record) => record.timestamp)))
      }
    }
  })

  it('keep offsets with gaps, as compaction leaves them', () => {
    const records = [10, 12, 19].map((offset) => ({ offset, timestamp: 5, key: String(offset), value: 'v' }))
    const batch = encodeBatch({ records, baseOffset: 8, lastOffset: 22 })
    assert.deepEqual(
      decodeRecords(batch, 0).map((record) => record.offset),
      [10, 12, 19],
    )
    assert.equal(recordBatch.lastOffset(batch, 0), 22)
  })

  it('of a batch that compaction emptied are none', () => {
    const batch = encodeBatch({
      records: [],
      baseOffset: 5,
      lastOffset: 9,
      producerId: 1,
      producerEpoch: 0,
      baseSequence: 0,
    })
    assert.deepEqual(decodeRecords(batch, 0), [])
    assert.equal(recordBatch.nextOffset(batch, 0), 10)
    assert.equal(recordBatch.recordsCount(batch, 0), 0)
  })

  it('share the append time of a LogAppendTime batch', () => {
    const batch = encodeBatch({
      logAppendTimeMs: 9000,
      records: [
        { timestamp: 1, key: null, value: 'a' },
        { timestamp: 2, key: null, value: 'b' },
      ],
    })
    assert.deepEqual(
      decodeRecords(batch, 0).map((record) => record.timestamp),
      [9000, 9000],
    )
  })

  it('tell where the max timestamp is first', () => {
    const times = [3, 9, 9, 1]
    const records = times.map((timestamp) => ({ timestamp, key: null, value: null }))
    assert.equal(offsetOfMaxTimestamp(encodeBatch({ records, baseOffset: 100, compression: 'zstd' }), 0), 101)
    const none = encodeBatch({ records: [{ timestamp: -1, key: null, value: null }] })
    assert.equal(offsetOfMaxTimestamp(none, 0), undefined)
  })

  it('are scanned to a summary', () => {
    const records = [
      { timestamp: 100, key: 'k', value: 'v' },
      { timestamp: 50, key: null, value: 'v' },
      { timestamp: 300, key: 'k', value: null, headers: [{ key: 'h', value: null }] },
    ]
    const batch = encodeBatch({ records })
    const summary = emptySummary()
    scanRecords(batch, recordBatch.RECORD_BATCH_OVERHEAD, batch.length, 3, 100, summary)
    assert.deepEqual(summary, { minTimestamp: 50, maxTimestamp: 300, offsetsConsecutive: true, allKeyed: false })
  })

  it('can be renumbered and are otherwise the same', () => {
    const random = new SeededRandom(2)
    const records = randomRecords(random, 200).map((record, index) => ({ ...record, offset: index * 1000 + 7 }))
    const batch = encodeBatch({ records })
    const section = recordBatch.recordsSection(batch, 0)
    const summary = emptySummary()
    scanRecords(section, 0, section.length, records.length, 0, summary)
    assert.equal(summary.offsetsConsecutive, false)
    const renumbered = renumberRecords(section, 0, section.length, records.length)
    const plain = records.map(({ offset: _, ...record }) => record)
    assert.deepEqual(renumbered, recordBatch.recordsSection(encodeBatch({ records: plain }), 0))
  })

  it('give views of single records, whole', () => {
    const batch = encodeBatch({ records: randomRecords(new SeededRandom(3), 20) })
    const cursor = RecordCursor.of(batch, 0)
    const parts: Buffer[] = []
    while (cursor.next()) parts.push(cursor.bytes())
    assert.deepEqual(Buffer.concat(parts), recordBatch.recordsSection(batch, 0))
  })
})

describe('hostile records', () => {
  const good = encodeBatch({
    records: [
      { timestamp: 1, key: 'key', value: 'value', headers: [{ key: 'h', value: 'x' }] },
      { timestamp: 2, key: 'key', value: 'value' },
    ],
  })

  it('with a lying count are refused', () => {
    for (const count of [-1, 0, 1, 3, 1000, 0x7fff_ffff]) {
      const batch = Buffer.from(good)
      batch.writeInt32BE(count, 57)
      assert.throws(() => scan(batch), isInvalidRecord, `scan of count ${count}`)
      if (count !== 0) assert.throws(() => decodeRecords(batch, 0), isInvalidRecord, `decode of count ${count}`)
    }
  })

  it('with lying lengths inside are refused', () => {
    // Positions in the first record: its length, key length, value length, header count, header key and value lengths.
    const fields = [61, 65, 69, 75, 76, 78]
    for (const field of fields) {
      for (const value of [0x3f, 0x40, 0x7f, 0x7e, 0x01, 0x03]) {
        if (good[field] === value) continue
        const batch = Buffer.from(good)
        batch[field] = value
        assert.throws(() => scan(batch), isInvalidRecord, `scan with ${value} at ${field}`)
        assert.throws(() => decodeRecords(batch, 0), isInvalidRecord, `decode with ${value} at ${field}`)
      }
    }
  })

  it('cut anywhere are refused', () => {
    for (let length = 61; length < good.length; length++) {
      const batch = Buffer.from(good.subarray(0, length))
      batch.writeInt32BE(length - 12, 8)
      assert.throws(() => scan(batch), isInvalidRecord, `scan of ${length} bytes`)
      assert.throws(() => decodeRecords(batch, 0), isInvalidRecord, `decode of ${length} bytes`)
    }
  })

  it('followed by anything are refused', () => {
    const batch = Buffer.concat([good, Buffer.from([0])])
    batch.writeInt32BE(batch.length - 12, 8)
    assert.throws(() => scan(batch), isInvalidRecord)
    assert.throws(() => decodeRecords(batch, 0), isInvalidRecord)
  })

  it('of any bytes cause typed errors only, and scan and decode agree', () => {
    const random = new SeededRandom(4)
    let accepted = 0
    for (let round = 0; round < 1500; round++) {
      const compression = compressionTypes[randomInt(random, 0, 4)] ?? 'none'
      const isPlain = compression === 'none'
      const batch = encodeBatch({ records: randomRecords(random, 4), compression })
      for (let flips = randomInt(random, 1, 3); flips > 0; flips--) {
        // Without the compression bits: those would only make plain bytes into broken compressed ones.
        const position = randomInt(random, 23, batch.length - 1)
        batch[position] = randomInt(random, 0, 255)
      }
      const decoded = outcome(() => decodeRecords(batch, 0, 1 << 20))
      if (isPlain && recordBatch.recordsCount(batch, 0) !== 0)
        assert.equal(
          outcome(() => scan(batch)),
          decoded,
        )
      if (decoded === 'ok') accepted++
    }
    assert.ok(accepted > 50 && accepted < 1450, `${accepted} of 1500 damaged batches happened to be sound`)
  })
})

/** `ok`, or the name of the typed error; any other error fails the test. */
function outcome(run: () => unknown): string {
  try {
    run()
    return 'ok'
  } catch (error) {
    if (error instanceof RecordsError) return error.errorName
    throw error
  }
}

describe('end transaction markers', () => {
  it('are read as written', () => {
    for (const type of ['ABORT', 'COMMIT'] as const) {
      const marker = { type, coordinatorEpoch: 77 }
      const batch = encodeEndTransactionMarker({ marker, producerId: 5, producerEpoch: 2, timestamp: 1234 })
      assert.equal(recordBatch.isControlBatch(batch, 0), true)
      assert.equal(recordBatch.isTransactional(batch, 0), true)
      assert.equal(recordBatch.baseSequence(batch, 0), -1)
      assert.deepEqual(readEndTransactionMarker(batch, 0), { marker, timestamp: 1234 })
    }
  })

  it('that are none or malformed are told apart', () => {
    const control = (key: Buffer | null, value: Buffer | null): Buffer =>
      encodeBatch({ records: [{ timestamp: 1, key, value }], isControl: true })
    const empty = encodeBatch({ records: [], lastOffset: 0, isControl: true })
    assert.equal(readEndTransactionMarker(empty, 0), undefined)
    assert.equal(readEndTransactionMarker(control(Buffer.from([0, 0, 0, 2]), Buffer.alloc(6)), 0), undefined)
    for (const [key, value] of [
      [null, Buffer.alloc(6)],
      [Buffer.alloc(3), Buffer.alloc(6)],
      [Buffer.from([0xff, 0xff, 0, 0]), Buffer.alloc(6)],
      [Buffer.alloc(4), null],
      [Buffer.alloc(4), Buffer.alloc(5)],
      [Buffer.alloc(4), Buffer.from([0xff, 0, 0, 0, 0, 0])],
    ] as const) {
      assert.throws(() => readEndTransactionMarker(control(key, value), 0), isInvalidRecord)
    }
  })
})
