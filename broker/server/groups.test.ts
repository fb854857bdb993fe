import assert from 'node:assert/strict'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { offsetCommitRequest, offsetCommitResponse } from '../protocol/messages/08-offset-commit.ts'
import { offsetFetchRequest, offsetFetchResponse } from '../protocol/messages/09-offset-fetch.ts'
import { findCoordinatorRequest, findCoordinatorResponse } from '../protocol/messages/10-find-coordinator.ts'
import { joinGroupRequest, joinGroupResponse, type JoinGroupResponse } from '../protocol/messages/11-join-group.ts'
import { heartbeatRequest, heartbeatResponse } from '../protocol/messages/12-heartbeat.ts'
import { leaveGroupRequest, leaveGroupResponse } from '../protocol/messages/13-leave-group.ts'
import { syncGroupRequest, syncGroupResponse } from '../protocol/messages/14-sync-group.ts'
import { describeGroupsRequest, describeGroupsResponse } from '../protocol/messages/15-describe-groups.ts'
import { listGroupsRequest, listGroupsResponse } from '../protocol/messages/16-list-groups.ts'
import { deleteTopicsRequest, deleteTopicsResponse } from '../protocol/messages/20-delete-topics.ts'
import { deleteGroupsRequest, deleteGroupsResponse } from '../protocol/messages/42-delete-groups.ts'
import { produceRequest, produceResponse } from '../protocol/messages/00-produce.ts'
import { TestCluster, TestConnection } from './testing/test-cluster.ts'

const JOIN = [joinGroupRequest, joinGroupResponse] as const
const SYNC = [syncGroupRequest, syncGroupResponse] as const
const HEARTBEAT = [heartbeatRequest, heartbeatResponse] as const
const COMMIT = [offsetCommitRequest, offsetCommitResponse] as const
const FETCH = [offsetFetchRequest, offsetFetchResponse] as const

