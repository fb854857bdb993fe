import assert from 'node:assert/strict'

import { Ledger } from './ledger.ts'
import { valueCrc } from './value.ts'

type Logged = { crc: number; producer: string; sequence: number }

/** A log of one partition: the sequence numbers of producer `p`, from `start` on. */
function logOf(sequences: readonly number[], start = 0): Map<number, Logged> {
  return new Map(
    sequences.map((sequence, index) => [start + index, { crc: valueCrc('p', sequence), producer: 'p', sequence }]),
  )
}

function ledger(isIdempotent = true, isPersistent = true): Ledger {
  const made = new Ledger()
  made.addProducer({ name: 'p', isIdempotent, isPersistent })
  return made
}

describe('the crash ledger', () => {
  it('finds nothing wrong in a log that keeps its promises', () => {
    const kept = ledger()
    for (const sequence of [0, 1, 2]) {
      kept.acknowledge('p', 't-0', sequence, sequence)
      kept.see('t-0', sequence, valueCrc('p', sequence))
    }
    kept.finish('p', 't-0', 3)
    kept.check('t-0', 0, 3, logOf([0, 1, 2]))
    assert.deepEqual(kept.violations, [])
  })

  it('finds an acknowledged record that is missing', () => {
    const kept = ledger()
    kept.acknowledge('p', 't-0', 0, 0)
    kept.acknowledge('p', 't-0', 1, 1)
    kept.check('t-0', 0, 1, logOf([0]))
    assert.match(kept.violations.join(), /t-0@1: acknowledged p's record 1, holds nothing/)
  })

  it('finds an acknowledged record at another offset', () => {
    const kept = ledger()
    kept.acknowledge('p', 't-0', 0, 1)
    kept.check('t-0', 0, 2, logOf([0, 1]))
    assert.match(kept.violations.join(), /holds p's record 1/)
  })

  it('finds a duplicate of an idempotent producer, and only of one', () => {
    const idempotent = ledger()
    idempotent.acknowledge('p', 't-0', 0, 0)
    idempotent.check('t-0', 0, 2, logOf([0, 0]))
    assert.match(idempotent.violations.join(), /is there twice/)
    const plain = ledger(false)
    plain.acknowledge('p', 't-0', 0, 0)
    plain.check('t-0', 0, 2, logOf([0, 0]))
    assert.deepEqual(plain.violations, [])
  })

  it('finds a broken order and a hole', () => {
    const kept = ledger()
    kept.acknowledge('p', 't-0', 0, 0)
    kept.check('t-0', 0, 4, new Map([...logOf([0, 2, 1])]))
    assert.match(kept.violations.join(), /record 1 comes after 2/)
    assert.match(kept.violations.join(), /no record at offset 3/)
  })

  it('finds what a persistent producer sent and nobody acknowledged to be missing', () => {
    const kept = ledger()
    kept.acknowledge('p', 't-0', 0, 0)
    kept.finish('p', 't-0', 2)
    kept.check('t-0', 0, 1, logOf([0]))
    assert.match(kept.violations.join(), /record 1 is missing/)
  })

  it('finds records that a consumer saw changed or vanished, or came twice', () => {
    const kept = ledger()
    kept.see('t-0', 0, valueCrc('p', 7))
    kept.see('t-0', 5, valueCrc('p', 5))
    kept.see('t-0', 5, valueCrc('p', 5))
    kept.check('t-0', 0, 1, logOf([0]))
    assert.match(kept.violations.join(), /t-0@0: a record that a consumer saw has changed/)
    assert.match(kept.violations.join(), /t-0@5: a record that a consumer saw has vanished/)
    assert.match(kept.violations.join(), /sent back from offset 5 to 5/)
  })

  it('finds changed contents', () => {
    const kept = ledger()
    kept.check('t-0', 0, 1, new Map([[0, { crc: 1, producer: 'p', sequence: 0 }]]))
    assert.match(kept.violations.join(), /has changed/)
  })

  it('excuses what retention removed', () => {
    const kept = ledger()
    for (const sequence of [0, 1, 2]) kept.acknowledge('p', 't-0', sequence, sequence)
    kept.finish('p', 't-0', 3)
    kept.check('t-0', 2, 3, logOf([2], 2))
    assert.deepEqual(kept.violations, [])
  })
})
