import assert from 'node:assert/strict'
import { allErrorInfos, ErrorCode, errorInfo, KafkaError } from './error-codes.ts'

describe('the table of error codes', () => {
  it('has each code from -1 on once, with a message', () => {
    assert.deepEqual(
      allErrorInfos.map(({ code }) => code),
      Array.from({ length: 135 }, (_, index) => index - 1),
    )
    assert.equal(new Set(allErrorInfos.map(({ message }) => message)).size, allErrorInfos.length)
  })

  it('tells what can be retried', () => {
    assert.equal(errorInfo(ErrorCode.NOT_LEADER_OR_FOLLOWER).retriable, true)
    assert.equal(errorInfo(ErrorCode.INVALID_TOPIC_EXCEPTION).retriable, false)
    assert.equal(new KafkaError(ErrorCode.KAFKA_STORAGE_ERROR).retriable, true)
  })

  it('knows what to say of codes that are newer than it', () => {
    assert.deepEqual(errorInfo(999), {
      code: 999,
      name: 'ERROR_999',
      retriable: false,
      message: 'An error of the unknown code 999.',
    })
  })
})

describe('KafkaError', () => {
  it('has the default message of its code, or a better one', () => {
    assert.equal(new KafkaError(ErrorCode.UNKNOWN_TOPIC_ID).message, 'The broker has no topic of this id.')
    const cause = new Error('disk')
    const error = new KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, 'no space', { cause })
    assert.deepEqual([error.code, error.message, error.cause], [56, 'no space', cause])
  })
})
