/**
 * Compaction beside Apache Kafka: both get the same records and compact them, and must keep the same, record by record.
 * What they keep is also known beforehand: the newest record of each key, without tombstones whose time is over.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { SeededRandom } from '../../common/random.ts'
import type { BrokerKind, BrokerProcess } from '../lib/broker.ts'
import { createBroker } from '../lib/create-broker.ts'
import { dumpLogFiles } from '../lib/dump-log.ts'
import { makeRunFolder } from '../lib/paths.ts'
import { sleep, waitFor } from '../lib/wait.ts'
import { type Codec, type InteropClient, WorkerClient, type WriteRecord } from './client.ts'
import { base64 } from './records.ts'
import { clientTraits, world } from './world.ts'

interface Side {
  readonly broker: BrokerProcess
  readonly client: InteropClient
}

interface Kept {
  readonly offset: number
  readonly key: string | null
  readonly value: string | null
}

const KEYS = 60
/** More than this after the first record of a segment, the next begins another one. */
const SEGMENT_MS = 300

const topics = [
  { topic: 'drops-tombstones', deleteRetentionMs: 0, codec: 'none', idempotent: false },
  { topic: 'drops-tombstones-zstd', deleteRetentionMs: 0, codec: 'zstd', idempotent: true },
  { topic: 'keeps-tombstones', deleteRetentionMs: 3_600_000, codec: 'lz4', idempotent: true },
] as const

describe('compaction', function () {
  this.timeout(300_000)
  const sides = new Map<BrokerKind, Side>()
  let folder = ''

  before(async () => {
    folder = makeRunFolder('compaction')
    const { tools } = world()
    await Promise.all(
      (['ottla', 'kafka'] as const).map(async (kind) => {
        const config = { 'log.cleaner.backoff.ms': '200' }
        const broker = await createBroker(kind, tools, { folder: join(folder, kind), config })
        await broker.start()
        const client = new WorkerClient(clientTraits.java, 'java', tools.javaArgs('client-worker', [broker.bootstrap]))
        sides.set(kind, { broker, client })
      }),
    )
  })

  after(async () => {
    for (const { broker, client } of sides.values()) {
      await client.close()
      await broker.kill().catch(() => undefined)
    }
    rmSync(folder, { recursive: true, force: true })
  })

  for (const { topic, deleteRetentionMs, codec, idempotent } of topics) {
    it(`keeps what Kafka keeps: ${topic}`, async () => {
      for (const { client } of sides.values()) {
        await client.call('createTopic', {
          topic,
          partitions: 1,
          config: {
            'cleanup.policy': 'compact',
            'segment.ms': String(SEGMENT_MS),
            'min.cleanable.dirty.ratio': '0.001',
            'delete.retention.ms': String(deleteRetentionMs),
          },
        })
      }
      const random = new SeededRandom(topic.length)
      const written: WriteRecord[] = []
      // Tombstones come early: those whose time is over go when the records of a later phase are compacted.
      for (const share of [0.3, 0.2, 0]) {
        for (let round = 0; round < 3; round++) {
          await writeToAll(topic, codec, idempotent, randomRecords(random, share), written)
          await sleep(SEGMENT_MS * 2)
        }
        // One record more, so that all before it are in segments that grow no more.
        await writeToAll(topic, codec, idempotent, [keyed(`end-${written.length}`, 'end')], written)
        for (const { broker } of sides.values()) await compactedUpTo(broker, topic, written.length - 1)
        await sleep(SEGMENT_MS * 2)
      }
      const kafka = await keptBy('kafka', topic)
      const ottla = await keptBy('ottla', topic)
      assert.deepEqual(ottla, kafka)
      assert.deepEqual(ottla, newestOf(written, deleteRetentionMs > 0))
      console.log(`      of ${written.length} records, both keep the same ${ottla.length}`)
    })
  }

  it('leaves files that DumpLogSegments accepts, and that a restart reads the same', async () => {
    const { broker } = sideOf('ottla')
    const before = await Promise.all(topics.map(({ topic }) => keptBy('ottla', topic)))
    await broker.stop()
    const dumped = await dumpLogFiles(world().tools, broker.dataFolder)
    // The tool remarks on the gaps that compaction makes, in Kafka's files as well.
    const defects = dumped.complaints.filter((line) => !/Non-consecutive|is followed by/.test(line))
    assert.deepEqual(defects, [])
    assert.ok((dumped.counts.get('.log') ?? 0) >= topics.length)
    await broker.start()
    assert.deepEqual(await Promise.all(topics.map(({ topic }) => keptBy('ottla', topic))), before)
    await broker.kill()
    await broker.start()
    assert.deepEqual(await Promise.all(topics.map(({ topic }) => keptBy('ottla', topic))), before)
  })

  it('refuses records without a key, in any batch', async () => {
    const keyless = { key: null, value: base64('no key'), headers: [] }
    for (const codec of ['none', 'gzip'] as const) {
      for (const [kind, { client }] of sides) {
        const at = { topic: 'drops-tombstones', partition: 0, codec }
        await assert.rejects(client.write({ ...at, records: [keyless] }), { kafka: 'INVALID_RECORD' }, kind)
        // The client's word for those that are in one batch with it.
        const together = client.write({ ...at, records: [keyed('key', 'value'), keyless] })
        await assert.rejects(together, /part of a batch which had/, kind)
      }
    }
  })

  function sideOf(kind: BrokerKind): Side {
    const side = sides.get(kind)
    assert.ok(side !== undefined, `${kind} runs`)
    return side
  }

  /** The same batches to both, so that offsets mean the same. */
  async function writeToAll(
    topic: string,
    codec: Codec,
    idempotent: boolean,
    records: readonly WriteRecord[],
    written: WriteRecord[],
  ): Promise<void> {
    for (const { client } of sides.values()) {
      const offsets = await client.write({ topic, partition: 0, codec, idempotent, records })
      assert.deepEqual(
        offsets,
        records.map((_, i) => written.length + i),
      )
    }
    written.push(...records)
  }

  async function keptBy(kind: BrokerKind, topic: string): Promise<Kept[]> {
    const { client } = sideOf(kind)
    const { offset: end } = await client.call<{ offset: number }>('listOffset', { topic, partition: 0, at: 'latest' })
    const found: Kept[] = []
    for (let next = 0; next < end;) {
      const records = await client.read({ topic, partition: 0, offset: next, count: 1000, timeoutMs: 2000 })
      const last = records.at(-1)
      if (last === undefined) break
      found.push(...records.map(({ offset, key, value }) => ({ offset, key, value })))
      next = last.offset + 1
    }
    return found
  }
})

