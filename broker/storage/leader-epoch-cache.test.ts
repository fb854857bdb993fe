import assert from 'node:assert/strict'
import { randomInt, SeededRandom } from '../../common/random.ts'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import { CorruptEpochCheckpointError, LeaderEpochFileCache } from './leader-epoch-cache.ts'

const FOLDER = '/data/topic-0'
const FILE = `${FOLDER}/leader-epoch-checkpoint`

function newDisk(): MemoryDisk {
  return new MemoryDisk({ folders: ['/data', FOLDER] })
}

function cacheOf(...entries: readonly (readonly [epoch: number, startOffset: number])[]): LeaderEpochFileCache {
  const cache = new LeaderEpochFileCache(newDisk(), FOLDER)
  for (const [epoch, startOffset] of entries) cache.assign(epoch, startOffset)
  return cache
}

function pairs(cache: LeaderEpochFileCache): number[][] {
  return cache.entries().map((entry) => [entry.epoch, entry.startOffset])
}

describe('leader epoch cache', () => {
  it('keeps the first offset of each epoch', () => {
    const cache = cacheOf()
    assert.equal(cache.isEmpty, true)
    assert.equal(cache.latestEpoch(), undefined)
    assert.equal(cache.assign(2, 10), true)
    assert.equal(cache.assign(2, 11), false)
    assert.equal(cache.assign(2, 10), false)
    assert.equal(cache.assign(5, 20), true)
    assert.deepEqual(pairs(cache), [
      [2, 10],
      [5, 20],
    ])
    assert.equal(cache.latestEpoch(), 5)
    assert.equal(cache.previousEpoch(), 2)
    assert.equal(cache.previousEpoch(2), undefined)
    assert.equal(cache.previousEpoch(9), 5)
    assert.deepEqual(cache.earliestEntry(), { epoch: 2, startOffset: 10 })
    assert.deepEqual(cache.entryOf(5), { epoch: 5, startOffset: 20 })
    assert.equal(cache.entryOf(4), undefined)
  })

  it('removes what a new entry contradicts', () => {
    const start = [
      [1, 0],
      [2, 10],
      [4, 20],
    ] as const
    const after = (epoch: number, startOffset: number): number[][] => {
      const cache = cacheOf(...start)
      cache.assign(epoch, startOffset)
      return pairs(cache)
    }
    assert.deepEqual(after(5, 20), [...start.slice(0, 2), [5, 20]], 'an epoch that wrote nothing')
    assert.deepEqual(after(3, 30), [...start.slice(0, 2), [3, 30]], 'an epoch that went back')
    assert.deepEqual(after(4, 15), [...start.slice(0, 2), [4, 15]], 'an earlier start of the latest one')
    assert.deepEqual(after(7, 5), [start[0], [7, 5]])
    assert.deepEqual(after(0, 0), [[0, 0]])
    assert.throws(() => cacheOf([-1, 0]), /can't start/)
    assert.throws(() => cacheOf([0, -1]), /can't start/)
  })

  it('answers where an epoch ends', () => {
    const cache = cacheOf([2, 10], [5, 20], [6, 30])
    const end = (epoch: number): number[] => {
      const { leaderEpoch, endOffset } = cache.endOffsetFor(epoch, 44)
      return [leaderEpoch, endOffset]
    }
    assert.deepEqual(end(6), [6, 44], 'the latest ends at the log end')
    assert.deepEqual(end(5), [5, 30])
    assert.deepEqual(end(4), [2, 20], 'an unknown one ends where the one before does')
    assert.deepEqual(end(2), [2, 20])
    assert.deepEqual(end(1), [1, 10], 'one before the log ends where the log starts')
    assert.deepEqual(end(7), [-1, -1])
    assert.deepEqual(end(-1), [-1, -1])
    const empty = cacheOf().endOffsetFor(0, 44)
    assert.deepEqual(empty, { leaderEpoch: -1, endOffset: -1 })
  })

  it('tells the epoch of an offset', () => {
    const cache = cacheOf([2, 10], [5, 20])
    assert.deepEqual(
      [9, 10, 19, 20, 100].map((offset) => cache.epochForOffset(offset)),
      [undefined, 2, 2, 5, 5],
    )
  })

  it('is cut from the end', () => {
    const cache = cacheOf([2, 10], [5, 20], [6, 30])
    assert.equal(cache.truncateFromEnd(31), false)
    assert.equal(cache.truncateFromEnd(30), true)
    assert.equal(cache.latestEpoch(), 5)
    assert.equal(cache.truncateFromEnd(15), true)
    assert.deepEqual(pairs(cache), [[2, 10]])
    assert.equal(cache.truncateFromEnd(0), true)
    assert.equal(cache.isEmpty, true)
  })

  it('is cut from the start', () => {
    const cache = cacheOf([2, 10], [5, 20], [6, 30])
    assert.equal(cache.truncateFromStart(5), false)
    assert.equal(cache.truncateFromStart(10), false)
    assert.equal(cache.truncateFromStart(25), true)
    assert.deepEqual(pairs(cache), [
      [5, 25],
      [6, 30],
    ])
    assert.equal(cache.truncateFromStart(30), true)
    assert.deepEqual(pairs(cache), [[6, 30]])
    assert.equal(cache.truncateFromStart(99), true)
    assert.deepEqual(pairs(cache), [[6, 99]])
  })

  it('stays monotone whatever is done to it, and endOffsetFor never goes back with the epoch', () => {
    const random = new SeededRandom(11)
    const cache = cacheOf()
    for (let step = 0; step < 3000; step++) {
      const action = randomInt(random, 0, 9)
      if (action === 0) cache.truncateFromEnd(randomInt(random, 0, 1000))
      else if (action === 1) cache.truncateFromStart(randomInt(random, 0, 1000))
      else cache.assign(randomInt(random, 0, 50), randomInt(random, 0, 1000))
      const entries = cache.entries()
      for (const [index, entry] of entries.entries()) {
        const before = entries[index - 1]
        assert.ok(before === undefined || (before.epoch < entry.epoch && before.startOffset < entry.startOffset))
      }
      const latest = cache.latestEpoch()
      if (latest === undefined) continue
      let last = -1
      for (let epoch = 0; epoch <= latest; epoch++) {
        const { endOffset } = cache.endOffsetFor(epoch, 5000)
        assert.ok(endOffset >= last)
        last = endOffset
      }
    }
  })
})

describe('leader epoch checkpoint', () => {
  it("is Kafka's text, durable after a flush", async () => {
    const disk = newDisk()
    const cache = await LeaderEpochFileCache.open(disk, FOLDER)
    assert.equal(cache.isDirty, false)
    cache.assign(0, 0)
    cache.assign(3, 1234)
    assert.equal(cache.isDirty, true)
    await cache.flush()
    assert.equal(cache.isDirty, false)
    const after = disk.powerLoss()
    assert.equal((await after.readFile(FILE))?.toString(), '0\n2\n0 0\n3 1234\n')
    assert.deepEqual(pairs(await LeaderEpochFileCache.open(after, FOLDER)), [
      [0, 0],
      [3, 1234],
    ])
  })

  it('writes only changes, and one file for many callers', async () => {
    let writes = 0
    const disk = new MemoryDisk({
      folders: ['/data', FOLDER],
      fault: (call) => {
        if (call.operation === 'rename') writes++
        return undefined
      },
    })
    const cache = new LeaderEpochFileCache(disk, FOLDER)
    await cache.flush()
    assert.equal(writes, 0)
    cache.assign(1, 0)
    const first = cache.flush()
    cache.assign(2, 5)
    await Promise.all([first, cache.flush(), cache.flush(), cache.flush()])
    assert.equal(writes, 2)
    assert.equal((await disk.readFile(FILE))?.toString(), '0\n2\n1 0\n2 5\n')
  })

  it('tells of a failed write and tries again at the next flush', async () => {
    let failing = true
    const disk = new MemoryDisk({
      folders: ['/data', FOLDER],
      fault: (call) => (failing && call.operation === 'datasync' ? 'EIO' : undefined),
    })
    const cache = new LeaderEpochFileCache(disk, FOLDER)
    cache.assign(1, 0)
    await assert.rejects(cache.flush(), { code: 'EIO' })
    assert.equal(cache.isDirty, true)
    failing = false
    await cache.flush()
    assert.equal((await disk.readFile(FILE))?.toString(), '0\n1\n1 0\n')
  })

  it('that is damaged is refused', async () => {
    const contents = [
      '',
      '1\n0\n',
      '0\n',
      '0\n2\n1 1\n',
      '0\n1\n1 1\n2 2\n',
      '0\n1\n1\n',
      '0\n1\n-1 5\n',
      '0\n1\nx y\n',
    ]
    for (const content of contents) {
      const disk = newDisk()
      await disk.replaceFile(FILE, content)
      await assert.rejects(
        LeaderEpochFileCache.open(disk, FOLDER),
        CorruptEpochCheckpointError,
        JSON.stringify(content),
      )
    }
  })
})
