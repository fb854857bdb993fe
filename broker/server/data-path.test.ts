import assert from 'node:assert/strict'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { produceRequest, produceResponse, type ProduceResponse } from '../protocol/messages/00-produce.ts'
import { fetchRequest, fetchResponse, type FetchResponse } from '../protocol/messages/01-fetch.ts'
import { listOffsetsRequest, listOffsetsResponse } from '../protocol/messages/02-list-offsets.ts'
import { metadataRequest, metadataResponse } from '../protocol/messages/03-metadata.ts'
import { deleteTopicsRequest, deleteTopicsResponse } from '../protocol/messages/20-delete-topics.ts'
import { initProducerIdRequest, initProducerIdResponse } from '../protocol/messages/22-init-producer-id.ts'
import { encodeBatch, type EncodeBatchOptions } from '../protocol/records/encode-batch.ts'
import { decodeRecords } from '../protocol/records/record.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { TestCluster, TestConnection } from './testing/test-cluster.ts'

const PRODUCE = [produceRequest, produceResponse] as const
const FETCH = [fetchRequest, fetchResponse] as const

type PartitionResult = ProduceResponse['responses'][number]['partitionResponses'][number]
type FetchedPartition = FetchResponse['responses'][number]['partitions'][number]

function batch(values: readonly string[], options: Partial<EncodeBatchOptions> = {}): Buffer {
  return encodeBatch({ records: values.map((value) => ({ key: null, value, timestamp: Date.now() })), ...options })
}

function valuesOf({ records }: FetchedPartition): string[] {
  assert.ok(records)
  const values: string[] = []
  for (const position of recordBatch.batchPositions(records)) {
    for (const { value } of decodeRecords(records, position)) values.push(value?.toString() ?? '')
  }
  return values
}

