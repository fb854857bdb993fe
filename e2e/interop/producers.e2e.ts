/** Acknowledgements and idempotent producers. */
import assert from 'node:assert/strict'

import { assertSameRecords, expectedRecords, record } from './records.ts'
import { clientNames, clientTraits, topicName, world } from './world.ts'

describe('producers', () => {
  for (const name of clientNames) {
    it(`${name}, idempotent: every record once and in order`, async () => {
      const topic = await world().createTopic(topicName('idempotent'))
      const count = name === 'kcat' ? 5 : 1000
      const value = 'v'.repeat(500)
      const records = Array.from({ length: count }, (_, index) => record(`${index} ${value}`))
      const offsets = await world().clients[name].write({
        topic,
        partition: 0,
        codec: 'none',
        records,
        idempotent: true,
      })
      assert.deepEqual(
        offsets,
        records.map((_, index) => index),
      )
      const seen = await world().java.read({ topic, partition: 0, offset: 0, count: count + 1, timeoutMs: 1500 })
      assertSameRecords(
        seen,
        expectedRecords(records, 0).map((one) => ({ ...one, timestamp: -1 })),
        clientTraits.java,
      )
    })

    for (const acks of ['1', '0'] as const) {
      it(`${name}, acks=${acks}`, async () => {
        const topic = await world().createTopic(topicName('acks'))
        const records = ['a', 'b', 'c'].map((text) => record(text))
        // With acks=0 nobody tells offsets; what counts is what is then there. kafkajs and platformatic give no result.
        await world()
          .clients[name].write({ topic, partition: 0, codec: 'none', records, acks })
          .catch((error: unknown) => {
            if (acks !== '0' || (name !== 'kafkajs' && name !== '@platformatic/kafka')) throw error
          })
        const seen = await world().java.read({ topic, partition: 0, offset: 0, count: 3 })
        assertSameRecords(
          seen,
          expectedRecords(records, 0).map((one) => ({ ...one, timestamp: -1 })),
          clientTraits.java,
        )
      })
    }
  }

  it('several idempotent producers on one partition', async () => {
    const topic = await world().createTopic(topicName('shared'))
    const writers = ['java', 'kafkajs', '@confluentinc/kafka-javascript', 'confluent-kafka-python'] as const
    await Promise.all(
      writers.map((name) => {
        const records = Array.from({ length: 300 }, (_, index) =>
          record(`${index}`, { key: Buffer.from(name).toString('base64') }),
        )
        return world().clients[name].write({ topic, partition: 0, codec: 'none', records, idempotent: true })
      }),
    )
    const seen = await world().java.read({ topic, partition: 0, offset: 0, count: 1200 })
    assert.deepEqual(
      seen.map((one) => one.offset),
      Array.from({ length: 1200 }, (_, index) => index),
    )
    for (const name of writers) {
      const mine = seen.filter((one) => one.key === Buffer.from(name).toString('base64'))
      const values = mine.map((one) => Buffer.from(one.value ?? '', 'base64').toString())
      assert.deepEqual(
        values,
        Array.from({ length: 300 }, (_, index) => `${index}`),
        name,
      )
    }
  })
})
