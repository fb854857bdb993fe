import assert from 'node:assert/strict'
import { ErrorCode } from '../../../protocol/error-codes.ts'
import type { ConsumerGroupHeartbeatResponseInput } from '../../../protocol/messages/68-consumer-group-heartbeat.ts'
import { ConsumerHarness, GROUP, REBALANCE_MS, type HeartbeatOptions } from './testing/consumer-harness.ts'

const SESSION_MS = 45_000

describe('groups of the consumer protocol', () => {
  let harness: ConsumerHarness
  let topicId: string

  function start(configs: Record<string, string> = {}): void {
    harness = new ConsumerHarness(configs)
    topicId = harness.topics.put('t', 4)
  }

  beforeEach(() => start())

  /** The partitions of `t` in an answer; undefined where it says nothing of the assignment. */
  function told({ assignment }: ConsumerGroupHeartbeatResponseInput): number[] | undefined {
    if (assignment === null || assignment === undefined) return undefined
    return (assignment.topicPartitions ?? [])
      .flatMap((topic) => (topic.topicId === topicId ? [...(topic.partitions ?? [])] : []))
      .sort((a, b) => a - b)
  }

  const owned = (...partitions: number[]) => (partitions.length === 0 ? [] : [{ topicId, partitions }])

  const keepAlive = (memberId: string, memberEpoch: number, options: HeartbeatOptions = {}) =>
    harness.heartbeat({ memberId, memberEpoch, ...options })

  const log = () => harness.base.log

  it('assign all to a first member, and write nothing for a heartbeat that changes nothing', () => {
    const first = harness.join('a', ['t'])
    assert.equal(first.memberEpoch, 1)
    assert.equal(first.heartbeatIntervalMs, 5000)
    assert.deepEqual(told(first), [0, 1, 2, 3])
    assert.deepEqual(
      log().map(({ type }) => type),
      [
        'ConsumerGroupMemberMetadata',
        'ConsumerGroupMetadata',
        'ConsumerGroupTargetAssignmentMember',
        'ConsumerGroupTargetAssignmentMetadata',
        'ConsumerGroupCurrentMemberAssignment',
      ],
    )
    const count = log().length
    assert.equal(told(keepAlive('a', 1)), undefined)
    assert.deepEqual(
      told(harness.join('a', ['t'], { memberEpoch: 1, topicPartitions: owned(0, 1, 2, 3) })),
      [0, 1, 2, 3],
    )
    assert.equal(log().length, count)
    assert.equal(harness.group().stateName, 'Stable')
  })

  it('hand a partition on only when its owner has said that it let it go', () => {
    harness.join('a', ['t'])
    const joined = harness.join('b', ['t'])
    assert.equal(joined.memberEpoch, 2)
    assert.deepEqual(told(joined), [], 'all is still owned by the other one')
    assert.equal(harness.group().stateName, 'Reconciling')

    const asked = keepAlive('a', 1)
    const kept = told(asked) ?? []
    assert.equal(asked.memberEpoch, 1, 'it stays at its epoch while it gives up')
    assert.equal(kept.length, 2)
    assert.equal(told(keepAlive('b', 2)), undefined)
    assert.equal(told(keepAlive('a', 1)), undefined, 'a heartbeat without what is owned acknowledges nothing')
    assert.equal(keepAlive('a', 1, { topicPartitions: owned(0, 1, 2, 3) }).memberEpoch, 1)

    const acknowledged = keepAlive('a', 1, { topicPartitions: owned(...kept) })
    assert.equal(acknowledged.memberEpoch, 2)
    const got = told(keepAlive('b', 2)) ?? []
    assert.deepEqual([...kept, ...got].sort(), [0, 1, 2, 3])
    assert.equal(harness.group().stateName, 'Stable')
  })

  it('give the partitions of a member that leaves to the others', () => {
    harness.join('a', ['t'])
    harness.join('b', ['t'])
    assert.deepEqual(harness.leave('a'), { errorCode: ErrorCode.NONE, memberId: 'a', memberEpoch: -1 })
    const answer = keepAlive('b', 2)
    assert.equal(answer.memberEpoch, 3)
    assert.deepEqual(told(answer), [0, 1, 2, 3])
    harness.leave('b')
    assert.equal(harness.group().stateName, 'Empty')
    assert.deepEqual(harness.base.timerKeys(), [])
  })

  it('refuse what is wrong with a request, in the words of Kafka', () => {
    const invalid = (options: HeartbeatOptions): void =>
      assert.equal(
        harness.errorOf(() => harness.join('a', ['t'], options)),
        ErrorCode.INVALID_REQUEST,
      )
    invalid({ memberId: '' })
    invalid({ groupId: '' })
    invalid({ instanceId: '' })
    invalid({ rackId: '' })
    invalid({ rebalanceTimeoutMs: -1 })
    invalid({ topicPartitions: null })
    invalid({ topicPartitions: owned(0) })
    invalid({ subscribedTopicNames: null })
    invalid({ memberEpoch: -2 })
    invalid({ memberEpoch: -3 })
    const unsupported = () => harness.join('a', ['t'], { serverAssignor: 'sticky' })
    assert.equal(harness.errorOf(unsupported), ErrorCode.UNSUPPORTED_ASSIGNOR)
    assert.equal(log().length, 0)
    assert.equal(harness.context.groups.size, 0)
  })

  it('make the ids of members of version 0', () => {
    const { memberId } = harness.join('', ['t'], { apiVersion: 0 })
    assert.equal(memberId?.length, 22)
    assert.ok(harness.group().member(memberId))
  })

  it('know no member that did not join', () => {
    assert.equal(
      harness.errorOf(() => keepAlive('a', 1)),
      ErrorCode.GROUP_ID_NOT_FOUND,
    )
    assert.equal(
      harness.errorOf(() => harness.leave('a')),
      ErrorCode.GROUP_ID_NOT_FOUND,
    )
    harness.join('a', ['t'])
    assert.equal(
      harness.errorOf(() => keepAlive('b', 1)),
      ErrorCode.UNKNOWN_MEMBER_ID,
    )
    assert.equal(
      harness.errorOf(() => harness.leave('b')),
      ErrorCode.UNKNOWN_MEMBER_ID,
    )
  })

  it('fence members of another epoch, but not one whose last answer was lost', () => {
    harness.join('a', ['t'])
    assert.equal(
      harness.errorOf(() => keepAlive('a', 2)),
      ErrorCode.FENCED_MEMBER_EPOCH,
    )
    harness.topics.put('t', 5)
    harness.changeTopics('t')
    const lost = keepAlive('a', 1)
    assert.equal(lost.memberEpoch, 2)
    assert.equal(
      harness.errorOf(() => keepAlive('a', 1)),
      ErrorCode.FENCED_MEMBER_EPOCH,
      'it may own anything',
    )
    const unknown = { topicPartitions: owned(0, 7) }
    assert.equal(
      harness.errorOf(() => keepAlive('a', 1, unknown)),
      ErrorCode.FENCED_MEMBER_EPOCH,
    )
    const again = keepAlive('a', 1, { topicPartitions: owned(0, 1, 2, 3) })
    assert.equal(again.memberEpoch, 2)
    assert.deepEqual(told(again), [0, 1, 2, 3, 4])
    assert.equal(harness.join('a', ['t']).memberEpoch, 2, 'it may always join again')
  })

  it('keep the partitions of a static member that says that it will be back', () => {
    const instance = { instanceId: 'i' }
    harness.join('a', ['t'], instance)
    assert.equal(
      harness.errorOf(() => harness.join('b', ['t'], instance)),
      ErrorCode.UNRELEASED_INSTANCE_ID,
    )
    assert.equal(
      harness.errorOf(() => keepAlive('b', 1, instance)),
      ErrorCode.FENCED_INSTANCE_ID,
    )
    assert.equal(
      harness.errorOf(() => keepAlive('a', 1, { instanceId: 'j' })),
      ErrorCode.UNKNOWN_MEMBER_ID,
    )
    assert.equal(harness.leave('a', { ...instance, memberEpoch: -2 }).memberEpoch, -2)
    harness.join('c', ['t'])
    harness.base.advance(SESSION_MS - 1)
    keepAlive('c', 2)
    const back = harness.join('b', ['t'], instance)
    assert.equal(back.memberEpoch, 2)
    assert.equal(told(back)?.length, 2, 'what the target leaves it, and nothing of the others')
    assert.equal(harness.group().member('a'), undefined)
    assert.equal(harness.group().memberCount, 2)
  })

  it('let a static member come back at once under its own id', () => {
    harness.join('a', ['t'], { instanceId: 'i' })
    const answer = harness.join('a', ['t'], { instanceId: 'i' })
    assert.deepEqual(told(answer), [0, 1, 2, 3])
    assert.equal(harness.group().groupEpoch, 1)
  })

  it('bump no epoch for a static member that comes back as it was', () => {
    harness.join('a', ['t'], { instanceId: 'i' })
    harness.leave('a', { instanceId: 'i', memberEpoch: -2 })
    const back = harness.join('b', ['t'], { instanceId: 'i' })
    assert.equal(back.memberEpoch, 1)
    assert.deepEqual(told(back), [0, 1, 2, 3])
    harness.reload()
    assert.equal(keepAlive('b', 1, { instanceId: 'i' }).memberEpoch, 1)
  })

  it('forget a static member that does not come back in its session', () => {
    harness.join('a', ['t'], { instanceId: 'i' })
    harness.leave('a', { instanceId: 'i', memberEpoch: -2 })
    harness.base.advance(SESSION_MS)
    assert.equal(harness.group().memberCount, 0)
  })

  it('take no more members than they may have', () => {
    start({ 'group.consumer.max.size': '1' })
    harness.join('a', ['t'], { instanceId: 'i' })
    assert.equal(
      harness.errorOf(() => harness.join('b', ['t'])),
      ErrorCode.GROUP_MAX_SIZE_REACHED,
    )
    assert.equal(keepAlive('a', 1, { instanceId: 'i' }).memberEpoch, 1)
    harness.leave('a', { instanceId: 'i', memberEpoch: -2 })
    assert.equal(harness.join('c', ['t'], { instanceId: 'i' }).memberEpoch, 1)
  })

  it('use the assignor that most members ask for', () => {
    harness.topics.put('u', 4)
    const range = { serverAssignor: 'range' }
    harness.join('a', ['t', 'u'], range)
    harness.join('b', ['t', 'u'])
    assert.equal(harness.manager.describe(GROUP).assignorName, 'range')
    const target = [...harness.group().targetOf('a').values()]
    assert.deepEqual(target, [
      [0, 1],
      [0, 1],
    ])
    harness.join('c', ['t', 'u'], { serverAssignor: 'uniform' })
    harness.join('d', ['t', 'u'], { serverAssignor: 'uniform' })
    assert.equal(harness.manager.describe(GROUP).assignorName, 'uniform')
  })

  it('fence members that are not heard of, and those that give up nothing', () => {
    harness.join('a', ['t'])
    harness.base.advance(SESSION_MS - 1)
    harness.join('b', ['t'], { rebalanceTimeoutMs: REBALANCE_MS })
    keepAlive('a', 1)
    for (let ms = 0; ms < REBALANCE_MS; ms += 5000) {
      harness.base.advance(5000)
      if (harness.group().member('a') !== undefined) keepAlive('a', 1)
      keepAlive('b', harness.group().member('b')?.memberEpoch ?? 0)
    }
    assert.equal(harness.group().member('a'), undefined, 'it had a minute')
    assert.deepEqual(told(harness.join('b', ['t'], { memberEpoch: 3 })), [0, 1, 2, 3])
    harness.base.advance(SESSION_MS)
    assert.equal(harness.group().memberCount, 0)
  })

  it('have timeouts of their own', () => {
    harness.base.groupConfig = { 'consumer.session.timeout.ms': '50000', 'consumer.heartbeat.interval.ms': '7000' }
    assert.equal(harness.join('a', ['t']).heartbeatIntervalMs, 7000)
    harness.base.advance(49_999)
    assert.equal(harness.group().memberCount, 1)
    harness.base.advance(1)
    assert.equal(harness.group().memberCount, 0)
  })

  it('see topics that appear, grow and vanish', () => {
    const first = harness.join('a', ['t', 'later'])
    assert.deepEqual(told(first), [0, 1, 2, 3])
    assert.equal(keepAlive('a', 1).memberEpoch, 1)
    const laterId = harness.topics.put('later', 2)
    harness.topics.put('other', 2)
    harness.changeTopics('other')
    assert.equal(keepAlive('a', 1).memberEpoch, 1)
    harness.changeTopics('later')
    const second = keepAlive('a', 1)
    assert.equal(second.memberEpoch, 2)
    assert.ok(second.assignment?.topicPartitions?.some((topic) => topic.topicId === laterId))
    harness.topics.delete('later')
    harness.changeTopics('later')
    const third = keepAlive('a', 2)
    assert.deepEqual(third.assignment?.topicPartitions, [{ topicId, partitions: [0, 1, 2, 3] }])
    assert.equal(harness.group().groupEpoch, 3)
    // Under the same name stands another topic now.
    harness.topics.delete('t')
    const otherId = harness.topics.put('t', 4)
    harness.changeTopics('t')
    const asked = keepAlive('a', 2, { topicPartitions: owned(0, 1, 2, 3) })
    assert.deepEqual(asked.assignment?.topicPartitions, [])
    const fourth = keepAlive('a', asked.memberEpoch ?? 0, { topicPartitions: [] })
    assert.deepEqual(fourth.assignment?.topicPartitions, [{ topicId: otherId, partitions: [0, 1, 2, 3] }])
  })

  it('look at all topics again after a reload', () => {
    harness.join('a', ['t'])
    harness.topics.put('t', 6)
    harness.reload()
    assert.deepEqual(told(keepAlive('a', 1)), [0, 1, 2, 3, 4, 5])
  })

  describe('with regular expressions', () => {
    const regex = (subscribedTopicRegex: string): HeartbeatOptions => ({
      subscribedTopicNames: null,
      subscribedTopicRegex,
    })

    it('match whole names, and new topics as they come', () => {
      harness.topics.put('my-t', 1)
      assert.deepEqual(told(harness.join('a', [], regex('t.*'))), [0, 1, 2, 3])
      assert.ok(harness.group().isSubscribedTo('t'))
      assert.ok(!harness.group().isSubscribedTo('my-t'))
      const nextId = harness.topics.put('t-2', 1)
      harness.changeTopics('t-2')
      const answer = keepAlive('a', 1)
      assert.ok(answer.assignment?.topicPartitions?.some((topic) => topic.topicId === nextId))
      harness.topics.delete('t-2')
      harness.changeTopics('t-2')
      assert.deepEqual(keepAlive('a', 2).assignment?.topicPartitions, [{ topicId, partitions: [0, 1, 2, 3] }])
      assert.equal(keepAlive('a', 2, { topicPartitions: owned(0, 1, 2, 3) }).memberEpoch, 3)
      const count = log().length
      keepAlive('a', 3)
      assert.equal(log().length, count)
    })

    it('keep what they match in records, until nobody wants it', () => {
      harness.join('a', [], regex('t|u'))
      harness.join('b', [], regex('t|u'))
      assert.equal(log().filter(({ type }) => type === 'ConsumerGroupRegularExpression').length, 1)
      harness.leave('a')
      assert.equal(harness.group().resolvedRegexes.size, 1)
      harness.join('b', ['t'], { memberEpoch: 2, subscribedTopicRegex: '' })
      assert.equal(harness.group().resolvedRegexes.size, 0)
      assert.equal(harness.group().hasRegexes, false)
      assert.ok(harness.group().isSubscribedTo('t'))
      harness.join('c', [], regex('t'))
      harness.leave('c')
      assert.equal(harness.group().resolvedRegexes.size, 0)
    })

    it('find what they missed when it is time', () => {
      harness.join('a', [], regex('.*'))
      keepAlive('a', 1)
      harness.topics.put('missed', 1)
      let epoch = 1
      for (let ms = 0; ms <= harness.base.config.consumerRegexRefreshIntervalMs; ms += 30_000) {
        harness.base.advance(30_000)
        epoch = keepAlive('a', epoch, { topicPartitions: owned(0, 1, 2, 3) }).memberEpoch ?? 0
      }
      assert.ok(harness.group().isSubscribedTo('missed'))
      assert.equal(epoch, 2)
    })

    it('are refused when they are none, or too much', () => {
      for (const wrong of ['(', '(?=t)', 'a'.repeat(5000), '((((a?){100}){10}){10})']) {
        assert.equal(
          harness.errorOf(() => harness.join('a', [], regex(wrong))),
          ErrorCode.INVALID_REGULAR_EXPRESSION,
        )
      }
      assert.equal(log().length, 0)
    })

    it('take many topics in slices, and then bump the epoch', () => {
      for (let i = 0; i < 200; i++) harness.topics.put(`many-${i}`, 1)
      // Every look at this clock takes a millisecond.
      let now = 0
      const clock = { wallMs: () => harness.base.nowMs, monotonicMs: () => now++ }
      harness.reload(clock)
      const first = harness.join('a', [], regex('many-.*'))
      assert.deepEqual(first.assignment?.topicPartitions, [])
      assert.equal(keepAlive('a', 1).assignment, null)
      for (let i = 0; i < 200 && harness.group().groupEpoch === 1; i++) harness.base.advance(0)
      const second = keepAlive('a', 1)
      assert.equal(second.memberEpoch, 2)
      assert.equal(second.assignment?.topicPartitions?.length, 200)
    })
  })

  it('are described with their members', () => {
    harness.join('a', ['t'], { instanceId: 'i', rackId: 'r' })
    const { members = [], ...group } = harness.manager.describe(GROUP)
    assert.deepEqual(group, {
      errorCode: ErrorCode.NONE,
      groupId: GROUP,
      groupState: 'Stable',
      groupEpoch: 1,
      assignmentEpoch: 1,
      assignorName: 'uniform',
    })
    const assignment = { topicPartitions: [{ topicId, topicName: 't', partitions: [0, 1, 2, 3] }] }
    assert.deepEqual(members, [
      {
        memberId: 'a',
        instanceId: 'i',
        rackId: 'r',
        memberEpoch: 1,
        clientId: 'client',
        clientHost: '/127.0.0.1',
        subscribedTopicNames: ['t'],
        subscribedTopicRegex: null,
        assignment,
        targetAssignment: assignment,
        memberType: 1,
      },
    ])
    assert.equal(
      harness.errorOf(() => harness.manager.describe('other')),
      ErrorCode.GROUP_ID_NOT_FOUND,
    )
  })

  describe('and offset commits', () => {
    const commit = (memberId: string, epoch: number, partition = 0, apiVersion = 9): number =>
      harness.errorOf(() =>
        harness
          .group()
          .validateOffsetCommit({ memberId, groupInstanceId: null, generationIdOrMemberEpoch: epoch, apiVersion }, [
            { topicName: 't', partition },
          ]),
      )

    it('are taken from members of this epoch, and of older ones for what they have had since', () => {
      harness.join('a', ['t'])
      assert.equal(commit('a', 1), ErrorCode.NONE)
      assert.equal(commit('a', 1, 0, 8), ErrorCode.UNSUPPORTED_VERSION)
      assert.equal(commit('b', 1), ErrorCode.UNKNOWN_MEMBER_ID)
      assert.equal(commit('', -1), ErrorCode.UNKNOWN_MEMBER_ID)
      assert.equal(commit('a', 2), ErrorCode.STALE_MEMBER_EPOCH)
      harness.topics.put('t', 5)
      harness.changeTopics('t')
      keepAlive('a', 1)
      assert.equal(commit('a', 1, 3), ErrorCode.NONE)
      assert.equal(commit('a', 1, 4), ErrorCode.STALE_MEMBER_EPOCH, 'it got this one later')
      harness.reload()
      assert.equal(commit('a', 1, 3), ErrorCode.NONE)
      assert.equal(commit('a', 1, 4), ErrorCode.STALE_MEMBER_EPOCH)
      harness.leave('a')
      assert.equal(commit('', -1), ErrorCode.NONE, 'a tool, while nobody is there')
    })

    it('are read by members of this epoch, and by anybody who is none', () => {
      harness.join('a', ['t'])
      const fetch = (memberId: string | null, epoch: number): number =>
        harness.errorOf(() => harness.group().validateOffsetFetch(memberId, epoch))
      assert.equal(fetch(null, -1), ErrorCode.NONE)
      assert.equal(fetch('a', 1), ErrorCode.NONE)
      assert.equal(fetch('a', 0), ErrorCode.STALE_MEMBER_EPOCH)
      assert.equal(fetch('b', 1), ErrorCode.UNKNOWN_MEMBER_ID)
    })
  })

  it('go when they are empty, by tombstones that leave nothing', () => {
    harness.join('a', [], { subscribedTopicRegex: 't' })
    assert.equal(
      harness.errorOf(() => harness.group().validateDelete()),
      ErrorCode.NON_EMPTY_GROUP,
    )
    harness.leave('a')
    const group = harness.group()
    group.validateDelete()
    harness.base.run({ records: group.tombstones(), reply: undefined })
    assert.equal(harness.context.groups.size, 0)
    assert.deepEqual(harness.base.compacted(), [])
    assert.equal(group.stateName, 'Dead')
  })

  it('stay fast with 1,000 members', function () {
    this.timeout(60_000)
    harness.topics.put('t', 2000)
    const startMs = performance.now()
    for (let i = 0; i < 1000; i++) harness.join(`m-${i}`, ['t'])
    const joinedMs = performance.now() - startMs
    assert.ok(joinedMs < 30_000, `joins took ${joinedMs} ms`)
    const count = log().length
    for (let i = 0; i < 1000; i++) {
      const { memberEpoch = 0 } = harness.group().member(`m-${i}`) ?? {}
      keepAlive(`m-${i}`, memberEpoch)
    }
    assert.ok(log().length > count)
    assert.equal(harness.group().memberCount, 1000)
  })
})
