import assert from 'node:assert/strict'
import { type Block, BlockPool, releaseAll } from '../../common/block-pool.ts'
import { RecordArena } from './record-arena.ts'
import { batchOf } from './testing/log-fixture.ts'
import { LogTail, TailCache } from './tail-cache.ts'

const blockOf = (): Block => new BlockPool({ blockBytes: 1, maxFreeBlocks: 0 }).take(1)

function batchAt(baseOffset: number, valueBytes = 20): Buffer {
  return batchOf(1, { baseOffset, valueBytes })
}

describe('TailCache', () => {
  it('lets the oldest appends of any log go when the budget is used up', () => {
    const size = batchAt(0).length
    const cache = new TailCache(size * 4)
    const [a, b] = [new LogTail(cache), new LogTail(cache)]
    for (let i = 0; i < 3; i++) a.add(batchAt(i), i + 1, blockOf())
    for (let i = 0; i < 3; i++) b.add(batchAt(i), i + 1, blockOf())
    assert.equal(cache.sizeBytes, size * 4)
    assert.deepEqual(
      [0, 1, 2, 3].map((offset) => a.holds(offset)),
      [false, false, true, false],
    )
    assert.deepEqual(
      [0, 1, 2, 3].map((offset) => b.holds(offset)),
      [true, true, true, false],
    )
    for (let i = 3; i < 300; i++) b.add(batchAt(i), i + 1, blockOf())
    assert.equal(a.holds(2), false)
    assert.ok(cache.sizeBytes <= cache.budgetBytes)
    assert.ok(b.holds(299) && !b.holds(290))
  })

  it('forgets what is truncated, and an append that straddles the end as a whole', () => {
    const cache = new TailCache(1e6)
    const tail = new LogTail(cache)
    tail.add(batchAt(0), 1, blockOf())
    tail.add(Buffer.concat([batchAt(1), batchAt(2)]), 3, blockOf())
    tail.truncateTo(2)
    assert.deepEqual([tail.holds(0), tail.holds(1)], [true, false])
    assert.equal(cache.sizeBytes, batchAt(0).length)
    tail.clear()
    assert.equal(cache.sizeBytes, 0)
  })

  it('holds a block until its append went, and gives readers a reference of their own', () => {
    const cache = new TailCache(1e6)
    const tail = new LogTail(cache)
    const pool = new BlockPool({ blockBytes: 1000, maxFreeBlocks: 10 })
    const arena = new RecordArena(pool)
    const add = (offset: number): void => {
      const { records, block } = arena.store(batchAt(offset))
      tail.add(records, offset + 1, block)
    }
    for (let offset = 0; offset < 20; offset++) add(offset)
    const out: Buffer[] = []
    const blocks: Block[] = []
    tail.collect(0, Infinity, 1e6, true, out, blocks)
    assert.deepEqual(Buffer.concat(out), Buffer.concat(Array.from({ length: 20 }, (_, i) => batchAt(i))))
    assert.equal(pool.freeBlocks, 0)
    tail.clear()
    assert.equal(pool.freeBlocks, 0, 'the reader still has them')
    releaseAll(blocks)
    assert.equal(pool.freeBlocks, blocks.length - 1, 'all but the one that is being filled')
  })

  it('keeps nothing that is larger than the whole budget, and then has no gap', () => {
    const cache = new TailCache(200)
    const tail = new LogTail(cache)
    tail.add(batchAt(0), 1, blockOf())
    tail.add(batchAt(1, 500), 2, blockOf())
    assert.deepEqual([tail.holds(0), tail.holds(1)], [false, false])
    tail.add(batchAt(2), 3, blockOf())
    assert.equal(tail.holds(2), true)
  })
})
