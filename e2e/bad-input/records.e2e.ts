/** Produce requests whose records lie: each gets Kafka's error, and the log takes nothing of them. */
import assert from 'node:assert/strict'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { ErrorCode } from '../../broker/protocol/error-codes.ts'
import { produceRequest, produceResponse } from '../../broker/protocol/messages/00-produce.ts'
import { listOffsetsRequest, listOffsetsResponse } from '../../broker/protocol/messages/02-list-offsets.ts'
import { encodeBatch } from '../../broker/protocol/records/encode-batch.ts'
import * as recordBatch from '../../broker/protocol/records/record-batch.ts'
import { SeededRandom, randomInt } from '../../common/random.ts'
import { frameOf, type RawClient } from './raw-client.ts'
import { TOPIC, world } from './world.ts'

const OVERHEAD = recordBatch.RECORD_BATCH_OVERHEAD

function batch(): Buffer {
  const timestamp = Date.now()
  return encodeBatch({ records: ['a', 'b', 'c'].map((value) => ({ key: 'k', value, timestamp })) })
}

/** Changes a good batch, and makes its CRC right again. */
function forged(change: (bytes: Buffer) => void): Buffer {
  const bytes = batch()
  change(bytes)
  return withCrc(bytes)
}

function withCrc(bytes: Buffer): Buffer {
  bytes.writeUInt32BE(recordBatch.computeCrc(bytes, 0), 17)
  return bytes
}

/** A batch whose compressed records are these bytes. */
function compressedBatch(codec: number, section: Buffer, count = 3): Buffer {
  const bytes = Buffer.concat([batch().subarray(0, OVERHEAD), section])
  bytes.writeInt32BE(bytes.length - 12, 8)
  bytes.writeInt16BE(codec, 21)
  bytes.writeInt32BE(count - 1, 23)
  bytes.writeInt32BE(count, 57)
  return withCrc(bytes)
}

/** Magic 0 or 1: one message of the old format, with a right CRC of its own kind left out. */
function legacyMessage(magic: number): Buffer {
  const body = Buffer.alloc(magic === 0 ? 26 : 34)
  body.writeInt32BE(body.length - 12, 8)
  body[16] = magic
  return Buffer.concat([body, Buffer.alloc(64)])
}

async function produce(client: RawClient, records: Buffer | null, partition = 0, acks = -1): Promise<number> {
  const { responses } = await client.call([produceRequest, produceResponse], 9, {
    acks,
    timeoutMs: 5000,
    topicData: [{ name: TOPIC, partitionData: [{ index: partition, records }] }],
  })
  return responses[0]?.partitionResponses[0]?.errorCode ?? -2
}

async function endOffset(client: RawClient): Promise<number> {
  const { topics } = await client.call([listOffsetsRequest, listOffsetsResponse], 7, {
    replicaId: -1,
    topics: [{ name: TOPIC, partitions: [{ partitionIndex: 0, timestamp: -1 }] }],
  })
  return topics[0]?.partitions[0]?.offset ?? -1
}

const { CORRUPT_MESSAGE, INVALID_RECORD, UNSUPPORTED_COMPRESSION_TYPE, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP } =
  ErrorCode

