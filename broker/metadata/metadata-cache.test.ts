import assert from 'node:assert/strict'
import { silentLogger } from '../../common/logger.ts'
import type { Broker } from '../../crds/broker.ts'
import type { PartitionEntry, PartitionSlice } from '../../crds/partition-slice.ts'
import type { Kind, ResourceStore, WatchEvent } from '../../crds/resource-store.ts'
import type { Topic } from '../../crds/topic.ts'
import { MetadataCache, type MetadataDelta } from './metadata-cache.ts'

/** A store of which only the watches are used, fed by the test. */
class FedStore {
  readonly listeners = new Map<Kind, (event: never) => void>()
  readonly store = {
    watch: (kind: Kind, listener: (event: never) => void) => {
      this.listeners.set(kind, listener)
      return { close: () => undefined }
    },
  } as unknown as ResourceStore

  send<K extends Kind>(kind: K, event: WatchEvent<K>): void {
    this.listeners.get(kind)?.(event as never)
  }
}

const metadata = (name: string): Topic['metadata'] => ({
  name,
  namespace: 'default',
  uid: `uid-${name}`,
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: '2026-01-01T00:00:00Z',
})

function entry(topicId: string, partitionEpoch: number, change: Partial<PartitionEntry> = {}): PartitionEntry {
  return {
    topicId,
    replicas: [0],
    brokerEpochs: [1],
    leader: 0,
    leaderEpoch: 0,
    isr: [0],
    elr: [],
    minIsr: 1,
    partitionEpoch,
    ...change,
  }
}

function slice(name: string, entries: Record<string, PartitionEntry>): PartitionSlice {
  return {
    apiVersion: 'ottla.dev/v1alpha1',
    kind: 'PartitionSlice',
    metadata: metadata(name),
    spec: { allocationEpoch: 0, entries },
  }
}

function topic(
  name: string,
  change: { deletionTimestamp?: string; topicId?: string; resourceVersion?: string } = {},
): Topic {
  const { topicId, ...meta } = change
  return {
    apiVersion: 'ottla.dev/v1alpha1',
    kind: 'Topic',
    metadata: { ...metadata(name), ...meta },
    spec: { partitions: 1, replicas: 1, config: {} },
    ...(topicId !== undefined && { status: { topicId } }),
  }
}

async function started(
  slices: PartitionSlice[] = [],
): Promise<{ fed: FedStore; cache: MetadataCache; deltas: MetadataDelta[] }> {
  const fed = new FedStore()
  const cache = new MetadataCache(silentLogger)
  const isStarted = cache.start(fed.store)
  for (const kind of ['Broker', 'Topic', 'Cluster', 'ClientQuota', 'GroupConfig'] as const) {
    fed.send(kind, { type: 'sync', items: [] })
  }
  fed.send('PartitionSlice', { type: 'sync', items: slices })
  await isStarted
  const deltas: MetadataDelta[] = []
  cache.subscribe((delta) => deltas.push(delta))
  return { fed, cache, deltas }
}

