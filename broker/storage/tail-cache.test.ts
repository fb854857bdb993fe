import assert from 'node:assert/strict'
import { batchOf } from './testing/log-fixture.ts'
import { LogTail, TailCache } from './tail-cache.ts'

function batchAt(baseOffset: number, valueBytes = 20): Buffer {
  return batchOf(1, { baseOffset, valueBytes })
}

describe('TailCache', () => {
  it('lets the oldest appends of any log go when the budget is used up', () => {
    const size = batchAt(0).length
    const cache = new TailCache(size * 4)
    const [a, b] = [new LogTail(cache), new LogTail(cache)]
    for (let i = 0; i < 3; i++) a.add(batchAt(i), i + 1)
    for (let i = 0; i < 3; i++) b.add(batchAt(i), i + 1)
    assert.equal(cache.sizeBytes, size * 4)
    assert.deepEqual(
      [0, 1, 2, 3].map((offset) => a.holds(offset)),
      [false, false, true, false],
    )
    assert.deepEqual(
      [0, 1, 2, 3].map((offset) => b.holds(offset)),
      [true, true, true, false],
    )
    for (let i = 3; i < 300; i++) b.add(batchAt(i), i + 1)
    assert.equal(a.holds(2), false)
    assert.ok(cache.sizeBytes <= cache.budgetBytes)
    assert.ok(b.holds(299) && !b.holds(290))
  })

  it('forgets what is truncated, and an append that straddles the end as a whole', () => {
    const cache = new TailCache(1e6)
    const tail = new LogTail(cache)
    tail.add(batchAt(0), 1)
    tail.add(Buffer.concat([batchAt(1), batchAt(2)]), 3)
    tail.truncateTo(2)
    assert.deepEqual([tail.holds(0), tail.holds(1)], [true, false])
    assert.equal(cache.sizeBytes, batchAt(0).length)
    tail.clear()
    assert.equal(cache.sizeBytes, 0)
  })

  it('does not pin memory that is much larger than an append', () => {
    const cache = new TailCache(1e6)
    const tail = new LogTail(cache)
    const chunk = Buffer.alloc(65536)
    const batch = batchAt(0)
    batch.copy(chunk)
    tail.add(chunk.subarray(0, batch.length), 1)
    const out: Buffer[] = []
    tail.collect(0, Infinity, 1e6, true, out)
    assert.deepEqual(out[0], batch)
    assert.notEqual(out[0].buffer, chunk.buffer)
  })

  it('keeps nothing that is larger than the whole budget, and then has no gap', () => {
    const cache = new TailCache(200)
    const tail = new LogTail(cache)
    tail.add(batchAt(0), 1)
    tail.add(batchAt(1, 500), 2)
    assert.deepEqual([tail.holds(0), tail.holds(1)], [false, false])
    tail.add(batchAt(2), 3)
    assert.equal(tail.holds(2), true)
  })
})
