import assert from 'node:assert/strict'
import { ReceiveBudget, type FrameHolder } from './receive-budget.ts'

class Holder implements FrameHolder {
  evictions = 0
  evict(): void {
    this.evictions++
  }
}

describe('ReceiveBudget', () => {
  it('lets the oldest of the large holders go', () => {
    const budget = new ReceiveBudget(100)
    const [small, old, young] = [new Holder(), new Holder(), new Holder()]
    budget.set(small, 5, false)
    budget.set(old, 50, false)
    budget.set(young, 50, false)
    assert.deepEqual([small.evictions, old.evictions, young.evictions], [0, 1, 0])
    assert.equal(budget.usedBytes, 55)
  })

  it('counts who makes progress as young', () => {
    const budget = new ReceiveBudget(100)
    const [first, second] = [new Holder(), new Holder()]
    budget.set(first, 40, false)
    budget.set(second, 40, false)
    budget.set(first, 40, true)
    budget.set(first, 61, false)
    assert.deepEqual([first.evictions, second.evictions], [1, 0], 'the second holds less than the average')
    budget.set(first, 40, false)
    budget.set(second, 61, false)
    assert.deepEqual([first.evictions, second.evictions], [1, 1])
  })

  it('lets several go where one is not enough, and is empty when all are gone', () => {
    const budget = new ReceiveBudget(100)
    const holders = Array.from({ length: 10 }, () => new Holder())
    for (const holder of holders) budget.set(holder, 10, false)
    const large = new Holder()
    budget.set(large, 95, false)
    assert.equal(large.evictions, 1)
    assert.equal(budget.usedBytes, 100)
    for (const holder of holders) budget.set(holder, 0, false)
    assert.equal(budget.usedBytes, 0)
  })
})
