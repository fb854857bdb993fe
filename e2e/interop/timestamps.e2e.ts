/** Record timestamps: who sets them, what is refused, and offsets looked up by them. */
import assert from 'node:assert/strict'

import { ClientError } from './client.ts'
import { assertSameRecords, expectedRecords, pastMs, record } from './records.ts'
import { clientNames, clientTraits, topicName, world } from './world.ts'

const startMs = pastMs

describe('timestamps', () => {
  for (const writer of clientNames) {
    it(`LogAppendTime replaces what ${writer} wrote`, async () => {
      const config = { 'message.timestamp.type': 'LogAppendTime' }
      const topic = await world().createTopic(topicName('append-time'), { config })
      const timestamp = writer === 'kcat' ? {} : { timestamp: startMs }
      const records = Array.from({ length: 5 }, (_, index) => record(`at append ${index}`, timestamp))
      const codec = writer === 'java' ? 'zstd' : 'none'
      const beforeMs = Date.now()
      await world().clients[writer].write({ topic, partition: 0, codec, records })
      const afterMs = Date.now()
      const [first] = await world().java.read({ topic, partition: 0, offset: 0, count: 1 })
      assert.ok(first !== undefined && first.timestamp >= beforeMs && first.timestamp <= afterMs, `${first?.timestamp}`)
      const byJava = await world().java.read({ topic, partition: 0, offset: 0, count: 5 })
      const expected = expectedRecords(records, 0).map((one, index) => ({
        ...one,
        timestamp: byJava[index]?.timestamp ?? 0,
      }))
      for (const reader of clientNames) {
        const seen = await world().clients[reader].read({ topic, partition: 0, offset: 0, count: 5 })
        assertSameRecords(seen, expected, clientTraits[reader])
        for (const one of seen) assert.equal(one.timestampType ?? 'LogAppendTime', 'LogAppendTime', reader)
      }
    })
  }

  it('offsets by timestamp, for every client that asks', async () => {
    const topic = await world().createTopic(topicName('by-time'))
    // Three batches; the largest timestamp is neither first nor last, and two records share it.
    const batches = [
      [0, 1000, 2000],
      [9000, 500, 9000],
      [3000, 4000, 5000],
    ]
    for (const [index, batch] of batches.entries()) {
      const records = batch.map((at, order) => record(`${index}.${order}`, { timestamp: startMs + at }))
      await world().java.write({ topic, partition: 0, codec: index === 1 ? 'lz4' : 'none', records })
    }
    const lookUps: [at: number | 'earliest' | 'latest' | 'maxTimestamp', offset: number][] = [
      [startMs - 1, 0],
      [startMs, 0],
      [startMs + 1, 1],
      [startMs + 2000, 2],
      [startMs + 2001, 3],
      [startMs + 9000, 3],
      ['earliest', 0],
      ['latest', 9],
      ['maxTimestamp', 3],
    ]
    for (const name of clientNames) {
      if (!clientTraits[name].admin) continue
      for (const [at, offset] of lookUps) {
        if (at === 'maxTimestamp' && !clientTraits[name].maxTimestamp) continue
        const found = await world().clients[name].call<{ offset: number }>('listOffset', {
          topic,
          partition: 0,
          at: String(at),
        })
        assert.equal(found.offset, offset, `${name} at ${at}`)
      }
    }
    const late = await world().java.call<{ offset: number; timestamp: number }>('listOffset', {
      topic,
      partition: 0,
      at: String(startMs + 9001),
    })
    assert.deepEqual([late.offset, late.timestamp], [-1, -1], 'later than everything')
    const max = await world().java.call<{ offset: number; timestamp: number }>('listOffset', {
      topic,
      partition: 0,
      at: 'maxTimestamp',
    })
    assert.equal(max.timestamp, startMs + 9000)
  })

  it('offsets by timestamp of an empty partition', async () => {
    const topic = await world().createTopic(topicName('empty'))
    const expected = { earliest: 0, latest: 0, maxTimestamp: -1, [String(startMs)]: -1 }
    for (const [at, offset] of Object.entries(expected)) {
      const found = await world().java.call<{ offset: number }>('listOffset', { topic, partition: 0, at })
      assert.equal(found.offset, offset, at)
    }
  })

  it('offsets by timestamp over many segments', async () => {
    const topic = await world().createTopic(topicName('segments'), { config: { 'segment.bytes': '1048576' } })
    const value = 'x'.repeat(50_000)
    for (let batch = 0; batch < 6; batch++) {
      const records = Array.from({ length: 10 }, (_, index) =>
        record(value, { timestamp: startMs + batch * 10 + index }),
      )
      await world().java.write({ topic, partition: 0, codec: 'none', records })
    }
    for (const offset of [0, 13, 29, 31, 59]) {
      const found = await world().java.call('listOffset', { topic, partition: 0, at: String(startMs + offset) })
      assert.deepEqual(found, { offset, timestamp: startMs + offset, leaderEpoch: 0 })
    }
  })

  it('a timestamp out of bounds is refused', async () => {
    const topic = await world().createTopic(topicName('bounds'), {
      config: { 'message.timestamp.before.max.ms': '60000', 'message.timestamp.after.max.ms': '60000' },
    })
    for (const writer of ['java', 'kafkajs', '@platformatic/kafka', 'confluent-kafka-python'] as const) {
      for (const timestamp of [Date.now() - 3_600_000, Date.now() + 3_600_000]) {
        await assert.rejects(
          world().clients[writer].write({ topic, partition: 0, codec: 'none', records: [record('x', { timestamp })] }),
          (error) => error instanceof ClientError && error.kafka === 'INVALID_TIMESTAMP',
          writer,
        )
      }
      const offsets = await world().clients[writer].write({
        topic,
        partition: 0,
        codec: 'none',
        records: [record('x')],
      })
      assert.equal(offsets.length, 1)
    }
  })
})
