/** Whole requests that ask for too much, or for nonsense. */
import assert from 'node:assert/strict'
import { ErrorCode } from '../../broker/protocol/error-codes.ts'
import { produceRequest } from '../../broker/protocol/messages/00-produce.ts'
import { fetchRequest, fetchResponse } from '../../broker/protocol/messages/01-fetch.ts'
import { listOffsetsRequest, listOffsetsResponse } from '../../broker/protocol/messages/02-list-offsets.ts'
import { metadataRequest, metadataResponse } from '../../broker/protocol/messages/03-metadata.ts'
import { findCoordinatorRequest, findCoordinatorResponse } from '../../broker/protocol/messages/10-find-coordinator.ts'
import { apiVersionsRequest, apiVersionsResponse } from '../../broker/protocol/messages/18-api-versions.ts'
import { describeConfigsRequest, describeConfigsResponse } from '../../broker/protocol/messages/32-describe-configs.ts'
import {
  describeTopicPartitionsRequest,
  describeTopicPartitionsResponse,
} from '../../broker/protocol/messages/75-describe-topic-partitions.ts'
import type { Input } from '../../broker/protocol/schema.ts'
import { frameOf, framed, header, int16, int32 } from './raw-client.ts'
import { TOPIC, world } from './world.ts'

const FETCH = [fetchRequest, fetchResponse] as const

function fetchOf(
  partitions: Partial<FetchPartition>[],
  options: Input<typeof fetchRequest> = {},
): Input<typeof fetchRequest> {
  return {
    maxBytes: 1_000_000,
    sessionEpoch: -1,
    topics: [
      {
        topic: TOPIC,
        partitions: partitions.map((partition) => ({ partition: 0, partitionMaxBytes: 1_000_000, ...partition })),
      },
    ],
    ...options,
  }
}

interface FetchPartition {
  readonly partition: number
  readonly fetchOffset: number
  readonly partitionMaxBytes: number
  readonly currentLeaderEpoch: number
}

