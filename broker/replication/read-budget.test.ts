import assert from 'node:assert/strict'
import { ReadBudget } from './read-budget.ts'

const MiB = 1024 * 1024

describe('ReadBudget', () => {
  it('gives what is wanted while there is room, and counts what was really read', () => {
    const budget = new ReadBudget(100 * MiB)
    const first = budget.grant(60 * MiB)
    assert.equal(first.bytes, 60 * MiB)
    first.settle(10 * MiB)
    assert.equal(budget.grant(80 * MiB).bytes, 80 * MiB)
    first.release()
    assert.equal(budget.usedBytes, 80 * MiB)
  })

  it('gives everybody a little when it is used up', () => {
    const budget = new ReadBudget(100 * MiB)
    const all = Array.from({ length: 100 }, () => budget.grant(50 * MiB))
    assert.ok(all.every(({ bytes }) => bytes >= 64 * 1024))
    assert.ok(budget.usedBytes <= 107 * MiB)
    for (const grant of all) grant.release()
    assert.equal(budget.usedBytes, 0)
  })

  it('notices a release too many', () => {
    const grant = new ReadBudget(MiB).grant(10)
    grant.release()
    assert.throws(() => grant.release(), /twice/)
  })
})
