/** Topics that can't be, and too many of them. */
import assert from 'node:assert/strict'
import { ErrorCode } from '../../broker/protocol/error-codes.ts'
import { metadataRequest, metadataResponse } from '../../broker/protocol/messages/03-metadata.ts'
import { createTopicsRequest, createTopicsResponse } from '../../broker/protocol/messages/19-create-topics.ts'
import { deleteTopicsRequest, deleteTopicsResponse } from '../../broker/protocol/messages/20-delete-topics.ts'
import {
  createPartitionsRequest,
  createPartitionsResponse,
} from '../../broker/protocol/messages/37-create-partitions.ts'
import { TOPIC, world } from './world.ts'

const CREATE = [createTopicsRequest, createTopicsResponse] as const
const BAD_NAMES = [
  '',
  '.',
  '..',
  'a/b',
  '../../etc',
  'a b',
  'x'.repeat(250),
  'тема',
  '😀',
  'a\u0000b',
  'a\nb',
  'a\\b',
  '__proto__/',
]

describe('topics', () => {
  it('refuses names that are none', async () => {
    const client = await world().connect()
    const { topics } = await client.call(CREATE, 7, {
      topics: BAD_NAMES.map((name) => ({ name, numPartitions: 1, replicationFactor: 1 })),
      timeoutMs: 5000,
    })
    for (const { name, errorCode } of topics) {
      assert.equal(errorCode, ErrorCode.INVALID_TOPIC_EXCEPTION, JSON.stringify(name))
    }
    assert.equal(topics.length, BAD_NAMES.length)
    const metadata = await client.call([metadataRequest, metadataResponse], 9, {
      topics: BAD_NAMES.map((name) => ({ name })),
    })
    for (const { name, errorCode } of metadata.topics) {
      assert.equal(errorCode, ErrorCode.INVALID_TOPIC_EXCEPTION, JSON.stringify(name))
    }
    await world().expectProblems()
  })

  it('refuses names that are too long for a response to say', async () => {
    const client = await world().connect()
    const { topics } = await client.call(CREATE, 7, {
      topics: [{ name: 'x'.repeat(32_767), numPartitions: 1, replicationFactor: 1 }],
      timeoutMs: 5000,
    })
    assert.equal(topics[0]?.errorCode, ErrorCode.INVALID_TOPIC_EXCEPTION)
    await world().expectProblems()
  })

  it('takes names that only look odd', async () => {
    const client = await world().connect()
    for (const name of ['x'.repeat(249), '__proto__', 'constructor', '...', '-', 'A-b_c.D']) {
      const { topics } = await client.call(CREATE, 7, {
        topics: [{ name, numPartitions: 1, replicationFactor: 1 }],
        timeoutMs: 10_000,
      })
      assert.equal(topics[0]?.errorCode, 0, `${name}: ${topics[0]?.errorMessage ?? ''}`)
      const { responses } = await client.call([deleteTopicsRequest, deleteTopicsResponse], 5, {
        topicNames: [name],
        timeoutMs: 10_000,
      })
      assert.equal(responses[0]?.errorCode, 0, name)
    }
    await world().expectProblems()
  })

  it('refuses 100,000 partitions in one request, of one topic or of many', async () => {
    const client = await world().connect()
    for (const topics of [
      [{ name: 'wide', numPartitions: 100_000, replicationFactor: 1 }],
      Array.from({ length: 1000 }, (_, i) => ({ name: `many-${i}`, numPartitions: 100, replicationFactor: 1 })),
      [{ name: 'wider', numPartitions: 0x7fffffff, replicationFactor: 1 }],
    ]) {
      const answer = await client.call(CREATE, 7, { topics, timeoutMs: 5000 })
      assert.ok(answer.topics.every(({ errorCode }) => errorCode === ErrorCode.POLICY_VIOLATION))
      assert.equal(answer.topics.length, topics.length)
    }
    const { results } = await client.call([createPartitionsRequest, createPartitionsResponse], 3, {
      topics: [{ name: TOPIC, count: 100_000, assignments: null }],
      timeoutMs: 5000,
    })
    assert.equal(results[0]?.errorCode, ErrorCode.POLICY_VIOLATION)
    await world().expectProblems()
  })

  it('refuses impossible counts, replicas and configs', async () => {
    const client = await world().connect()
    const name = 'impossible'
    for (const [topic, errorCode] of [
      [{ name, numPartitions: 0, replicationFactor: 1 }, ErrorCode.INVALID_PARTITIONS],
      [{ name, numPartitions: -5, replicationFactor: 1 }, ErrorCode.INVALID_PARTITIONS],
      [{ name, numPartitions: 1, replicationFactor: 0 }, ErrorCode.INVALID_REPLICATION_FACTOR],
      [{ name, numPartitions: 1, replicationFactor: 32_767 }, ErrorCode.INVALID_REPLICATION_FACTOR],
      [
        { name, numPartitions: 1, replicationFactor: 1, configs: [{ name: 'nonsense', value: '1' }] },
        ErrorCode.INVALID_CONFIG,
      ],
      [
        {
          name,
          numPartitions: 1,
          replicationFactor: 1,
          configs: [{ name: 'retention.ms', value: 'x'.repeat(20_000) }],
        },
        ErrorCode.INVALID_CONFIG,
      ],
      [
        { name, numPartitions: -1, replicationFactor: -1, assignments: [{ partitionIndex: -1, brokerIds: [0] }] },
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
      ],
      [
        { name, numPartitions: -1, replicationFactor: -1, assignments: [{ partitionIndex: 0, brokerIds: [99] }] },
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
      ],
    ] as const) {
      const { topics } = await client.call(CREATE, 7, { topics: [topic], timeoutMs: 5000 })
      assert.equal(topics[0]?.errorCode, errorCode, JSON.stringify(topic).slice(0, 200))
    }
    await world().expectProblems()
  })

  it('creates only some of 10,000 topics that one Metadata request would create', async () => {
    const client = await world().connect()
    const topics = Array.from({ length: 10_000 }, (_, i) => ({ name: `auto-${i}` }))
    const answer = await client.call(
      [metadataRequest, metadataResponse],
      9,
      { topics, allowAutoTopicCreation: true },
      40_000,
    )
    assert.equal(answer.topics.length, 10_000)
    const created = answer.topics.filter(({ errorCode }) => errorCode === 0)
    assert.ok(created.length > 0 && created.length <= 100, `${created.length} topics`)
    const { responses } = await client.call([deleteTopicsRequest, deleteTopicsResponse], 5, {
      topicNames: created.map(({ name }) => name ?? ''),
      timeoutMs: 20_000,
    })
    assert.ok(responses.every(({ errorCode }) => errorCode === 0))
    await world().expectProblems()
  })
})
