import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../common/clock.ts'
import { NodeDisk } from '../../common/disk-node.ts'
import { silentLogger } from '../../common/logger.ts'
import { SeededRandom } from '../../common/random.ts'
import type { Timers } from '../../common/timers.ts'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import { brokerObjectName, type BrokerStatus } from '../../crds/broker.ts'
import { BrokerConfig } from '../../crds/config/resolve.ts'
import { openLocalStore, type LocalStore } from '../../crds/local-store/local-store.ts'
import { entryPointer, partitionKey, type PartitionEntry } from '../../crds/partition-slice.ts'
import { LOCAL_NAMESPACE } from '../../crds/resource.ts'
import { StoreError, type Kind, type ResourceStore } from '../../crds/resource-store.ts'
import { until } from '../../crds/testing/store-contract.ts'
import { TOPIC_FINALIZER, topicObjectName, type Topic, type TopicSpec } from '../../crds/topic.ts'
import { startControllers, type Controllers } from './controller-manager.ts'

/** Real time, since these tests wait for conditions; back-offs are short. */
const timers: Timers = {
  schedule: (delayMs, fire) => {
    const timeout = setTimeout(fire, Math.min(delayMs, 20))
    return { cancel: () => clearTimeout(timeout) }
  },
}

const ref = (name: string): { namespace: string; name: string } => ({ namespace: LOCAL_NAMESPACE, name })

class World {
  readonly store: LocalStore
  readonly #controllers: Controllers[] = []
  #seed = 1

  constructor(store: LocalStore) {
    this.store = store
  }

  static async open(): Promise<World> {
    const clock = { wallMs: () => Date.UTC(2026, 0, 1), monotonicMs: () => 0 }
    const options = { disk: new MemoryDisk(), folder: '/m', clock, random: new SeededRandom(7), logger: silentLogger }
    return new World(await openLocalStore(options))
  }

