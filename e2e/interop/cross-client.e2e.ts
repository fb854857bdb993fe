/** Every client writes with every codec, and every client reads exactly that. */
import assert from 'node:assert/strict'

import { allCodecs } from './client.ts'
import { assertSameRecords, edgeRecords, expectedRecords } from './records.ts'
import { clientNames, clientTraits, topicName, world } from './world.ts'

describe('what one client writes, all others read', () => {
  for (const writer of clientNames) {
    describe(`written by ${writer}`, () => {
      for (const codec of allCodecs) {
        it(`with ${codec}`, async () => {
          const topic = await world().createTopic(topicName(`cross-${writer}-${codec}`))
          // librdkafka sends a batch that a codec would not shrink as it is.
          const isAll = codec === 'none' || ['java', 'kafkajs', '@platformatic/kafka'].includes(writer)
          world().expectedCodecs.set(topic, { codec, isAll })
          const records = edgeRecords(clientTraits[writer])
          const startedMs = Date.now()
          const offsets = await world().clients[writer].write({ topic, partition: 0, codec, records })
          const endedMs = Date.now()
          assert.deepEqual(
            offsets,
            records.map((_, index) => index),
            'acknowledged offsets',
          )
          let expected = expectedRecords(records, 0)
          for (const reader of clientNames) {
            const seen = await world().clients[reader].read({ topic, partition: 0, offset: 0, count: records.length })
            assertSameRecords(seen, expected, clientTraits[reader], `, of what ${writer} wrote with ${codec}`)
            for (const one of seen) assert.equal(one.timestampType ?? 'CreateTime', 'CreateTime')
            if (expected[0]?.timestamp !== -1) continue
            // The writer took the time from its own clock: all readers must see the same, and it must be the time.
            expected = expected.map((one, index) => ({ ...one, timestamp: seen[index]?.timestamp ?? -1 }))
            for (const one of expected) assert.ok(one.timestamp >= startedMs && one.timestamp <= endedMs, 'timestamp')
          }
        })
      }
    })
  }

  it('from the middle of a compressed batch', async () => {
    const topic = await world().createTopic(topicName('middle'))
    const records = Array.from({ length: 100 }, (_, index) => ({
      key: null,
      value: Buffer.from(`record ${index}`).toString('base64'),
      headers: [],
    }))
    await world().java.write({ topic, partition: 0, codec: 'lz4', records })
    for (const reader of clientNames) {
      const seen = await world().clients[reader].read({ topic, partition: 0, offset: 57, count: 10 })
      // A client may hand over the rest of the batch as well.
      assertSameRecords(seen.slice(0, 10), expectedRecords(records, 0).slice(57, 67), clientTraits[reader])
    }
  })
})
