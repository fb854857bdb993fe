/** Apache Kafka's own command line tools against the broker. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { ToolName } from '../kafka/tools.ts'
import type { ProgramResult } from '../lib/process.ts'
import { allCodecs } from './client.ts'
import { pastMs, record } from './records.ts'
import { topicName, world } from './world.ts'

async function run(tool: ToolName, ...args: string[]): Promise<string> {
  return (await world().tools.runOk(tool, ['--bootstrap-server', world().broker.bootstrap, ...args])).stdout
}

/** A tool that must fail; some tools say so in words alone, with exit status 0. */
async function runRefused(tool: ToolName, ...args: string[]): Promise<string> {
  const result: ProgramResult = await world().tools.run(tool, ['--bootstrap-server', world().broker.bootstrap, ...args])
  return result.stdout + result.stderr
}

async function latestOffset(topic: string, partition = 0): Promise<number> {
  const found = await world().java.call<{ offset: number }>('listOffset', { topic, partition, at: 'latest' })
  return found.offset
}

describe("Kafka's tools", () => {
  describe('kafka-topics', () => {
    it('create, describe, alter, list, delete', async () => {
      const topic = topicName('tool')
      const created = await run(
        'kafka-topics',
        '--create',
        '--topic',
        topic,
        '--partitions',
        '3',
        '--config',
        'retention.ms=3600000',
      )
      assert.match(created, new RegExp(`Created topic ${topic}`))
      const described = await run('kafka-topics', '--describe', '--topic', topic)
      assert.match(described, /TopicId: [\w-]{22}/)
      assert.match(described, /PartitionCount: 3/)
      assert.match(described, /ReplicationFactor: 1/)
      assert.match(described, /Configs: .*retention\.ms=3600000/)
      assert.equal(described.match(/Leader: \d+/g)?.length, 3)
      await run('kafka-topics', '--alter', '--topic', topic, '--partitions', '6')
      assert.match(await run('kafka-topics', '--describe', '--topic', topic), /PartitionCount: 6/)
      assert.ok((await run('kafka-topics', '--list')).split('\n').includes(topic))
      assert.match(await runRefused('kafka-topics', '--create', '--topic', topic), /already exists/)
      assert.match(
        await runRefused('kafka-topics', '--alter', '--topic', topic, '--partitions', '2'),
        /InvalidPartitionsException|would not be an increase/,
      )
      await run('kafka-topics', '--create', '--if-not-exists', '--topic', topic)
      await run('kafka-topics', '--delete', '--topic', topic)
      assert.ok(!(await run('kafka-topics', '--list')).split('\n').includes(topic))
      assert.match(await runRefused('kafka-topics', '--delete', '--topic', topic), /does not exist/)
    })

    it('filters by state', async () => {
      assert.equal((await run('kafka-topics', '--describe', '--under-replicated-partitions')).trim(), '')
      assert.equal((await run('kafka-topics', '--describe', '--unavailable-partitions')).trim(), '')
    })

    it('replica assignment', async () => {
      const cluster = await world().java.call<{ nodes: { id: number }[] }>('describeCluster', {})
      const id = String(cluster.nodes[0]?.id)
      const topic = topicName('tool')
      await run('kafka-topics', '--create', '--topic', topic, '--replica-assignment', `${id},${id}`)
      const described = await run('kafka-topics', '--describe', '--topic', topic)
      assert.equal(described.match(new RegExp(`Leader: ${id}\\s+Replicas: ${id}\\s+Isr: ${id}`, 'g'))?.length, 2)
    })
  })

  describe('kafka-configs', () => {
    it('of topics', async () => {
      const topic = await world().createTopic(topicName('tool'))
      const entity = ['--entity-type', 'topics', '--entity-name', topic]
      await run(
        'kafka-configs',
        '--alter',
        ...entity,
        '--add-config',
        'retention.ms=7200000,cleanup.policy=[compact,delete]',
      )
      const described = await run('kafka-configs', '--describe', ...entity)
      assert.match(
        described,
        /retention\.ms=7200000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:retention\.ms=7200000/,
      )
      assert.match(described, /cleanup\.policy=compact,delete /)
      const all = await run('kafka-configs', '--describe', '--all', ...entity)
      assert.match(
        all,
        /segment\.bytes=1073741824 sensitive=false synonyms=\{DEFAULT_CONFIG:log\.segment\.bytes=1073741824\}/,
      )
      await run('kafka-configs', '--alter', ...entity, '--delete-config', 'cleanup.policy')
      assert.doesNotMatch(await run('kafka-configs', '--describe', ...entity), /cleanup\.policy/)
      assert.match(
        await runRefused('kafka-configs', '--alter', ...entity, '--add-config', 'retention.ms=soon'),
        /InvalidConfigurationException|ConfigException|Invalid value soon/,
      )
      assert.match(
        await runRefused('kafka-configs', '--alter', ...entity, '--add-config', 'no.such.key=1'),
        /Unknown topic config name|InvalidConfigurationException/,
      )
    })

    it('of brokers', async () => {
      const cluster = await world().java.call<{ nodes: { id: number }[] }>('describeCluster', {})
      const entity = ['--entity-type', 'brokers', '--entity-name', String(cluster.nodes[0]?.id)]
      const all = await run('kafka-configs', '--describe', '--all', ...entity)
      assert.match(all, /auto\.create\.topics\.enable=true sensitive=false/)
      assert.match(all, /log\.retention\.check\.interval\.ms=5000 sensitive=false synonyms=\{STATIC_BROKER_CONFIG:/)
    })
  })

  describe('kafka-get-offsets', () => {
    it('earliest, latest, max-timestamp, by timestamp', async () => {
      const topic = await world().createTopic(topicName('tool'), { partitions: 2 })
      const startMs = pastMs
      const times = [0, 5000, 1000, 2000]
      const records = times.map((at) => record('x', { timestamp: startMs + at }))
      await world().java.write({ topic, partition: 1, codec: 'none', records })
      const offsets = async (time: string): Promise<string[]> =>
        (await run('kafka-get-offsets', '--topic', topic, '--time', time)).trim().split('\n').sort()
      assert.deepEqual(await offsets('earliest'), [`${topic}:0:0`, `${topic}:1:0`])
      assert.deepEqual(await offsets('latest'), [`${topic}:0:0`, `${topic}:1:4`])
      assert.deepEqual(await offsets('-1'), [`${topic}:0:0`, `${topic}:1:4`])
      // A partition without an answer is left out, or shown without an offset.
      const byTime = (lines: string[]): string[] => lines.filter((line) => line.startsWith(`${topic}:1:`))
      assert.deepEqual(byTime(await offsets('max-timestamp')), [`${topic}:1:1`])
      assert.deepEqual(byTime(await offsets(String(startMs + 1))), [`${topic}:1:1`])
    })
  })

  it('kafka-broker-api-versions', async () => {
    const versions = await run('kafka-broker-api-versions')
    const required: [name: string, min: number, max: number][] = [
      ['Produce', 0, 11],
      ['Fetch', 4, 17],
      ['ListOffsets', 1, 10],
      ['Metadata', 0, 13],
      ['ApiVersions', 0, 4],
      ['CreateTopics', 2, 7],
      ['DeleteTopics', 1, 6],
      ['InitProducerId', 0, 5],
      ['OffsetForLeaderEpoch', 2, 4],
      ['DescribeConfigs', 1, 4],
      ['AlterConfigs', 0, 2],
      ['CreatePartitions', 0, 3],
      ['IncrementalAlterConfigs', 0, 1],
      ['DescribeCluster', 0, 1],
      ['DescribeTopicPartitions', 0, 0],
    ]
    for (const [name, min, max] of required) {
      const found = new RegExp(`${name}\\(\\d+\\): (\\d+)(?: to (\\d+))?`).exec(versions)
      assert.ok(found !== null, `${name} is advertised`)
      assert.ok(Number(found[1]) <= min && Number(found[2] ?? found[1]) >= max, found[0])
    }
  })

  describe('kafka-producer-perf-test', () => {
    for (const codec of allCodecs) {
      it(`with ${codec}, acks=all, idempotent`, async () => {
        const topic = await world().createTopic(topicName(`perf-${codec}`))
        const output = await run(
          'kafka-producer-perf-test',
          ...['--topic', topic, '--num-records', '20000', '--record-size', '200', '--throughput', '-1'],
          ...['--command-property', `compression.type=${codec}`, '--command-property', 'acks=all'],
        )
        assert.match(output, /20000 records sent/)
        assert.equal(await latestOffset(topic), 20_000)
      })
    }

    it('with a payload file and acks=1', async () => {
      const topic = await world().createTopic(topicName('perf'))
      const file = join(world().scratchFolder, 'payload.txt')
      writeFileSync(file, Array.from({ length: 100 }, (_, index) => `payload ${index}`).join('\n'))
      await run(
        'kafka-producer-perf-test',
        ...['--topic', topic, '--num-records', '5000', '--payload-file', file, '--throughput', '-1'],
        ...['--command-property', 'acks=1', '--command-property', 'enable.idempotence=false'],
      )
      assert.equal(await latestOffset(topic), 5000)
    })
  })

  for (const acks of ['-1', '1']) {
    it(`kafka-verifiable-producer, acks=${acks}`, async () => {
      const topic = await world().createTopic(topicName('verifiable'), { partitions: 2 })
      const output = await run('kafka-verifiable-producer', '--topic', topic, '--max-messages', '1000', '--acks', acks)
      const last = JSON.parse(output.trim().split('\n').at(-1) ?? '') as { name: string; sent: number; acked: number }
      assert.deepEqual([last.name, last.sent, last.acked], ['tool_data', 1000, 1000])
      assert.equal((await latestOffset(topic, 0)) + (await latestOffset(topic, 1)), 1000)
    })
  }

  it('partition-consumer reads what producer-perf-test wrote', async () => {
    const topic = await world().createTopic(topicName('perf'), {
      partitions: 3,
      config: { 'segment.bytes': '1048576' },
    })
    await run(
      'kafka-producer-perf-test',
      '--topic',
      topic,
      '--num-records',
      '30000',
      '--record-size',
      '300',
      '--throughput',
      '-1',
    )
    const { stdout } = await world().tools.runOk('partition-consumer', [world().broker.bootstrap, topic, '30000'])
    const summary = JSON.parse(stdout) as { records: number; bytes: number }
    assert.deepEqual([summary.records, summary.bytes], [30_000, 9_000_000])
  })

  it('kafka-console-producer and kafka-console-consumer', async () => {
    const topic = await world().createTopic(topicName('console'))
    const lines = Array.from({ length: 100 }, (_, index) => `k${index}\tvalue ${index} ✓`)
    await world().tools.runOk(
      'kafka-console-producer',
      ['--bootstrap-server', world().broker.bootstrap, '--topic', topic, '--reader-property', 'parse.key=true'],
      { input: `${lines.join('\n')}\n` },
    )
    const read = async (...args: string[]): Promise<string[]> => {
      const format = ['--formatter-property', 'print.key=true', '--formatter-property', 'print.offset=true']
      const output = await run('kafka-console-consumer', '--topic', topic, '--partition', '0', ...format, ...args)
      return output.trim().split('\n')
    }
    const all = await read('--offset', 'earliest', '--max-messages', '100', '--timeout-ms', '20000')
    assert.deepEqual(
      all,
      lines.map((line, index) => `Offset:${index}\t${line}`),
    )
    assert.deepEqual(await read('--offset', '98', '--max-messages', '2', '--timeout-ms', '20000'), all.slice(98))
  })
})