  startControllers(store: ResourceStore = this.store, config = new BrokerConfig()): Controllers {
    const random = new SeededRandom(this.#seed++)
    const controllers = startControllers({ store, clock: systemClock, timers, logger: silentLogger, random, config })
    this.#controllers.push(controllers)
    return controllers
  }

  async close(): Promise<void> {
    await Promise.all(this.#controllers.map((controllers) => controllers.close()))
    await this.store.close()
  }

  /** As a broker that starts: reports an incarnation and waits for its acknowledgement; returns the broker epoch. */
  async startBroker(brokerId: number, status: BrokerStatus = {}): Promise<number> {
    const incarnation = await this.registerBroker(brokerId, status)
    return await this.acknowledgement(brokerId, incarnation)
  }

  async registerBroker(brokerId: number, status: BrokerStatus = {}): Promise<string> {
    const incarnation = `incarnation-${this.#seed++}`
    const name = brokerObjectName(brokerId)
    await this.store
      .create({ kind: 'Broker', metadata: ref(name), spec: { brokerId } })
      .catch((error: unknown) => assert.ok(error instanceof StoreError && error.reason === 'AlreadyExists'))
    const acknowledged = (await this.store.get('Broker', ref(name)))?.status?.acknowledged
    const value = { directoryId: `directory-${brokerId}`, ...status, incarnation, acknowledged }
    await this.store.patch('Broker', ref(name), [{ op: 'add', path: '/status', value }], { subresource: 'status' })
    return incarnation
  }

  async acknowledgement(brokerId: number, incarnation: string): Promise<number> {
    let epoch: number | undefined
    await untilAsync(async () => {
      const acknowledged = (await this.store.get('Broker', ref(brokerObjectName(brokerId))))?.status?.acknowledged
      epoch = acknowledged?.incarnation === incarnation ? acknowledged.brokerEpoch : undefined
      return epoch !== undefined
    })
    return epoch ?? -1
  }

  createTopic(name: string, spec: Partial<TopicSpec> = {}): Promise<Topic> {
    const objectName = topicObjectName(name)
    return this.store.create({
      kind: 'Topic',
      metadata: { ...ref(objectName), finalizers: [TOPIC_FINALIZER] },
      spec: { partitions: 1, replicas: 1, config: {}, ...(objectName === name ? {} : { topicName: name }), ...spec },
    })
  }

  async topic(name: string): Promise<Topic | undefined> {
    return await this.store.get('Topic', ref(topicObjectName(name)))
  }

  async ready(name: string): Promise<Topic> {
    return await this.condition(name, (topic) => readyReason(topic) === 'Placed')
  }

  async condition(name: string, holds: (topic: Topic) => boolean): Promise<Topic> {
    let found: Topic | undefined
    await untilAsync(async () => {
      found = await this.topic(name)
      return found !== undefined && found.status?.observedGeneration === found.metadata.generation && holds(found)
    })
    assert.ok(found)
    return found
  }

  /** All entries by key; fails on one that stands in two slices. */
  async entries(): Promise<Map<string, PartitionEntry>> {
    const entries = new Map<string, PartitionEntry>()
    for (const slice of await this.store.list('PartitionSlice')) {
      for (const [key, entry] of Object.entries(slice.spec.entries)) {
        assert.ok(!entries.has(key), `${key} stands in two slices`)
        entries.set(key, entry)
      }
    }
    return entries
  }

  async entry(key: string): Promise<PartitionEntry> {
    const entry = (await this.entries()).get(key)
    assert.ok(entry, key)
    return entry
  }
}

function readyReason(topic: Topic): string | undefined {
  return topic.status?.conditions?.find((condition) => condition.type === 'Ready')?.reason
}

async function untilAsync(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 5_000
  while (!(await condition())) {
    if (Date.now() > deadline) assert.fail(`still not so: ${condition.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

describe('controllers', () => {
  let world: World
  beforeEach(async () => {
    world = await World.open()
  })
  afterEach(async () => {
    await world.close()
  })

  it('give a topic its id, its entries and their leaders', async () => {
    world.startControllers()
    const epochs = [await world.startBroker(0), await world.startBroker(1)]
    await world.createTopic('Orders', { partitions: 4, config: { 'min.insync.replicas': '2' } })
    const topic = await world.ready('Orders')
    const { topicId, slices, summary } = topic.status ?? {}
    assert.match(topicId ?? '', /^[A-Za-z0-9_-]{22}$/)
    assert.deepEqual(summary, { partitions: 4, offline: 0, underReplicated: 0 })
    assert.deepEqual(slices, { 'broker-0-0': [0, 2], 'broker-1-0': [1, 3] })
    const entries = await world.entries()
    assert.equal(entries.size, 4)
    for (let partition = 0; partition < 4; partition++) {
      const broker = partition % 2
      assert.deepEqual(entries.get(partitionKey('Orders', partition)), {
        topicId,
        replicas: [broker],
        brokerEpochs: [epochs[broker]],
        leader: broker,
        leaderEpoch: 0,
        isr: [broker],
        elr: [],
        minIsr: 2,
        partitionEpoch: 0,
      })
    }
  })

  it('wait for a broker, and for enough of them', async () => {
    world.startControllers()
    await world.createTopic('one')
    await world.createTopic('two', { replicas: 2 })
    await world.condition('one', (topic) => readyReason(topic) === 'NoBrokers')
    await world.startBroker(0)
    await world.ready('one')
    const two = await world.condition('two', (topic) => readyReason(topic) === 'InvalidReplicationFactor')
    assert.match(two.status?.conditions?.[0]?.message ?? '', /replication factor 2 is larger than .* 1/)
    await world.startBroker(1)
    await world.ready('two')
    const entry = await world.entry('two-0')
    assert.deepEqual(
      [[...entry.replicas].sort(), [...entry.isr].sort()],
      [
        [0, 1],
        [0, 1],
      ],
    )
  })

  it('say why a topic can not be, and make it once that is mended', async () => {
    world.startControllers()
    await world.startBroker(0)
    await world.createTopic('config', { config: { 'retention.ms': 'x' } })
    await world.createTopic('assigned', { assignments: [[7]] })
    await world.store.create({
      kind: 'Topic',
      metadata: ref('alias'),
      spec: { topicName: 'config', partitions: 1, replicas: 1, config: {} },
    })
    const config = await world.condition('config', (topic) => readyReason(topic) === 'InvalidConfig')
    assert.match(config.status?.conditions?.[0]?.message ?? '', /Not a number of type LONG/)
    await world.condition('assigned', (topic) => readyReason(topic) === 'InvalidAssignment')
    await world.condition('alias', (topic) => readyReason(topic) === 'NameConflict')
    assert.equal((await world.entries()).size, 0)
    await world.store.patch('Topic', ref('config'), [
      { op: 'replace', path: '/spec/config', value: { 'retention.ms': '1' } },
    ])
    await world.ready('config')
    assert.deepEqual([...(await world.entries()).keys()], ['config-0'])
  })

  it('grow a topic, honouring assignments, and leave the old partitions alone', async () => {
    world.startControllers()
    await world.startBroker(0)
    await world.startBroker(1)
    await world.createTopic('grows', { partitions: 2 })
    const before = await world.ready('grows')
    const entriesBefore = await world.entries()
    await world.store.patch('Topic', ref('grows'), [
      { op: 'replace', path: '/spec/partitions', value: 4 },
      { op: 'add', path: '/spec/assignments', value: [[0], [1], [1], [1]] },
    ])
    const after = await world.ready('grows')
    assert.equal(after.status?.topicId, before.status?.topicId)
    const entries = await world.entries()
    assert.equal(entries.size, 4)
    for (const [key, entry] of entriesBefore) assert.deepEqual(entries.get(key), entry)
    assert.deepEqual([entries.get('grows-2')?.replicas, entries.get('grows-3')?.replicas], [[1], [1]])
  })

  it('delete a topic, and give another id to the next of the name', async () => {
    world.startControllers()
    await world.startBroker(0)
    await world.createTopic('kept', { partitions: 3 })
    await world.createTopic('again', { partitions: 3 })
    const first = await world.ready('again')
    await world.ready('kept')
    await world.store.delete('Topic', ref('again'))
    await untilAsync(async () => (await world.topic('again')) === undefined)
    assert.deepEqual([...(await world.entries()).keys()].sort(), ['kept-0', 'kept-1', 'kept-2'])
    await world.createTopic('again')
    const second = await world.ready('again')
    assert.notEqual(second.status?.topicId, first.status?.topicId)
    assert.equal((await world.entry('again-0')).topicId, second.status?.topicId)
  })

  it('delete a topic that was never placed', async () => {
    world.startControllers()
    await world.createTopic('early')
    await world.condition('early', (topic) => readyReason(topic) === 'NoBrokers')
    await world.store.delete('Topic', ref('early'))
    await untilAsync(async () => (await world.topic('early')) === undefined)
  })

  for (const isNew of [true, false]) {
    it(`let no birth land after the deletion of its topic, in ${isNew ? 'a new' : 'an old'} slice`, async () => {
      const late: (() => Promise<unknown>)[] = []
      let isHeld = false
      const store = wrapped(world.store, async (_write, run, kind) => {
        if (kind !== 'PartitionSlice' || !isHeld) return await run()
        late.push(run)
        throw new StoreError('UnknownOutcome', 'held')
      })
      world.startControllers(store)
      await world.startBroker(0)
      if (!isNew) {
        await world.createTopic('other')
        await world.ready('other')
      }
      isHeld = true
      await world.createTopic('t', { partitions: 2 })
      await until(() => late.length > 0)
      await world.store.delete('Topic', ref('t'))
      isHeld = false
      await untilAsync(async () => (await world.topic('t')) === undefined)
      for (const run of late) await assert.rejects(run(), StoreError)
      assert.deepEqual([...(await world.entries()).keys()], isNew ? [] : ['other-0'])
    })
  }

  it('keep the entries of a topic that vanished without our finalizer, and of one that is retained', async () => {
    world.startControllers()
    await world.startBroker(0)
    await world.createTopic('stripped')
    await world.createTopic('retained', { deletionPolicy: 'Retain' })
    const stripped = await world.ready('stripped')
    await world.ready('retained')
    await world.store.patch('Topic', ref('stripped'), [{ op: 'remove', path: '/metadata/finalizers' }])
    await world.store.delete('Topic', ref('stripped'))
    await world.store.delete('Topic', ref('retained'))
    await untilAsync(async () => (await world.topic('retained')) === undefined)
    assert.deepEqual([...(await world.entries()).keys()].sort(), ['retained-0', 'stripped-0'])
    // A topic without a status adopts them, with their id.
    await world.createTopic('stripped', { partitions: 2 })
    const adopted = await world.ready('stripped')
    assert.equal(adopted.status?.topicId, stripped.status?.topicId)
    assert.equal((await world.entry('stripped-1')).topicId, stripped.status?.topicId)
  })

  it('carry a change of min.insync.replicas into the entries', async () => {
    world.startControllers()
    await world.startBroker(0)
    await world.createTopic('t')
    await world.ready('t')
    await world.store.patch('Topic', ref('t'), [{ op: 'add', path: '/spec/config/min.insync.replicas', value: '2' }])
    await untilAsync(async () => (await world.entry('t-0')).minIsr === 2)
    assert.equal((await world.entry('t-0')).partitionEpoch, 1)
  })

  it('acknowledge a restart entry by entry, before it is announced, with a higher epoch each time', async () => {
    world.startControllers()
    const first = await world.startBroker(0)
    await world.createTopic('t', { partitions: 70 })
    await world.ready('t')
    let seen: Map<string, PartitionEntry> | undefined
    const watch = world.store.watch('Broker', (event) => {
      if (event.type === 'put' && event.object.status?.acknowledged?.incarnation === event.object.status?.incarnation) {
        void world.entries().then((entries) => (seen = entries))
      }
    })
    const second = await world.startBroker(0)
    assert.ok(second > first)
    await until(() => seen !== undefined)
    watch.close()
    for (const entry of seen?.values() ?? []) {
      assert.deepEqual([entry.brokerEpochs, entry.leader, entry.leaderEpoch, entry.isr], [[second], 0, 1, [0]])
    }
    const other = await world.startBroker(1)
    assert.ok(other > second)
  })

  it('lets a broker whose directory changed lead nothing that it held', async () => {
    world.startControllers()
    await world.startBroker(0)
    await world.createTopic('held')
    await world.ready('held')
    await world.startBroker(0, { directoryId: 'another' })
    const entry = await world.entry('held-0')
    assert.deepEqual([entry.leader, entry.isr, entry.leaderEpoch], [-1, [], 1])
    const topic = await world.condition('held', (each) => readyReason(each) === 'LeaderMissing')
    assert.deepEqual(topic.status?.summary, { partitions: 1, offline: 1, underReplicated: 1 })
    // The new directory is the broker's from now on: what it gets now is safe at the next restart.
    await world.createTopic('new')
    await world.ready('new')
    await world.startBroker(0, { directoryId: 'another' })
    assert.equal((await world.entry('new-0')).leader, 0)
    assert.equal((await world.entry('held-0')).leader, -1)
  })

  it('lets a broker whose Broker object was made anew lead nothing that it held', async () => {
    world.startControllers()
    await world.startBroker(0)
    await world.createTopic('held')
    await world.ready('held')
    await world.store.delete('Broker', ref(brokerObjectName(0)))
    await world.startBroker(0)
    assert.equal((await world.entry('held-0')).leader, -1)
  })

  it('moves leaders away from a replica that its broker can not serve', async () => {
    world.startControllers()
    await world.startBroker(0)
    await world.startBroker(1)
    await world.createTopic('t', { replicas: 2, assignments: [[0, 1]] })
    await world.ready('t')
    await world.store.patch(
      'Broker',
      ref(brokerObjectName(0)),
      [{ op: 'add', path: '/status/offline', value: ['t-0'] }],
      { subresource: 'status' },
    )
    await untilAsync(async () => (await world.entry('t-0')).leader === 1)
    assert.equal((await world.entry('t-0')).leaderEpoch, 1)
  })

  it('lets no acknowledgement land after the one that followed it', async () => {
    const late: (() => Promise<unknown>)[] = []
    const store = wrapped(world.store, async (_write, run, kind) => {
      if (kind !== 'Broker' || late.length === 2) return await run()
      late.push(run)
      throw new StoreError('UnknownOutcome', 'held')
    })
    await world.registerBroker(0)
    const controllers = world.startControllers()
    await world.startBroker(0)
    await world.createTopic('t')
    await world.ready('t')
    await controllers.close()
    world.startControllers(store)
    const epoch = await world.startBroker(0)
    assert.equal(late.length, 2)
    for (const run of late) await assert.rejects(run(), StoreError)
    const broker = await world.store.get('Broker', ref(brokerObjectName(0)))
    assert.equal(broker?.status?.acknowledged?.brokerEpoch, epoch)
    assert.deepEqual((await world.entry('t-0')).brokerEpochs, [epoch])
  })

  it('mends an entry that carries the epoch of an earlier incarnation', async () => {
    world.startControllers()
    await world.startBroker(0)
    await world.createTopic('t')
    await world.ready('t')
    const epoch = await world.startBroker(0)
    const stale = { ...(await world.entry('t-0')), brokerEpochs: [0], partitionEpoch: 50 }
    await world.store.patch('PartitionSlice', ref('broker-0-0'), [
      { op: 'replace', path: entryPointer('t-0'), value: stale },
    ])
    await untilAsync(async () => (await world.entry('t-0')).brokerEpochs[0] === epoch)
  })

  it('write nothing once everything is as it should be, also after a restart', async () => {
    const controllers = world.startControllers()
    await world.startBroker(0)
    await world.createTopic('t', { partitions: 3 })
    await world.ready('t')
    await controllers.close()
    const written = countWrites(world.store)
    world.startControllers(written.store)
    await world.createTopic('after')
    await world.ready('after')
    // The record, the entries, the status: for the new topic, and nothing for the old one.
    assert.equal(written.count(), 3)
  })

  it('make 1,000 topics at once in few writes', async () => {
    world.startControllers()
    for (let brokerId = 0; brokerId < 3; brokerId++) await world.startBroker(brokerId)
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => world.createTopic(`t${index}`)))
    await untilAsync(async () => (await world.store.list('Topic')).every((topic) => readyReason(topic) === 'Placed'))
    assert.equal((await world.entries()).size, 1_000)
    const slices = await world.store.list('PartitionSlice')
    assert.ok(slices.length <= 18, `${slices.length} slices`)
    const changes = slices.reduce((sum, slice) => sum + slice.spec.allocationEpoch + 1, 0)
    assert.ok(changes <= 60, `${changes} writes of slices`)
  })

  it('do the same with two at once', async () => {
    world.startControllers()
    world.startControllers()
    await world.startBroker(0)
    await world.startBroker(1)
    await Promise.all(Array.from({ length: 30 }, (_, index) => world.createTopic(`t${index}`, { partitions: 5 })))
    await Promise.all(Array.from({ length: 30 }, (_, index) => world.ready(`t${index}`)))
    assert.equal((await world.entries()).size, 150)
    for (const name of ['t0', 't1']) await world.store.delete('Topic', ref(name))
    await world.startBroker(1)
    await untilAsync(async () => (await world.entries()).size === 140)
    for (const topic of await world.store.list('Topic')) {
      for (const entry of (await world.entries()).entries()) {
        if (entry[0].startsWith(`${topic.metadata.name}-`)) assert.equal(entry[1].topicId, topic.status?.topicId)
      }
    }
  })

  it('come to the same end when they die after any write', async () => {
    const flow = async (world: World): Promise<void> => {
      const epoch = await world.startBroker(0)
      await world.createTopic('a', { partitions: 70 })
      await world.createTopic('b', { partitions: 2 })
      const first = await world.ready('a')
      await world.store.patch('Topic', ref('b'), [{ op: 'replace', path: '/spec/partitions', value: 4 }])
      await world.ready('b')
      assert.ok((await world.startBroker(0)) > epoch)
      await world.store.delete('Topic', ref('a'))
      await untilAsync(async () => (await world.topic('a')) === undefined)
      await world.createTopic('a')
      const second = await world.ready('a')
      assert.notEqual(second.status?.topicId, first.status?.topicId)
      const entries = await world.entries()
      assert.deepEqual([...entries.keys()].sort(), ['a-0', 'b-0', 'b-1', 'b-2', 'b-3'])
      for (const entry of entries.values()) assert.equal(entry.leader, 0)
    }
    const counted = countWrites(world.store)
    world.startControllers(counted.store)
    await flow(world)
    const writes = counted.count()
    assert.ok(writes > 12, `${writes} writes`)
    for (const isAnswered of [true, false]) {
      for (let dieAt = 1; dieAt <= writes; dieAt++) {
        const other = await World.open()
        const dying = dyingStore(other.store, dieAt, isAnswered)
        other.startControllers(dying.store)
        void dying.died.then(() => other.startControllers())
        await flow(other)
        await other.close()
      }
    }
  }).timeout(60_000)

  it('come to the same end when every write may fail, be done unheard, or land late', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const other = await World.open()
      other.startControllers(flakyStore(other.store, new SeededRandom(seed)))
      await other.startBroker(0)
      await Promise.all(['a', 'b', 'c'].map((name) => other.createTopic(name, { partitions: 3 })))
      await Promise.all(['a', 'b', 'c'].map((name) => other.ready(name)))
      await other.store.delete('Topic', ref('b'))
      await other.startBroker(0)
      await untilAsync(async () => (await other.topic('b')) === undefined)
      await other.createTopic('b', { partitions: 2 })
      const b = await other.ready('b')
      const entries = await other.entries()
      assert.equal(entries.size, 8, `seed ${seed}`)
      assert.equal(entries.get('b-0')?.topicId, b.status?.topicId)
      await other.close()
    }
  }).timeout(60_000)

  it('on a real disk make 1,000 topics ready in about a second', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ottla-controllers-'))
    const random = new SeededRandom(3)
    const options = { disk: new NodeDisk(), folder, clock: systemClock, random, logger: silentLogger }
    const real = new World(await openLocalStore(options))
    try {
      real.startControllers()
      await real.startBroker(0)
      const start = performance.now()
      await Promise.all(Array.from({ length: 1_000 }, (_, index) => real.createTopic(`t${index}`)))
      await untilAsync(async () => (await real.store.list('Topic')).every((topic) => readyReason(topic) === 'Placed'))
      const tookMs = performance.now() - start
      if (process.env['OTTLA_MEASURE'] !== undefined) process.stdout.write(`1,000 topics: ${tookMs} ms\n`)
      assert.ok(tookMs < 5_000, `${tookMs} ms`)
    } finally {
      await real.close()
      await rm(folder, { recursive: true })
    }
  })
})

type Write = 'create' | 'patch' | 'delete'

/** A store whose writes go through `around`. */
function wrapped(
  store: ResourceStore,
  around: <T>(write: Write, run: () => Promise<T>, kind: Kind) => Promise<T>,
): ResourceStore {
  return {
    get: (kind, at) => store.get(kind, at),
    list: (kind) => store.list(kind),
    watch: (kind, listener) => store.watch(kind, listener),
    create: (resource) => around('create', () => store.create(resource), resource.kind),
    patch: (kind, at, operations, options) => around('patch', () => store.patch(kind, at, operations, options), kind),
    delete: (kind, at, preconditions) => around('delete', () => store.delete(kind, at, preconditions), kind),
  }
}

function countWrites(store: ResourceStore): { store: ResourceStore; count: () => number } {
  let count = 0
  return {
    store: wrapped(store, (_write, run) => {
      count++
      return run()
    }),
    count: () => count,
  }
}

/** Its user dies at the `dieAt`-th write, which is done or not; nothing is done or answered after that. */
function dyingStore(
  store: ResourceStore,
  dieAt: number,
  isDone: boolean,
): { store: ResourceStore; died: Promise<void> } {
  let count = 0
  const { promise: died, resolve } = Promise.withResolvers<undefined>()
  const dead = (): never => {
    throw new StoreError('Unavailable', 'dead')
  }
  return {
    store: wrapped(store, async (_write, run) => {
      count++
      if (count > dieAt) return dead()
      if (count < dieAt) return await run()
      if (isDone) await run().catch(() => undefined)
      resolve(undefined)
      return dead()
    }),
    died,
  }
}

function flakyStore(store: ResourceStore, random: SeededRandom): ResourceStore {
  return wrapped(store, async (_write, run) => {
    const fate = random.next()
    if (fate < 0.7) return await run()
    if (fate < 0.8) throw new StoreError('Unavailable', 'injected')
    if (fate < 0.9) await run()
    else setTimeout(() => void run().catch(() => undefined), random.next() * 30)
    throw new StoreError('UnknownOutcome', 'injected')
  })
}
