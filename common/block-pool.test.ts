import assert from 'node:assert/strict'
import { BlockPool } from './block-pool.ts'

describe('BlockPool', () => {
  it('uses a block again once all its references are released', () => {
    const pool = new BlockPool({ blockBytes: 100, maxFreeBlocks: 2 })
    const block = pool.take(10)
    const { bytes } = block
    assert.equal(bytes.length, 100)
    block.retain()
    block.release()
    assert.notEqual(pool.take(10).bytes, bytes)
    block.release()
    assert.equal(pool.take(10).bytes, bytes)
  })

  it('gives larger needs a block of their own', () => {
    const pool = new BlockPool({ blockBytes: 100, maxFreeBlocks: 2 })
    const block = pool.take(101)
    assert.equal(block.bytes.length, 101)
    block.release()
    assert.equal(pool.freeBlocks, 0)
  })

  it('keeps only so many free blocks', () => {
    const pool = new BlockPool({ blockBytes: 100, maxFreeBlocks: 2 })
    const blocks = [pool.take(1), pool.take(1), pool.take(1)]
    for (const block of blocks) block.release()
    assert.equal(pool.freeBlocks, 2)
  })

  it('notices a release too many, also when the memory has a new user', () => {
    const pool = new BlockPool({ blockBytes: 100, maxFreeBlocks: 2 })
    const block = pool.take(1)
    block.release()
    const next = pool.take(1)
    assert.equal(next.bytes, block.bytes)
    assert.throws(() => block.release(), /more often/)
    assert.throws(() => block.retain(), /given back/)
    next.release()
  })
})
