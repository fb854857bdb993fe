import assert from 'node:assert/strict'
import { MemoryDisk } from '../../../common/testing/memory-disk.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import { produceRequest, produceResponse, type ProduceResponse } from '../../protocol/messages/00-produce.ts'
import { fetchRequest, fetchResponse, type FetchResponse } from '../../protocol/messages/01-fetch.ts'
import { metadataRequest, metadataResponse } from '../../protocol/messages/03-metadata.ts'
import { createTopicsRequest, createTopicsResponse } from '../../protocol/messages/19-create-topics.ts'
import {
  describeClientQuotasRequest,
  describeClientQuotasResponse,
} from '../../protocol/messages/48-describe-client-quotas.ts'
import {
  alterClientQuotasRequest,
  alterClientQuotasResponse,
  type AlterClientQuotasRequestInput,
} from '../../protocol/messages/49-alter-client-quotas.ts'
import { encodeBatch } from '../../protocol/records/encode-batch.ts'
import { TestCluster, TestConnection } from '../testing/test-cluster.ts'

type Entry = NonNullable<AlterClientQuotasRequestInput['entries']>[number]
type Filter = readonly [entityType: string, matchType: number, match: string | null]

const [EXACT, DEFAULT, ANY] = [0, 1, 2]
/** Of the test's connections. */
const CLIENT = [{ entityType: 'client-id', entityName: 'test' }]
const ALL_USERS = [{ entityType: 'user', entityName: null }]

