/** Records of 10 MB: every client writes one, every client reads it; and what is too large is refused. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ClientError } from './client.ts'
import { bytesToText } from './kcat.ts'
import { assertSameRecords, randomBytes } from './records.ts'
import { clientNames, clientTraits, topicName, world } from './world.ts'

const largeBytes = 10_000_000

describe('records of 10 MB', () => {
  for (const [index, writer] of clientNames.entries()) {
    it(`written by ${writer}`, async () => {
      const topic = await world().createTopic(topicName('large'), { config: { 'max.message.bytes': '12582912' } })
      const bytes = randomBytes(largeBytes, index)
      const file = join(world().scratchFolder, `large-${index}`)
      writeFileSync(file, bytes)
      const large = { key: null, value: { file }, headers: [] }
      const [offset] = await world().clients[writer].write({ topic, partition: 0, codec: 'none', records: [large] })
      assert.equal(offset, 0)
      const expected = { offset: 0, timestamp: -1, key: null, value: bytesToText(bytes), headers: [] }
      for (const reader of clientNames) {
        const seen = await world().clients[reader].read({ topic, partition: 0, offset: 0, count: 1 })
        assertSameRecords(seen, [expected], clientTraits[reader], `, of what ${writer} wrote`)
      }
    })
  }

  it('are refused by a topic of the default size', async () => {
    const topic = await world().createTopic(topicName('too-large'))
    const file = join(world().scratchFolder, 'too-large')
    writeFileSync(file, randomBytes(2_000_000, 99))
    const large = { key: null, value: { file }, headers: [] }
    for (const writer of ['java', 'kafkajs', '@platformatic/kafka', 'confluent-kafka-python'] as const) {
      await assert.rejects(
        world().clients[writer].write({ topic, partition: 0, codec: 'none', records: [large] }),
        (error) => error instanceof ClientError && error.kafka === 'MESSAGE_TOO_LARGE',
        writer,
      )
    }
    const { offset } = await world().java.call<{ offset: number }>('listOffset', { topic, partition: 0, at: 'latest' })
    assert.equal(offset, 0)
  })
})
