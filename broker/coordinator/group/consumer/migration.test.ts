import assert from 'node:assert/strict'
import { ErrorCode } from '../../../protocol/error-codes.ts'
import { ClassicGroup } from '../classic/classic-group.ts'
import { assignedPartitions, encodeAssignment } from '../classic/consumer-protocol.ts'
import { ConsumerHarness, GROUP, subscription } from './testing/consumer-harness.ts'

const DELAY_MS = 3000

describe('migration between the classic and the consumer protocol', () => {
  let harness: ConsumerHarness
  let topicId: string

  function start(policy = 'bidirectional'): void {
    harness = new ConsumerHarness({ 'group.consumer.migration.policy': policy })
    topicId = harness.topics.put('t', 4)
  }

  beforeEach(() => start())

  const metadata = (...owned: number[]): Buffer =>
    subscription(['t'], owned.length === 0 ? [] : [{ topicName: 't', partitions: owned }])

  const classicGroup = (): ClassicGroup => {
    const group = harness.context.groups.get(GROUP)
    assert.ok(group instanceof ClassicGroup)
    return group
  }

  /** A stable classic group of one member with all partitions; its id. */
  function classicMember(): string {
    const [first] = harness.classicJoin('', metadata())
    assert.equal(first?.errorCode, ErrorCode.MEMBER_ID_REQUIRED)
    const memberId = first.memberId ?? ''
    harness.classicJoin(memberId, metadata())
    harness.base.advance(DELAY_MS)
    const assignment = encodeAssignment(1, [{ topicName: 't', partitions: [0, 1, 2, 3] }])
    assert.equal(harness.classicSync(memberId, 1, [{ memberId, assignment }])[0]?.errorCode, ErrorCode.NONE)
    return memberId
  }

  const partitionsOf = (assignment: unknown): readonly number[] | undefined => {
    assert.ok(Buffer.isBuffer(assignment))
    return assignedPartitions(assignment)?.[0]?.partitions
  }

  it('keeps classic members and what they have when one of the consumer protocol joins', () => {
    const classic = classicMember()
    const joined = harness.join('new', ['t'])
    assert.equal(harness.group().groupEpoch, 2)
    assert.equal(joined.memberEpoch, 2)
    assert.deepEqual(joined.assignment?.topicPartitions, [], "all is the classic member's still")
    assert.equal(harness.manager.describe(GROUP).members?.[0]?.memberType, 0)

    // It is told to join again, and what to give up.
    assert.equal(harness.classicHeartbeat(classic, 1), ErrorCode.REBALANCE_IN_PROGRESS)
    const [rejoined] = harness.classicJoin(classic, metadata(0, 1, 2, 3))
    assert.equal(rejoined?.generationId, 1)
    assert.equal(rejoined.protocolName, 'range')
    const kept = partitionsOf(harness.classicSync(classic, 1)[0]?.assignment) ?? []
    assert.equal(kept.length, 2)
    const [again] = harness.classicJoin(classic, metadata(...kept))
    assert.equal(again?.generationId, 2)
    assert.deepEqual(partitionsOf(harness.classicSync(classic, 2)[0]?.assignment), kept)
    assert.equal(harness.classicHeartbeat(classic, 2), ErrorCode.NONE)

    const rest = harness.heartbeat({ memberId: 'new', memberEpoch: 2 }).assignment?.topicPartitions?.[0]?.partitions
    assert.deepEqual([...kept, ...(rest ?? [])].sort(), [0, 1, 2, 3])
    assert.equal(harness.group().stateName, 'Stable')
  })

  it('tells classic members that wait in a rebalance to join again', () => {
    const [first] = harness.classicJoin('', metadata())
    const answers = harness.classicJoin(first?.memberId ?? '', metadata())
    assert.equal(answers.length, 0)
    harness.join('new', ['t'])
    assert.equal(answers[0]?.errorCode, ErrorCode.REBALANCE_IN_PROGRESS)
    assert.equal(harness.group().memberCount, 2)
    assert.equal(harness.classicJoin(first?.memberId ?? '', metadata())[0]?.errorCode, ErrorCode.NONE)
  })

  it('needs a policy, and members that speak the consumer protocol', () => {
    for (const policy of ['disabled', 'downgrade']) {
      start(policy)
      classicMember()
      assert.equal(
        harness.errorOf(() => harness.join('new', ['t'])),
        ErrorCode.GROUP_ID_NOT_FOUND,
      )
      assert.equal(classicGroup().memberCount, 1)
    }
    start()
    const [first] = harness.classicJoin('', metadata(), { protocolType: 'connect' })
    harness.classicJoin(first?.memberId ?? '', metadata(), { protocolType: 'connect' })
    harness.base.advance(DELAY_MS)
    assert.equal(
      harness.errorOf(() => harness.join('new', ['t'])),
      ErrorCode.GROUP_ID_NOT_FOUND,
    )
    start()
    const [second] = harness.classicJoin('', Buffer.from([1]))
    harness.classicJoin(second?.memberId ?? '', Buffer.from([1]))
    harness.base.advance(DELAY_MS)
    assert.equal(
      harness.errorOf(() => harness.join('new', ['t'])),
      ErrorCode.GROUP_ID_NOT_FOUND,
    )
    assert.equal(classicGroup().memberCount, 1)
  })

  it('happens at once to groups without members, in both directions', () => {
    start('disabled')
    const classic = classicMember()
    harness.base.run(
      harness.classic.leave(
        { groupId: GROUP, memberId: '', members: [{ memberId: classic, groupInstanceId: null, reason: null }] },
        { clientId: 'classic', clientHost: '/127.0.0.2', apiVersion: 5 },
      ),
    )
    harness.join('new', ['t'])
    assert.equal(harness.group().memberCount, 1)
    harness.leave('new')
    assert.equal(harness.classicJoin('unknown', metadata())[0]?.errorCode, ErrorCode.UNKNOWN_MEMBER_ID)
    assert.equal(harness.group().memberCount, 0, 'a join that is refused changes nothing')
    classicMember()
    assert.equal(classicGroup().state, 'Stable')
    harness.reload()
    assert.equal(classicGroup().memberCount, 1)
    assert.ok(harness.base.compacted().every(({ type }) => type === 'GroupMetadata'))
  })

  it('goes back when the last member of the consumer protocol leaves', () => {
    const classic = classicMember()
    harness.join('new', ['t'])
    harness.classicJoin(classic, metadata())
    const { generationId = 0 } = harness.classicJoin(classic, metadata())[0] ?? {}
    assert.equal(generationId, 2)
    harness.leave('new')
    assert.equal(classicGroup().memberCount, 1)
    harness.base.advance(0)
    assert.equal(classicGroup().state, 'PreparingRebalance')
    assert.equal(harness.classicHeartbeat(classic, generationId), ErrorCode.REBALANCE_IN_PROGRESS)
    const [rejoined] = harness.classicJoin(classic, metadata())
    assert.equal(rejoined?.generationId, 3)
    assert.equal(rejoined.leader, classic)
    assert.ok(harness.base.compacted().every(({ type }) => type === 'GroupMetadata'))
    // The timers of the time before are gone with it.
    assert.ok(harness.base.timerKeys().every((key) => !key.startsWith('consumer')))
  })

  it('goes back when its session ends, too, but not against the policy', () => {
    classicMember()
    harness.join('new', ['t'])
    const classic = [...harness.group().allMembers].find((member) => member.classic !== null)?.memberId ?? ''
    for (let ms = 0; ms < 45_000; ms += 5000) {
      harness.classicHeartbeat(classic, 1)
      harness.base.advance(5000)
    }
    assert.equal(classicGroup().memberCount, 1)

    start('upgrade')
    const kept = classicMember()
    harness.join('new', ['t'])
    harness.leave('new')
    assert.equal(harness.group().memberCount, 1)
    harness.topics.put('t', 6)
    harness.changeTopics('t')
    harness.classicJoin(kept, metadata())
    const { generationId = 0 } = harness.classicJoin(kept, metadata())[0] ?? {}
    assert.deepEqual(partitionsOf(harness.classicSync(kept, generationId)[0]?.assignment), [0, 1, 2, 3, 4, 5])
    harness.topics.put('t', 7)
    harness.changeTopics('t')
    assert.equal(harness.classicHeartbeat(kept, generationId), ErrorCode.REBALANCE_IN_PROGRESS, 'of its own accord')
  })

  it('goes back when a classic member takes the place of the last static one', () => {
    const classic = classicMember()
    harness.join('new', ['t'], { instanceId: 'i' })
    const [joined] = harness.classicJoin('', metadata(), { groupInstanceId: 'i' })
    assert.equal(joined?.errorCode, ErrorCode.NONE)
    harness.base.advance(0)
    assert.equal(classicGroup().memberCount, 2)
    assert.equal(classicGroup().state, 'PreparingRebalance')
    assert.equal(harness.classicHeartbeat(classic, classicGroup().generationId), ErrorCode.REBALANCE_IN_PROGRESS)
  })

  it('lets classic members in only with a protocol that all of them support', () => {
    const classic = classicMember()
    harness.join('new', ['t'])
    const refused = (options: object): void =>
      assert.equal(
        harness.errorOf(() => harness.classicJoin('', metadata(), options)),
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
      )
    refused({ protocols: [{ name: 'other', metadata: metadata() }] })
    refused({ protocolType: 'connect' })
    refused({ protocols: [] })
    refused({ protocols: [{ name: 'range', metadata: Buffer.from([1]) }] })
    assert.equal(
      harness.errorOf(() => harness.classicJoin('', metadata(), { sessionTimeoutMs: 1 })),
      ErrorCode.INVALID_SESSION_TIMEOUT,
    )
    const [first] = harness.classicJoin('', metadata())
    assert.equal(first?.errorCode, ErrorCode.MEMBER_ID_REQUIRED)
    const [second] = harness.classicJoin(first.memberId ?? '', metadata())
    assert.equal(second?.generationId, 3)
    assert.equal(harness.group().memberCount, 3)
    assert.equal(
      harness.errorOf(() => harness.classicHeartbeat(classic, 7)),
      ErrorCode.ILLEGAL_GENERATION,
    )
    assert.equal(
      harness.errorOf(() => harness.classicHeartbeat('new', 2)),
      ErrorCode.UNKNOWN_MEMBER_ID,
    )
    assert.equal(
      harness.errorOf(() => harness.classicSync(classic, 1)),
      ErrorCode.REBALANCE_IN_PROGRESS,
    )
  })

  it('fences classic members that do not join or sync in time', () => {
    const classic = classicMember()
    harness.join('new', ['t'])
    assert.equal(harness.classicHeartbeat(classic, 1), ErrorCode.REBALANCE_IN_PROGRESS)
    for (let ms = 0; ms < 60_000; ms += 5000) {
      if (harness.context.groups.get(GROUP)?.memberCount === 2) harness.classicHeartbeat(classic, 1)
      harness.heartbeat({ memberId: 'new', memberEpoch: harness.group().member('new')?.memberEpoch ?? 0 })
      harness.base.advance(5000)
    }
    assert.equal(harness.group().member(classic), undefined)
    const { memberId = '' } = harness.classicJoin('', metadata(), { apiVersion: 3 })[0] ?? {}
    assert.ok(harness.group().member(memberId))
    for (let ms = 0; ms <= 60_000; ms += 5000) {
      const epoch = harness.group().member(memberId)?.memberEpoch
      if (epoch !== undefined) harness.classicHeartbeat(memberId, epoch)
      harness.heartbeat({ memberId: 'new', memberEpoch: harness.group().member('new')?.memberEpoch ?? 0 })
      harness.base.advance(5000)
    }
    assert.equal(harness.group().member(memberId), undefined, 'it never fetched its assignment')
  })

  it('lets tools remove members of either protocol', () => {
    classicMember()
    harness.join('new', ['t'], { instanceId: 'i' })
    harness.join('other', ['t'])
    const { members } = harness.classicLeave(
      { memberId: '', groupInstanceId: 'i' },
      { memberId: 'nobody' },
      { memberId: 'other', groupInstanceId: 'i' },
    )
    assert.deepEqual(
      members?.map(({ memberId, errorCode }) => [memberId, errorCode]),
      [
        ['new', ErrorCode.NONE],
        ['nobody', ErrorCode.UNKNOWN_MEMBER_ID],
        ['other', ErrorCode.FENCED_INSTANCE_ID],
      ],
    )
    assert.equal(harness.group().memberCount, 2)
  })

  it('goes on over a reload in the middle of it', () => {
    const classic = classicMember()
    harness.join('new', ['t'])
    harness.reload()
    assert.equal(harness.group().classicMemberCount, 1)
    assert.equal(harness.classicHeartbeat(classic, 1), ErrorCode.REBALANCE_IN_PROGRESS)
    harness.classicJoin(classic, metadata())
    assert.equal(harness.group().stateName, 'Reconciling')
    const rest = harness.heartbeat({ memberId: 'new', memberEpoch: 2 }).assignment?.topicPartitions
    assert.deepEqual(rest?.[0]?.topicId, topicId)
  })

  it('keeps apart what two classic members both claim', () => {
    const one = classicMember()
    const [first] = harness.classicJoin('', metadata())
    const two = first?.memberId ?? ''
    harness.classicJoin(two, metadata())
    harness.classicJoin(one, metadata())
    const all = encodeAssignment(1, [{ topicName: 't', partitions: [0, 1, 2, 3, 9] }])
    harness.classicSync(two, 2)
    harness.classicSync(one, 2, [
      { memberId: one, assignment: all },
      { memberId: two, assignment: all },
    ])
    harness.join('new', ['t'])
    const assigned = [...harness.group().allMembers].map(({ assigned: own }) => [...(own.get(topicId)?.keys() ?? [])])
    assert.deepEqual(assigned.flat().sort(), [0, 1, 2, 3])
  })
})
