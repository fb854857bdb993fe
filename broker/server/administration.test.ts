import assert from 'node:assert/strict'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { produceRequest, produceResponse } from '../protocol/messages/00-produce.ts'
import { listOffsetsRequest, listOffsetsResponse } from '../protocol/messages/02-list-offsets.ts'
import { deleteRecordsRequest, deleteRecordsResponse } from '../protocol/messages/21-delete-records.ts'
import { initProducerIdRequest, initProducerIdResponse } from '../protocol/messages/22-init-producer-id.ts'
import { describeLogDirsRequest, describeLogDirsResponse } from '../protocol/messages/35-describe-log-dirs.ts'
import { electLeadersRequest, electLeadersResponse } from '../protocol/messages/43-elect-leaders.ts'
import {
  alterPartitionReassignmentsRequest,
  alterPartitionReassignmentsResponse,
} from '../protocol/messages/45-alter-partition-reassignments.ts'
import {
  listPartitionReassignmentsRequest,
  listPartitionReassignmentsResponse,
} from '../protocol/messages/46-list-partition-reassignments.ts'
import { describeProducersRequest, describeProducersResponse } from '../protocol/messages/61-describe-producers.ts'
import {
  listConfigResourcesRequest,
  listConfigResourcesResponse,
} from '../protocol/messages/74-list-config-resources.ts'
import { encodeBatch, type EncodeBatchOptions } from '../protocol/records/encode-batch.ts'
import { TestCluster } from './testing/test-cluster.ts'

const LOG_DIRS = [describeLogDirsRequest, describeLogDirsResponse] as const
const REASSIGN = [alterPartitionReassignmentsRequest, alterPartitionReassignmentsResponse] as const