describe('records', () => {
  for (const [name, records, ...errorCodes] of [
    ['no records', null, INVALID_RECORD],
    ['empty records', Buffer.alloc(0), INVALID_RECORD],
    ['rubbish', Buffer.alloc(100, 0xaa), CORRUPT_MESSAGE, INVALID_RECORD],
    ['zeros', Buffer.alloc(100), CORRUPT_MESSAGE, INVALID_RECORD],
    ['a wrong CRC', withFlippedBit(batch(), 70), CORRUPT_MESSAGE],
    ['magic 0', legacyMessage(0), INVALID_RECORD],
    ['magic 1', legacyMessage(1), INVALID_RECORD],
    ['magic 3', forged((bytes) => bytes.writeInt8(3, 16)), INVALID_RECORD, CORRUPT_MESSAGE],
    ['too many records stated', forged((bytes) => bytes.writeInt32BE(4, 57)), INVALID_RECORD],
    ['too few records stated', forged((bytes) => bytes.writeInt32BE(2, 57)), INVALID_RECORD],
    [
      'a huge record count that fits its delta',
      forged((bytes) => {
        bytes.writeInt32BE(0x7fffffff, 57)
        bytes.writeInt32BE(0x7ffffffe, 23)
      }),
      INVALID_RECORD,
    ],
    ['a negative record count', forged((bytes) => bytes.writeInt32BE(-1, 57)), INVALID_RECORD],
    ['a batch length too large', forged((bytes) => bytes.writeInt32BE(0x7fffffff, 8)), INVALID_RECORD, CORRUPT_MESSAGE],
    ['a batch length too small', forged((bytes) => bytes.writeInt32BE(1, 8)), INVALID_RECORD, CORRUPT_MESSAGE],
    ['a negative batch length', forged((bytes) => bytes.writeInt32BE(-100, 8)), INVALID_RECORD, CORRUPT_MESSAGE],
    ['a record longer than its batch', forged((bytes) => bytes.writeUInt8(0x7e, OVERHEAD)), INVALID_RECORD],
    ['a negative record length', forged((bytes) => bytes.writeUInt8(0x01, OVERHEAD)), INVALID_RECORD],
    ['a base offset', forged((bytes) => bytes.writeBigInt64BE(5n, 0)), INVALID_RECORD],
    ['a control batch', forged((bytes) => bytes.writeInt16BE(0x20, 21)), INVALID_RECORD],
    [
      'a timestamp out of this world',
      forged((bytes) => bytes.writeBigInt64BE(2n ** 62n, 27)),
      INVALID_TIMESTAMP,
      INVALID_RECORD,
    ],
    ['an unknown codec', compressedBatch(6, Buffer.alloc(10)), UNSUPPORTED_COMPRESSION_TYPE],
    ['two batches', Buffer.concat([batch(), batch()]), INVALID_RECORD],
    ['rubbish as gzip', compressedBatch(1, Buffer.alloc(100, 0xaa)), INVALID_RECORD, CORRUPT_MESSAGE],
    ['rubbish as snappy', compressedBatch(2, Buffer.alloc(100, 0xaa)), INVALID_RECORD, CORRUPT_MESSAGE],
    ['rubbish as lz4', compressedBatch(3, Buffer.alloc(100, 0xaa)), INVALID_RECORD, CORRUPT_MESSAGE],
    ['rubbish as zstd', compressedBatch(4, Buffer.alloc(100, 0xaa)), INVALID_RECORD, CORRUPT_MESSAGE],
    ['a gzip bomb', compressedBatch(1, gzipSync(Buffer.alloc(600_000_000))), MESSAGE_TOO_LARGE],
    ['a zstd bomb', compressedBatch(4, zstdCompressSync(Buffer.alloc(600_000_000))), MESSAGE_TOO_LARGE],
    ['a negative producer epoch', forged((bytes) => bytes.writeBigInt64BE(7n, 43)), INVALID_RECORD],
  ] as const) {
    it(`refuses ${name}`, async () => {
      const client = await world().connect()
      const before = await endOffset(client)
      const errorCode = await produce(client, records)
      assert.ok((errorCodes as readonly number[]).includes(errorCode), `error ${errorCode}`)
      assert.equal(await endOffset(client), before)
      assert.equal(await produce(client, batch()), 0, 'the connection is as good as before')
      await world().expectProblems()
    })
  }

  it('refuses partitions that are not there, and acks that are none', async () => {
    const client = await world().connect()
    for (const partition of [-1, 1, 0x7fffffff, -0x80000000]) {
      assert.equal(await produce(client, batch(), partition), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    }
    for (const acks of [2, -2, 32_767]) {
      assert.equal(await produce(client, batch(), 0, acks), ErrorCode.INVALID_REQUIRED_ACKS)
    }
    await world().expectProblems()
  })

  it('refuses requests that name a partition many times, before it looks at their bombs', async () => {
    const client = await world().connect()
    const records = compressedBatch(4, zstdCompressSync(Buffer.alloc(200_000_000)))
    const partitionData = Array.from({ length: 1000 }, () => ({ records }))
    const { responses } = await client.call([produceRequest, produceResponse], 9, {
      acks: -1,
      timeoutMs: 5000,
      topicData: [{ name: TOPIC, partitionData }],
    })
    const answers = responses[0]?.partitionResponses ?? []
    assert.equal(answers.length, 1000)
    assert.ok(answers.every(({ errorCode }) => errorCode === ErrorCode.INVALID_REQUEST))
    await world().expectProblems()
  })

  it('gives others their turn between pipelined bombs', async () => {
    const client = await world().connect()
    const records = compressedBatch(4, zstdCompressSync(Buffer.alloc(200_000_000)))
    const topicData = [{ name: TOPIC, partitionData: [{ records }] }]
    const frames = Array.from({ length: 20 }, (_, id) => frameOf(produceRequest, 9, { acks: -1, topicData }, id))
    await client.send(Buffer.concat(frames))
    for (let id = 0; id < frames.length; id++) assert.equal((await client.nextFrame())?.readInt32BE(0), id)
    await world().expectProblems()
  })

  it('closes the connection of a producer with acks=0 whose records are bad', async () => {
    const client = await world().connect()
    await client.send(
      frameOf(produceRequest, 9, {
        acks: 0,
        topicData: [{ name: TOPIC, partitionData: [{ records: withFlippedBit(batch(), 70) }] }],
      }),
    )
    await client.ended()
    await world().expectProblems(/acks=0 produce to target failed with error 2/)
  })

  it('refuses or takes whole any mutation of a batch', async () => {
    const client = await world().connect()
    const random = new SeededRandom(7)
    for (let i = 0; i < 1500; i++) {
      const records = forged((bytes) => {
        for (let n = randomInt(random, 1, 3); n > 0; n--)
          bytes[randomInt(random, 8, bytes.length - 1)] = randomInt(random, 0, 255)
      })
      const before = await endOffset(client)
      const errorCode = await produce(client, records)
      const added = (await endOffset(client)) - before
      assert.ok(errorCode === 0 ? added > 0 : added === 0, `error ${errorCode}, ${added} records more`)
      assert.notEqual(errorCode, ErrorCode.UNKNOWN_SERVER_ERROR, records.toString('hex'))
    }
    await world().expectProblems()
  })
})

function withFlippedBit(bytes: Buffer, position: number): Buffer {
  bytes[position] = (bytes[position] ?? 0) ^ 1
  return bytes
}
