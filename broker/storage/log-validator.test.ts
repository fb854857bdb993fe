import assert from 'node:assert/strict'
import { randomInt, SeededRandom } from '../../common/random.ts'
import { compressionTypes } from '../protocol/compression/compression.ts'
import { encodeEndTransactionMarker } from '../protocol/records/control-record.ts'
import type { EncodeBatchOptions } from '../protocol/records/encode-batch.ts'
import { encodeBatch } from '../protocol/records/encode-batch.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { decodeRecords } from '../protocol/records/record.ts'
import type { RecordsErrorName } from '../protocol/records/records-error.ts'
import { RecordsError } from '../protocol/records/records-error.ts'
import { randomRecords } from '../protocol/records/testing/random-records.ts'
import type { LeaderAppend, LogAppendInfo, ValidatorConfig } from './log-validator.ts'
import { UnexpectedAppendOffsetError, validateAndAssignOffsets, validateFollowerRecords } from './log-validator.ts'

const NOW = 1_700_000_000_000

const config: ValidatorConfig = {
  maxMessageBytes: 1 << 20,
  messageTimestampType: 'CreateTime',
  messageTimestampBeforeMaxMs: 2 ** 63,
  messageTimestampAfterMaxMs: 3_600_000,
  compression: { type: 'producer' },
  cleanupPolicy: { compact: false },
}

const append: LeaderAppend = {
  topicPartition: 'topic-0',
  baseOffset: 1000,
  leaderEpoch: 7,
  nowMs: NOW,
  origin: 'client',
  produceVersion: 11,
}

const threeRecords = [
  { timestamp: NOW - 5, key: 'a', value: 'x'.repeat(300) },
  { timestamp: NOW, key: null, value: 'x'.repeat(300), headers: [{ key: 'h', value: null }] },
  { timestamp: NOW - 9, key: 'c', value: null },
]

function batchOf(options: Partial<EncodeBatchOptions> = {}): Buffer {
  return encodeBatch({ records: threeRecords, ...options })
}

function validate(batch: Buffer, over: Partial<ValidatorConfig> = {}, how: Partial<LeaderAppend> = {}): LogAppendInfo {
  return validateAndAssignOffsets(batch, { ...config, ...over }, { ...append, ...how })
}

/** Runs a validation that must refuse, checks that the batch is untouched, and returns the error. */
function refused(
  errorName: RecordsErrorName,
  batch: Buffer,
  over: Partial<ValidatorConfig> = {},
  how: Partial<LeaderAppend> = {},
): RecordsError {
  const before = Buffer.from(batch)
  try {
    validate(batch, over, how)
  } catch (error) {
    assert.ok(error instanceof RecordsError, String(error))
    assert.equal(error.errorName, errorName, error.message)
    assert.ok(batch.equals(before), 'a refused batch is as it came')
    return error
  }
  return assert.fail(`expected ${errorName}`)
}

/** A batch with changed bytes and a right CRC. */
function changed(batch: Buffer, change: (batch: Buffer) => void): Buffer {
  const copy = Buffer.from(batch)
  change(copy)
  recordBatch.updateCrc(copy, 0)
  return copy
}

