import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../common/clock.ts'
import { NodeDisk } from '../../common/disk-node.ts'
import { silentLogger } from '../../common/logger.ts'
import { SeededRandom, systemRandom } from '../../common/random.ts'
import { MemoryDisk, type DiskFault } from '../../common/testing/memory-disk.ts'
import type { PartitionSlice } from '../partition-slice.ts'
import { entryPointer } from '../partition-slice.ts'
import { LOCAL_NAMESPACE } from '../resource.ts'
import { StoreError, type ResourceStore } from '../resource-store.ts'
import { describeStoreContract, entry, fails } from '../testing/store-contract.ts'
import type { Topic } from '../topic.ts'
import { JournalCorruptError } from './journal.ts'
import { openLocalStore, type LocalStore } from './local-store.ts'

const FOLDER = '/data/metadata'
const clock = { wallMs: () => Date.UTC(2026, 0, 1), monotonicMs: () => 0 }

function open(disk: MemoryDisk, rotateBytes?: number): Promise<LocalStore> {
  const options = { disk, folder: FOLDER, clock, random: new SeededRandom(1), logger: silentLogger }
  return openLocalStore(rotateBytes === undefined ? options : { ...options, rotateBytes })
}

function topic(store: ResourceStore, name: string): Promise<Topic> {
  return store.create({
    kind: 'Topic',
    metadata: { namespace: LOCAL_NAMESPACE, name },
    spec: { partitions: 1, replicas: 1, config: {} },
  })
}

const ref = (name: string): { namespace: string; name: string } => ({ namespace: LOCAL_NAMESPACE, name })

async function state(store: ResourceStore): Promise<object> {
  const objects = [...(await store.list('Topic')), ...(await store.list('PartitionSlice'))]
  return Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]))
}

describeStoreContract('local store', async () => {
  const store = await open(new MemoryDisk())
  return { store, namespace: LOCAL_NAMESPACE, close: () => store.close() }
})