describe('the data path of a broker', () => {
  let cluster: TestCluster
  afterEach(() => cluster.close())

  async function produce(
    records: Buffer,
    { acks = -1, topic = 't', partition = 0, version = 9 } = {},
  ): Promise<PartitionResult> {
    const { responses } = await cluster.call(PRODUCE, version, {
      acks,
      timeoutMs: 5000,
      topicData: [{ name: topic, partitionData: [{ index: partition, records }] }],
    })
    const result = responses[0]?.partitionResponses[0]
    assert.ok(result)
    return result
  }

  async function fetch(
    fetchOffset: number,
    { maxWaitMs = 0, minBytes = 1, maxBytes = 1_000_000, topic = 't', connection = new TestConnection() } = {},
  ): Promise<FetchedPartition> {
    const { responses } = await cluster.call(
      FETCH,
      12,
      {
        maxWaitMs,
        minBytes,
        maxBytes,
        topics: [{ topic, partitions: [{ partition: 0, fetchOffset, partitionMaxBytes: maxBytes }] }],
      },
      connection,
    )
    const result = responses[0]?.partitions[0]
    assert.ok(result)
    return result
  }

  it('gives back what it took, at the offsets that it told', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    assert.equal((await produce(batch(['a', 'b']))).baseOffset, 0)
    assert.equal((await produce(batch(['c']), { acks: 1 })).baseOffset, 2)
    const fetched = await fetch(0, { maxWaitMs: 5000, minBytes: 140 })
    assert.deepEqual(valuesOf(fetched), ['a', 'b', 'c'])
    assert.equal(fetched.highWatermark, 3)
    assert.deepEqual(valuesOf(await fetch(2)), ['c'])
    assert.equal((await fetch(3)).errorCode, ErrorCode.NONE)
    assert.equal((await fetch(4)).errorCode, ErrorCode.OFFSET_OUT_OF_RANGE)
  })

  it('gives every record its own bytes, though requests, disk and readers use the same memory again and again', async () => {
    cluster = await TestCluster.start({ config: { 'log.segment.bytes': '1048576' } })
    await cluster.createTopic('t')
    // More than the tail cache holds, in batches of all sizes, so that blocks go round many times.
    const valueOf = (i: number): string => `${i}:`.padEnd(1 + ((i * 7919) % 60_000), String.fromCharCode(97 + (i % 26)))
    const count = 2000
    for (let i = 0; i < count; i += 10) {
      const sent = Array.from({ length: 10 }, (_, j) =>
        produce(batch([valueOf(i + j)]), { acks: j % 2 === 0 ? -1 : 1 }),
      )
      for (const [j, result] of (await Promise.all(sent)).entries()) assert.equal(result.baseOffset, i + j)
      assert.deepEqual(valuesOf(await fetch(i, { maxBytes: 1 })), [valueOf(i)])
    }
    let offset = 0
    while (offset < count) {
      const values = valuesOf(await fetch(offset, { maxBytes: 300_000 }))
      assert.ok(values.length > 0)
      for (const value of values) assert.ok(value === valueOf(offset++), `the record at ${offset - 1} is another one`)
    }
  }).timeout(60_000)

  it('answers acks=0 not at all, but appends', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    const topicData = [{ name: 't', partitionData: [{ index: 0, records: batch(['a']) }] }]
    await cluster.send(produceRequest, 9, { acks: 0, timeoutMs: 1, topicData })
    assert.deepEqual(valuesOf(await fetch(0, { maxWaitMs: 5000 })), ['a'])
  })

  it('closes the connection of an acks=0 producer whose records it refuses', async () => {
    cluster = await TestCluster.start()
    const connection = new TestConnection()
    const topicData = [{ name: 'missing', partitionData: [{ index: 0, records: batch(['a']) }] }]
    await cluster.send(produceRequest, 9, { acks: 0, timeoutMs: 1, topicData }, connection)
    assert.match(connection.failure ?? '', /missing/)
  })

  it('shows nothing to consumers, and acknowledges nothing with acks=all, before it is fsynced', async () => {
    const held: (() => void)[] = []
    let isHolding = false
    let operation = ''
    const disk = new MemoryDisk({
      folders: ['/data'],
      fault: (call) => {
        operation = call.operation
        return undefined
      },
      defer: (run) => {
        if (isHolding && operation === 'datasync') held.push(run)
        else queueMicrotask(run)
      },
    })
    cluster = await TestCluster.start({ disk })
    await cluster.createTopic('t')
    await produce(batch(['first']))
    isHolding = true
    let isAcknowledged = false
    const acknowledged = produce(batch(['held'])).then((result) => {
      isAcknowledged = true
      return result
    })
    assert.equal(
      (await produce(batch(['acks one']), { acks: 1 })).errorCode,
      ErrorCode.NONE,
      'acks=1 does not wait for the fsync',
    )
    assert.deepEqual(valuesOf(await fetch(0)), ['first'])
    assert.equal(isAcknowledged, false)
    isHolding = false
    for (const run of held) run()
    assert.equal((await acknowledged).baseOffset, 1)
    assert.deepEqual(valuesOf(await fetch(1)), ['held', 'acks one'])
  })

  it('wakes a waiting fetch when records come, and not before there are enough', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    const waiting = fetch(0, { maxWaitMs: 20_000 })
    await produce(batch(['a']))
    assert.deepEqual(valuesOf(await waiting), ['a'])
    const forMore = fetch(1, { maxWaitMs: 20_000, minBytes: 150 })
    await produce(batch(['b']))
    await produce(batch(['c']))
    await produce(batch(['d']))
    assert.deepEqual(valuesOf(await forMore).slice(0, 2), ['b', 'c'])
  })

  it('ends a waiting fetch at its deadline, with what there is', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    await produce(batch(['a']))
    const startMs = performance.now()
    assert.deepEqual(valuesOf(await fetch(0, { maxWaitMs: 100, minBytes: 100_000 })), ['a'])
    assert.ok(performance.now() - startMs >= 95)
  })

  it('gives up a waiting fetch whose client left', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    const connection = new TestConnection()
    const waiting = fetch(0, { maxWaitMs: 60_000, connection })
    connection.close()
    await waiting
  })

  it('ends a waiting fetch when its topic is deleted', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    const waiting = fetch(0, { maxWaitMs: 60_000 })
    await cluster.call([deleteTopicsRequest, deleteTopicsResponse], 5, { topicNames: ['t'], timeoutMs: 5000 })
    assert.equal((await waiting).errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert.equal((await produce(batch(['a']))).errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
  })

  it('limits a response to what was asked, but gives one batch however large', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    for (const value of ['a', 'b', 'c']) await produce(batch([value.repeat(1000)]))
    assert.equal(valuesOf(await fetch(0, { maxBytes: 2500 })).length, 2)
    assert.equal(valuesOf(await fetch(0, { maxBytes: 10 })).length, 1)
  })

  it('answers a repeated batch of an idempotent producer with the first offset, and appends it once', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    const { producerId, producerEpoch } = await cluster.call([initProducerIdRequest, initProducerIdResponse], 4, {
      transactionalId: null,
      transactionTimeoutMs: 1000,
    })
    const first = (): Buffer => batch(['a', 'b'], { producerId, producerEpoch, baseSequence: 0 })
    assert.equal((await produce(first())).baseOffset, 0)
    const repeated = await produce(first())
    assert.deepEqual([repeated.errorCode, repeated.baseOffset], [ErrorCode.NONE, 0])
    const gap = await produce(batch(['x'], { producerId, producerEpoch, baseSequence: 5 }))
    assert.equal(gap.errorCode, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert.equal((await produce(batch(['c'], { producerId, producerEpoch, baseSequence: 2 }))).baseOffset, 2)
    assert.deepEqual(valuesOf(await fetch(0)), ['a', 'b', 'c'])
  })

  for (const [name, stop] of [
    ['a clean stop', async (disk: MemoryDisk) => (await cluster.close(), disk)],
    ['a kill', (disk: MemoryDisk) => (cluster.abandon(), Promise.resolve(disk.kill()))],
  ] as const) {
    it(`knows the last five batches of an idempotent producer after ${name}`, async () => {
      let disk = new MemoryDisk({ folders: ['/data'] })
      cluster = await TestCluster.start({ disk })
      await cluster.createTopic('t')
      const { producerId, producerEpoch } = await cluster.call([initProducerIdRequest, initProducerIdResponse], 4, {
        transactionalId: null,
        transactionTimeoutMs: 1000,
      })
      const send = (baseSequence: number): Promise<PartitionResult> => {
        return produce(batch(['a', 'b'], { producerId, producerEpoch, baseSequence }))
      }
      for (let sequence = 0; sequence < 14; sequence += 2) assert.equal((await send(sequence)).baseOffset, sequence)
      // As a checkpoint does it before any stop: the state is then read from a snapshot, not from the log.
      await cluster.broker.logs.checkpointAll()
      disk = await stop(disk)
      cluster = await TestCluster.start({ disk })
      for (let sequence = 4; sequence < 14; sequence += 2) {
        const repeated = await send(sequence)
        assert.deepEqual([repeated.errorCode, repeated.baseOffset], [ErrorCode.NONE, sequence])
      }
      assert.equal((await send(14)).baseOffset, 14)
    })
  }

  it('never gives a producer id twice, also after a restart', async () => {
    const disk = new MemoryDisk({ folders: ['/data'] })
    cluster = await TestCluster.start({ disk })
    const next = async (): Promise<number> => {
      const body = { transactionalId: null, transactionTimeoutMs: 1000 }
      return (await cluster.call([initProducerIdRequest, initProducerIdResponse], 4, body)).producerId
    }
    const ids = await Promise.all(Array.from({ length: 2500 }, next))
    await cluster.close()
    cluster = await TestCluster.start({ disk })
    ids.push(await next())
    assert.equal(new Set(ids).size, 2501)
  })

  it('refuses records that are no valid batch, and leaves other partitions of the request alone', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t', { partitions: 2 })
    const broken = batch(['a'])
    broken[broken.length - 1] = (broken[broken.length - 1] ?? 0) ^ 1
    const { responses } = await cluster.call(PRODUCE, 9, {
      acks: -1,
      timeoutMs: 5000,
      topicData: [
        {
          name: 't',
          partitionData: [
            { index: 0, records: broken },
            { index: 1, records: batch(['fine']) },
            { index: 2, records: batch(['nowhere']) },
          ],
        },
      ],
    })
    assert.deepEqual(
      responses[0]?.partitionResponses.map(({ errorCode }) => errorCode),
      [ErrorCode.CORRUPT_MESSAGE, ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    )
  })

  it('tells the size limit, acks and timestamps that a topic does not take', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t', { configs: { 'max.message.bytes': '1000' } })
    assert.equal((await produce(batch(['x'.repeat(2000)]))).errorCode, ErrorCode.MESSAGE_TOO_LARGE)
    assert.equal((await produce(batch(['a']), { acks: 2 })).errorCode, ErrorCode.INVALID_REQUIRED_ACKS)
    const future = encodeBatch({ records: [{ key: null, value: 'x', timestamp: Date.now() + 7_200_000 }] })
    const refused = await produce(future)
    assert.equal(refused.errorCode, ErrorCode.INVALID_TIMESTAMP)
    assert.equal(refused.recordErrors[0]?.batchIndex, 0)
  })

  it('keeps acknowledged records over a power loss, and the epochs go on', async () => {
    let disk = new MemoryDisk({ folders: ['/data'] })
    cluster = await TestCluster.start({ disk })
    const topicId = await cluster.createTopic('t')
    for (const value of ['a', 'b', 'c']) await produce(batch([value]))
    const epoch = cluster.broker.metadata.partition('t', 0)?.leaderEpoch ?? 0
    disk = disk.powerLoss()
    cluster.abandon()
    cluster = await TestCluster.start({ disk })
    assert.equal(cluster.broker.metadata.topic('t')?.topicId, topicId)
    assert.deepEqual(valuesOf(await fetch(0)), ['a', 'b', 'c'])
    assert.ok(
      (cluster.broker.metadata.partition('t', 0)?.leaderEpoch ?? 0) > epoch,
      'a restarted broker leads a new epoch',
    )
    assert.equal((await produce(batch(['d']))).baseOffset, 3)
  })

  it('begins anew when a topic is made again under its old name', async () => {
    cluster = await TestCluster.start()
    const oldId = await cluster.createTopic('t')
    await produce(batch(['old']))
    await cluster.call([deleteTopicsRequest, deleteTopicsResponse], 5, { topicNames: ['t'], timeoutMs: 5000 })
    const newId = await cluster.createTopic('t')
    assert.notEqual(newId, oldId)
    assert.equal((await produce(batch(['new']))).baseOffset, 0)
    assert.deepEqual(valuesOf(await fetch(0)), ['new'])
    const byId = async (topicId: string): Promise<number | undefined> => {
      const { responses } = await cluster.call(FETCH, 13, {
        maxWaitMs: 0,
        minBytes: 1,
        topics: [{ topicId, partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1000 }] }],
      })
      return responses[0]?.partitions[0]?.errorCode
    }
    assert.equal(await byId(oldId), ErrorCode.UNKNOWN_TOPIC_ID)
    assert.equal(await byId(newId), ErrorCode.NONE)
  })

  it('takes a failed disk offline for that broker, with retriable errors and no lost order', async () => {
    const disk = new MemoryDisk({ folders: ['/data'] })
    cluster = await TestCluster.start({ disk })
    await cluster.createTopic('t')
    await produce(batch(['a']))
    disk.setFault((call) => (call.operation === 'datasync' ? 'EIO' : undefined))
    assert.equal((await produce(batch(['b']))).errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
    disk.setFault(undefined)
    assert.equal((await produce(batch(['c']))).errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
    assert.equal(cluster.broker.logs.isOffline, true)
    assert.deepEqual(cluster.broker.replicas.offlineKeys(), ['t-0'])
  })

  it('reports a log that can not be opened at start as offline, and serves the others', async () => {
    let disk = new MemoryDisk({ folders: ['/data'] })
    cluster = await TestCluster.start({ disk })
    await cluster.createTopic('t')
    await cluster.createTopic('u')
    assert.equal((await produce(batch(['a']))).errorCode, ErrorCode.NONE)
    disk = disk.kill()
    cluster.abandon()
    disk.setFault((call) => (/\/u-0\/.*\.log$/.test(call.path) ? 'EIO' : undefined))
    cluster = await TestCluster.start({ disk })
    assert.deepEqual(cluster.broker.replicas.offlineKeys(), ['u-0'])
    assert.equal(cluster.broker.replicas.find('u', 0), ErrorCode.KAFKA_STORAGE_ERROR)
    assert.equal(cluster.broker.logs.isOffline, false)
    assert.deepEqual(valuesOf(await fetch(0)), ['a'])
    assert.equal((await produce(batch(['b']))).baseOffset, 1)
  })

  it('finds offsets by time', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    const nowMs = Date.now()
    for (const timestamp of [nowMs - 3000, nowMs - 1000, nowMs - 2000]) {
      await produce(encodeBatch({ records: [{ key: null, value: 'x', timestamp }] }))
    }
    const offsetAt = async (timestamp: number): Promise<number | undefined> => {
      const { topics } = await cluster.call([listOffsetsRequest, listOffsetsResponse], 7, {
        replicaId: -1,
        topics: [{ name: 't', partitions: [{ partitionIndex: 0, timestamp }] }],
      })
      return topics[0]?.partitions[0]?.offset
    }
    assert.deepEqual(await Promise.all([-1, -2, -3, nowMs - 2500, nowMs].map(offsetAt)), [3, 0, 1, 1, -1])
  })

  it('refuses a request that names a partition twice, and appends nothing of it', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    const partitionData = [
      { index: 0, records: batch(['a']) },
      { index: 0, records: batch(['b']) },
    ]
    const { responses } = await cluster.call(PRODUCE, 9, { acks: -1, topicData: [{ name: 't', partitionData }] })
    assert.deepEqual(
      responses[0]?.partitionResponses.map(({ errorCode }) => errorCode),
      [ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST],
    )
    assert.equal((await fetch(0)).highWatermark, 0)
  })

  it('does not wait for more bytes than a fetch may return', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    await produce(batch(['a']))
    const found = await fetch(0, { maxWaitMs: 60_000, minBytes: 1_000_000, maxBytes: 10 })
    assert.deepEqual(valuesOf(found), ['a'])
  })

  it('answers an unknown topic id in Metadata versions that know no null names', async () => {
    cluster = await TestCluster.start()
    const topicId = 'abcdefghijklmnopqrstuw'
    for (const version of [10, 11, 12]) {
      const { topics } = await cluster.call([metadataRequest, metadataResponse], version, {
        topics: [{ topicId, name: null }],
      })
      assert.deepEqual([topics[0]?.errorCode, topics[0]?.topicId], [ErrorCode.UNKNOWN_TOPIC_ID, topicId])
    }
  })
})
