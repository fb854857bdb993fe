import assert from 'node:assert/strict'
import { encodeBatch } from './encode-batch.ts'
import * as recordBatch from './record-batch.ts'
import { RecordsError } from './records-error.ts'

function sample(baseOffset = 7): Buffer {
  return encodeBatch({
    baseOffset,
    partitionLeaderEpoch: 3,
    producerId: 2 ** 40 + 5,
    producerEpoch: 4,
    baseSequence: 0x7fff_fffe,
    isTransactional: true,
    records: [
      { timestamp: 1000, key: 'a', value: 'x' },
      { timestamp: 3000, key: 'b', value: null },
      { timestamp: 2000, key: null, value: 'z' },
    ],
  })
}

describe('record batch', () => {
  it('reads every header field', () => {
    const batch = sample(2 ** 45)
    assert.equal(recordBatch.baseOffset(batch, 0), 2 ** 45)
    assert.equal(recordBatch.sizeInBytes(batch, 0), batch.length)
    assert.equal(recordBatch.partitionLeaderEpoch(batch, 0), 3)
    assert.equal(recordBatch.magic(batch, 0), 2)
    assert.equal(recordBatch.compressionId(batch, 0), 0)
    assert.equal(recordBatch.isLogAppendTime(batch, 0), false)
    assert.equal(recordBatch.isTransactional(batch, 0), true)
    assert.equal(recordBatch.isControlBatch(batch, 0), false)
    assert.equal(recordBatch.hasDeleteHorizon(batch, 0), false)
    assert.equal(recordBatch.lastOffsetDelta(batch, 0), 2)
    assert.equal(recordBatch.lastOffset(batch, 0), 2 ** 45 + 2)
    assert.equal(recordBatch.nextOffset(batch, 0), 2 ** 45 + 3)
    assert.equal(recordBatch.baseTimestamp(batch, 0), 1000)
    assert.equal(recordBatch.maxTimestamp(batch, 0), 3000)
    assert.equal(recordBatch.producerId(batch, 0), 2 ** 40 + 5)
    assert.equal(recordBatch.hasProducerId(batch, 0), true)
    assert.equal(recordBatch.producerEpoch(batch, 0), 4)
    assert.equal(recordBatch.baseSequence(batch, 0), 0x7fff_fffe)
    assert.equal(recordBatch.lastSequence(batch, 0), 0, 'the sequence wraps after 2^31 - 1')
    assert.equal(recordBatch.recordsCount(batch, 0), 3)
    assert.equal(recordBatch.isValid(batch, 0), true)
  })

  it('knows batches without a producer', () => {
    const batch = encodeBatch({ records: [{ timestamp: -1, key: null, value: null }] })
    assert.equal(recordBatch.hasProducerId(batch, 0), false)
    assert.equal(recordBatch.lastSequence(batch, 0), recordBatch.NO_SEQUENCE)
    assert.equal(recordBatch.maxTimestamp(batch, 0), recordBatch.NO_TIMESTAMP)
  })

  it('keeps the CRC right when offset and leader epoch are assigned in place', () => {
    const batch = sample()
    recordBatch.setBaseOffset(batch, 0, Number.MAX_SAFE_INTEGER - 10)
    recordBatch.setPartitionLeaderEpoch(batch, 0, 99)
    assert.equal(recordBatch.baseOffset(batch, 0), Number.MAX_SAFE_INTEGER - 10)
    assert.equal(recordBatch.partitionLeaderEpoch(batch, 0), 99)
    assert.equal(recordBatch.isValid(batch, 0), true)
  })

  it('computes the CRC anew only when the max timestamp or its type changes', () => {
    const batch = sample()
    const crc = recordBatch.crc(batch, 0)
    assert.equal(recordBatch.setMaxTimestamp(batch, 0, false, 3000), false)
    assert.equal(recordBatch.crc(batch, 0), crc)
    assert.equal(recordBatch.setMaxTimestamp(batch, 0, true, 5000), true)
    assert.equal(recordBatch.isLogAppendTime(batch, 0), true)
    assert.equal(recordBatch.maxTimestamp(batch, 0), 5000)
    assert.notEqual(recordBatch.crc(batch, 0), crc)
    assert.equal(recordBatch.isValid(batch, 0), true)
    assert.equal(recordBatch.isTransactional(batch, 0), true)
  })

  it('sees any flipped bit that the CRC covers, and none that it does not', () => {
    const batch = sample()
    for (let position = 0; position < batch.length; position++) {
      // A changed length would move the end; batchEnd is what meets that.
      if (position >= 8 && position < 12) continue
      const damaged = Buffer.from(batch)
      damaged[position] = (damaged[position] ?? 0) ^ (1 << (position % 8))
      const covered = position >= 17
      assert.equal(recordBatch.isValid(damaged, 0), !covered, `byte ${position}`)
    }
  })

  it('stops at a partial last batch, wherever it is cut', () => {
    const first = sample(0)
    const both = Buffer.concat([first, sample(3)])
    assert.deepEqual([...recordBatch.batchPositions(both)], [0, first.length])
    for (let length = 0; length < both.length; length++) {
      const expected = length < first.length ? [] : [0]
      assert.deepEqual([...recordBatch.batchPositions(both.subarray(0, length))], expected, `cut at ${length}`)
    }
  })

  it('refuses impossible lengths and magics', () => {
    for (const length of [-0x8000_0000, -1, 0, 13]) {
      const batch = sample()
      batch.writeInt32BE(length, 8)
      assert.throws(() => recordBatch.batchEnd(batch, 0), corrupt)
    }
    for (const magic of [-128, -1, 3, 127]) {
      const batch = sample()
      batch.writeInt8(magic, 16)
      assert.throws(() => recordBatch.batchEnd(batch, 0), corrupt)
    }
    const tooShort = sample()
    tooShort.writeInt32BE(48, 8)
    assert.equal(recordBatch.isValid(tooShort, 0), false)
  })

  it('steps sequences over the wrap in both directions', () => {
    assert.equal(recordBatch.incrementSequence(0x7fff_ffff, 1), 0)
    assert.equal(recordBatch.incrementSequence(0x7fff_fffe, 3), 1)
    assert.equal(recordBatch.incrementSequence(-1, 1), 0)
    assert.equal(recordBatch.decrementSequence(0, 1), 0x7fff_ffff)
    assert.equal(recordBatch.decrementSequence(1, 3), 0x7fff_fffe)
    assert.equal(recordBatch.decrementSequence(5, 5), 0)
  })

  it('reads and writes int64 over the exact range', () => {
    const buffer = Buffer.alloc(8)
    for (const value of [
      0,
      -1,
      1,
      2 ** 31,
      2 ** 32,
      -(2 ** 32) - 1,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ]) {
      recordBatch.writeInt64(buffer, value, 0)
      assert.equal(buffer.readBigInt64BE(0), BigInt(value))
      assert.equal(recordBatch.readInt64(buffer, 0), value)
    }
    assert.throws(() => recordBatch.writeInt64(buffer, 2 ** 53, 0), /exact integer/)
  })
})

function corrupt(error: unknown): boolean {
  return error instanceof RecordsError && error.errorName === 'CORRUPT_MESSAGE'
}