describe('local store', () => {
  it('has after a power loss all that it answered', async () => {
    let disk = new MemoryDisk({ folders: ['/data'] })
    let store = await open(disk)
    await topic(store, 'a')
    await topic(store, 'b')
    await store.patch('Topic', ref('a'), [{ op: 'replace', path: '/spec/partitions', value: 4 }])
    await store.delete('Topic', ref('b'))
    const before = await state(store)
    disk = disk.powerLoss()
    store = await open(disk)
    assert.deepEqual(await state(store), before)
    const next = await topic(store, 'c')
    assert.equal(next.metadata.resourceVersion, '5')
    await store.close()
  })

  it('shows nothing before it is durable', async () => {
    const disk = new MemoryDisk({ folders: ['/data'] })
    const store = await open(disk)
    const events: string[] = []
    store.watch('Topic', (event) => events.push(event.type))
    await new Promise((resolve) => setImmediate(resolve))
    disk.setFault((call) => (call.operation === 'datasync' ? 'crash-before' : undefined))
    void topic(store, 'a').catch(() => undefined)
    await disk.crashed
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(await store.list('Topic'), [])
    assert.deepEqual(events, ['sync'])
  })

  it('reads every prefix of a journal as the changes that are whole in it', async () => {
    const disk = new MemoryDisk({ folders: ['/data'] })
    const store = await open(disk)
    const states = [await state(store)]
    for (const name of ['a', 'b']) {
      await topic(store, name)
      states.push(await state(store))
    }
    await store.delete('Topic', ref('a'))
    states.push(await state(store))
    const journal = disk.peek(`${FOLDER}/journal-0`)
    const snapshot = disk.peek(`${FOLDER}/snapshot-0`)
    assert.ok(journal && snapshot)
    let reached = 0
    for (let length = 0; length <= journal.length; length++) {
      const cut = new MemoryDisk()
      cut.poke(`${FOLDER}/snapshot-0`, snapshot)
      cut.poke(`${FOLDER}/journal-0`, journal.subarray(0, length))
      const reopened = await open(cut)
      const found = await state(reopened)
      while (JSON.stringify(found) !== JSON.stringify(states[reached])) {
        reached++
        assert.ok(reached < states.length, `cut at ${length}: ${JSON.stringify(found)}`)
      }
      await topic(reopened, 'after')
      await reopened.close()
    }
    assert.equal(reached, states.length - 1)
  })

  it('refuses damage that acknowledged changes follow', async () => {
    const disk = new MemoryDisk({ folders: ['/data'] })
    const store = await open(disk)
    await topic(store, 'a')
    const firstEnd = disk.peek(`${FOLDER}/journal-0`)?.length ?? 0
    await topic(store, 'b')
    const journal = disk.peek(`${FOLDER}/journal-0`) ?? Buffer.alloc(0)
    const snapshot = disk.peek(`${FOLDER}/snapshot-0`) ?? Buffer.alloc(0)
    for (let at = 0; at < firstEnd; at++) {
      const damaged = Buffer.from(journal)
      damaged[at] = (damaged[at] ?? 0) ^ 0x55
      const other = new MemoryDisk()
      other.poke(`${FOLDER}/snapshot-0`, snapshot)
      other.poke(`${FOLDER}/journal-0`, damaged)
      await assert.rejects(open(other), JournalCorruptError, `byte ${at}`)
      assert.deepEqual(other.peek(`${FOLDER}/journal-0`), damaged, 'the evidence is kept')
    }
    const noSnapshot = new MemoryDisk()
    noSnapshot.poke(`${FOLDER}/journal-0`, journal)
    await assert.rejects(open(noSnapshot), /has no snapshot to start from/)
    const cutSnapshot = new MemoryDisk()
    cutSnapshot.poke(`${FOLDER}/snapshot-0`, snapshot.subarray(0, -1))
    await assert.rejects(open(cutSnapshot), JournalCorruptError)
  })

  it('keeps what it answered, and invents nothing, wherever it crashes', async () => {
    const workload = async (
      store: ResourceStore,
      answered: (name: string, partitions: number) => void,
    ): Promise<void> => {
      for (let round = 0; round < 4; round++) {
        await Promise.all(
          ['a', 'b', 'c'].map(async (letter) => {
            const name = `${letter}${round}`
            await topic(store, name)
            answered(name, 1)
            await store.patch('Topic', ref(name), [{ op: 'replace', path: '/spec/partitions', value: 2 }])
            answered(name, 2)
          }),
        )
      }
    }
    const measured = new MemoryDisk({ folders: ['/data'] })
    const whole = await open(measured, 1_000)
    await workload(whole, () => undefined)
    await whole.close()
    const operations = measured.operations
    assert.ok(operations > 60, 'the workload rotates the journal')
    const faults: readonly DiskFault[] = ['crash-before', 'crash-after', 'crash-torn']
    for (let at = 0; at < operations; at++) {
      for (const fault of faults) {
        for (const ending of ['kill', 'power', 'random'] as const) {
          let disk = new MemoryDisk({ folders: ['/data'], fault: (call) => (call.index === at ? fault : undefined) })
          const answers = new Map<string, number>()
          const run = open(disk, 1_000).then((store) => workload(store, (name, count) => answers.set(name, count)))
          await Promise.race([run, disk.crashed])
          const random = ending === 'random' ? new SeededRandom(at) : undefined
          disk = ending === 'kill' ? disk.kill() : disk.powerLoss(random)
          const store = await open(disk, 1_000)
          const where = `${fault} at operation ${at}, ${ending}`
          const found = new Map((await store.list('Topic')).map((each) => [each.metadata.name, each.spec.partitions]))
          for (const [name, count] of answers) assert.ok((found.get(name) ?? 0) >= count, `${name} after ${where}`)
          // Once opened, what it shows must survive the next power loss as well.
          const second = await open(disk.powerLoss(), 1_000)
          assert.deepEqual(
            new Map((await second.list('Topic')).map((each) => [each.metadata.name, each.spec.partitions])),
            found,
            where,
          )
        }
      }
    }
  })

  it('survives an error of any disk operation without losing what it answered', async () => {
    for (const fault of ['EIO', 'ENOSPC', 'short'] as const) {
      for (let at = 0; at < 60; at++) {
        let disk = new MemoryDisk({ folders: ['/data'] })
        const store = await open(disk, 600)
        const base = disk.operations
        disk.setFault((call) => (call.index === base + at ? fault : undefined))
        const answers: string[] = []
        for (let index = 0; index < 8; index++) {
          const name = `t${index}`
          await topic(store, name).then(
            () => answers.push(name),
            (error: unknown) => assert.ok(error instanceof StoreError, String(error)),
          )
        }
        disk = disk.powerLoss()
        const found = (await (await open(disk, 600)).list('Topic')).map((each) => each.metadata.name)
        for (const name of answers) assert.ok(found.includes(name), `${name} after ${fault} at ${at}`)
      }
    }
  })

  it('says that the outcome is unknown when the journal fails, and refuses from then on', async () => {
    const disk = new MemoryDisk({ folders: ['/data'] })
    const store = await open(disk)
    await topic(store, 'a')
    const failure = (): string | undefined => store.failure?.message
    assert.equal(failure(), undefined)
    disk.setFault((call) => (call.operation === 'datasync' ? 'EIO' : undefined))
    await fails('UnknownOutcome', topic(store, 'b'))
    assert.match(failure() ?? '', /restart the process once its disk works again/)
    disk.setFault(undefined)
    await fails('Unavailable', topic(store, 'c'))
    assert.deepEqual(
      (await store.list('Topic')).map((each) => each.metadata.name),
      ['a'],
    )
    await store.close()
    await fails('Unavailable', topic(store, 'd'))
    await fails('Unavailable', store.list('Topic'))
  })

  it('shares one sync between many writers', async () => {
    const disk = new MemoryDisk({ folders: ['/data'] })
    const store = await open(disk)
    const before = disk.operations
    await Promise.all(Array.from({ length: 500 }, (_, index) => topic(store, `t${index}`)))
    assert.ok(disk.operations - before <= 4, `${disk.operations - before} disk operations`)
  })

  it('commits what is in flight when it is closed', async () => {
    const disk = new MemoryDisk({ folders: ['/data'] })
    const store = await open(disk)
    const made = topic(store, 'a')
    await store.close()
    await made
    const reopened = await open(disk.kill())
    assert.equal((await reopened.list('Topic')).length, 1)
  })

  it('refuses a member that would change a prototype', async () => {
    const store = await open(new MemoryDisk())
    await topic(store, 'a')
    const config: unknown = JSON.parse('{"__proto__":"x"}')
    await fails('Invalid', store.patch('Topic', ref('a'), [{ op: 'add', path: '/spec/config', value: config }]))
    await fails('Invalid', store.patch('Topic', ref('a'), [{ op: 'add', path: '/spec/config/__proto__', value: 'x' }]))
  })

  it('on a real disk makes 1,000 topics at once, and opens with 10,000 and their slices, quickly', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ottla-store-'))
    try {
      const options = { disk: new NodeDisk(), folder, clock: systemClock, random: systemRandom, logger: silentLogger }
      let store = await openLocalStore(options)
      let start = performance.now()
      await Promise.all(Array.from({ length: 1_000 }, (_, index) => topic(store, `t${index}`)))
      const createMs = performance.now() - start
      await Promise.all(Array.from({ length: 9_000 }, (_, index) => topic(store, `u${index}`)))
      await Promise.all(Array.from({ length: 157 }, (_, index) => slice(store, index)))
      await store.close()
      store = await openLocalStore(options)
      await store.close()
      start = performance.now()
      store = await openLocalStore(options)
      const openMs = performance.now() - start
      assert.equal((await store.list('Topic')).length, 10_000)
      start = performance.now()
      const target = (await store.list('PartitionSlice'))[0]
      for (let round = 1; round <= 100 && target !== undefined; round++) {
        await store.patch('PartitionSlice', ref(target.metadata.name), [
          { op: 'replace', path: entryPointer('slice0-0'), value: entry({ partitionEpoch: round }) },
        ])
      }
      const patchMs = (performance.now() - start) / 100
      await store.close()
      if (process.env['OTTLA_MEASURE'] !== undefined) {
        process.stdout.write(`create 1,000: ${createMs} ms, open 10,000: ${openMs} ms, one patch: ${patchMs} ms\n`)
      }
      // Generous: the machine that runs the tests may be busy.
      assert.ok(createMs < 5_000 && openMs < 5_000, `create ${createMs} ms, open ${openMs} ms`)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

function slice(store: ResourceStore, index: number): Promise<PartitionSlice> {
  const entries = Object.fromEntries(Array.from({ length: 64 }, (_, each) => [`slice${index}-${each}`, entry()]))
  return store.create({
    kind: 'PartitionSlice',
    metadata: ref(`slice-${index}`),
    spec: { allocationEpoch: 0, entries },
  })
}