/** Waits until the broker says that it has compacted all before `offset`. */
async function compactedUpTo(broker: BrokerProcess, topic: string, offset: number): Promise<void> {
  const file = join(broker.dataFolder, 'cleaner-offset-checkpoint')
  await waitFor(`${broker.kind} to compact ${topic} up to ${offset}`, 60_000, () => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    const line = text.split('\n').find((each) => each.startsWith(`${topic} 0 `))
    return Number(line?.split(' ')[2] ?? -1) >= offset ? true : undefined
  })
}

function keyed(key: string, value: string | null): WriteRecord {
  return { key: base64(key), value: value === null ? null : base64(value), headers: [] }
}

function randomRecords(random: SeededRandom, tombstoneShare: number): WriteRecord[] {
  return Array.from({ length: 150 }, (_, i) => {
    const key = `key-${Math.floor(random.next() * KEYS)}`
    return keyed(key, random.next() < tombstoneShare ? null : `${i}-${'x'.repeat(Math.floor(random.next() * 50))}`)
  })
}

/** The newest record of each key. */
function newestOf(written: readonly WriteRecord[], keepsTombstones: boolean): Kept[] {
  const newest = new Map<WriteRecord['key'], Kept>()
  for (const [offset, { key, value }] of written.entries()) {
    if (typeof key === 'string' && typeof value !== 'object') newest.set(key, { offset, key, value })
    else if (typeof key === 'string') newest.set(key, { offset, key, value: null })
  }
  return [...newest.values()]
    .filter(({ value }) => keepsTombstones || value !== null)
    .sort((a, b) => a.offset - b.offset)
}
