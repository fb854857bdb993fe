import assert from 'node:assert/strict'
import { SeededRandom, randomInt } from './random.ts'
import { TimingWheel } from './timing-wheel.ts'
import { systemClock } from './clock.ts'

describe('TimingWheel', () => {
  it('fires each timer once, never early, in the order of their deadlines', async () => {
    const wheel = new TimingWheel(systemClock, { tickMs: 2, slotCount: 8 })
    const random = new SeededRandom(7)
    const fired: { dueMs: number; atMs: number }[] = []
    await new Promise<void>((resolve) => {
      for (let i = 0; i < 200; i++) {
        const delayMs = randomInt(random, 0, 120)
        const dueMs = systemClock.monotonicMs() + delayMs
        wheel.schedule(delayMs, () => {
          fired.push({ dueMs, atMs: systemClock.monotonicMs() })
          if (fired.length === 200) resolve()
        })
      }
    })
    for (const { dueMs, atMs } of fired) assert.ok(atMs >= dueMs, `fired ${dueMs - atMs} ms early`)
    for (let i = 1; i < fired.length; i++) {
      assert.ok((fired[i]?.dueMs ?? 0) >= (fired[i - 1]?.dueMs ?? 0) - 3, 'later deadlines fire later')
    }
    assert.equal(wheel.size, 0)
  })

  it('does not fire what was cancelled, also from within a firing timer', async () => {
    const wheel = new TimingWheel(systemClock, { tickMs: 1, slotCount: 8 })
    let cancelledFired = 0
    const cancelled = wheel.schedule(5, () => cancelledFired++)
    cancelled.cancel()
    cancelled.cancel()
    const victim = wheel.schedule(20, () => cancelledFired++)
    wheel.schedule(10, () => victim.cancel())
    await new Promise<void>((resolve) => wheel.schedule(40, resolve))
    assert.equal(cancelledFired, 0)
    assert.equal(wheel.size, 0)
  })

  it('goes on after a timer that throws', async () => {
    const wheel = new TimingWheel(systemClock, { tickMs: 1, slotCount: 8 })
    const thrown: unknown[] = []
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.once('uncaughtException', (error) => thrown.push(error))
    wheel.schedule(1, () => {
      throw new Error('broken timer')
    })
    await new Promise<void>((resolve) => wheel.schedule(15, resolve))
    for (const listener of listeners) process.on('uncaughtException', listener)
    assert.equal(thrown.length, 1)
  })

  it('fires timers of later rounds in their own round', async () => {
    const wheel = new TimingWheel(systemClock, { tickMs: 1, slotCount: 4 })
    const startMs = systemClock.monotonicMs()
    const atMs = await new Promise<number>((resolve) => wheel.schedule(50, () => resolve(systemClock.monotonicMs())))
    assert.ok(atMs - startMs >= 50)
  })
})
