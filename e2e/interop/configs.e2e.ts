/** Topic and broker configuration, described and altered by each client that can. */
import assert from 'node:assert/strict'

import { waitFor } from '../lib/wait.ts'
import { ClientError, type DescribedConfig } from './client.ts'
import { type ClientName, clientNames, clientTraits, topicName, world } from './world.ts'

const admins = clientNames.filter((name) => clientTraits[name].configs)

type Configs = Readonly<Record<string, DescribedConfig>>

function describeConfig(name: ClientName, topic: string): Promise<Configs> {
  return world().clients[name].call<Configs>('describeConfig', { topic })
}

async function everyoneSees(topic: string, key: string, value: string, source: string): Promise<void> {
  for (const name of admins) {
    await waitFor(`${name} to see ${key}=${value} (${source})`, 10_000, async () => {
      const found = (await describeConfig(name, topic))[key]
      return found?.value === value && found.source === source ? true : undefined
    })
  }
}

describe('configs', () => {
  for (const name of admins) {
    it(`of a topic, set and cleared by ${name}`, async () => {
      const topic = await world().createTopic(topicName('config'))
      await everyoneSees(topic, 'retention.ms', '604800000', 'DEFAULT_CONFIG')
      await world().clients[name].call('alterConfig', { topic, key: 'retention.ms', value: '3600000' })
      await everyoneSees(topic, 'retention.ms', '3600000', 'DYNAMIC_TOPIC_CONFIG')
      await world().clients[name].call('alterConfig', { topic, key: 'retention.ms', value: null })
      await everyoneSees(topic, 'retention.ms', '604800000', 'DEFAULT_CONFIG')
    })

    it(`wrong ones are refused to ${name}`, async () => {
      const topic = await world().createTopic(topicName('config'), { config: { 'retention.ms': '1234567' } })
      const wrong: [key: string, value: string][] = [
        ['retention.ms', 'soon'],
        ['retention.ms', '-2'],
        ['no.such.key', '1'],
        ['max.message.bytes', '-1'],
        ['cleanup.policy', 'keep'],
        ['compression.type', 'rar'],
        ['message.timestamp.type', 'NoTime'],
        ['min.insync.replicas', '0'],
        ['unclean.leader.election.enable', 'maybe'],
      ]
      for (const [key, value] of wrong) {
        await assert.rejects(
          world().clients[name].call('alterConfig', { topic, key, value }),
          (error) => {
            assert.ok(error instanceof ClientError, String(error))
            assert.equal(error.kafka, 'INVALID_CONFIG', error.message)
            return true
          },
          `${key}=${value}`,
        )
      }
      assert.equal((await describeConfig('java', topic))['retention.ms']?.value, '1234567')
    })

    it(`of an unknown topic are refused to ${name}`, async () => {
      await assert.rejects(
        describeConfig(name, topicName('unknown')),
        (error) => error instanceof ClientError && error.kafka === 'UNKNOWN_TOPIC_OR_PARTITION',
      )
    })
  }

  it('given at creation', async () => {
    const config = { 'retention.bytes': '123456789', 'cleanup.policy': 'compact,delete', 'min.insync.replicas': '1' }
    const topic = await world().createTopic(topicName('config'), { config })
    for (const [key, value] of Object.entries(config)) await everyoneSees(topic, key, value, 'DYNAMIC_TOPIC_CONFIG')
  })

  it('of a topic: keys, types, documentation and synonyms', async () => {
    const topic = await world().createTopic(topicName('config'), { config: { 'flush.messages': '7' } })
    const configs = await describeConfig('java', topic)
    const types: Readonly<Record<string, string>> = {
      'cleanup.policy': 'LIST',
      'compression.type': 'STRING',
      'delete.retention.ms': 'LONG',
      'file.delete.delay.ms': 'LONG',
      'flush.messages': 'LONG',
      'flush.ms': 'LONG',
      'index.interval.bytes': 'INT',
      'max.compaction.lag.ms': 'LONG',
      'max.message.bytes': 'INT',
      'message.timestamp.after.max.ms': 'LONG',
      'message.timestamp.before.max.ms': 'LONG',
      'message.timestamp.type': 'STRING',
      'min.cleanable.dirty.ratio': 'DOUBLE',
      'min.compaction.lag.ms': 'LONG',
      'min.insync.replicas': 'INT',
      'retention.bytes': 'LONG',
      'retention.ms': 'LONG',
      'segment.bytes': 'INT',
      'segment.index.bytes': 'INT',
      'segment.jitter.ms': 'LONG',
      'segment.ms': 'LONG',
      'unclean.leader.election.enable': 'BOOLEAN',
    }
    for (const [key, type] of Object.entries(types)) {
      const found = configs[key] as (DescribedConfig & { type?: string }) | undefined
      assert.ok(found !== undefined, `${key} is described`)
      assert.equal(found.type, type, key)
      assert.ok(found.documented === true, `${key} has documentation`)
    }
    const synonyms = configs['flush.messages']?.synonyms ?? []
    assert.ok(synonyms.includes('DYNAMIC_TOPIC_CONFIG:flush.messages=7'), synonyms.join())
    assert.ok(
      synonyms.some((one) => one.startsWith('DEFAULT_CONFIG:log.flush.interval.messages=')),
      synonyms.join(),
    )
  })

  it('of a broker', async () => {
    const cluster = await world().java.call<{ nodes: { id: number }[] }>('describeCluster', {})
    const id = String(cluster.nodes[0]?.id)
    for (const name of admins) {
      const configs = await world().clients[name].call<Configs>('describeConfig', { topic: id, broker: true })
      assert.equal(configs['auto.create.topics.enable']?.value, 'true', name)
      assert.equal(configs['log.retention.check.interval.ms']?.value, '5000', name)
      assert.equal(configs['log.retention.check.interval.ms'].source, 'STATIC_BROKER_CONFIG', name)
      assert.equal(configs['num.partitions']?.source, 'DEFAULT_CONFIG', name)
      assert.equal(configs['auto.create.topics.enable'].readOnly, true, name)
      assert.ok(configs['log.segment.bytes'] !== undefined, name)
    }
  })
})
