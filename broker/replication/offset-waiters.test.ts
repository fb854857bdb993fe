import assert from 'node:assert/strict'
import { SeededRandom, randomInt } from '../../common/random.ts'
import { OffsetWaiters } from './offset-waiters.ts'

function recorder(log: string[], name: string): { offsetPassed: () => void; waitFailed: (code: number) => void } {
  return { offsetPassed: () => log.push(name), waitFailed: (code) => log.push(`${name}!${code}`) }
}

describe('OffsetWaiters', () => {
  it('serves whoever waits for an offset that was passed, in the order of the offsets', () => {
    const log: string[] = []
    const waiters = new OffsetWaiters()
    waiters.add(10, recorder(log, 'a'))
    waiters.add(20, recorder(log, 'b'))
    waiters.add(15, recorder(log, 'late'))
    waiters.advance(9)
    assert.deepEqual(log, [])
    waiters.advance(15)
    assert.deepEqual(log, ['a', 'late'])
    waiters.advance(100)
    assert.deepEqual(log, ['a', 'late', 'b'])
    assert.equal(waiters.size, 0)
  })

  it('fails all that still wait, once', () => {
    const log: string[] = []
    const waiters = new OffsetWaiters()
    waiters.add(1, recorder(log, 'a'))
    waiters.add(2, recorder(log, 'b'))
    waiters.advance(1)
    waiters.failAll(6)
    waiters.failAll(6)
    waiters.advance(100)
    assert.deepEqual(log, ['a', 'b!6'])
  })

  it('serves every waiter exactly once, whatever the order', () => {
    const random = new SeededRandom(5)
    const waiters = new OffsetWaiters()
    let passed = 0
    const served = new Map<number, number>()
    for (let i = 0; i < 5000; i++) {
      const offset = passed + randomInt(random, -3, 10)
      waiters.add(offset, {
        offsetPassed: () => {
          assert.ok(offset <= passed, 'not served early')
          served.set(i, (served.get(i) ?? 0) + 1)
        },
        waitFailed: () => assert.fail('nothing fails here'),
      })
      if (random.next() < 0.5) {
        passed += randomInt(random, 0, 5)
        waiters.advance(passed)
      }
    }
    passed += 1000
    waiters.advance(passed)
    assert.equal(served.size, 5000)
    assert.ok([...served.values()].every((count) => count === 1))
  })
})