describe('requests', () => {
  it('answers fetches of all sizes, offsets and waits', async () => {
    const client = await world().connect()
    const errorOf = async (
      partition: Partial<FetchPartition>,
      options: Input<typeof fetchRequest> = {},
    ): Promise<number> => {
      const { errorCode, responses } = await client.call(FETCH, 12, fetchOf([partition], options))
      assert.equal(errorCode, 0)
      return responses[0]?.partitions[0]?.errorCode ?? -2
    }
    const huge = 0x7fffffff
    assert.equal(await errorOf({ partitionMaxBytes: huge }, { maxBytes: huge }), 0)
    assert.equal(await errorOf({ partitionMaxBytes: huge }, { maxBytes: huge, minBytes: huge, maxWaitMs: 50 }), 0)
    assert.equal(await errorOf({ partitionMaxBytes: -1 }, { maxBytes: -1, maxWaitMs: -1, minBytes: -1 }), 0)
    assert.equal(await errorOf({ partitionMaxBytes: -0x80000000 }, { maxBytes: -0x80000000, maxWaitMs: huge }), 0)
    assert.equal(await errorOf({ fetchOffset: -1 }), ErrorCode.OFFSET_OUT_OF_RANGE)
    assert.equal(await errorOf({ fetchOffset: -(2 ** 52) }), ErrorCode.OFFSET_OUT_OF_RANGE)
    assert.equal(await errorOf({ fetchOffset: 2 ** 52 }), ErrorCode.OFFSET_OUT_OF_RANGE)
    assert.equal(await errorOf({ partition: -1 }), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert.equal(await errorOf({ partition: huge }), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert.equal(await errorOf({ currentLeaderEpoch: huge }), ErrorCode.UNKNOWN_LEADER_EPOCH)
    await world().expectProblems()
  })

  it('waits for ever for no client that is gone', async () => {
    const client = await world().connect()
    await client.send(frameOf(fetchRequest, 12, fetchOf([{}], { maxWaitMs: 0x7fffffff, minBytes: 1_000_000 })))
    client.socket.end()
    assert.ok(await client.nextFrame(), 'the end of the client ends the wait')
    await client.ended()
    await world().expectProblems()
  })

  it('reads a partition once that a fetch names many times', async () => {
    const client = await world().connect()
    const { responses } = await client.call(FETCH, 12, fetchOf(Array.from({ length: 10_000 }, () => ({}))))
    assert.deepEqual(
      responses.map(({ partitions }) => partitions.length),
      [1],
    )
    await world().expectProblems()
  })

  it('opens no session for strangers that name partitions without end', async () => {
    const client = await world().connect()
    for (let i = 0; i < 5; i++) {
      const partitions = Array.from({ length: 90_000 }, (_, partition) => ({ partition: partition + 1 }))
      const { sessionId, responses } = await client.call(FETCH, 12, fetchOf(partitions, { sessionEpoch: 0 }))
      assert.equal(responses[0]?.partitions.length, 90_000)
      assert.equal(sessionId === 0, i >= 2, 'two such sessions are all that is remembered')
    }
    await world().expectProblems()
  })

  it('refuses duplicate partitions in ListOffsets', async () => {
    const client = await world().connect()
    const partitions = [0, 0].map((partitionIndex) => ({ partitionIndex, timestamp: -1 }))
    const { topics } = await client.call([listOffsetsRequest, listOffsetsResponse], 7, {
      replicaId: -1,
      topics: [{ name: TOPIC, partitions }],
    })
    assert.deepEqual(
      topics[0]?.partitions.map(({ errorCode }) => errorCode),
      [ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST],
    )
    await world().expectProblems()
  })

  it('answers a topic once that Metadata and DescribeTopicPartitions name many times', async () => {
    const client = await world().connect()
    const topics = Array.from({ length: 90_000 }, () => ({ name: TOPIC }))
    const metadata = await client.call([metadataRequest, metadataResponse], 9, { topics })
    assert.equal(metadata.topics.length, 1)
    const described = await client.call([describeTopicPartitionsRequest, describeTopicPartitionsResponse], 0, {
      topics,
    })
    assert.equal(described.topics.length, 1)
    await world().expectProblems()
  })

  it('describes a resource once that DescribeConfigs names many times', async () => {
    const client = await world().connect()
    const configurationKeys = Array.from({ length: 10 }, () => 'retention.ms')
    const resources = Array.from({ length: 5000 }, () => ({
      resourceType: 2,
      resourceName: TOPIC,
      configurationKeys,
    }))
    const { results } = await client.call([describeConfigsRequest, describeConfigsResponse], 4, {
      resources,
      includeDocumentation: true,
      includeSynonyms: true,
    })
    assert.deepEqual(
      results.map(({ configs }) => configs.length),
      [1],
    )
    await world().expectProblems()
  })

  it('answers 10,000 unknown topics in one Metadata request', async () => {
    const client = await world().connect()
    const topics = Array.from({ length: 10_000 }, (_, i) => ({ name: `unknown-${i}` }))
    const answer = await client.call([metadataRequest, metadataResponse], 12, { topics, allowAutoTopicCreation: false })
    assert.equal(answer.topics.length, 10_000)
    assert.ok(answer.topics.every(({ errorCode }) => errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    await world().expectProblems()
  })

  it('answers 90,000 keys of coordinators', async () => {
    const client = await world().connect()
    const coordinatorKeys = Array.from({ length: 90_000 }, () => '')
    const { coordinators } = await client.call([findCoordinatorRequest, findCoordinatorResponse], 4, {
      coordinatorKeys,
    })
    assert.equal(coordinators.length, 90_000)
    await world().expectProblems()
  })

  it('refuses 100 MB of tiny array elements', async () => {
    const client = await world().connect()
    // Three bytes an element: an empty name, no partitions, no tagged fields.
    const elements = Buffer.alloc(90_000_000, Buffer.from([1, 1, 0]))
    const count = Buffer.from([0x81, 0x87, 0xa7, 0x0e])
    const bytes = framed(
      int16(0),
      int16(9),
      int32(1),
      int16(-1),
      Buffer.from([0, 0]),
      int16(-1),
      int32(1000),
      count,
      elements,
    )
    await client.send(bytes)
    await client.ended()
    await world().expectProblems(/elements in one message|an array of/)
  })

  it('survives names that are no UTF-8 and grow when they are said again', async () => {
    const name = Buffer.alloc(20_000, 0xff)
    const legacyProduce = framed(
      header(0, 0),
      int16(1),
      int32(1),
      int32(1),
      int16(name.length),
      name,
      int32(1),
      int32(0),
      int32(0),
    )
    const metadata = framed(header(3, 1), int32(1), int16(name.length), name)
    for (const bytes of [legacyProduce, metadata]) {
      const client = await world().connect()
      await client.send(bytes)
      await client.ended()
    }
    await world().expectProblems(/no response could be made/, /no response to Metadata could be made/)
  })

  it('refuses int64 values that no offset can have, by closing', async () => {
    const client = await world().connect()
    const bytes = frameOf(fetchRequest, 4, fetchOf([{ fetchOffset: 1 }]))
    const at = bytes.indexOf(Buffer.from('0000000000000001', 'hex'))
    assert.ok(at > 0)
    bytes.fill(0xff, at, at + 8)
    bytes[at] = 0x7f
    await client.send(bytes)
    await client.ended()
    await world().expectProblems(/an int64 is beyond what is supported/)
  })

  it('keeps the order of thousands of pipelined requests of all kinds', async () => {
    const client = await world().connect()
    const frames: Buffer[] = []
    const count = 6000
    for (let id = 1; id <= count; id++) {
      if (id % 3 === 0) frames.push(frameOf(fetchRequest, 12, fetchOf([{}], { maxBytes: 100 }), id))
      else if (id % 3 === 1) frames.push(frameOf(metadataRequest, 9, { topics: [{ name: TOPIC }] }, id))
      else frames.push(frameOf(produceRequest, 9, { acks: 1, topicData: [{ name: 'no', partitionData: [{}] }] }, id))
    }
    const sent = client.send(Buffer.concat(frames))
    for (let id = 1; id <= count; id++) {
      const frame = await client.nextFrame()
      assert.equal(frame?.readInt32BE(0), id)
    }
    await sent
    await world().expectProblems()
  })

  it('takes ApiVersions from clients with names that are none', async () => {
    const client = await world().connect()
    const names = ['', '-', 'a b', '\u0000', 'x'.repeat(30_000)]
    for (const clientSoftwareName of names) {
      const { errorCode } = await client.call([apiVersionsRequest, apiVersionsResponse], 3, {
        clientSoftwareName,
        clientSoftwareVersion: '1',
      })
      assert.equal(errorCode, clientSoftwareName.startsWith('x') ? 0 : ErrorCode.INVALID_REQUEST)
    }
    await world().expectProblems()
  })
})