describe('administration', () => {
  let cluster: TestCluster
  afterEach(() => cluster.close())

  async function produce(count: number, options: Partial<EncodeBatchOptions> = {}, topic = 't'): Promise<void> {
    const timestamp = Date.now()
    const records = encodeBatch({
      records: Array.from({ length: count }, (_, i) => ({ key: null, value: `value ${i}`, timestamp })),
      ...options,
    })
    const { responses } = await cluster.call([produceRequest, produceResponse], 9, {
      acks: -1,
      timeoutMs: 5000,
      topicData: [{ name: topic, partitionData: [{ index: 0, records }] }],
    })
    assert.equal(responses[0]?.partitionResponses[0]?.errorCode, ErrorCode.NONE)
  }

  async function deleteRecords(offset: number, topic = 't', partitionIndex = 0): Promise<[number, number]> {
    const { topics } = await cluster.call([deleteRecordsRequest, deleteRecordsResponse], 2, {
      topics: [{ name: topic, partitions: [{ partitionIndex, offset }] }],
      timeoutMs: 5000,
    })
    const result = topics[0]?.partitions[0]
    assert.ok(result)
    return [result.errorCode, result.lowWatermark]
  }

  async function earliest(): Promise<number | undefined> {
    const { topics } = await cluster.call([listOffsetsRequest, listOffsetsResponse], 7, {
      replicaId: -1,
      topics: [{ name: 't', partitions: [{ partitionIndex: 0, timestamp: -2 }] }],
    })
    return topics[0]?.partitions[0]?.offset
  }

  describe('DeleteRecords', () => {
    it('moves the log start offset, which outlives a power loss', async () => {
      const disk = new MemoryDisk({ folders: ['/data'] })
      cluster = await TestCluster.start({ disk })
      await cluster.createTopic('t')
      await produce(5)
      await produce(5)
      assert.deepEqual(await deleteRecords(3), [ErrorCode.NONE, 3])
      assert.equal(await earliest(), 3)
      // Never back.
      assert.deepEqual(await deleteRecords(1), [ErrorCode.NONE, 3])
      const after = disk.powerLoss()
      cluster.abandon()
      cluster = await TestCluster.start({ disk: after })
      assert.equal(await earliest(), 3)
      assert.deepEqual(await deleteRecords(-1), [ErrorCode.NONE, 10])
      assert.equal(await earliest(), 10)
      await produce(1)
      assert.equal(cluster.broker.replicas.partition('t', 0)?.log.logEndOffset, 11)
    })

    it('is refused with the errors of Kafka', async () => {
      cluster = await TestCluster.start()
      await cluster.createTopic('t')
      await cluster.createTopic('kept', { configs: { 'cleanup.policy': 'compact' } })
      await produce(2)
      assert.deepEqual(await deleteRecords(3), [ErrorCode.OFFSET_OUT_OF_RANGE, -1])
      assert.deepEqual(await deleteRecords(-2), [ErrorCode.OFFSET_OUT_OF_RANGE, -1])
      assert.deepEqual(await deleteRecords(0, 'kept'), [ErrorCode.POLICY_VIOLATION, -1])
      assert.deepEqual(await deleteRecords(0, 'missing'), [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1])
      assert.deepEqual(await deleteRecords(0, 't', 9), [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1])
      assert.equal(await earliest(), 0)
    })

    it('takes the last mention of a partition', async () => {
      cluster = await TestCluster.start()
      await cluster.createTopic('t')
      await produce(5)
      const { topics } = await cluster.call([deleteRecordsRequest, deleteRecordsResponse], 0, {
        topics: [4, 2].map((offset) => ({ name: 't', partitions: [{ partitionIndex: 0, offset }] })),
        timeoutMs: 0,
      })
      assert.deepEqual(topics, [{ name: 't', partitions: [{ partitionIndex: 0, lowWatermark: 2, errorCode: 0 }] }])
    })
  })

  describe('DescribeLogDirs', () => {
    it('tells the size of each replica, and of the volume', async () => {
      cluster = await TestCluster.start()
      await cluster.createTopic('t', { partitions: 2 })
      await cluster.createTopic('u')
      await produce(3)
      const { results } = await cluster.call(LOG_DIRS, 4, { topics: null })
      const [dir, ...more] = results
      assert.deepEqual(more, [])
      assert.equal(dir?.errorCode, ErrorCode.NONE)
      assert.equal(dir.logDir, '/data/broker-0')
      assert.ok(dir.totalBytes >= dir.usableBytes && dir.usableBytes > 0)
      const sizes = dir.topics.flatMap(({ name, partitions }) =>
        partitions.map(({ partitionIndex, partitionSize, offsetLag, isFutureKey }) => [
          `${name}-${partitionIndex}`,
          partitionSize > 0,
          offsetLag,
          isFutureKey,
        ]),
      )
      assert.deepEqual(sizes.sort(), [
        ['t-0', true, 0, false],
        ['t-1', false, 0, false],
        ['u-0', false, 0, false],
      ])
    })

    it('tells only the partitions that were asked for', async () => {
      cluster = await TestCluster.start()
      await cluster.createTopic('t', { partitions: 3 })
      const { results } = await cluster.call(LOG_DIRS, 1, {
        topics: [
          { topic: 't', partitions: [1] },
          { topic: 't', partitions: [2, 7] },
          { topic: 'missing', partitions: [0] },
        ],
      })
      const found = results[0]?.topics.map(({ name, partitions }) => [
        name,
        partitions.map((each) => each.partitionIndex),
      ])
      assert.deepEqual(found, [['t', [1, 2]]])
    })

    it('says so when the directory is offline', async () => {
      const disk = new MemoryDisk({ folders: ['/data'] })
      cluster = await TestCluster.start({ disk })
      await cluster.createTopic('t')
      disk.setFault((call) => (call.operation === 'datasync' ? 'EIO' : undefined))
      const records = encodeBatch({ records: [{ key: null, value: 'v', timestamp: Date.now() }] })
      await cluster.call([produceRequest, produceResponse], 9, {
        acks: -1,
        timeoutMs: 5000,
        topicData: [{ name: 't', partitionData: [{ index: 0, records }] }],
      })
      const { results } = await cluster.call(LOG_DIRS, 4, { topics: null })
      assert.deepEqual(
        results.map(({ errorCode, logDir, topics }) => [errorCode, logDir, topics]),
        [[ErrorCode.KAFKA_STORAGE_ERROR, '/data/broker-0', []]],
      )
    })
  })

  it('ElectLeaders has nothing to do, and says so', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    const elect = async (electionType: number, topicPartitions: { topic: string; partitions: number[] }[] | null) =>
      await cluster.call([electLeadersRequest, electLeadersResponse], 2, { electionType, topicPartitions })
    const wanted = [
      { topic: 't', partitions: [0, 5] },
      { topic: 'missing', partitions: [0] },
    ]
    for (const electionType of [0, 1]) {
      const { errorCode, replicaElectionResults } = await elect(electionType, wanted)
      assert.equal(errorCode, ErrorCode.NONE)
      assert.deepEqual(
        replicaElectionResults.map(({ partitionResult }) => partitionResult.map((result) => result.errorCode)),
        [[ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION], [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]],
      )
      assert.deepEqual((await elect(electionType, null)).replicaElectionResults, [])
    }
    assert.equal((await elect(2, null)).errorCode, ErrorCode.INVALID_REQUEST)
  })

  it('reassignments: the same replicas are accepted, others are not, and none is under way', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t', { partitions: 5 })
    const { responses } = await cluster.call(REASSIGN, 1, {
      topics: [
        {
          name: 't',
          partitions: [[0], null, [], [0, 0], [7]].map((replicas, partitionIndex) => ({ partitionIndex, replicas })),
        },
        { name: 't', partitions: [{ partitionIndex: 9, replicas: [0] }] },
        { name: 'missing', partitions: [{ partitionIndex: 0, replicas: [0] }] },
      ],
    })
    assert.deepEqual(
      responses.map(({ partitions }) => partitions.map(({ errorCode }) => errorCode)),
      [
        [
          ErrorCode.NONE,
          ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
          ErrorCode.INVALID_REPLICA_ASSIGNMENT,
          ErrorCode.INVALID_REPLICA_ASSIGNMENT,
          ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ],
        [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
        [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
      ],
    )
    const list = [listPartitionReassignmentsRequest, listPartitionReassignmentsResponse] as const
    assert.deepEqual((await cluster.call(list, 0, { topics: null })).topics, [])
  })

  it('DescribeProducers tells the idempotent producers of a partition', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    const { producerId } = await cluster.call([initProducerIdRequest, initProducerIdResponse], 4, {
      transactionalId: null,
      transactionTimeoutMs: 0,
    })
    await produce(3, { producerId, producerEpoch: 0, baseSequence: 0 })
    const { topics } = await cluster.call([describeProducersRequest, describeProducersResponse], 0, {
      topics: [
        { name: 't', partitionIndexes: [0, 0, 9] },
        { name: 'missing', partitionIndexes: [0] },
      ],
    })
    const [found, unknown] = topics[0]?.partitions ?? []
    assert.deepEqual(
      found?.activeProducers.map(({ lastTimestamp, ...producer }) => [lastTimestamp > 0, producer]),
      [[true, { producerId, producerEpoch: 0, lastSequence: 2, coordinatorEpoch: -1, currentTxnStartOffset: -1 }]],
    )
    assert.equal(unknown?.errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert.equal(topics[1]?.partitions[0]?.errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert.equal(topics[0]?.partitions.length, 2)
  })

  it('ListConfigResources lists what has configs, and no client metrics', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    const list = [listConfigResourcesRequest, listConfigResourcesResponse] as const
    assert.deepEqual(await cluster.call(list, 0, {}), { throttleTimeMs: 0, errorCode: 0, configResources: [] })
    const { configResources } = await cluster.call(list, 1, { resourceTypes: [] })
    assert.deepEqual(configResources, [
      { resourceName: 't', resourceType: 2 },
      { resourceName: '0', resourceType: 4 },
    ])
    const unknown = await cluster.call(list, 1, { resourceTypes: [2, 77] })
    assert.equal(unknown.errorCode, ErrorCode.UNSUPPORTED_VERSION)
  })
})
