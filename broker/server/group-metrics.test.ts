import assert from 'node:assert/strict'
import type { CommittedOffsetView } from '../coordinator/group/group-view.ts'
import { produceRequest, produceResponse } from '../protocol/messages/00-produce.ts'
import { deleteTopicsRequest, deleteTopicsResponse } from '../protocol/messages/20-delete-topics.ts'
import { encodeBatch } from '../protocol/records/encode-batch.ts'
import { groupMetrics } from './group-metrics.ts'
import { partitionMetrics } from './partition-metrics.ts'
import { committed, fakeGroup, fakeGroups } from './testing/fake-groups.ts'
import { TestCluster } from './testing/test-cluster.ts'

const MEMBER = { memberId: 'm', groupInstanceId: null, clientId: 'c', clientHost: '/127.0.0.1', assignment: [] }

describe('metrics of partitions and groups', () => {
  let cluster: TestCluster
  beforeEach(async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('orders', { partitions: 2 })
    for (const index of [0, 1]) {
      const records = encodeBatch({
        records: Array.from({ length: 10 * (index + 1) }, () => ({ timestamp: 1, key: null, value: 'v' })),
      })
      await cluster.call([produceRequest, produceResponse], 9, {
        acks: -1,
        timeoutMs: 5000,
        topicData: [{ name: 'orders', partitionData: [{ index, records }] }],
      })
    }
  })
  afterEach(() => cluster.close())

  function scrape(groups: Readonly<Record<string, readonly CommittedOffsetView[]>> = {}, maxSeries = 1000): string[] {
    const { metadata, replicas } = cluster.broker
    const views = Object.entries(groups).map(([groupId, offsets]) =>
      fakeGroup(groupId, { committed: offsets, ...(groupId === 'busy' && { members: () => [MEMBER] }) }),
    )
    const text = [
      ...partitionMetrics({ brokerId: 0, metadata, replicas }),
      ...groupMetrics({ groups: fakeGroups(views), metadata, replicas, maxSeries }),
    ].join('')
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  }

  const named = (lines: readonly string[], prefix: string): string[] => lines.filter((line) => line.startsWith(prefix))

  it('have the names and labels of kafka_exporter', () => {
    const lines = scrape({ busy: [committed('orders', 0, 4), committed('orders', 1, 20)], empty: [] })
    assert.deepEqual(named(lines, 'kafka_consumergroup_'), [
      'kafka_consumergroup_current_offset{consumergroup="busy",topic="orders",partition="0"} 4',
      'kafka_consumergroup_current_offset{consumergroup="busy",topic="orders",partition="1"} 20',
      'kafka_consumergroup_lag{consumergroup="busy",topic="orders",partition="0"} 6',
      'kafka_consumergroup_lag{consumergroup="busy",topic="orders",partition="1"} 0',
      'kafka_consumergroup_current_offset_sum{consumergroup="busy",topic="orders"} 24',
      'kafka_consumergroup_lag_sum{consumergroup="busy",topic="orders"} 6',
      'kafka_consumergroup_members{consumergroup="busy"} 1',
      'kafka_consumergroup_members{consumergroup="empty"} 0',
    ])
    assert.deepEqual(named(lines, 'kafka_topic_partition'), [
      'kafka_topic_partition_current_offset{topic="orders",partition="0"} 10',
      'kafka_topic_partition_current_offset{topic="orders",partition="1"} 20',
      'kafka_topic_partition_oldest_offset{topic="orders",partition="0"} 0',
      'kafka_topic_partition_oldest_offset{topic="orders",partition="1"} 0',
      'kafka_topic_partitions{topic="orders"} 2',
      'kafka_topic_partition_leader{topic="orders",partition="0"} 0',
      'kafka_topic_partition_leader{topic="orders",partition="1"} 0',
      'kafka_topic_partition_leader_is_preferred{topic="orders",partition="0"} 1',
      'kafka_topic_partition_leader_is_preferred{topic="orders",partition="1"} 1',
      'kafka_topic_partition_replicas{topic="orders",partition="0"} 1',
      'kafka_topic_partition_replicas{topic="orders",partition="1"} 1',
      'kafka_topic_partition_in_sync_replica{topic="orders",partition="0"} 1',
      'kafka_topic_partition_in_sync_replica{topic="orders",partition="1"} 1',
      'kafka_topic_partition_under_replicated_partition{topic="orders",partition="0"} 0',
      'kafka_topic_partition_under_replicated_partition{topic="orders",partition="1"} 0',
    ])
    assert.deepEqual(named(lines, 'kafka_server_brokertopicmetrics_messagesin_total'), [
      'kafka_server_brokertopicmetrics_messagesin_total{topic="orders"} 30',
    ])
  })

  it('tell of a group without members, as long as it has offsets', () => {
    const lines = scrape({ idle: [committed('orders', 0, 3)] })
    assert.deepEqual(named(lines, 'kafka_consumergroup_lag{'), [
      'kafka_consumergroup_lag{consumergroup="idle",topic="orders",partition="0"} 7',
    ])
    assert.deepEqual(named(lines, 'kafka_consumergroup_members'), [
      'kafka_consumergroup_members{consumergroup="idle"} 0',
    ])
  })

  it('never tell a negative lag', () => {
    const lines = scrape({ ahead: [committed('orders', 0, 1000), committed('orders', 1, 15)] })
    assert.deepEqual(named(lines, 'kafka_consumergroup_lag'), [
      'kafka_consumergroup_lag{consumergroup="ahead",topic="orders",partition="0"} 0',
      'kafka_consumergroup_lag{consumergroup="ahead",topic="orders",partition="1"} 5',
      'kafka_consumergroup_lag_sum{consumergroup="ahead",topic="orders"} 5',
    ])
  })

  it('end with the topic', async () => {
    const groups = { g: [committed('orders', 0, 3), committed('never-was', 0, 3), committed('orders', 99, 3)] }
    assert.equal(named(scrape(groups), 'kafka_consumergroup_lag{').length, 1)
    await cluster.call([deleteTopicsRequest, deleteTopicsResponse], 4, { topicNames: ['orders'], timeoutMs: 5000 })
    await cluster.broker.metadata.waitFor(() => cluster.broker.metadata.topicCount === 0)
    const lines = scrape(groups)
    assert.deepEqual(
      lines.filter((line) => line.includes('topic=')),
      [],
    )
  })

  it('leave out what would be too much, and say so', () => {
    const offsets = [committed('orders', 0, 3), committed('orders', 1, 3)]
    const lines = scrape({ a: offsets, b: offsets, [`long${'g'.repeat(5000)}`]: offsets }, 3)
    assert.deepEqual(named(lines, 'kafka_consumergroup_lag{'), [], 'none rather than some')
    assert.equal(named(lines, 'kafka_consumergroup_lag_sum{').length, 2)
    assert.equal(named(lines, 'kafka_consumergroup_members{').length, 2)
    assert.deepEqual(named(lines, 'ottla_metrics_consumergroup_leftout'), ['ottla_metrics_consumergroup_leftout 5'])
    assert.deepEqual(named(scrape({ a: offsets }), 'ottla_metrics_consumergroup_leftout'), [
      'ottla_metrics_consumergroup_leftout 0',
    ])
  })

  it('escape the names of groups', () => {
    const lines = scrape({ 'a"b\nc': [committed('orders', 0, 3)] })
    assert.ok(lines.includes('kafka_consumergroup_members{consumergroup="a\\"b\\nc"} 0'))
  })
})
