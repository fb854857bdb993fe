/** Topics, administered by each client and seen by all others. */
import assert from 'node:assert/strict'

import { waitFor } from '../lib/wait.ts'
import { ClientError, type CreateTopicRequest, type DescribedTopic } from './client.ts'
import { assertSameRecords, expectedRecords, record } from './records.ts'
import { type ClientName, clientNames, clientTraits, topicName, world } from './world.ts'

const admins = clientNames.filter((name) => clientTraits[name].admin)

async function describeTopic(name: ClientName, topic: string): Promise<DescribedTopic> {
  return world().clients[name].call<DescribedTopic>('describeTopic', { topic })
}

async function listTopics(name: ClientName): Promise<string[]> {
  return world().clients[name].call<string[]>('listTopics', {})
}

/** Every client sees the topic with so many partitions, each with its leader, if not at once then soon. */
async function everyoneSees(topic: string, partitions: number): Promise<void> {
  for (const name of admins) {
    await waitFor(`${name} to see ${partitions} partitions of ${topic}`, 10_000, async () => {
      const described = await describeTopic(name, topic).catch(() => undefined)
      const indexes = described?.partitions.filter((one) => one.leader >= 0).map((one) => one.partition)
      return indexes?.length === partitions && indexes.every((one, index) => one === index) ? true : undefined
    })
    assert.ok((await listTopics(name)).includes(topic), `${name} lists ${topic}`)
  }
}

async function assertRefused(name: ClientName, operation: string, request: object, kafka: string): Promise<void> {
  await assert.rejects(
    world().clients[name].call(operation, request),
    (error) => {
      assert.ok(error instanceof ClientError, String(error))
      assert.equal(error.kafka, kafka, error.message)
      return true
    },
    `${name} ${operation} ${JSON.stringify(request)} must be refused with ${kafka}`,
  )
}

async function brokerId(): Promise<number> {
  const cluster = await world().java.call<{ nodes: { id: number }[] }>('describeCluster', {})
  const id = cluster.nodes[0]?.id
  assert.ok(id !== undefined)
  return id
}