describe('MetadataCache', () => {
  it('shows topics by name and id once their entries are seen', async () => {
    const { cache } = await started([slice('s1', { 'a-b-0': entry('X', 0), 'a-b-1': entry('X', 0) })])
    assert.equal(cache.topic('a-b')?.partitions.size, 2)
    assert.equal(cache.topicNameById('X'), 'a-b')
    assert.deepEqual(
      cache.topics().map(({ name }) => name),
      ['a-b'],
    )
  })

  it('ignores an entry that is older than the one it knows', async () => {
    const { fed, cache, deltas } = await started([slice('s1', { 'a-0': entry('X', 5, { leaderEpoch: 3 }) })])
    fed.send('PartitionSlice', { type: 'put', object: slice('s1', { 'a-0': entry('X', 4, { leaderEpoch: 2 }) }) })
    assert.equal(cache.partition('a', 0)?.leaderEpoch, 3)
    assert.equal(deltas.length, 0)
    fed.send('PartitionSlice', { type: 'put', object: slice('s1', { 'a-0': entry('X', 6, { leaderEpoch: 4 }) }) })
    assert.equal(cache.partition('a', 0)?.leaderEpoch, 4)
    assert.deepEqual([...(deltas[0]?.partitions ?? [])], ['a-0'])
  })

  it('takes a topic that was made again under the same name, though its epochs begin anew', async () => {
    const { fed, cache } = await started([slice('s1', { 'a-0': entry('X', 5) })])
    fed.send('PartitionSlice', { type: 'put', object: slice('s1', { 'a-0': entry('Y', 0) }) })
    assert.equal(cache.topic('a')?.topicId, 'Y')
    assert.equal(cache.topicNameById('X'), undefined)
    assert.equal(cache.topicNameById('Y'), 'a')
  })

  it('obeys an entry that is in two slices where it was seen first', async () => {
    const { fed, cache } = await started([slice('s1', { 'a-0': entry('X', 5) })])
    fed.send('PartitionSlice', { type: 'put', object: slice('s2', { 'a-0': entry('X', 9, { leader: 7 }) }) })
    assert.equal(cache.partition('a', 0)?.leader, 0)
    fed.send('PartitionSlice', { type: 'delete', object: slice('s2', {}) })
    assert.equal(cache.partition('a', 0)?.leader, 0)
  })

  it('drops what a relist no longer has, and moves entries between slices', async () => {
    const { fed, cache } = await started([slice('s1', { 'a-0': entry('X', 0), 'b-0': entry('Z', 0) })])
    fed.send('PartitionSlice', { type: 'sync', items: [slice('s2', { 'a-0': entry('X', 1) })] })
    assert.equal(cache.partition('a', 0)?.partitionEpoch, 1)
    assert.equal(cache.topic('b'), undefined)
    assert.equal(cache.topicNameById('Z'), undefined)
  })

  it('remembers deletions that it saw, and takes absence for none', async () => {
    const { fed, cache } = await started()
    fed.send('Topic', { type: 'put', object: topic('a', { topicId: 'X' }) })
    fed.send('Topic', { type: 'put', object: topic('b', { topicId: 'Y' }) })
    fed.send('Topic', {
      type: 'put',
      object: topic('a', { topicId: 'X', deletionTimestamp: 'now', resourceVersion: '2' }),
    })
    fed.send('Topic', { type: 'sync', items: [] })
    assert.equal(cache.topicResource('a'), undefined)
    assert.equal(cache.wasDeleted('X'), true)
    assert.equal(cache.wasDeleted('Y'), false)
  })

  it('finds names that collide as metric names', async () => {
    const { cache, fed } = await started([slice('s1', { 'a.b-0': entry('X', 0) })])
    assert.equal(cache.topicNameColliding('a_b'), 'a.b')
    assert.equal(cache.topicNameColliding('a.b'), undefined)
    fed.send('PartitionSlice', { type: 'put', object: slice('s1', {}) })
    assert.equal(cache.topicNameColliding('a_b'), undefined)
  })

  it('counts a broker as alive only with its acknowledged incarnation', async () => {
    const { fed, cache } = await started()
    const broker = (incarnation: string, acknowledged: string): Broker => ({
      apiVersion: 'ottla.dev/v1alpha1',
      kind: 'Broker',
      metadata: metadata('broker-0'),
      spec: { brokerId: 0 },
      status: {
        incarnation,
        endpoints: { PLAINTEXT: { host: 'h', port: 1 } },
        acknowledged: { incarnation: acknowledged, brokerEpoch: 4 },
      },
    })
    fed.send('Broker', { type: 'put', object: broker('two', 'one') })
    assert.deepEqual(cache.aliveBrokers('PLAINTEXT'), [])
    fed.send('Broker', { type: 'put', object: broker('two', 'two') })
    assert.equal(cache.aliveBrokers('PLAINTEXT')[0]?.brokerId, 0)
    assert.deepEqual(cache.aliveBrokers('OTHER'), [])
  })
})
