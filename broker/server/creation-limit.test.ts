import assert from 'node:assert/strict'
import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'
import { CreationLimit } from './creation-limit.ts'

describe('CreationLimit', () => {
  it('counts what is under way with what is known', () => {
    const limit = new CreationLimit(10, 'things')
    const giveBack = limit.take(8)
    limit.take(8)
    const isRefusal = (error: unknown): boolean =>
      error instanceof KafkaError &&
      error.code === ErrorCode.POLICY_VIOLATION &&
      error.message === 'There can be at most 10 things.'
    assert.throws(() => limit.take(8), isRefusal)
    giveBack()
    limit.take(8)
    assert.throws(() => limit.take(10), isRefusal)
  })
})