describe('topics', () => {
  for (const name of admins) {
    it(`made, grown and deleted by ${name}`, async () => {
      const client = world().clients[name]
      const topic = topicName('admin')
      await client.call('createTopic', { topic, partitions: 3, replicationFactor: 1 })
      await everyoneSees(topic, 3)
      await assertRefused(name, 'createTopic', { topic, partitions: 3 }, 'TOPIC_ALREADY_EXISTS')
      await client.call('createPartitions', { topic, count: 5 })
      await everyoneSees(topic, 5)
      await assertRefused(name, 'createPartitions', { topic, count: 4 }, 'INVALID_PARTITIONS')
      await assertRefused(name, 'createPartitions', { topic, count: 5 }, 'INVALID_PARTITIONS')
      await client.call('deleteTopic', { topic })
      for (const other of admins) {
        await waitFor(`${other} to miss ${topic}`, 10_000, async () =>
          (await listTopics(other)).includes(topic) ? undefined : true,
        )
      }
      // kafkajs and @platformatic/kafka don't tell.
      if (name === 'kafkajs' || name === '@platformatic/kafka') return
      await assertRefused(name, 'deleteTopic', { topic }, 'UNKNOWN_TOPIC_OR_PARTITION')
    })

    it(`with the broker's defaults, by ${name}`, async () => {
      const topic = topicName('defaults')
      await world().clients[name].call('createTopic', { topic })
      await everyoneSees(topic, 1)
    })

    it(`wrong ones are refused to ${name}`, async () => {
      const wrong: [Omit<CreateTopicRequest, 'topic'> & { topic?: string }, kafka: string][] = [
        [{ topic: 'a/b', partitions: 1 }, 'INVALID_TOPIC_EXCEPTION'],
        [{ topic: '..', partitions: 1 }, 'INVALID_TOPIC_EXCEPTION'],
        [{ topic: 'x'.repeat(250), partitions: 1 }, 'INVALID_TOPIC_EXCEPTION'],
        [{ partitions: 1, replicationFactor: 3 }, 'INVALID_REPLICATION_FACTOR'],
        [{ partitions: 1, config: { 'no.such.key': '1' } }, 'INVALID_CONFIG'],
        [{ partitions: 1, config: { 'retention.ms': 'soon' } }, 'INVALID_CONFIG'],
        [{ partitions: 1, config: { 'segment.bytes': '1' } }, 'INVALID_CONFIG'],
        [{ partitions: 1, config: { 'cleanup.policy': 'keep' } }, 'INVALID_CONFIG'],
        [{ partitions: 1, config: { 'compression.type': 'rar' } }, 'INVALID_CONFIG'],
      ]
      for (const [request, kafka] of wrong) {
        const topic = request.topic ?? topicName('wrong')
        await assertRefused(name, 'createTopic', { ...request, topic }, kafka)
        assert.ok(!(await listTopics('java')).includes(topic))
      }
    })
  }

  it('no partitions at all are refused', async () => {
    for (const name of ['java', 'kafkajs', '@platformatic/kafka'] as const) {
      await assertRefused(name, 'createTopic', { topic: topicName('none'), partitions: 0 }, 'INVALID_PARTITIONS')
    }
  })

  it('names that differ only in . and _ collide', async () => {
    const topic = await world().createTopic(topicName('a.b'))
    await assertRefused(
      'java',
      'createTopic',
      { topic: topic.replaceAll('.', '_'), partitions: 1 },
      'INVALID_TOPIC_EXCEPTION',
    )
  })

  for (const name of admins.filter((one) => clientTraits[one].validateOnly)) {
    it(`validate-only creation makes nothing (${name})`, async () => {
      const topic = topicName('validated')
      await world().clients[name].call('createTopic', {
        topic,
        partitions: 2,
        replicationFactor: 1,
        validateOnly: true,
      })
      assert.ok(!(await listTopics('java')).includes(topic))
      const wrong = {
        topic,
        partitions: 2,
        replicationFactor: 1,
        validateOnly: true,
        config: { 'retention.ms': 'soon' },
      }
      await assertRefused(name, 'createTopic', wrong, 'INVALID_CONFIG')
      const existing = await world().createTopic(topicName('existing'))
      await assertRefused(
        name,
        'createTopic',
        { topic: existing, partitions: 1, replicationFactor: 1, validateOnly: true },
        'TOPIC_ALREADY_EXISTS',
      )
      await world().clients[name].call('createPartitions', { topic: existing, count: 4, validateOnly: true })
      assert.equal((await describeTopic('java', existing)).partitions.length, 1)
    })
  }

  for (const name of admins.filter((one) => clientTraits[one].manualAssignments)) {
    it(`manual assignments (${name})`, async () => {
      const id = await brokerId()
      const topic = topicName('assigned')
      await world().clients[name].call('createTopic', { topic, assignments: [[id], [id]] })
      await everyoneSees(topic, 2)
      for (const { leader, replicas } of (await describeTopic('java', topic)).partitions) {
        assert.deepEqual([leader, replicas], [id, [id]])
      }
      const wrong = { topic: topicName('misassigned'), assignments: [[id], [id + 41]] }
      await assertRefused(name, 'createTopic', wrong, 'INVALID_REPLICA_ASSIGNMENT')
    })
  }

  it('a topic deleted and made again is another one', async () => {
    const topic = await world().createTopic(topicName('again'), { partitions: 2 })
    const before = await describeTopic('java', topic)
    const old = [record('old 0'), record('old 1')]
    await world().java.write({ topic, partition: 0, codec: 'none', records: old })
    const seenByPlatformatic = await world().clients['@platformatic/kafka'].call<{ topicIdHex: string }>(
      'describeTopic',
      { topic },
    )
    assert.equal(seenByPlatformatic.topicIdHex, Buffer.from(before.topicId ?? '', 'base64url').toString('hex'))

    await world().java.call('deleteTopic', { topic })
    await waitFor('the topic to be gone', 10_000, async () =>
      (await listTopics('java')).includes(topic) ? undefined : true,
    )
    await waitFor('the topic to be made again', 10_000, async () =>
      world()
        .java.call('createTopic', { topic, partitions: 1 })
        .catch((error: unknown) => {
          if (error instanceof ClientError && error.kafka === 'TOPIC_ALREADY_EXISTS') return undefined
          throw error
        }),
    )
    await everyoneSees(topic, 1)
    const after = await describeTopic('java', topic)
    assert.notEqual(after.topicId, before.topicId)
    const records = [record('new')]
    for (const [index, name] of clientNames.entries()) {
      // Clients that knew the old topic must find the new one.
      const offsets = await world().clients[name].write({
        topic,
        partition: 0,
        codec: 'none',
        records: [record('new')],
      })
      assert.deepEqual(offsets, [index], name)
    }
    for (const name of clientNames) {
      const seen = await world().clients[name].read({ topic, partition: 0, offset: 0, count: clientNames.length })
      const expected = expectedRecords(
        clientNames.flatMap(() => records),
        0,
      ).map((one) => ({ ...one, timestamp: -1 }))
      assertSameRecords(seen, expected, clientTraits[name])
    }
  })

  it('the cluster is the same for all', async () => {
    const reports = new Map<string, unknown>()
    for (const name of admins) {
      if (name === '@confluentinc/kafka-javascript') continue
      reports.set(name, await world().clients[name].call('describeCluster', {}))
    }
    for (const [name, report] of reports) assert.deepEqual(report, reports.get('java'), name)
  })
})
