import assert from 'node:assert/strict'
import { RateSensor } from './rate-sensor.ts'

describe('RateSensor', () => {
  const window = { samples: 11, windowMs: 1000 }

  it('counts a short time as ten windows, so that a start is no high rate', () => {
    const sensor = new RateSensor(window)
    sensor.record(1000, 0)
    assert.equal(sensor.rate(0), 100)
    assert.equal(Math.round(sensor.rate(500)), Math.round(1000 / 10.5))
  })

  it('spans at most the samples and a running window, and forgets what is older', () => {
    const sensor = new RateSensor(window)
    for (let second = 0; second < 100; second++) sensor.record(50, second * 1000)
    assert.ok(Math.abs(sensor.rate(99_000) - 50) <= 5, String(sensor.rate(99_000)))
    assert.equal(sensor.rate(99_000 + 11_000), 0)
  })

  it('throttles for as long as it takes until the rate is down to the limit', () => {
    const sensor = new RateSensor(window)
    sensor.record(3000, 0)
    assert.equal(sensor.throttleMs(300, 0), 0)
    const throttleMs = sensor.throttleMs(200, 0)
    assert.equal(throttleMs, 5000)
    // Over the longer time the same amount is within the limit.
    assert.equal(3000 / ((10_000 + throttleMs) / 1000), 200)
  })

  it('takes back what was not done after all', () => {
    const sensor = new RateSensor(window)
    sensor.record(500, 0)
    sensor.record(3000, 10)
    sensor.record(-3000, 10)
    assert.equal(Math.round(sensor.rate(10)), 50)
  })

  it('lets no more through than the limit in the long run, whatever the bursts are', () => {
    const sensor = new RateSensor(window)
    const limit = 1000
    let nowMs = 0
    let total = 0
    for (let i = 0; nowMs < 600_000; i++) {
      const burst = 100 + ((i * 7919) % 5000)
      sensor.record(burst, nowMs)
      total += burst
      nowMs += Math.max(10, sensor.throttleMs(limit, nowMs))
    }
    const rate = total / (nowMs / 1000)
    assert.ok(rate < limit * 1.15 && rate > limit * 0.85, String(rate))
  })
})
