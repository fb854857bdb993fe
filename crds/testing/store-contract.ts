import assert from 'node:assert/strict'
import type { PartitionEntry, PartitionSlice } from '../partition-slice.ts'
import { entryPointer } from '../partition-slice.ts'
import { refOf, type ObjectRef } from '../resource.ts'
import { StoreError, type Kind, type ResourceStore, type StoreErrorReason, type WatchEvent } from '../resource-store.ts'
import { TOPIC_FINALIZER, type Topic } from '../topic.ts'

/**
 * What every {@link ResourceStore} must do, as mocha tests. `open` gives an empty store in `namespace`; each test gets its
 * own.
 */
export function describeStoreContract(
  name: string,
  open: () => Promise<{ store: ResourceStore; namespace: string; close: () => Promise<void> }>,
): void {
  describe(`${name}: the contract of a resource store`, () => {
    let store: ResourceStore
    let namespace: string
    let close: () => Promise<void>
    beforeEach(async () => {
      ;({ store, namespace, close } = await open())
    })
    afterEach(async () => {
      await close()
    })

    const ref = (object: string): ObjectRef => ({ namespace, name: object })
    const newTopic = (object: string, finalizers: readonly string[] = []): Promise<Topic> =>
      store.create({
        kind: 'Topic',
        metadata: { ...ref(object), finalizers },
        spec: { partitions: 2, replicas: 1, config: {} },
      })
    const newSlice = (entries: Readonly<Record<string, PartitionEntry>> = {}): Promise<PartitionSlice> =>
      store.create({ kind: 'PartitionSlice', metadata: ref('slice'), spec: { allocationEpoch: 0, entries } })

    describe('create', () => {
      it('fills in the metadata', async () => {
        const topic = await newTopic('a', [TOPIC_FINALIZER])
        assert.equal(topic.kind, 'Topic')
        assert.equal(topic.apiVersion, 'ottla.dev/v1alpha1')
        assert.equal(topic.metadata.generation, 1)
        assert.match(topic.metadata.uid, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
        assert.match(topic.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
        assert.deepEqual(topic.metadata.finalizers, [TOPIC_FINALIZER])
        assert.equal(topic.status, undefined)
        assert.deepEqual(await store.get('Topic', ref('a')), topic)
        assert.deepEqual(await store.list('Topic'), [topic])
        assert.deepEqual(await store.list('Broker'), [])
      })

      it('refuses a name that exists, and gives another uid to a later object of the name', async () => {
        const first = await newTopic('a')
        await fails('AlreadyExists', newTopic('a'))
        await store.delete('Topic', ref('a'))
        const second = await newTopic('a')
        assert.notEqual(second.metadata.uid, first.metadata.uid)
        assert.notEqual(second.metadata.resourceVersion, first.metadata.resourceVersion)
      })

      it('refuses what breaks the schema', async () => {
        const create = (spec: Topic['spec'], object = 'a'): Promise<Topic> =>
          store.create({ kind: 'Topic', metadata: ref(object), spec })
        await fails('Invalid', create({ partitions: 0, replicas: 1, config: {} }))
        await fails('Invalid', create({ partitions: 1.5, replicas: 1, config: {} }))
        await fails('Invalid', create({ partitions: 1, replicas: 0, config: {} }))
        await fails('Invalid', create({ partitions: 1, replicas: 1, config: {}, topicName: 'a/b' }))
        await fails('Invalid', create({ partitions: 1, replicas: 1, config: {} }, 'Not_a_name'))
        assert.deepEqual(await store.list('Topic'), [])
      })

      it('freezes what it returns', async () => {
        const topic = await newTopic('a')
        assert.throws(() => Object.assign(topic.spec, { partitions: 3 }), TypeError)
        assert.throws(() => Object.assign(topic.spec.config, { x: 'y' }), TypeError)
      })
    })

    describe('patch', () => {
      it('applies all operations or none', async () => {
        const topic = await newTopic('a')
        await fails(
          'Invalid',
          store.patch('Topic', ref('a'), [
            { op: 'replace', path: '/spec/partitions', value: 5 },
            { op: 'test', path: '/spec/replicas', value: 2 },
          ]),
        )
        assert.deepEqual(await store.get('Topic', ref('a')), topic)
        const patched = await store.patch('Topic', ref('a'), [
          { op: 'test', path: '/spec/partitions', value: 2 },
          { op: 'replace', path: '/spec/partitions', value: 5 },
          { op: 'add', path: '/spec/config/retention.ms', value: '1' },
        ])
        assert.equal(patched.spec.partitions, 5)
        assert.deepEqual(patched.spec.config, { 'retention.ms': '1' })
        assert.equal(patched.metadata.generation, 2)
        assert.notEqual(patched.metadata.resourceVersion, topic.metadata.resourceVersion)
        assert.deepEqual(await store.get('Topic', ref('a')), patched)
      })

      it('fails for an object that does not exist', async () => {
        await fails('NotFound', store.patch('Topic', ref('a'), []))
      })

      it('tests values whatever the order of their members', async () => {
        const made = await newSlice({ 'a-0': entry() })
        const read = made.spec.entries['a-0']
        assert.ok(read)
        const reversed = Object.fromEntries(Object.entries(read).reverse())
        await store.patch('PartitionSlice', refOf(made), [
          { op: 'test', path: entryPointer('a-0'), value: reversed },
          { op: 'replace', path: entryPointer('a-0'), value: { ...entry(), partitionEpoch: 1 } },
        ])
      })

      it('adds over an existing member, replaces a missing one, and refuses to remove one', async () => {
        await newTopic('a')
        const add = await store.patch('Topic', ref('a'), [
          { op: 'add', path: '/spec/config', value: { 'retention.ms': '1' } },
          { op: 'add', path: '/spec/config/retention.ms', value: '2' },
          { op: 'replace', path: '/spec/config/segment.ms', value: '3' },
        ])
        assert.deepEqual(add.spec.config, { 'retention.ms': '2', 'segment.ms': '3' })
        await fails('Invalid', store.patch('Topic', ref('a'), [{ op: 'remove', path: '/spec/config/x' }]))
        await fails('Invalid', store.patch('Topic', ref('a'), [{ op: 'add', path: '/spec/x/y', value: 1 }]))
        await store.patch('Topic', ref('a'), [{ op: 'test', path: '/spec/config/x', value: null }])
        await fails('Invalid', store.patch('Topic', ref('a'), [{ op: 'test', path: '/spec/config/x', value: '' }]))
      })

      it('keeps spec and status apart', async () => {
        const topic = await newTopic('a')
        const ignored = await store.patch('Topic', ref('a'), [{ op: 'add', path: '/status', value: { topicId: 'x' } }])
        assert.deepEqual(ignored, topic)
        const status = await store.patch(
          'Topic',
          ref('a'),
          [
            { op: 'add', path: '/status', value: { topicId: 'x' } },
            { op: 'replace', path: '/spec/partitions', value: 9 },
          ],
          { subresource: 'status' },
        )
        assert.deepEqual(status.status, { topicId: 'x' })
        assert.equal(status.spec.partitions, 2)
        assert.equal(status.metadata.generation, 1)
        assert.notEqual(status.metadata.resourceVersion, topic.metadata.resourceVersion)
        const spec = await store.patch('Topic', ref('a'), [{ op: 'replace', path: '/spec/partitions', value: 3 }])
        assert.deepEqual(spec.status, { topicId: 'x' })
      })

      it('writes nothing when nothing changes', async () => {
        const topic = await newTopic('a')
        const same = await store.patch('Topic', ref('a'), [{ op: 'replace', path: '/spec/partitions', value: 2 }])
        assert.equal(same.metadata.resourceVersion, topic.metadata.resourceVersion)
      })

      it('guards what is immutable', async () => {
        await store.create({
          kind: 'Topic',
          metadata: ref('a'),
          spec: { topicName: 'A', partitions: 2, replicas: 1, config: {} },
        })
        const replace = (path: string, value: unknown): Promise<unknown> =>
          store.patch('Topic', ref('a'), [{ op: 'replace', path, value }])
        await fails('Invalid', replace('/spec/topicName', 'B'))
        await fails('Invalid', replace('/spec/partitions', 1))
        await fails('Invalid', replace('/metadata/name', 'b'))
        await fails('Invalid', replace('/metadata/uid', 'x'))
        await fails('Conflict', replace('/metadata/resourceVersion', '0'))
      })

      it('tests the resource version', async () => {
        const topic = await newTopic('a')
        const test = { op: 'test', path: '/metadata/resourceVersion', value: topic.metadata.resourceVersion } as const
        await store.patch('Topic', ref('a'), [test, { op: 'replace', path: '/spec/partitions', value: 3 }])
        await fails(
          'Invalid',
          store.patch('Topic', ref('a'), [test, { op: 'replace', path: '/spec/partitions', value: 4 }]),
        )
      })

      it('lets exactly one of many that test the same value win', async () => {
        const made = await newSlice({ 'a-0': entry() })
        const before = made.spec.entries['a-0']
        const outcomes = await Promise.allSettled(
          Array.from({ length: 10 }, (_, index) =>
            store.patch('PartitionSlice', refOf(made), [
              { op: 'test', path: entryPointer('a-0'), value: before },
              { op: 'replace', path: entryPointer('a-0'), value: { ...entry(), partitionEpoch: 1 + index } },
            ]),
          ),
        )
        assert.equal(outcomes.filter((outcome) => outcome.status === 'fulfilled').length, 1)
      })

      it('shows to a reader why a patch was refused', async () => {
        await newTopic('a')
        const grow = store.patch('Topic', ref('a'), [{ op: 'replace', path: '/spec/partitions', value: 7 }])
        const test = store.patch('Topic', ref('a'), [{ op: 'test', path: '/spec/partitions', value: 2 }])
        // Whichever of the two is decided first, a refusal is only seen together with its reason.
        const outcome = await test.then(
          () => 'done',
          async () => (await store.get('Topic', ref('a')))?.spec.partitions,
        )
        assert.ok(outcome === 'done' || outcome === 7, String(outcome))
        await grow
      })
    })

    describe('slices', () => {
      it('let an entry change only with a greater partitionEpoch, the same topicId and no lower leaderEpoch', async () => {
        const made = await newSlice({ 'a-0': { ...entry(), leaderEpoch: 3, partitionEpoch: 5 } })
        const replace = (change: Partial<PartitionEntry>): Promise<PartitionSlice> =>
          store.patch('PartitionSlice', refOf(made), [
            { op: 'replace', path: entryPointer('a-0'), value: { ...made.spec.entries['a-0'], ...change } },
          ])
        await fails('Invalid', replace({ leader: -1 }))
        await fails('Invalid', replace({ leader: -1, partitionEpoch: 4 }))
        await fails('Invalid', replace({ leaderEpoch: 2, partitionEpoch: 6 }))
        await fails('Invalid', replace({ topicId: 'B'.repeat(22), partitionEpoch: 6 }))
        await replace({ leader: -1, partitionEpoch: 6 })
      })

      it('take and give entries only with a greater allocationEpoch', async () => {
        const made = await newSlice()
        const add = { op: 'add', path: entryPointer('a-0'), value: entry() } as const
        const epoch = (value: number) => ({ op: 'replace', path: '/spec/allocationEpoch', value }) as const
        await fails('Invalid', store.patch('PartitionSlice', refOf(made), [add]))
        await store.patch('PartitionSlice', refOf(made), [epoch(1), add])
        const remove = { op: 'remove', path: entryPointer('a-0') } as const
        await fails('Invalid', store.patch('PartitionSlice', refOf(made), [remove]))
        await fails('Invalid', store.patch('PartitionSlice', refOf(made), [epoch(0)]))
        await store.patch('PartitionSlice', refOf(made), [epoch(2), remove])
      })

      it('refuse an entry that contradicts itself, and more entries than fit', async () => {
        const wrong: readonly Partial<PartitionEntry>[] = [
          { replicas: [] },
          { replicas: [1, 1], brokerEpochs: [1, 1] },
          { brokerEpochs: [1, 2] },
          { leader: 2 },
          { isr: [7], leader: -1 },
          { elr: [1] },
          { topicId: 'short' },
          { minIsr: 0 },
        ]
        for (const change of wrong) await fails('Invalid', newSlice({ 'a-0': { ...entry(), ...change } }))
        await fails('Invalid', newSlice({ 'no partition': entry() }))
        const many = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`a-${index}`, entry()]))
        await fails('Invalid', newSlice(many))
      })
    })

    describe('delete', () => {
      it('removes an object without finalizers', async () => {
        await newTopic('a')
        await store.delete('Topic', ref('a'))
        assert.equal(await store.get('Topic', ref('a')), undefined)
        await fails('NotFound', store.delete('Topic', ref('a')))
      })

      it('waits for the finalizers', async () => {
        await newTopic('a', [TOPIC_FINALIZER])
        await store.delete('Topic', ref('a'))
        const terminating = await store.get('Topic', ref('a'))
        assert.match(terminating?.metadata.deletionTimestamp ?? '', /^\d{4}-/)
        await fails('AlreadyExists', newTopic('a'))
        await store.delete('Topic', ref('a'))
        await fails(
          'Invalid',
          store.patch('Topic', ref('a'), [{ op: 'add', path: '/metadata/finalizers/-', value: 'ottla.dev/other' }]),
        )
        await store.patch('Topic', ref('a'), [
          { op: 'test', path: '/metadata/finalizers', value: [TOPIC_FINALIZER] },
          { op: 'replace', path: '/metadata/finalizers', value: [] },
        ])
        assert.equal(await store.get('Topic', ref('a')), undefined)
      })

      it('keeps a living object whose finalizers go', async () => {
        await newTopic('a', [TOPIC_FINALIZER])
        await store.patch('Topic', ref('a'), [{ op: 'remove', path: '/metadata/finalizers' }])
        assert.notEqual(await store.get('Topic', ref('a')), undefined)
      })

      it('checks its preconditions', async () => {
        const topic = await newTopic('a')
        await fails('Conflict', store.delete('Topic', ref('a'), { uid: 'other' }))
        await fails('Conflict', store.delete('Topic', ref('a'), { resourceVersion: '0' }))
        const { uid, resourceVersion } = topic.metadata
        await store.delete('Topic', ref('a'), { uid, resourceVersion })
      })
    })

    describe('watch', () => {
      it('gives the state first, then each change in order, never from within a call', async () => {
        await newTopic('a')
        const events: string[] = []
        let isInListener = false
        let isInCall = true
        const watch = store.watch('Topic', (event) => {
          assert.equal(isInCall, false)
          assert.equal(isInListener, false)
          isInListener = true
          events.push(...names(event))
          // A change from within a listener must not call listeners.
          if (events.length === 2) void newTopic('c')
          isInListener = false
        })
        isInCall = false
        await newTopic('b')
        await until(() => events.includes('put c'))
        await store.delete('Topic', ref('b'))
        await until(() => events.includes('delete b'))
        assert.deepEqual(events, ['sync a', 'put b', 'put c', 'delete b'])
        watch.close()
        await newTopic('d')
        await new Promise((resolve) => setTimeout(resolve, 10))
        assert.equal(events.length, 4)
      })

      it('tells only of its own kind', async () => {
        const events: string[] = []
        store.watch('Broker', (event) => events.push(...names(event)))
        await newTopic('a')
        await store.create({ kind: 'Broker', metadata: ref('broker-1'), spec: { brokerId: 1 } })
        await until(() => events.includes('put broker-1'))
        assert.deepEqual(
          events.filter((event) => !event.startsWith('sync')),
          ['put broker-1'],
        )
      })

      it('ends in the state that a list shows', async () => {
        const seen = new Map<string, string>()
        store.watch('Topic', (event) => {
          if (event.type === 'sync') {
            seen.clear()
            for (const item of event.items) seen.set(item.metadata.name, item.metadata.resourceVersion)
          } else if (event.type === 'put') seen.set(event.object.metadata.name, event.object.metadata.resourceVersion)
          else seen.delete(event.object.metadata.name)
        })
        await Promise.all(Array.from({ length: 20 }, (_, index) => newTopic(`t${index}`)))
        await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            index % 3 === 0
              ? store.delete('Topic', ref(`t${index}`))
              : store.patch('Topic', ref(`t${index}`), [{ op: 'replace', path: '/spec/partitions', value: 3 }]),
          ),
        )
        const expected = (await store.list('Topic')).map((topic) => [
          topic.metadata.name,
          topic.metadata.resourceVersion,
        ])
        const sorted = (pairs: Iterable<unknown>): string => JSON.stringify([...pairs].sort())
        await until(() => sorted(seen) === sorted(expected))
      })
    })
  })
}

/** A valid entry of one replica. */
export function entry(change: Partial<PartitionEntry> = {}): PartitionEntry {
  return {
    topicId: 'A'.repeat(22),
    replicas: [1],
    brokerEpochs: [1],
    leader: 1,
    leaderEpoch: 0,
    isr: [1],
    elr: [],
    minIsr: 1,
    partitionEpoch: 0,
    ...change,
  }
}

export async function fails(reason: StoreErrorReason, operation: Promise<unknown>): Promise<void> {
  await assert.rejects(operation, (error) => {
    assert.ok(error instanceof StoreError, String(error))
    assert.equal(error.reason, reason, error.message)
    return true
  })
}

/** Waits for a condition, a macrotask at a time; fails after 5 s. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000
  while (!condition()) {
    if (Date.now() > deadline) assert.fail(`still not so: ${condition.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

function names(event: WatchEvent<Kind>): string[] {
  if (event.type === 'sync') return event.items.map((item) => `sync ${item.metadata.name}`)
  return [`${event.type} ${event.object.metadata.name}`]
}
