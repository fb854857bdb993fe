/** Topics with a `compression.type` of their own: the broker compresses anew, and readers can't tell. */
import { type Codec } from './client.ts'
import { assertSameRecords, edgeRecords, expectedRecords } from './records.ts'
import { clientNames, clientTraits, topicName, world } from './world.ts'

const typesOnDisk: Readonly<Record<string, Codec>> = {
  gzip: 'gzip',
  snappy: 'snappy',
  lz4: 'lz4',
  zstd: 'zstd',
  uncompressed: 'none',
}

describe('compression.type of the topic', () => {
  for (const [type, codecOnDisk] of Object.entries(typesOnDisk)) {
    for (const writer of ['java', 'confluent-kafka-python', 'kafkajs'] as const) {
      for (const codec of (['none', 'lz4', 'gzip'] as const).slice(0, writer === 'java' ? 3 : 1)) {
        it(`${type}, written by ${writer} with ${codec}`, async () => {
          const topic = await world().createTopic(topicName(`recompressed-${type}`), {
            config: { 'compression.type': type },
          })
          world().expectedCodecs.set(topic, { codec: codecOnDisk, isAll: true })
          const records = edgeRecords(clientTraits[writer])
          await world().clients[writer].write({ topic, partition: 0, codec, records, idempotent: true })
          for (const reader of clientNames) {
            const seen = await world().clients[reader].read({ topic, partition: 0, offset: 0, count: records.length })
            assertSameRecords(seen, expectedRecords(records, 0), clientTraits[reader])
          }
        })
      }
    }
  }
})
