/** Administration with Apache Kafka's own command line tools: records, log dirs, replicas, configs of brokers, quotas. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'

import type { ToolName } from '../kafka/tools.ts'
import { sleep, waitFor } from '../lib/wait.ts'
import { record } from './records.ts'
import { topicName, world } from './world.ts'

/** What a tool says, wherever it says it; some fail in words alone, with exit status 0. */
async function said(tool: ToolName, ...args: string[]): Promise<string> {
  const result = await world().tools.run(tool, ['--bootstrap-server', world().broker.bootstrap, ...args])
  return result.stdout + result.stderr
}

async function brokerId(): Promise<string> {
  const cluster = await world().java.call<{ nodes: { id: number }[] }>('describeCluster', {})
  return String(cluster.nodes[0]?.id)
}

function jsonFile(name: string, content: object): string {
  const path = join(world().scratchFolder, name)
  writeFileSync(path, JSON.stringify(content))
  return path
}

async function topicOf(count: number, config: Record<string, string> = {}): Promise<string> {
  const topic = await world().createTopic(topicName('administration'), { config })
  const records = Array.from({ length: count }, (_, i) => record(`value ${i}`))
  if (count > 0) await world().java.write({ topic, partition: 0, codec: 'none', records })
  return topic
}

describe('administration', () => {
  it('kafka-delete-records moves the first offset', async () => {
    const topic = await topicOf(10)
    const kept = await topicOf(0, { 'cleanup.policy': 'compact' })
    const ask = (name: string, offset: number): Promise<string> =>
      said(
        'kafka-delete-records',
        '--offset-json-file',
        jsonFile('delete.json', { version: 1, partitions: [{ topic: name, partition: 0, offset }] }),
      )
    assert.match(await ask(topic, 4), new RegExp(`partition: ${topic}-0\\tlow_watermark: 4`))
    const earliest = (): Promise<string> => said('kafka-get-offsets', '--topic', topic, '--time', 'earliest')
    assert.match(await earliest(), /:0:4\n/)
    assert.match(await ask(topic, 11), /OffsetOutOfRange/)
    assert.match(await ask(topic, -1), /low_watermark: 10/)
    assert.match(await earliest(), /:0:10\n/)
    assert.match(await ask(kept, 0), /PolicyViolation/)
  })

  it('kafka-log-dirs tells the sizes of partitions', async () => {
    const topic = await topicOf(10)
    const answer = await said('kafka-log-dirs', '--describe', '--topic-list', topic)
    const json = answer.split('\n').find((line) => line.startsWith('{')) ?? '{}'
    const { brokers } = JSON.parse(json) as {
      brokers: { logDirs: { error: string | null; partitions: { partition: string; size: number }[] }[] }[]
    }
    const [dir] = brokers[0]?.logDirs ?? []
    assert.equal(dir?.error, null)
    assert.deepEqual(
      dir.partitions.map(({ partition, size }) => [partition, size > 0]),
      [[`${topic}-0`, true]],
    )
  })

  it('kafka-leader-election and kafka-reassign-partitions find nothing to do', async () => {
    const topic = await topicOf(0)
    const elected = await said(
      'kafka-leader-election',
      '--election-type',
      'preferred',
      '--topic',
      topic,
      '--partition',
      '0',
    )
    assert.match(elected, new RegExp(`Valid replica already elected for partitions ${topic}-0`))
    assert.doesNotMatch(
      await said('kafka-leader-election', '--election-type', 'preferred', '--all-topic-partitions'),
      /rror/,
    )
    assert.match(await said('kafka-reassign-partitions', '--list'), /No partition reassignments found/)
    const partitions = [{ topic, partition: 0, replicas: [Number(await brokerId())] }]
    const plan = ['--reassignment-json-file', jsonFile('reassign.json', { version: 1, partitions })]
    assert.match(await said('kafka-reassign-partitions', ...plan, '--execute'), /Successfully started/)
    assert.match(await said('kafka-reassign-partitions', ...plan, '--verify'), new RegExp(`${topic}-0 is completed`))
  })

  it('kafka-configs changes brokers, one and all', async () => {
    const id = await brokerId()
    const brokers = (...args: string[]): Promise<string> => said('kafka-configs', '--entity-type', 'brokers', ...args)
    const one = ['--entity-name', id]
    const all = ['--entity-default']
    await brokers('--alter', ...all, '--add-config', 'log.segment.bytes=2000000')
    await brokers('--alter', ...one, '--add-config', 'log.segment.bytes=3000000')
    assert.match(await brokers('--describe', ...all), /log\.segment\.bytes=2000000/)
    assert.match(
      await brokers('--describe', ...one),
      /log\.segment\.bytes=3000000 sensitive=false synonyms=\{DYNAMIC_BROKER_CONFIG:log\.segment\.bytes=3000000, DYNAMIC_DEFAULT_BROKER_CONFIG:log\.segment\.bytes=2000000, DEFAULT_CONFIG:/,
    )
    const topic = await topicOf(0)
    const ofTopic = await said(
      'kafka-configs',
      '--describe',
      '--all',
      '--entity-type',
      'topics',
      '--entity-name',
      topic,
    )
    assert.match(ofTopic, /segment\.bytes=3000000 sensitive=false synonyms=\{DYNAMIC_BROKER_CONFIG:/)
    await brokers('--alter', ...one, '--delete-config', 'log.segment.bytes')
    await brokers('--alter', ...all, '--delete-config', 'log.segment.bytes')
    assert.doesNotMatch(await brokers('--describe'), /log\.segment\.bytes/)
    assert.match(
      await brokers('--alter', ...one, '--add-config', 'broker.rack=x'),
      /InvalidRequestException: Cannot update these configs dynamically: \[broker\.rack\]/,
    )
    assert.match(
      await brokers('--alter', ...one, '--add-config', 'message.max.bytes=many'),
      /Invalid value many for configuration message\.max\.bytes: Not a number of type INT/,
    )
  })

  it('kafka-configs sets quotas of users, clients and addresses, and they are kept', async () => {
    const client = topicName('client')
    const quotas = (...args: string[]): Promise<string> => said('kafka-configs', ...args)
    const pair = ['--entity-type', 'users', '--entity-name', 'u', '--entity-type', 'clients', '--entity-name', client]
    await quotas('--alter', ...pair, '--add-config', 'producer_byte_rate=1000,request_percentage=12.5')
    assert.match(
      await quotas('--describe', ...pair),
      new RegExp(`user-principal 'u', client-id '${client}' are .*producer_byte_rate=1000\\.0`),
    )
    assert.doesNotMatch(await quotas('--describe', '--entity-type', 'users'), /Error/)
    await quotas('--alter', ...pair, '--delete-config', 'producer_byte_rate,request_percentage')
    assert.doesNotMatch(await quotas('--describe', '--entity-type', 'users', '--entity-type', 'clients'), /client-id/)
    const address = ['--entity-type', 'ips', '--entity-name', '10.9.8.7']
    await quotas('--alter', ...address, '--add-config', 'connection_creation_rate=5')
    assert.match(await quotas('--describe', ...address), /connection_creation_rate=5\.0/)
    await quotas('--alter', ...address, '--delete-config', 'connection_creation_rate')
    assert.match(
      await quotas('--alter', ...pair, '--add-config', 'producer_byte_rate=-1'),
      /InvalidRequestException: Quota producer_byte_rate must be greater than 0/,
    )
  })

  it('a producer over its quota is held down to it', async () => {
    const topic = await topicOf(0)
    const clientId = topicName('client')
    const client = ['--entity-type', 'clients', '--entity-name', clientId]
    await said('kafka-configs', '--alter', ...client, '--add-config', 'producer_byte_rate=100000')
    const startMs = performance.now()
    const { stdout } = await world().tools.runOk('kafka-producer-perf-test', [
      ...['--topic', topic, '--num-records', '2000', '--record-size', '1000', '--throughput', '-1'],
      ...['--producer-props', `bootstrap.servers=${world().broker.bootstrap}`, `client.id=${clientId}`],
    ])
    await said('kafka-configs', '--alter', ...client, '--delete-config', 'producer_byte_rate')
    assert.match(stdout, /2000 records sent/)
    // 2 MB at 100 kB/s, of which the first second's worth of windows is free.
    assert.ok(performance.now() - startMs > 7000, stdout)
  })

  it('an address over its quota of connections has to wait for more', async () => {
    const localAddress = '127.0.0.77'
    const address = ['--entity-type', 'ips', '--entity-name', localAddress]
    await said('kafka-configs', '--alter', ...address, '--add-config', 'connection_creation_rate=2')
    const { host, port } = world().broker
    let closedCount = 0
    const sockets = Array.from({ length: 40 }, () =>
      connect({ host, port, localAddress })
        .on('close', () => closedCount++)
        .on('error', () => undefined),
    )
    // What is free after a rest is taken at once; the others are closed after a while.
    await waitFor('connections to be closed', 10_000, () => Promise.resolve(closedCount > 0 ? true : undefined))
    await sleep(2000)
    const openCount = sockets.length - closedCount
    assert.ok(openCount >= 18 && openCount <= 26, `${openCount} connections are open`)
    for (const socket of sockets) socket.destroy()
    await said('kafka-configs', '--alter', ...address, '--delete-config', 'connection_creation_rate')
  })

  it('kafka-client-metrics lists nothing', async () => {
    assert.equal((await said('kafka-client-metrics', '--list')).trim(), '')
  })
})
