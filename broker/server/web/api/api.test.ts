import assert from 'node:assert/strict'
import { systemClock } from '../../../../common/clock.ts'
import { silentLogger } from '../../../../common/logger.ts'
import type { GroupView } from '../../../coordinator/group/group-view.ts'
import { produceRequest, produceResponse } from '../../../protocol/messages/00-produce.ts'
import { encodeBatch, type EncodeBatchOptions } from '../../../protocol/records/encode-batch.ts'
import { committed, fakeGroup, fakeGroups } from '../../testing/fake-groups.ts'
import { TestCluster } from '../../testing/test-cluster.ts'
import type { ApiSources } from '../web-sources.ts'
import { ApiError } from './api-error.ts'
import { describeGroup, listGroups } from './groups.ts'
import { overview } from './overview.ts'
import { namePage } from './query.ts'
import { ReadGate, readRecords, type RecordsView } from './records.ts'
import { describeTopic, listTopics } from './topics.ts'

const query = (text = ''): URLSearchParams => new URLSearchParams(text)
const isApiError =
  (status: number, message: RegExp) =>
  (error: unknown): boolean =>
    error instanceof ApiError && error.status === status && message.test(error.message)

describe('the API of the web port', () => {
  let cluster: TestCluster
  let groups: GroupView[]
  const gate = new ReadGate()
  const start = async (config: Record<string, string> = {}): Promise<void> => {
    cluster = await TestCluster.start({ config })
    groups = []
  }
  afterEach(() => cluster.close())

  const sources = (): ApiSources => ({
    brokerId: 0,
    clusterId: 'Cluster-0',
    version: '1.2.3',
    broker: cluster.broker,
    groups: fakeGroups(groups),
    clock: systemClock,
    logger: silentLogger,
    isStarting: () => false,
    notReadyReason: () => undefined,
  })

  const produce = async (
    topic: string,
    index: number,
    values: readonly string[],
    more: Partial<EncodeBatchOptions> = {},
  ) => {
    const records = encodeBatch({ records: values.map((value) => ({ timestamp: 5, key: 'k', value })), ...more })
    const { responses } = await cluster.call([produceRequest, produceResponse], 9, {
      acks: -1,
      timeoutMs: 5000,
      topicData: [{ name: topic, partitionData: [{ index, records }] }],
    })
    assert.equal(responses[0]?.partitionResponses[0]?.errorCode, 0)
  }

  const records = (topic: string, text = ''): Promise<RecordsView> => readRecords(sources(), gate, topic, query(text))
  const valuesOf = (view: RecordsView): (string | undefined)[] => view.records.map(({ value }) => value?.shown)

  it('tells of the broker as a whole', async () => {
    await start()
    await cluster.createTopic('a', { partitions: 3 })
    await produce('a', 1, ['x', 'y'])
    const view = overview(sources(), systemClock.monotonicMs() - 5000)
    assert.deepEqual(
      {
        brokers: view.brokers,
        topics: view.topicCount,
        partitions: view.partitionCount,
        offline: view.offlinePartitionCount,
        recordsIn: view.recordsIn,
        isReady: view.isReady,
        recordsEnabled: view.recordsEnabled,
      },
      {
        brokers: [{ brokerId: 0, isAlive: true, rack: null, endpoints: ['broker-0.test:9092'], webUrl: null }],
        topics: 1,
        partitions: 3,
        offline: 0,
        recordsIn: 2,
        isReady: true,
        recordsEnabled: true,
      },
    )
    assert.ok(view.uptimeMs >= 5000)
  })

  it('lists topics page by page', async () => {
    await start()
    for (const name of ['b', 'a', 'c.orders', 'd.orders']) await cluster.createTopic(name)
    await produce('b', 0, ['1', '2', '3'])
    const first = listTopics(sources(), query('limit=3'))
    assert.deepEqual(
      [first.topics.map(({ name }) => name), first.next, first.total],
      [['a', 'b', 'c.orders'], 'c.orders', 4],
    )
    const second = listTopics(sources(), query('limit=3&after=c.orders'))
    assert.deepEqual([second.topics.map(({ name }) => name), second.next], [['d.orders'], null])
    const filtered = listTopics(sources(), query('filter=ORDER'))
    assert.deepEqual([filtered.topics.map(({ name }) => name), filtered.total], [['c.orders', 'd.orders'], 2])
    const b = first.topics[1]
    assert.ok(b)
    assert.deepEqual([b.records, b.recordsIn, b.partitionCount, b.ledHereCount], [3, 3, 1, 1])
    assert.throws(
      () => listTopics(sources(), query('limit=0')),
      isApiError(400, /limit must be an integer from 1 to 1000/),
    )
    assert.throws(() => listTopics(sources(), query('limit=1e9')), isApiError(400, /limit/))
  })

  it('describes a topic with its partitions and the configs that are its own', async () => {
    await start()
    await cluster.createTopic('a', { partitions: 2, configs: { 'retention.ms': '1000' } })
    await produce('a', 1, ['x'])
    const topic = describeTopic(sources(), 'a', query())
    assert.deepEqual(topic.configs, [{ name: 'retention.ms', value: '1000', source: 'DYNAMIC_TOPIC_CONFIG' }])
    assert.deepEqual(
      topic.partitions.map(({ partition, leader, isr, logStartOffset, highWatermark }) => ({
        partition,
        leader,
        isr,
        logStartOffset,
        highWatermark,
      })),
      [
        { partition: 0, leader: 0, isr: [0], logStartOffset: 0, highWatermark: 0 },
        { partition: 1, leader: 0, isr: [0], logStartOffset: 0, highWatermark: 1 },
      ],
    )
    assert.throws(() => describeTopic(sources(), 'none', query()), isApiError(404, /There is no topic 'none'/))
  })

  it('tells many partitions in parts', async () => {
    await start()
    await cluster.createTopic('many', { partitions: 1200 })
    const first = describeTopic(sources(), 'many', query())
    assert.deepEqual([first.partitions.length, first.nextPartition], [1000, 1000])
    const rest = describeTopic(sources(), 'many', query('fromPartition=1000'))
    assert.deepEqual([rest.partitions.length, rest.partitions[0]?.partition, rest.nextPartition], [200, 1000, null])
  })

  describe('records', () => {
    it('are the newest of all partitions, or of one', async () => {
      await start()
      await cluster.createTopic('a', { partitions: 3 })
      for (let i = 0; i < 9; i++) await produce('a', i % 3, [`v${i}`], { logAppendTimeMs: 1000 + i })
      const view = await records('a', 'limit=4')
      assert.equal(view.records.length, 4)
      assert.deepEqual(
        new Set((await records('a', 'partition=1')).records.map(({ partition }) => partition)),
        new Set([1]),
      )
      assert.deepEqual(valuesOf(await records('a', 'partition=1')), ['v7', 'v4', 'v1'])
      assert.deepEqual(valuesOf(await records('a', 'partition=1&offset=1')), ['v4', 'v7'])
      assert.deepEqual(await records('a', 'partition=1&offset=3'), { records: [], notes: [] })
    })

    it('are sorted by time over the partitions', async () => {
      await start()
      await cluster.createTopic('a', { partitions: 2 })
      const at = (timestamp: number) => ({ records: [{ timestamp, key: null, value: String(timestamp) }] })
      for (const [partition, timestamp] of [
        [0, 30],
        [1, 10],
        [0, 20],
        [1, 40],
      ] as const) {
        await produce('a', partition, [], at(timestamp))
      }
      assert.deepEqual(valuesOf(await records('a', 'limit=3')), ['40', '30', '20'])
    })

    it('are decompressed, and cut to a size', async () => {
      await start()
      await cluster.createTopic('a')
      await produce('a', 0, ['x'.repeat(10_000)], { compression: 'zstd' })
      const [record] = (await records('a')).records
      assert.deepEqual(
        [record?.value?.shown.length, record?.value?.isCut, record?.value?.sizeBytes],
        [4096, true, 10_000],
      )
      const [whole] = (await records('a', 'partition=0&offset=0&limit=1&maxBytes=1048576')).records
      assert.equal(whole?.value?.shown.length, 10_000)
    })

    it('together stay small, whatever is asked for', async () => {
      await start()
      await cluster.createTopic('a')
      for (let i = 0; i < 10; i++)
        await produce('a', 0, Array<string>(50).fill('x'.repeat(15_000)), { compression: 'lz4' })
      const view = await records('a', 'limit=500&maxBytes=1048576')
      assert.equal(view.records.length, 500)
      assert.ok(JSON.stringify(view).length < 6_000_000)
    })

    it('can be switched off', async () => {
      await start({ 'ottla.web.records.enable': 'false' })
      await cluster.createTopic('a')
      await assert.rejects(records('a'), isApiError(403, /switched off/))
      assert.equal(overview(sources(), 0).recordsEnabled, false)
    })

    it('need a topic, a partition and an offset that can be', async () => {
      await start()
      await cluster.createTopic('a')
      await assert.rejects(records('none'), isApiError(404, /no topic/))
      await assert.rejects(records('a', 'partition=7'), isApiError(400, /has no partition 7/))
      await assert.rejects(records('a', 'offset=7'), isApiError(400, /needs a partition/))
      await assert.rejects(records('a', 'partition=x'), isApiError(400, /partition must be an integer/))
      await assert.rejects(records('a', 'limit=501'), isApiError(400, /limit/))
    })

    it('are read for a few at a time', async () => {
      await start()
      const crowd = new ReadGate()
      let reading = 0
      let most = 0
      const read = async (): Promise<number> => {
        most = Math.max(most, ++reading)
        await new Promise((resolve) => setImmediate(resolve))
        return --reading
      }
      const results = await Promise.allSettled(Array.from({ length: 30 }, () => crowd.run(read)))
      assert.equal(most, 2)
      const refused = results.filter(({ status }) => status === 'rejected')
      assert.equal(refused.length, 30 - 18)
      await assert.rejects(
        crowd.run(() => Promise.reject(new Error('failed'))),
        /failed/,
      )
      await crowd.run(read)
    })
  })

  describe('groups', () => {
    const member = (memberId: string, partitions: readonly number[]) => ({
      memberId,
      groupInstanceId: null,
      clientId: `client-${memberId}`,
      clientHost: '/10.0.0.7',
      assignment: [{ topicName: 'a', partitions }],
    })

    beforeEach(async () => {
      await start()
      await cluster.createTopic('a', { partitions: 3 })
      for (const partition of [0, 1, 2]) await produce('a', partition, ['x', 'y', 'z'])
      groups = [
        fakeGroup('busy', {
          committed: [committed('a', 0, 1), committed('a', 2, 9), committed('gone', 0, 1)],
          members: () => [member('m1', [0, 1]), member('m2', [2])],
        }),
        fakeGroup('idle', { committed: [committed('a', 1, 0)] }),
        fakeGroup('nothing', {}),
      ]
    })

    it('are listed with their lag', () => {
      const { total, groups: listed } = listGroups(sources(), query())
      assert.equal(total, 3)
      assert.deepEqual(
        listed.map(({ groupId, state, memberCount, topicCount, lag }) => [
          groupId,
          state,
          memberCount,
          topicCount,
          lag,
        ]),
        [
          ['busy', 'Stable', 2, 1, 2],
          ['idle', 'Empty', 0, 1, 3],
          ['nothing', 'Empty', 0, 0, 0],
        ],
      )
      assert.deepEqual(
        listGroups(sources(), query('filter=id&limit=1')).groups.map(({ groupId }) => groupId),
        ['idle'],
      )
    })

    it('are described by partition, assigned or committed', () => {
      const { partitions, members, partitionCount } = describeGroup(sources(), 'busy')
      assert.deepEqual(
        partitions.map(({ partition, committedOffset, endOffset, lag, memberId }) => [
          partition,
          committedOffset,
          endOffset,
          lag,
          memberId,
        ]),
        [
          [0, 1, 3, 2, 'm1'],
          [1, null, 3, null, 'm1'],
          [2, 9, 3, 0, 'm2'],
        ],
      )
      assert.equal(partitionCount, 3)
      assert.deepEqual(
        members.map(({ clientId }) => clientId),
        ['client-m1', 'client-m2'],
      )
      assert.throws(() => describeGroup(sources(), 'none'), isApiError(404, /coordinates no group 'none'/))
    })
  })

  it('finds its way through many names', async () => {
    await start()
    const names = Array.from({ length: 2500 }, (_, i) => `n${i}`)
    const seen: string[] = []
    let after: string | null = null
    do {
      const page = namePage(names, query(`limit=1000${after === null ? '' : `&after=${after}`}`))
      seen.push(...page.names)
      after = page.next
    } while (after !== null)
    assert.deepEqual(seen, names.toSorted())
  })
})
