/** Topics made by their first use, and not made where `auto.create.topics.enable` is off. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import type { BrokerProcess } from '../lib/broker.ts'
import { createBroker } from '../lib/create-broker.ts'
import { runProgram, runProgramOk } from '../lib/process.ts'
import { ClientError, type InteropClient } from './client.ts'
import { assertSameRecords, expectedRecords, record } from './records.ts'
import { type ClientName, clientNames, clientTraits, startClients, topicName, world } from './world.ts'

describe('auto-creation of topics', () => {
  for (const name of clientNames) {
    it(`on: made by ${name}'s first record`, async () => {
      const topic = topicName('auto')
      const records = [record('first')]
      await world().clients[name].write({ topic, partition: 0, codec: 'none', records, autoCreate: true })
      const seen = await world().java.read({ topic, partition: 0, offset: 0, count: 1 })
      assertSameRecords(
        seen,
        expectedRecords(records, 0).map((one) => ({ ...one, timestamp: -1 })),
        clientTraits.java,
      )
    })
  }

  it('on: not made by looking without leave', async () => {
    const topic = topicName('looked-at')
    // librdkafka's consumers ask with allow_auto_topic_creation=false.
    await world()
      .clients['confluent-kafka-python'].read({ topic, partition: 0, offset: 0, count: 1, timeoutMs: 1500 })
      .catch((error: unknown) => assert.ok(error instanceof ClientError))
    assert.ok(!(await world().java.call<string[]>('listTopics', {})).includes(topic))
  })

  it('on: an invalid name is refused', async () => {
    await assert.rejects(
      world().clients.kafkajs.write({
        topic: 'not/valid',
        partition: 0,
        codec: 'none',
        records: [record('x')],
        autoCreate: true,
      }),
      (error) => error instanceof ClientError && error.kafka === 'INVALID_TOPIC_EXCEPTION',
    )
  })

  describe('off', () => {
    let broker: BrokerProcess
    let clients: Readonly<Record<ClientName, InteropClient>>

    before(async () => {
      const folder = join(world().scratchFolder, 'no-auto-creation')
      mkdirSync(folder)
      const config = { 'auto.create.topics.enable': 'false' }
      broker = await createBroker(world().broker.kind, world().tools, { folder, config })
      await broker.start()
      clients = startClients(world().tools, world().installed, broker.bootstrap, folder)
    })

    after(async () => {
      await Promise.all(Object.values(clients).map((client) => client.close()))
      await broker.stop()
    })

    for (const name of ['kafkajs', '@platformatic/kafka'] as const) {
      it(`refused to ${name}`, async () => {
        const topic = topicName('refused')
        await assert.rejects(
          clients[name].write({ topic, partition: 0, codec: 'none', records: [record('x')], autoCreate: true }),
          (error) => {
            assert.ok(error instanceof ClientError, String(error))
            // @platformatic/kafka says it in its own words.
            if (name === 'kafkajs') assert.equal(error.kafka, 'UNKNOWN_TOPIC_OR_PARTITION', error.message)
            else assert.match(error.message, /Unknown topic/)
            return true
          },
        )
        assert.deepEqual(await clients.java.call('listTopics', {}), [])
      })
    }

    it('refused to kcat', async () => {
      const args = ['-L', '-b', broker.bootstrap, '-t', 'refused-to-kcat', '-X', 'allow.auto.create.topics=true']
      const result = await runProgram(world().installed.kcat, args)
      assert.match(result.stdout + result.stderr, /Unknown topic or partition/)
      const all = await runProgramOk(world().installed.kcat, ['-L', '-b', broker.bootstrap])
      assert.match(all.stdout, / 0 topics:/)
    })
  })
})