/** Groups as clients meet them, through the codec, the coordinator and the log. */
describe('groups', () => {
  let cluster: TestCluster
  const config = { 'group.initial.rebalance.delay.ms': '0', 'group.min.session.timeout.ms': '1' }

  async function start(disk = new MemoryDisk({ folders: ['/data'] })): Promise<void> {
    cluster = await TestCluster.start({ disk, config })
  }

  async function restart(): Promise<void> {
    const disk = cluster.disk.powerLoss()
    cluster.abandon()
    await start(disk)
    await loaded('g')
  }

  async function loaded(groupId: string): Promise<void> {
    for (;;) {
      const { groups } = await cluster.call(FETCH, 9, { groups: [{ groupId, topics: [] }] })
      if (groups[0]?.errorCode === ErrorCode.NONE) return
      assert.equal(groups[0]?.errorCode, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  beforeEach(async () => {
    await start()
    await cluster.createTopic('t', { partitions: 4 })
    const { coordinators } = await cluster.call([findCoordinatorRequest, findCoordinatorResponse], 6, {
      keyType: 0,
      coordinatorKeys: ['g'],
    })
    assert.equal(coordinators[0]?.errorCode, ErrorCode.NONE)
    assert.equal(coordinators[0].host, 'broker-0.test')
    await loaded('g')
  })
  afterEach(() => cluster.close())

  const subscription = (...topics: string[]): Buffer => {
    const parts = topics.map((topic) => {
      const name = Buffer.alloc(2 + topic.length)
      name.writeInt16BE(topic.length)
      name.write(topic, 2)
      return name
    })
    const head = Buffer.alloc(6)
    head.writeInt32BE(topics.length, 2)
    return Buffer.concat([head, ...parts, Buffer.from([0xff, 0xff, 0xff, 0xff])])
  }

  async function join(memberId = '', more: object = {}): Promise<JoinGroupResponse> {
    const request = {
      groupId: 'g',
      memberId,
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 10_000,
      protocolType: 'consumer',
      protocols: [{ name: 'range', metadata: subscription('t') }],
      ...more,
    }
    const response = await cluster.call(JOIN, 9, request, new TestConnection())
    if (response.errorCode !== ErrorCode.MEMBER_ID_REQUIRED) return response
    return await cluster.call(JOIN, 9, { ...request, memberId: response.memberId }, new TestConnection())
  }

  const sync = (memberId: string, generationId: number, assignments: { memberId: string; assignment: Buffer }[] = []) =>
    cluster.call(
      SYNC,
      5,
      { groupId: 'g', memberId, generationId, protocolType: 'consumer', protocolName: 'range', assignments },
      new TestConnection(),
    )

  const commit = async (offset: number, member: { memberId?: string; generationIdOrMemberEpoch?: number } = {}) => {
    const { topics } = await cluster.call(COMMIT, 9, {
      groupId: 'g',
      ...member,
      topics: [{ name: 't', partitions: [{ partitionIndex: 0, committedOffset: offset, committedMetadata: 'm' }] }],
    })
    return topics[0]?.partitions[0]?.errorCode
  }

  const committed = async (): Promise<number | undefined> => {
    const { groups } = await cluster.call(FETCH, 9, {
      groups: [{ groupId: 'g', topics: [{ name: 't', partitionIndexes: [0] }] }],
    })
    return groups[0]?.topics[0]?.partitions[0]?.committedOffset
  }

  it('of one member: join, sync, heartbeat, commit, leave', async () => {
    const joined = await join()
    assert.equal(joined.errorCode, ErrorCode.NONE)
    assert.equal(joined.leader, joined.memberId)
    assert.deepEqual(
      joined.members.map(({ metadata }) => metadata),
      [subscription('t')],
    )
    const { memberId, generationId } = joined
    const synced = await sync(memberId, generationId, [{ memberId, assignment: Buffer.from('assigned') }])
    assert.equal(synced.errorCode, ErrorCode.NONE)
    assert.deepEqual(synced.assignment, Buffer.from('assigned'))
    assert.deepEqual(await cluster.call(HEARTBEAT, 4, { groupId: 'g', generationId, memberId }), {
      throttleTimeMs: 0,
      errorCode: ErrorCode.NONE,
    })
    const as = { memberId, generationIdOrMemberEpoch: generationId }
    assert.equal(await commit(7, as), ErrorCode.NONE)
    assert.equal(await committed(), 7)
    assert.equal(await commit(9, { ...as, generationIdOrMemberEpoch: generationId + 1 }), ErrorCode.ILLEGAL_GENERATION)
    assert.equal(await commit(9, { ...as, memberId: 'stranger' }), ErrorCode.UNKNOWN_MEMBER_ID)
    const left = await cluster.call([leaveGroupRequest, leaveGroupResponse], 5, {
      groupId: 'g',
      members: [{ memberId }],
    })
    assert.equal(left.members[0]?.errorCode, ErrorCode.NONE)
    assert.equal(await committed(), 7)
  })

  it('of two members: the second one makes the first join again', async () => {
    const first = await join()
    await sync(first.memberId, first.generationId, [{ memberId: first.memberId, assignment: Buffer.from('all') }])
    const secondJoins = join()
    for (;;) {
      const { errorCode } = await cluster.call(HEARTBEAT, 4, { groupId: 'g', ...first })
      if (errorCode === ErrorCode.REBALANCE_IN_PROGRESS) break
      assert.equal(errorCode, ErrorCode.NONE)
    }
    const [again, second] = await Promise.all([join(first.memberId), secondJoins])
    assert.equal(again.generationId, first.generationId + 1)
    assert.equal(second.generationId, again.generationId)
    assert.equal(second.leader, first.memberId)
    assert.equal(again.members.length, 2)
    const [own, other] = await Promise.all([
      sync(again.memberId, again.generationId, [
        { memberId: again.memberId, assignment: Buffer.from('one') },
        { memberId: second.memberId, assignment: Buffer.from('two') },
      ]),
      sync(second.memberId, second.generationId),
    ])
    assert.equal(own.assignment.toString(), 'one')
    assert.equal(other.assignment.toString(), 'two')
  })

  it('keep members, assignments and offsets over a power loss', async () => {
    const { memberId, generationId } = await join()
    await sync(memberId, generationId, [{ memberId, assignment: Buffer.from('assigned') }])
    await commit(5, { memberId, generationIdOrMemberEpoch: generationId })
    await restart()
    assert.equal(await committed(), 5)
    const { groups } = await cluster.call([describeGroupsRequest, describeGroupsResponse], 6, { groups: ['g'] })
    assert.equal(groups[0]?.groupState, 'Stable')
    assert.equal(groups[0].members[0]?.memberAssignment.toString(), 'assigned')
    const { errorCode } = await cluster.call(HEARTBEAT, 4, { groupId: 'g', generationId, memberId })
    assert.equal(errorCode, ErrorCode.NONE)
  })

  it('are listed by state and type, described and deleted', async () => {
    await commit(1)
    // Other shards of the new topic may still be loading.
    for (;;) {
      const { errorCode } = await cluster.call([listGroupsRequest, listGroupsResponse], 5, {})
      if (errorCode !== ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) break
      await new Promise((resolve) => setImmediate(resolve))
    }
    const list = async (filters: object = {}) => {
      const { groups, errorCode } = await cluster.call([listGroupsRequest, listGroupsResponse], 5, filters)
      assert.equal(errorCode, ErrorCode.NONE)
      return groups.map(({ groupId, groupState, groupType }) => `${groupId} ${groupState} ${groupType}`)
    }
    assert.deepEqual(await list(), ['g Empty classic'])
    assert.deepEqual(await list({ statesFilter: ['EMPTY'], typesFilter: ['Classic'] }), ['g Empty classic'])
    assert.deepEqual(await list({ statesFilter: ['Stable'] }), [])
    assert.deepEqual(await list({ typesFilter: ['consumer'] }), [])
    const { results } = await cluster.call([deleteGroupsRequest, deleteGroupsResponse], 2, {
      groupsNames: ['g', 'unknown'],
    })
    assert.deepEqual(
      results.map(({ errorCode }) => errorCode),
      [ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND],
    )
    assert.deepEqual(await list(), [])
    assert.equal(await committed(), -1)
    await restart()
    assert.equal(await committed(), -1)
  })

  it('lose the offsets of a topic with it, and not a moment before', async () => {
    await commit(4)
    await cluster.call([deleteTopicsRequest, deleteTopicsResponse], 5, { topicNames: ['t'], timeoutMs: 5000 })
    await cluster.createTopic('t', { partitions: 4 })
    while ((await committed()) !== -1) await new Promise((resolve) => setImmediate(resolve))
    await commit(1)
    assert.equal(await committed(), 1)
    await restart()
    assert.equal(await committed(), 1)
  })

  it('have a topic that clients see as internal and may not write to', async () => {
    const { responses } = await cluster.call([produceRequest, produceResponse], 9, {
      acks: -1,
      timeoutMs: 1000,
      topicData: [{ name: '__consumer_offsets', partitionData: [{ index: 0, records: Buffer.alloc(0) }] }],
    })
    assert.equal(responses[0]?.partitionResponses[0]?.errorCode, ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert.equal(cluster.broker.metadata.topic('__consumer_offsets')?.partitions.size, 50)
    assert.equal(cluster.broker.metadata.topicConfig('__consumer_offsets')['cleanup.policy'], 'compact')
  })
})