describe('validateAndAssignOffsets', () => {
  it('assigns offsets and leader epoch in place and tells what was appended', () => {
    const batch = batchOf({ producerId: 5, producerEpoch: 2, baseSequence: 40, isTransactional: true })
    const info = validate(batch)
    assert.equal(info.records, batch)
    assert.equal(recordBatch.isValid(batch, 0), true)
    assert.equal(recordBatch.baseOffset(batch, 0), 1000)
    assert.equal(recordBatch.partitionLeaderEpoch(batch, 0), 7)
    assert.deepEqual(info, {
      records: batch,
      sizeInBytes: batch.length,
      firstOffset: 1000,
      lastOffset: 1002,
      maxTimestamp: NOW,
      shallowOffsetOfMaxTimestamp: 1002,
      logAppendTimeMs: -1,
      recordsCount: 3,
      sourceCompression: 'none',
      producerId: 5,
      producerEpoch: 2,
      baseSequence: 40,
      lastSequence: 42,
      isTransactional: true,
      isControl: false,
    })
  })

  it('corrects a max timestamp that lies', () => {
    const batch = changed(batchOf(), (bytes) => recordBatch.writeInt64(bytes, NOW + 50_000, 35))
    const info = validate(batch)
    assert.equal(info.maxTimestamp, NOW)
    assert.equal(recordBatch.maxTimestamp(info.records, 0), NOW)
    assert.equal(recordBatch.isValid(info.records, 0), true)
  })

  it('takes a batch of one record without timestamp', () => {
    const records = [{ timestamp: -1, key: null, value: null }]
    assert.equal(validate(batchOf({ records }), { messageTimestampBeforeMaxMs: 1000 }).maxTimestamp, -1)
  })

  it('cuts off what is no whole batch, and refuses a second one', () => {
    const batch = batchOf()
    for (const length of [1, 11, 16, 60, batch.length - 1]) {
      const tail = Buffer.from(batch.subarray(0, length))
      assert.equal(validate(Buffer.concat([batchOf(), tail])).sizeInBytes, batch.length)
    }
    refused('INVALID_RECORD', Buffer.concat([batch, batch]))
    refused('CORRUPT_MESSAGE', Buffer.concat([batch, Buffer.alloc(12)]))
  })

  it('refuses no batch, a cut one, and impossible lengths', () => {
    const batch = batchOf()
    for (const length of [0, 1, 11, 12, 17, 60, 61, batch.length - 1]) {
      refused('INVALID_RECORD', Buffer.from(batch.subarray(0, length)))
    }
    for (const length of [-1, 0, 13]) {
      const lying = batchOf()
      lying.writeInt32BE(length, 8)
      refused('CORRUPT_MESSAGE', lying)
    }
    // A length that a batch may have in the oldest format, but not in this one.
    for (const length of [14, 48]) {
      const lying = Buffer.from(batch.subarray(0, 12 + length))
      lying.writeInt32BE(length, 8)
      refused('CORRUPT_MESSAGE', lying)
    }
  })

  it('refuses old and unknown formats', () => {
    for (const [magic, errorName] of [
      [0, 'INVALID_RECORD'],
      [1, 'INVALID_RECORD'],
      [3, 'CORRUPT_MESSAGE'],
      [-1, 'CORRUPT_MESSAGE'],
    ] as const) {
      const batch = batchOf()
      batch.writeInt8(magic, 16)
      refused(errorName, batch)
    }
  })

  it('refuses a wrong CRC', () => {
    const batch = batchOf()
    batch[batch.length - 1] = (batch[batch.length - 1] ?? 0) ^ 1
    refused('CORRUPT_MESSAGE', batch)
  })

  it('refuses a base offset that is not 0 from clients only', () => {
    refused('INVALID_RECORD', batchOf({ baseOffset: 1 }))
    assert.equal(validate(batchOf({ baseOffset: 1 }), {}, { origin: 'coordinator' }).firstOffset, 1000)
  })

  it('refuses counts that contradict each other or the records', () => {
    for (const [count, delta] of [
      [0, 0],
      [0, -1],
      [3, 3],
      [3, 1],
      [2, 2],
      [-1, -2],
      [2, 1],
      [4, 3],
      [0x7fff_ffff, 0x7fff_fffe],
    ] as const) {
      const lying = (batch: Buffer): Buffer =>
        changed(batch, (bytes) => {
          bytes.writeInt32BE(count, 57)
          bytes.writeInt32BE(delta, 23)
        })
      for (const compression of compressionTypes) refused('INVALID_RECORD', lying(batchOf({ compression })))
    }
  })

  it('refuses what is larger than max.message.bytes, as sent or as it would be stored', () => {
    const batch = batchOf()
    assert.equal(validate(batchOf(), { maxMessageBytes: batch.length }).recordsCount, 3)
    refused('MESSAGE_TOO_LARGE', batch, { maxMessageBytes: batch.length - 1 })
    const compressed = batchOf({ compression: 'gzip' })
    const limit = { maxMessageBytes: compressed.length }
    refused('MESSAGE_TOO_LARGE', compressed, { ...limit, compression: { type: 'uncompressed' } })
  })

  it('refuses a compression bomb', () => {
    const records = [{ timestamp: NOW, key: null, value: Buffer.alloc(1 << 20) }]
    for (const compression of ['gzip', 'snappy', 'lz4', 'zstd'] as const) {
      refused('MESSAGE_TOO_LARGE', batchOf({ records, compression }), { maxDecompressedBytes: 1 << 20 })
    }
  })

  it('refuses control batches from clients, not from coordinators', () => {
    const marker = encodeEndTransactionMarker({
      marker: { type: 'COMMIT', coordinatorEpoch: 1 },
      producerId: 5,
      producerEpoch: 0,
      timestamp: NOW,
    })
    refused('INVALID_RECORD', Buffer.from(marker))
    const info = validate(marker, { compression: { type: 'zstd' } }, { origin: 'coordinator' })
    assert.equal(info.isControl, true)
    assert.equal(info.records, marker, 'markers stay uncompressed')
  })

  it('refuses producers without a sequence or an epoch', () => {
    refused('INVALID_RECORD', batchOf({ producerId: 5, producerEpoch: 0 }))
    refused('INVALID_RECORD', batchOf({ producerId: 5, baseSequence: 0 }))
    assert.equal(validate(batchOf({ producerId: 5, producerEpoch: 0 }), {}, { origin: 'coordinator' }).producerId, 5)
    const beyond = changed(batchOf({ producerId: 5, producerEpoch: 0, baseSequence: 0 }), (bytes) =>
      bytes.writeBigInt64BE(2n ** 60n + 1n, 43),
    )
    refused('INVALID_RECORD', beyond)
    const negative = changed(batchOf(), (bytes) => bytes.writeBigInt64BE(-(2n ** 63n), 43))
    assert.equal(validate(negative, { compression: { type: 'gzip' } }).producerId, -1)
  })

  it('needs Produce 7 for zstd', () => {
    const zstd = batchOf({ compression: 'zstd' })
    refused('UNSUPPORTED_COMPRESSION_TYPE', zstd, {}, { produceVersion: 6 })
    assert.equal(validate(zstd, {}, { produceVersion: 7 }).sourceCompression, 'zstd')
    refused(
      'UNSUPPORTED_COMPRESSION_TYPE',
      changed(batchOf(), (bytes) => bytes.writeInt16BE(5, 21)),
    )
  })

  it('refuses records without a key in a compacted topic, one by one', () => {
    for (const compression of compressionTypes) {
      const error = refused('INVALID_RECORD', batchOf({ compression }), { cleanupPolicy: { compact: true } })
      assert.deepEqual(
        error.recordErrors.map((each) => each.batchIndex),
        [1],
      )
      assert.match(error.recordErrors[0]?.message ?? '', /without key/)
    }
    const records = Array.from({ length: 5000 }, () => ({ timestamp: NOW, key: null, value: null }))
    const error = refused('INVALID_RECORD', batchOf({ records }), { cleanupPolicy: { compact: true } })
    assert.equal(error.recordErrors.length, 1000, 'the answer is bounded')
  })

  it('keeps timestamps within their bounds', () => {
    const bounds = { messageTimestampBeforeMaxMs: 1000, messageTimestampAfterMaxMs: 2000 }
    const at = (timestamp: number): Buffer =>
      batchOf({ records: [...threeRecords, { timestamp, key: 'k', value: 'v' }] })
    for (const timestamp of [NOW - 1000, NOW + 2000, -1]) {
      assert.equal(validate(at(timestamp), bounds).recordsCount, 4)
    }
    for (const timestamp of [NOW - 1001, NOW + 2001, 0, 2 ** 50]) {
      const error = refused('INVALID_TIMESTAMP', at(timestamp), bounds)
      assert.deepEqual(
        error.recordErrors.map((each) => each.batchIndex),
        [3],
      )
      assert.equal(validate(at(timestamp), { ...bounds, messageTimestampType: 'LogAppendTime' }).recordsCount, 4)
    }
  })

  it('refuses timestamps that are no times, whatever the bounds', () => {
    const base = (value: bigint): Buffer => changed(batchOf(), (bytes) => bytes.writeBigInt64BE(value, 27))
    const unbounded = { messageTimestampAfterMaxMs: 2 ** 63 }
    for (const value of [2n ** 62n, -(2n ** 62n), 2n ** 52n, 2n ** 63n - 1n]) {
      refused('INVALID_TIMESTAMP', base(value), unbounded)
      refused('INVALID_TIMESTAMP', base(value), { messageTimestampType: 'LogAppendTime' })
    }
    const header = changed(batchOf(), (bytes) => bytes.writeBigInt64BE(2n ** 62n, 35))
    assert.equal(validate(header, { compression: { type: 'gzip' } }).maxTimestamp, NOW)
  })

  it('stamps the append time', () => {
    for (const compression of compressionTypes) {
      for (const type of ['producer', 'zstd', 'uncompressed'] as const) {
        const over = { messageTimestampType: 'LogAppendTime', compression: { type } } as const
        const info = validate(batchOf({ compression }), over)
        assert.equal(info.logAppendTimeMs, NOW)
        assert.equal(info.maxTimestamp, NOW)
        assert.equal(recordBatch.isValid(info.records, 0), true)
        assert.ok(decodeRecords(info.records, 0).every((record) => record.timestamp === NOW))
      }
    }
  })

  it('does not let a producer set the append time', () => {
    const stamped = (): Buffer => batchOf({ logAppendTimeMs: NOW + 1_000_000 })
    const error = refused('INVALID_TIMESTAMP', stamped(), { messageTimestampType: 'LogAppendTime' })
    assert.equal(error.recordErrors.length, 3)
    const info = validate(stamped())
    assert.equal(info.maxTimestamp, NOW, "the records' own times count")
    assert.equal(recordBatch.isLogAppendTime(info.records, 0), false)
  })

  it('compresses anew when the topic says so, and only then', () => {
    const random = new SeededRandom(5)
    for (const source of compressionTypes) {
      for (const type of ['producer', 'uncompressed', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
        const records = randomRecords(random, 30)
        const producer = { producerId: 9, producerEpoch: 1, baseSequence: 0x7fff_fffe, isTransactional: true }
        const batch = batchOf({ records, compression: source, ...producer })
        const wanted = decodeRecords(batch, 0).map((record) => ({ ...record, offset: record.offset + 1000 }))
        const target = type === 'producer' ? source : type === 'uncompressed' ? 'none' : type
        const info = validate(Buffer.from(batch), { compression: { type }, messageTimestampAfterMaxMs: 2 ** 50 })
        if (source === target) assert.equal(info.records.length, batch.length)
        assert.equal(compressionTypes[recordBatch.compressionId(info.records, 0)], target)
        assert.equal(recordBatch.isValid(info.records, 0), true)
        assert.equal(recordBatch.batchEnd(info.records, 0), info.records.length)
        assert.deepEqual(decodeRecords(info.records, 0), wanted)
        assert.equal(info.lastSequence, recordBatch.incrementSequence(0x7fff_fffe, records.length - 1))
        assert.equal(recordBatch.isTransactional(info.records, 0), true)
      }
    }
  })

  it('repairs offset deltas that are not 0, 1, 2, ...', () => {
    for (const compression of compressionTypes) {
      const records = threeRecords.map((record, index) => ({ ...record, offset: 5 * index + 300 }))
      const batch = changed(batchOf({ records, compression, lastOffset: 310 }), (bytes) => bytes.writeInt32BE(2, 23))
      const info = validate(batch)
      assert.deepEqual(
        decodeRecords(info.records, 0).map((record) => record.offset),
        [1000, 1001, 1002],
      )
      assert.equal(recordBatch.isValid(info.records, 0), true)
    }
  })

  it('never fails otherwise, and lets nothing through that can not be read', () => {
    const random = new SeededRandom(6)
    const seen = new Map<string, number>()
    for (let round = 0; round < 1500; round++) {
      const batch = batchOf({ records: randomRecords(random, 4), compression: compressionTypes[round % 5] ?? 'none' })
      for (let flips = randomInt(random, 1, 3); flips > 0; flips--) {
        batch[randomInt(random, 17, batch.length - 1)] = randomInt(random, 0, 255)
      }
      if (random.next() < 0.95) recordBatch.updateCrc(batch, 0)
      const sent = random.next() < 0.1 ? batch.subarray(0, randomInt(random, 0, batch.length)) : batch
      let outcome = 'ok'
      try {
        const info = validate(sent, {
          compression: { type: random.next() < 0.5 ? 'producer' : 'lz4' },
          messageTimestampType: random.next() < 0.5 ? 'CreateTime' : 'LogAppendTime',
          maxDecompressedBytes: 1 << 20,
        })
        assert.equal(recordBatch.isValid(info.records, 0), true)
        const offsets = decodeRecords(info.records, 0).map((record) => record.offset)
        assert.deepEqual(
          offsets,
          Array.from({ length: info.recordsCount }, (_, index) => 1000 + index),
        )
      } catch (error) {
        if (!(error instanceof RecordsError)) throw error
        outcome = error.errorName
      }
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
    }
    for (const outcome of ['ok', 'CORRUPT_MESSAGE', 'INVALID_RECORD', 'INVALID_TIMESTAMP']) {
      assert.ok((seen.get(outcome) ?? 0) > 10, `${outcome} was among the outcomes`)
    }
  })
})

describe('validateFollowerRecords', () => {
  const follower = { topicPartition: 'topic-0', logEndOffset: 100, leaderEpoch: 5 }
  const at = (baseOffset: number, partitionLeaderEpoch = 5, options: Partial<EncodeBatchOptions> = {}): Buffer =>
    batchOf({ baseOffset, partitionLeaderEpoch, ...options })

  it('takes batches with gaps between and inside, and tells what they hold', () => {
    const compacted = at(110, 5, { records: [{ timestamp: NOW + 5, key: 'k', value: null }], lastOffset: 119 })
    const emptied = at(125, 5, { records: [], lastOffset: 126 })
    const records = Buffer.concat([at(100, 4), compacted, emptied])
    const info = validateFollowerRecords(records, follower)
    assert.deepEqual(info, {
      records,
      sizeInBytes: records.length,
      batchesCount: 3,
      recordsCount: 4,
      firstOffset: 100,
      lastOffset: 126,
      maxTimestamp: NOW + 5,
      shallowOffsetOfMaxTimestamp: 119,
      lastLeaderEpoch: 5,
    })
  })

  it('cuts off a partial batch', () => {
    const whole = at(100)
    const records = Buffer.concat([whole, at(103).subarray(0, 80)])
    const info = validateFollowerRecords(records, follower)
    assert.equal(info.sizeInBytes, whole.length)
    assert.ok(info.records.equals(whole))
    const none = validateFollowerRecords(whole.subarray(0, 90), follower)
    assert.equal(none.batchesCount, 0)
    assert.equal(none.records.length, 0)
    assert.equal(none.lastOffset, -1)
  })

  it('stops before a batch of a later leader epoch', () => {
    const records = Buffer.concat([at(100, 5), at(103, 6), at(106, 5)])
    assert.equal(validateFollowerRecords(records, follower).lastOffset, 102)
  })

  it('refuses offsets and leader epochs that go back', () => {
    for (const records of [at(99), at(0), Buffer.concat([at(100), at(102)]), Buffer.concat([at(100), at(100)])]) {
      assert.throws(() => validateFollowerRecords(records, follower), UnexpectedAppendOffsetError)
    }
    const epochs = Buffer.concat([at(100, 5), at(103, 4)])
    assert.throws(() => validateFollowerRecords(epochs, follower), isError('CORRUPT_MESSAGE'))
  })

  it('refuses damage', () => {
    const flipped = at(100)
    flipped[70] = (flipped[70] ?? 0) ^ 4
    assert.throws(() => validateFollowerRecords(flipped, follower), isError('CORRUPT_MESSAGE'))
    const old = at(100)
    old.writeInt8(1, 16)
    assert.throws(() => validateFollowerRecords(old, follower), isError('UNSUPPORTED_FOR_MESSAGE_FORMAT'))
    for (const [count, delta] of [
      [-1, 2],
      [4, 2],
      [3, -1],
    ] as const) {
      const lying = changed(at(100), (bytes) => {
        bytes.writeInt32BE(count, 57)
        bytes.writeInt32BE(delta, 23)
      })
      assert.throws(() => validateFollowerRecords(lying, follower), isError('CORRUPT_MESSAGE'))
    }
    const far = at(100)
    far.writeBigInt64BE(2n ** 62n, 0)
    assert.throws(() => validateFollowerRecords(far, follower), isError('CORRUPT_MESSAGE'))
    const negative = at(100)
    negative.writeBigInt64BE(-1n, 0)
    assert.throws(() => validateFollowerRecords(negative, follower), isError('CORRUPT_MESSAGE'))
  })
})

function isError(errorName: RecordsErrorName): (error: unknown) => boolean {
  return (error) => error instanceof RecordsError && error.errorName === errorName
}
