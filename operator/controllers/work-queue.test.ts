import assert from 'node:assert/strict'
import { silentLogger } from '../../common/logger.ts'
import { SeededRandom } from '../../common/random.ts'
import type { Timers } from '../../common/timers.ts'
import { WorkQueue, type Outcome } from './work-queue.ts'

/** Timers that fire only when told to. */
class ManualTimers implements Timers {
  readonly waiting = new Map<() => void, number>()

  schedule(delayMs: number, fire: () => void): { cancel: () => void } {
    this.waiting.set(fire, delayMs)
    return { cancel: () => this.waiting.delete(fire) }
  }

  fireAll(): number[] {
    const fired = [...this.waiting]
    this.waiting.clear()
    for (const [fire] of fired) fire()
    return fired.map(([, delayMs]) => delayMs)
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function queueOf(process: (keys: readonly string[]) => Promise<ReadonlyMap<string, Outcome>>): {
  queue: WorkQueue
  timers: ManualTimers
} {
  const timers = new ManualTimers()
  const queue = new WorkQueue({
    name: 'test',
    process,
    timers,
    random: new SeededRandom(1),
    logger: silentLogger,
    maxBatch: 3,
    minBackoffMs: 100,
    maxBackoffMs: 1_000,
  })
  return { queue, timers }
}

describe('WorkQueue', () => {
  it('works once on what was added many times, in batches, and never on a key twice at once', async () => {
    const batches: (readonly string[])[] = []
    const gate = Promise.withResolvers<undefined>()
    const { queue } = queueOf(async (keys) => {
      batches.push(keys)
      if (batches.length === 1) await gate.promise
      return new Map()
    })
    for (const key of ['a', 'b', 'a', 'c', 'd', 'b']) queue.add(key)
    await turn()
    queue.add('a')
    queue.add('a')
    await turn()
    assert.deepEqual(batches, [['a', 'b', 'c']])
    gate.resolve(undefined)
    await turn()
    assert.deepEqual(batches.slice(1), [['d', 'a']])
    assert.equal(queue.size, 0)
  })

  it('backs off twice as long each time up to the bound, and starts anew after a success', async () => {
    let outcome: Outcome = 'retry'
    const { queue, timers } = queueOf((keys) => Promise.resolve(new Map(keys.map((key) => [key, outcome]))))
    queue.add('a')
    for (const expectedMs of [100, 200, 400, 800, 1_000, 1_000]) {
      await turn()
      const [delayMs = 0] = timers.fireAll()
      assert.ok(delayMs >= expectedMs * 0.75 && delayMs <= expectedMs * 1.25, `${delayMs} for ${expectedMs}`)
    }
    outcome = 'done'
    await turn()
    timers.fireAll()
    await turn()
    assert.equal(queue.size, 0)
    outcome = 'retry'
    queue.add('a')
    await turn()
    assert.ok((timers.fireAll()[0] ?? 0) <= 125)
  })

  it('looks again at once a few times, then backs off', async () => {
    let runs = 0
    const { queue, timers } = queueOf((keys) => {
      runs++
      return Promise.resolve(new Map(keys.map((key) => [key, 'again'])))
    })
    queue.add('a')
    await turn()
    assert.equal(runs, 6)
    assert.equal(timers.waiting.size, 1)
  })

  it('tries all keys of a batch again when it fails, and brings a waiting key back when it is added', async () => {
    let runs = 0
    const { queue, timers } = queueOf(() => {
      runs++
      return runs === 1 ? Promise.reject(new Error('no')) : Promise.resolve(new Map())
    })
    queue.add('a')
    queue.add('b')
    await turn()
    assert.equal(timers.waiting.size, 2)
    queue.add('a')
    await turn()
    assert.deepEqual([runs, timers.waiting.size], [2, 1])
  })

  it('drops what waits when it is closed, and waits for what is under way', async () => {
    const gate = Promise.withResolvers<undefined>()
    let isDone = false
    const { queue, timers } = queueOf(async (keys) => {
      await gate.promise
      isDone = true
      return new Map(keys.map((key) => [key, 'retry']))
    })
    queue.add('a')
    await turn()
    queue.add('b')
    const closed = queue.close()
    gate.resolve(undefined)
    await closed
    assert.equal(isDone, true)
    queue.add('c')
    await turn()
    assert.deepEqual([queue.size, timers.waiting.size], [0, 0])
  })
})