describe('quotas of clients', () => {
  let cluster: TestCluster
  afterEach(() => cluster.close())

  async function alter(
    entity: NonNullable<Entry['entity']>,
    ops: Entry['ops'],
    validateOnly = false,
  ): Promise<[errorCode: number | undefined, message: string | null | undefined]> {
    const { entries } = await cluster.call([alterClientQuotasRequest, alterClientQuotasResponse], 1, {
      entries: [{ entity, ops }],
      validateOnly,
    })
    return [entries[0]?.errorCode, entries[0]?.errorMessage]
  }

  async function describeQuotas(filters: readonly Filter[], strict = false): Promise<string[] | number> {
    const { errorCode, entries } = await cluster.call([describeClientQuotasRequest, describeClientQuotasResponse], 1, {
      components: filters.map(([entityType, matchType, match]) => ({ entityType, matchType, match })),
      strict,
    })
    if (entries === null) return errorCode
    return entries
      .map(({ entity, values }) => {
        const who = entity.map(({ entityType, entityName }) => `${entityType}=${entityName ?? '*'}`).join(',')
        return `${who} ${values.map(({ key, value }) => `${key}=${value}`).join(',')}`
      })
      .sort()
  }

  const produce = (bytes: number, connection = new TestConnection()): Promise<ProduceResponse> => {
    const records = encodeBatch({ records: [{ key: null, value: 'x'.repeat(bytes), timestamp: Date.now() }] })
    return cluster.call(
      [produceRequest, produceResponse],
      9,
      { acks: -1, timeoutMs: 5000, topicData: [{ name: 't', partitionData: [{ index: 0, records }] }] },
      connection,
    )
  }

  const fetch = (connection: TestConnection, session: object = {}): Promise<FetchResponse> =>
    cluster.call(
      [fetchRequest, fetchResponse],
      12,
      {
        maxWaitMs: 0,
        minBytes: 1,
        topics: [{ topic: 't', partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1_000_000 }] }],
        ...session,
      },
      connection,
    )

  it('are set, changed, removed and found by what they are for, and outlive a restart', async () => {
    const disk = new MemoryDisk({ folders: ['/data'] })
    cluster = await TestCluster.start({ disk })
    const alice = { entityType: 'user', entityName: 'alice' }
    const app = { entityType: 'client-id', entityName: 'app' }
    assert.deepEqual(await alter([alice], [{ key: 'producer_byte_rate', value: 100 }]), [0, null])
    assert.deepEqual(await alter([app, alice], [{ key: 'consumer_byte_rate', value: 200 }]), [0, null])
    assert.deepEqual(await alter(ALL_USERS, [{ key: 'request_percentage', value: 12.5 }]), [0, null])
    assert.deepEqual(
      await alter([{ entityType: 'ip', entityName: '10.0.0.1' }], [{ key: 'connection_creation_rate', value: 5 }]),
      [0, null],
    )
    await cluster.close()
    cluster = await TestCluster.start({ disk })
    const both = 'user=alice,client-id=app consumer_byte_rate=200'
    const one = 'user=alice producer_byte_rate=100'
    const every = 'user=* request_percentage=12.5'
    const address = 'ip=10.0.0.1 connection_creation_rate=5'
    assert.deepEqual(await describeQuotas([]), [address, every, both, one].sort())
    assert.deepEqual(await describeQuotas([['user', EXACT, 'alice']]), [both, one].sort())
    assert.deepEqual(await describeQuotas([['user', EXACT, 'alice']], true), [one])
    assert.deepEqual(await describeQuotas([['user', DEFAULT, null]]), [every])
    assert.deepEqual(await describeQuotas([['user', ANY, null]], true), [every, one].sort())
    assert.deepEqual(
      await describeQuotas([
        ['user', ANY, null],
        ['client-id', ANY, null],
      ]),
      [both],
    )
    assert.deepEqual(await describeQuotas([['ip', ANY, null]]), [address])
    assert.deepEqual(await alter([alice], [{ key: 'producer_byte_rate', remove: true }]), [0, null])
    assert.deepEqual(await describeQuotas([['user', EXACT, 'alice']], true), [])
    assert.equal((await cluster.store.list('ClientQuota')).length, 3)
  })

  it('that make no sense are refused with the errors of Kafka', async () => {
    cluster = await TestCluster.start()
    const rate = { key: 'producer_byte_rate', value: 1 }
    const cases: [entity: NonNullable<Entry['entity']>, ops: Entry['ops'], message: RegExp][] = [
      [[], [rate], /Invalid empty client quota entity/],
      [[{ entityType: 'planet', entityName: 'x' }], [rate], /Unhandled client quota entity type: planet/],
      [[...ALL_USERS, ...ALL_USERS], [rate], /duplicate entity entry user/],
      [[...ALL_USERS, { entityType: 'ip', entityName: null }], [rate], /IP entity should not be combined/],
      [[{ entityType: 'ip', entityName: 'x' }], [{ key: 'connection_creation_rate', value: 1 }], /x is not a valid IP/],
      [[{ entityType: 'ip', entityName: null }], [rate], /Invalid configuration key producer_byte_rate/],
      [ALL_USERS, [{ key: 'toString', value: 1 }], /Invalid configuration key toString/],
      [ALL_USERS, [{ key: 'producer_byte_rate', value: 0 }], /must be greater than 0/],
      [ALL_USERS, [{ key: 'producer_byte_rate', value: NaN }], /must be greater than 0/],
      [ALL_USERS, [{ key: 'producer_byte_rate', value: 1.5 }], /cannot be a fractional value/],
      [ALL_USERS, [rate, rate], /Duplicate quota key producer_byte_rate/],
    ]
    for (const [entity, ops, message] of cases) {
      const [errorCode, errorMessage] = await alter(entity, ops)
      assert.equal(errorCode, ErrorCode.INVALID_REQUEST)
      assert.match(errorMessage ?? '', message)
    }
    assert.deepEqual(await alter(ALL_USERS, [rate], true), [0, null])
    assert.deepEqual(await describeQuotas([]), [])
    for (const [filters, code] of [
      [[['planet', EXACT, 'x']], ErrorCode.UNSUPPORTED_VERSION],
      [[['user', EXACT, null]], ErrorCode.INVALID_REQUEST],
      [[['user', ANY, 'x']], ErrorCode.INVALID_REQUEST],
      [[['user', 9, null]], ErrorCode.INVALID_REQUEST],
      [[['', ANY, null]], ErrorCode.INVALID_REQUEST],
    ] as const) {
      assert.equal(await describeQuotas(filters), code)
    }
    const twice: Filter[] = [
      ['user', ANY, null],
      ['user', DEFAULT, null],
    ]
    assert.equal(await describeQuotas(twice), ErrorCode.INVALID_REQUEST)
  })

  it('throttle a producer: its answer says for how long, and its connection is not read', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    await alter(CLIENT, [{ key: 'producer_byte_rate', value: 1000 }])
    const connection = new TestConnection()
    assert.equal((await produce(8000, connection)).throttleTimeMs, 0)
    const { throttleTimeMs, responses } = await produce(8000, connection)
    assert.equal(responses[0]?.partitionResponses[0]?.errorCode, ErrorCode.NONE, 'what was sent is taken')
    assert.ok(throttleTimeMs > 5000 && throttleTimeMs < 8000, String(throttleTimeMs))
    assert.equal(connection.throttledMs, throttleTimeMs)
    await alter(CLIENT, [{ key: 'producer_byte_rate', remove: true }])
    assert.equal((await produce(8000, connection)).throttleTimeMs, 0)
  })

  it('throttle a producer that takes no answers', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    await alter(CLIENT, [
      { key: 'producer_byte_rate', value: 1 },
      { key: 'request_percentage', value: 0.000001 },
    ])
    const connection = new TestConnection()
    const records = encodeBatch({ records: [{ key: null, value: 'x'.repeat(100), timestamp: Date.now() }] })
    const topicData = [{ name: 't', partitionData: [{ index: 0, records }] }]
    await cluster.send(produceRequest, 9, { acks: 0, timeoutMs: 5000, topicData }, connection)
    assert.ok(connection.throttledMs > 1000, String(connection.throttledMs))
  })

  it('throttle a consumer: it gets nothing, keeps its session, and later all', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    await produce(3000)
    const connection = new TestConnection()
    const first = await fetch(connection, { sessionId: 0, sessionEpoch: 0 })
    assert.ok((first.responses[0]?.partitions[0]?.records?.length ?? 0) > 3000)
    await alter(CLIENT, [{ key: 'consumer_byte_rate', value: 400 }])
    // The first after a rest is let through; it is what fills the quota.
    assert.equal((await fetch(connection, { sessionId: first.sessionId, sessionEpoch: 1 })).throttleTimeMs, 0)
    const throttled = await fetch(connection, { sessionId: first.sessionId, sessionEpoch: 2 })
    assert.deepEqual(
      [throttled.errorCode, throttled.sessionId, throttled.responses],
      [ErrorCode.NONE, first.sessionId, []],
    )
    assert.ok(throttled.throttleTimeMs > 1000)
    assert.equal(connection.throttledMs, throttled.throttleTimeMs)
    const { size } = cluster.broker.fetchSessions
    const anew = await fetch(new TestConnection(), { sessionId: 0, sessionEpoch: 0 })
    assert.deepEqual([anew.sessionId, anew.responses], [0, []])
    assert.equal(cluster.broker.fetchSessions.size, size, 'no session that nobody knows')
    await alter(CLIENT, [{ key: 'consumer_byte_rate', remove: true }])
    const after = await fetch(connection, { sessionId: first.sessionId, sessionEpoch: 3 })
    assert.ok((after.responses[0]?.partitions[0]?.records?.length ?? 0) > 3000)
  })

  it('of request time throttle any request that has a place to say so', async () => {
    cluster = await TestCluster.start()
    await alter(ALL_USERS, [{ key: 'request_percentage', value: 0.000001 }])
    const call = async (version: number): Promise<[number, boolean]> => {
      const connection = new TestConnection()
      const { throttleTimeMs } = await cluster.call(
        [metadataRequest, metadataResponse],
        version,
        { topics: [] },
        connection,
      )
      return [throttleTimeMs, connection.throttledMs > 0]
    }
    assert.deepEqual(await call(12), [1000, true])
    assert.deepEqual(await call(2), [0, true], 'a version without that field')
  })

  it('of mutations refuse topics to clients that know that answer', async () => {
    cluster = await TestCluster.start()
    await alter(ALL_USERS, [{ key: 'controller_mutation_rate', value: 0.1 }])
    const create = (version: number, name: string) =>
      cluster.call([createTopicsRequest, createTopicsResponse], version, {
        topics: [{ name, numPartitions: 5, replicationFactor: 1 }],
        timeoutMs: 5000,
      })
    assert.equal((await create(7, 'a')).topics[0]?.errorCode, ErrorCode.NONE)
    const { topics, throttleTimeMs } = await create(7, 'b')
    assert.equal(topics[0]?.errorCode, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
    assert.ok(throttleTimeMs > 30_000)
    assert.equal(cluster.broker.metadata.topic('b'), undefined)
    const old = await create(5, 'b')
    assert.equal(old.topics[0]?.errorCode, ErrorCode.NONE)
    assert.ok(old.throttleTimeMs > throttleTimeMs)
  })
})
