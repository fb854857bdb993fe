/**
 * The files that the whole run has left: after a clean stop, and again after a kill and recovery, Kafka's own
 * DumpLogSegments must find nothing wrong in them, and clients must still read the same records.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { type DumpedFiles, dumpLogFiles } from '../lib/dump-log.ts'
import { waitFor } from '../lib/wait.ts'
import type { ReadRecord } from './client.ts'
import { record } from './records.ts'
import { topicName, world } from './world.ts'

interface Snapshot {
  readonly latest: number
  readonly records: readonly ReadRecord[]
}

/** Everything in the first partition of each small topic. */
async function readEverything(): Promise<Map<string, Snapshot>> {
  const contents = new Map<string, Snapshot>()
  for (const topic of await world().java.call<string[]>('listTopics', {})) {
    if (/^(large|perf|verifiable|kill|__)/.test(topic)) continue
    const at = { topic, partition: 0 }
    // DeleteRecords may have taken the first ones.
    const { offset: earliest } = await world().java.call<{ offset: number }>('listOffset', { ...at, at: 'earliest' })
    const { offset: latest } = await world().java.call<{ offset: number }>('listOffset', { ...at, at: 'latest' })
    const records = await world().java.read({ ...at, offset: earliest, count: latest - earliest })
    contents.set(topic, { latest, records })
  }
  return contents
}

function assertClean(dumped: DumpedFiles): void {
  const counts = [...dumped.counts].map(([ending, count]) => `${count} ${ending}`).join(', ')
  console.log(`      judged: ${counts}`)
  assert.deepEqual(dumped.complaints, [])
  for (const ending of ['.log', '.index', '.timeindex', '.snapshot']) {
    assert.ok((dumped.counts.get(ending) ?? 0) > 0, `there are ${ending} files`)
  }
}

function partitionFolders(): string[] {
  const entries = readdirSync(world().broker.dataFolder, { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isDirectory() && /^[\w.-]+-\d+$/.test(entry.name) && !entry.name.startsWith('__'))
    .map((entry) => join(entry.parentPath, entry.name))
}

describe('the files left behind', () => {
  let before = new Map<string, Snapshot>()

  it('after a clean stop: DumpLogSegments accepts all of them', async function () {
    this.timeout(600_000)
    before = await readEverything()
    await world().broker.stop()
    const dumped = await dumpLogFiles(world().tools, world().broker.dataFolder)
    assertClean(dumped)
    let checked = 0
    for (const [topic, { codec, isAll }] of world().expectedCodecs) {
      const found = [...(dumped.codecs.get(`${topic}-0`)?.keys() ?? [])]
      if (isAll) assert.deepEqual(found, [codec], `codecs of the batches of ${topic}`)
      else assert.ok(found.includes(codec), `${topic} has batches with ${found.join()} and none with ${codec}`)
      checked += 1
    }
    console.log(`      codec as asked on disk: ${checked} topics`)
  })

  it('partition folders hold what Kafka keeps beside the log', () => {
    const folders = partitionFolders()
    assert.ok(folders.length > 20, `${folders.length} partition folders`)
    for (const folder of folders) {
      const metadata = readFileSync(join(folder, 'partition.metadata'), 'utf8')
      assert.match(metadata, /^version: 0\ntopic_id: [\w-]{22}\n?$/, folder)
      const checkpoint = join(folder, 'leader-epoch-checkpoint')
      if (existsSync(checkpoint))
        assert.match(readFileSync(checkpoint, 'utf8'), /^0\n(\d+)\n(\d+ \d+\n?)*$/, checkpoint)
    }
    const root = world().broker.dataFolder
    for (const name of ['recovery-point-offset-checkpoint', 'log-start-offset-checkpoint']) {
      const text = readFileSync(join(root, name), 'utf8')
      assert.match(text, /^0\n\d+\n([\w.-]+ \d+ \d+\n)*$/, name)
    }
    assert.match(readFileSync(join(root, 'meta.properties'), 'utf8'), /cluster\.id=/)
  })

  it('after the start that follows: the same records', async () => {
    await world().broker.start()
    assert.deepEqual(await readEverything(), before)
  })

  it('after kill -9 under load and recovery: what was acknowledged is there, the files are accepted', async function () {
    this.timeout(600_000)
    const topic = await world().createTopic(topicName('kill'), {
      partitions: 2,
      config: { 'segment.bytes': '1048576' },
    })
    let acknowledged = 0
    const producer = world().tools.start(
      'kafka-verifiable-producer',
      ['--bootstrap-server', world().broker.bootstrap, '--topic', topic, '--max-messages', '-1', '--acks', '-1'],
      (line) => {
        if (line.includes('producer_send_success')) acknowledged += 1
      },
    )
    await waitFor('acknowledged records', 60_000, () => (acknowledged > 20_000 ? true : undefined))
    await world().broker.kill()
    producer.signal('SIGKILL')
    await producer.exit
    await world().broker.start({ leaders: { [topic]: 2 } })
    let found = 0
    for (const partition of [0, 1]) {
      const latest = await world().java.call<{ offset: number }>('listOffset', { topic, partition, at: 'latest' })
      found += latest.offset
    }
    assert.ok(found >= acknowledged, `${acknowledged} records were acknowledged, ${found} are there`)
    assert.deepEqual(await readEverything(), before)
    const more = await world().clients.kafkajs.write({ topic, partition: 0, codec: 'zstd', records: [record('after')] })
    assert.equal(more.length, 1)
    await world().broker.stop()
    assertClean(await dumpLogFiles(world().tools, world().broker.dataFolder))
  })
})
