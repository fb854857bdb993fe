import assert from 'node:assert/strict'
import { compressionTypeOf } from '../compression/compression.ts'
import { encodeEndTransactionMarker, readEndTransactionMarker } from './control-record.ts'
import { encodeBatch } from './encode-batch.ts'
import * as recordBatch from './record-batch.ts'
import { decodeRecords } from './record.ts'
import { kafkaAbortBatch, kafkaAppendTimeBatch, kafkaBatches, kafkaCommitBatch } from './testing/kafka-fixtures.ts'

const records = [
  {
    timestamp: 1700000000000,
    key: Buffer.from('key-0'),
    value: Buffer.from('value-0'),
    headers: [
      { key: 'h1', value: Buffer.from('x') },
      { key: 'h2', value: null },
      { key: '', value: Buffer.alloc(0) },
    ],
  },
  { timestamp: 1700000000123, key: null, value: Buffer.from('value without key'), headers: [] },
  { timestamp: 1699999990000, key: Buffer.from('tombstone'), value: null, headers: [] },
  { timestamp: 1700000000456, key: Buffer.from('k'), value: Buffer.from('ab'.repeat(200)), headers: [] },
  { timestamp: 1700000000005, key: Buffer.alloc(0), value: Buffer.alloc(0), headers: [] },
]

const options = {
  records,
  baseOffset: 100,
  partitionLeaderEpoch: 9,
  producerId: 4711,
  producerEpoch: 3,
  baseSequence: 17,
  isTransactional: true,
}

describe('record batches that Kafka made', () => {
  for (const [name, base64] of Object.entries(kafkaBatches)) {
    it(`are read: ${name}`, () => {
      const batch = Buffer.from(base64, 'base64')
      assert.equal(recordBatch.batchEnd(batch, 0), batch.length)
      assert.equal(recordBatch.isValid(batch, 0), true)
      assert.equal(compressionTypeOf(recordBatch.compressionId(batch, 0)), name)
      assert.equal(recordBatch.partitionLeaderEpoch(batch, 0), 9)
      assert.equal(recordBatch.producerId(batch, 0), 4711)
      assert.equal(recordBatch.producerEpoch(batch, 0), 3)
      assert.equal(recordBatch.baseSequence(batch, 0), 17)
      assert.equal(recordBatch.lastSequence(batch, 0), 21)
      assert.equal(recordBatch.maxTimestamp(batch, 0), 1700000000456)
      assert.equal(recordBatch.isTransactional(batch, 0), true)
      assert.deepEqual(
        decodeRecords(batch, 0),
        records.map((record, index) => ({ offset: 100 + index, ...record })),
      )
    })
  }

  it('are read: LogAppendTime', () => {
    const batch = Buffer.from(kafkaAppendTimeBatch, 'base64')
    assert.equal(recordBatch.isLogAppendTime(batch, 0), true)
    const appendTime = recordBatch.maxTimestamp(batch, 0)
    assert.deepEqual(
      decodeRecords(batch, 0),
      records.map((record, index) => ({ ...record, offset: index, timestamp: appendTime })),
    )
  })

  it('are written, byte for byte, by the encoder', () => {
    assert.equal(encodeBatch(options).toString('base64'), kafkaBatches.none)
  })

  it('that are transaction markers are read and written', () => {
    for (const [base64, type, offset, coordinatorEpoch, timestamp] of [
      [kafkaCommitBatch, 'COMMIT', 42, 12, 1700000000000],
      [kafkaAbortBatch, 'ABORT', 43, 13, 1700000000001],
    ] as const) {
      const marker = { type, coordinatorEpoch }
      assert.deepEqual(readEndTransactionMarker(Buffer.from(base64, 'base64'), 0), { marker, timestamp })
      const written = encodeEndTransactionMarker({
        marker,
        producerId: 4711,
        producerEpoch: 3,
        timestamp,
        baseOffset: offset,
        partitionLeaderEpoch: 7,
      })
      assert.equal(written.toString('base64'), base64)
    }
  })
})
