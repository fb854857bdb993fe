import assert from 'node:assert/strict'
import { ErrorCode } from '../../../protocol/error-codes.ts'
import type { JoinGroupRequest, JoinGroupResponseInput } from '../../../protocol/messages/11-join-group.ts'
import type { SyncGroupResponseInput } from '../../../protocol/messages/14-sync-group.ts'
import type { GroupRecord } from '../records/group-record.ts'
import { GroupHarness } from '../testing/group-harness.ts'
import { ClassicGroupManager } from './classic-group-manager.ts'
import { ClassicGroup } from './classic-group.ts'

const SESSION_MS = 10_000
const REBALANCE_MS = 30_000
const DELAY_MS = 3000

/** A subscription of the consumer protocol, version 0. */
function subscription(...topics: string[]): Buffer {
  const names = topics.map((topic) => Buffer.concat([Buffer.from([0, topic.length]), Buffer.from(topic)]))
  return Buffer.concat([Buffer.from([0, 0, 0, 0, 0, topics.length]), ...names, Buffer.from([0xff, 0xff, 0xff, 0xff])])
}

interface JoinOptions extends Partial<JoinGroupRequest> {
  readonly apiVersion?: number
}

describe('classic groups', () => {
  let harness: GroupHarness
  let manager: ClassicGroupManager

  const replay = (record: GroupRecord): void => {
    if (record.type === 'GroupMetadata') manager.replay(record)
  }

  function start(configs: Record<string, string> = {}): void {
    harness = new GroupHarness(replay, configs)
    manager = new ClassicGroupManager(harness.context)
    manager.onLoaded()
  }

  beforeEach(() => start())

  const group = (groupId = 'g'): ClassicGroup => {
    const found = harness.context.groups.get(groupId)
    assert.ok(found instanceof ClassicGroup)
    return found
  }

  /** The answers that a join gets: none while it waits. */
  function join(memberId: string, { apiVersion = 9, ...more }: JoinOptions = {}): JoinGroupResponseInput[] {
    const answers: JoinGroupResponseInput[] = []
    const metadata = subscription('t')
    const request: JoinGroupRequest = {
      groupId: 'g',
      memberId,
      groupInstanceId: null,
      sessionTimeoutMs: SESSION_MS,
      rebalanceTimeoutMs: REBALANCE_MS,
      protocolType: 'consumer',
      protocols: [{ name: 'range', metadata }],
      reason: null,
      ...more,
    }
    const client = { clientId: 'client', clientHost: '/127.0.0.1', apiVersion }
    harness.run(manager.join(request, client, (answer) => answers.push(answer)))
    // What the request lay in is used again.
    metadata.fill(0xee)
    return answers
  }

  /** Joins as a new dynamic member; its id, and the answers of its second join. */
  function joinNew(more: JoinOptions = {}): { memberId: string; answers: JoinGroupResponseInput[] } {
    const [first] = join('', more)
    assert.equal(first?.errorCode, ErrorCode.MEMBER_ID_REQUIRED)
    const memberId = first.memberId ?? ''
    return { memberId, answers: join(memberId, more) }
  }

  function sync(
    memberId: string,
    generationId: number,
    assignments: Record<string, string> = {},
    more: { groupInstanceId?: string; protocolType?: string; protocolName?: string } = {},
  ): SyncGroupResponseInput[] {
    const answers: SyncGroupResponseInput[] = []
    const request = {
      groupId: 'g',
      memberId,
      generationId,
      groupInstanceId: null,
      protocolType: 'consumer',
      protocolName: 'range',
      assignments: Object.entries(assignments).map(([id, text]) => ({ memberId: id, assignment: Buffer.from(text) })),
      ...more,
    }
    const client = { clientId: 'client', clientHost: '/127.0.0.1', apiVersion: 5 }
    harness.run(manager.sync(request, client, (answer) => answers.push(answer)))
    return answers
  }

  const heartbeat = (memberId: string, generationId: number, groupInstanceId: string | null = null) =>
    harness.run(
      manager.heartbeat(
        { groupId: 'g', memberId, generationId, groupInstanceId },
        { clientId: 'client', clientHost: '/127.0.0.1', apiVersion: 4 },
      ),
    ).errorCode

  const leave = (memberId: string, groupInstanceId: string | null = null) =>
    harness.run(
      manager.leave(
        { groupId: 'g', memberId: '', members: [{ memberId, groupInstanceId, reason: null }] },
        { clientId: 'client', clientHost: '/127.0.0.1', apiVersion: 5 },
      ),
    ).members?.[0]?.errorCode

  /** A stable group of so many dynamic members, the leader first; all heartbeat timers are fresh. */
  function stable(count: number, more: JoinOptions = {}): string[] {
    const members = Array.from({ length: count }, () => joinNew(more))
    harness.advance(2 * DELAY_MS)
    const ids = members.map(({ memberId }) => memberId)
    const { generationId } = group()
    for (const { answers } of members) assert.equal(answers[0]?.generationId, generationId)
    const assignments = Object.fromEntries(ids.map((id, i) => [id, `part ${i}`]))
    for (const id of ids.slice(1)) sync(id, generationId)
    sync(ids[0] ?? '', generationId, assignments)
    assert.equal(group().state, 'Stable')
    return ids
  }

  /** Time passes while all members send heartbeats. */
  function live(ids: readonly string[], ms: number): void {
    for (let left = ms; left > 0; left -= SESSION_MS / 2) {
      harness.advance(Math.min(left, SESSION_MS / 2))
      for (const id of ids) heartbeat(id, group().generationId)
    }
  }

  it('give ids to new members, and wait for more of them before the first rebalance', () => {
    const { memberId, answers } = joinNew()
    assert.match(memberId, /^client-/)
    harness.advance(DELAY_MS - 1)
    assert.equal(answers.length, 0)
    const second = joinNew()
    harness.advance(DELAY_MS)
    assert.equal(answers.length, 0, 'the second one prolongs the wait')
    harness.advance(1)
    assert.deepEqual(answers, [
      {
        errorCode: ErrorCode.NONE,
        memberId,
        generationId: 1,
        protocolType: 'consumer',
        protocolName: 'range',
        leader: memberId,
        skipAssignment: false,
        members: [memberId, second.memberId].map((id) => ({
          memberId: id,
          groupInstanceId: null,
          metadata: subscription('t'),
        })),
      },
    ])
    assert.deepEqual(second.answers[0]?.members, [])
  })

  it('let old clients in without an id of their own', () => {
    const answers = join('', { apiVersion: 3 })
    harness.advance(DELAY_MS)
    assert.equal(answers[0]?.errorCode, ErrorCode.NONE)
    assert.equal(answers[0].leader, answers[0].memberId)
  })

  it('do not wait for ever for more members', () => {
    const { answers } = joinNew({ rebalanceTimeoutMs: 10_000 })
    for (let i = 0; i < 5; i++) {
      harness.advance(2000)
      joinNew({ rebalanceTimeoutMs: 10_000 })
    }
    harness.advance(1000)
    assert.equal(answers.length, 1)
  })

  it('answer syncs when the assignment is committed, and keep a record of it', () => {
    const [leader = '', follower = ''] = stable(2)
    assert.deepEqual(sync(follower, 1)[0], {
      errorCode: ErrorCode.NONE,
      protocolType: 'consumer',
      protocolName: 'range',
      assignment: Buffer.from('part 1'),
    })
    const record = harness.log.at(-1)
    assert.ok(record?.type === 'GroupMetadata' && record.value !== null)
    assert.deepEqual(
      record.value.members.map((member) => [member.memberId, member.assignment.toString()]),
      [
        [leader, 'part 0'],
        [follower, 'part 1'],
      ],
    )
    assert.deepEqual(record.value.members[0]?.subscription, subscription('t'))
    assert.equal(record.value.leader, leader)
    assert.ok(group().isSubscribedTo('t'))
    assert.ok(!group().isSubscribedTo('u'))
  })

  it('tell followers that wait when the assignment could not be written, and rebalance', () => {
    const a = joinNew()
    const b = joinNew()
    harness.advance(2 * DELAY_MS)
    const waiting = sync(b.memberId, 1)
    assert.equal(waiting.length, 0)
    harness.settleWith = ErrorCode.COORDINATOR_NOT_AVAILABLE
    const own = sync(a.memberId, 1, { [a.memberId]: 'x' })
    harness.settleWith = ErrorCode.NONE
    assert.equal(own[0]?.errorCode, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert.equal(waiting[0]?.errorCode, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    harness.advance(1)
    assert.equal(group().state, 'PreparingRebalance')
  })

  it('rebalance when a member joins: heartbeats say so, and all join again', () => {
    const [leader = '', follower = ''] = stable(2)
    const third = joinNew()
    assert.equal(heartbeat(leader, 1), ErrorCode.REBALANCE_IN_PROGRESS)
    assert.equal(heartbeat(follower, 1), ErrorCode.REBALANCE_IN_PROGRESS)
    const again = join(leader)
    assert.equal(again.length, 0)
    join(follower)
    assert.equal(again[0]?.generationId, 2)
    assert.equal(again[0].members?.length, 3)
    assert.equal(third.answers[0]?.generationId, 2)
  })

  it('go on without members that do not join again in time, and elect another leader', () => {
    const [leader = '', follower = ''] = stable(2)
    const third = joinNew()
    const again = join(follower)
    for (let ms = 0; ms < REBALANCE_MS; ms += 5000) {
      harness.advance(5000)
      heartbeat(leader, 1)
    }
    harness.advance(1)
    assert.equal(again[0]?.leader, follower)
    assert.equal(again[0].members?.length, 2)
    assert.equal(third.answers[0]?.leader, follower)
    assert.equal(heartbeat(leader, 1), ErrorCode.UNKNOWN_MEMBER_ID)
  })

  it('remove members whose session ends, and rebalance', () => {
    const [leader = '', follower = ''] = stable(2)
    harness.advance(SESSION_MS - 1)
    assert.equal(heartbeat(leader, 1), ErrorCode.NONE)
    harness.advance(1)
    assert.equal(heartbeat(leader, 1), ErrorCode.REBALANCE_IN_PROGRESS)
    assert.equal(heartbeat(follower, 1), ErrorCode.UNKNOWN_MEMBER_ID)
    assert.equal(join(leader)[0]?.generationId, 2)
  })

  it('remove members that do not sync', () => {
    const a = joinNew()
    const b = joinNew()
    harness.advance(2 * DELAY_MS)
    sync(a.memberId, 1, { [a.memberId]: 'all' })
    live([a.memberId, b.memberId], REBALANCE_MS)
    harness.advance(1)
    assert.equal(group().state, 'PreparingRebalance')
    assert.equal(heartbeat(b.memberId, 1), ErrorCode.UNKNOWN_MEMBER_ID)
    assert.equal(join(a.memberId)[0]?.members?.length, 1)
  })

  it('give up ids that nobody comes back with', () => {
    const [leader = ''] = stable(1)
    join('')
    live([leader], SESSION_MS + 1)
    assert.equal(group().state, 'Stable')
    const again = join(leader)
    assert.equal(again[0]?.generationId, 2, 'nobody is waited for')
  })

  it('become empty when the last one leaves, and say so in a record', () => {
    const [only = ''] = stable(1)
    assert.equal(leave(only), ErrorCode.NONE)
    assert.equal(group().state, 'Empty')
    const record = harness.log.at(-1)
    assert.ok(record?.type === 'GroupMetadata' && record.value?.members.length === 0)
    assert.equal(record.value.generation, 2)
    assert.equal(group().offsetExpirationBase(), harness.nowMs)
    assert.equal(leave(only), ErrorCode.UNKNOWN_MEMBER_ID)
  })

  it('answer a join again whose answer was lost', () => {
    const a = joinNew()
    harness.advance(DELAY_MS)
    const [again] = join(a.memberId)
    assert.deepEqual(again, a.answers[0])
    assert.equal(group().state, 'CompletingRebalance')
    sync(a.memberId, 1, { [a.memberId]: 'all' })
  })

  it('let a repeated join take the place of the one that waits', () => {
    const [leader = ''] = stable(1)
    joinNew()
    const third = joinNew()
    const repeated = join(third.memberId)
    assert.equal(third.answers[0]?.errorCode, ErrorCode.REBALANCE_IN_PROGRESS)
    join(leader)
    assert.equal(repeated[0]?.generationId, 2)
    assert.equal(group().memberCount, 3)
  })

  it('rebalance when the leader joins again or a follower has other protocols, not when it has the same', () => {
    const [leader = '', follower = ''] = stable(2)
    assert.equal(join(follower)[0]?.generationId, 1)
    join(follower, { protocols: [{ name: 'range', metadata: subscription('u') }] })
    assert.equal(group().state, 'PreparingRebalance')
    join(leader)
    assert.equal(group().generationId, 2)
    assert.ok(group().isSubscribedTo('t') && group().isSubscribedTo('u'))
    sync(follower, 2)
    sync(leader, 2)
    join(leader)
    assert.equal(group().state, 'PreparingRebalance')
  })

  it('choose the protocol that all support and most prefer', () => {
    const protocols = (...names: string[]) => names.map((name) => ({ name, metadata: subscription('t') }))
    const { answers } = joinNew({ protocols: protocols('a', 'b', 'c') })
    joinNew({ protocols: protocols('b', 'c') })
    joinNew({ protocols: protocols('c', 'b', 'b') })
    joinNew({ protocols: protocols('b', 'x', 'c') })
    harness.advance(2 * DELAY_MS)
    assert.equal(answers[0]?.protocolName, 'b')
  })

  it('refuse what can not be a member', () => {
    const codes = (memberId: string, more: JoinOptions = {}) => join(memberId, more)[0]?.errorCode
    assert.equal(codes('', { sessionTimeoutMs: 1 }), ErrorCode.INVALID_SESSION_TIMEOUT)
    assert.equal(codes('', { sessionTimeoutMs: 2_000_000 }), ErrorCode.INVALID_SESSION_TIMEOUT)
    assert.equal(codes('', { protocols: [] }), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert.equal(codes('', { protocolType: '' }), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert.equal(codes('stranger'), ErrorCode.UNKNOWN_MEMBER_ID)
    assert.equal(harness.context.groups.size, 0, 'no trace of them')
    stable(1)
    assert.equal(codes('stranger'), ErrorCode.UNKNOWN_MEMBER_ID)
    assert.equal(codes('', { protocolType: 'connect' }), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert.equal(
      codes('', { protocols: [{ name: 'other', metadata: Buffer.alloc(0) }] }),
      ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    )
  })

  it('refuse stale and strange syncs and heartbeats', () => {
    const [leader = ''] = stable(1)
    assert.equal(sync(leader, 2)[0]?.errorCode, ErrorCode.ILLEGAL_GENERATION)
    assert.equal(sync('stranger', 1)[0]?.errorCode, ErrorCode.UNKNOWN_MEMBER_ID)
    assert.equal(sync(leader, 1, {}, { protocolType: 'connect' })[0]?.errorCode, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert.equal(sync(leader, 1, {}, { protocolName: 'other' })[0]?.errorCode, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert.equal(heartbeat(leader, 2), ErrorCode.ILLEGAL_GENERATION)
    joinNew()
    assert.equal(sync(leader, 1)[0]?.errorCode, ErrorCode.REBALANCE_IN_PROGRESS)
  })

  it('have a greatest size', () => {
    start({ 'group.max.size': '2' })
    const [leader = ''] = stable(2)
    assert.deepEqual(join('')[0], { errorCode: ErrorCode.GROUP_MAX_SIZE_REACHED, memberId: '', protocolName: null })
    assert.equal(leave(leader), ErrorCode.NONE)
    assert.equal(join('')[0]?.errorCode, ErrorCode.MEMBER_ID_REQUIRED)
  })

  it('accept commits of members of the generation, and of nobody while they are empty', () => {
    const commit = (memberId: string, generationId: number, groupInstanceId: string | null = null) => {
      try {
        const identity = { memberId, groupInstanceId, generationIdOrMemberEpoch: generationId, apiVersion: 9 }
        group().validateOffsetCommit(identity)
        return ErrorCode.NONE
      } catch (error) {
        return (error as { code: number }).code
      }
    }
    const a = joinNew()
    harness.advance(DELAY_MS)
    assert.equal(commit(a.memberId, 1), ErrorCode.REBALANCE_IN_PROGRESS)
    sync(a.memberId, 1)
    assert.equal(commit(a.memberId, 1), ErrorCode.NONE)
    assert.equal(commit(a.memberId, 0), ErrorCode.ILLEGAL_GENERATION)
    assert.equal(commit('stranger', 1), ErrorCode.UNKNOWN_MEMBER_ID)
    assert.equal(commit('', -1), ErrorCode.UNKNOWN_MEMBER_ID)
    assert.equal(commit(a.memberId, 1, 'instance'), ErrorCode.UNKNOWN_MEMBER_ID)
    leave(a.memberId)
    assert.equal(commit('', -1), ErrorCode.NONE)
  })

  it('keep a member that only commits', () => {
    const [only = ''] = stable(1)
    for (let i = 0; i < 4; i++) {
      harness.advance(SESSION_MS - 1)
      manager.onOffsetCommit(group(), only)
    }
    assert.equal(heartbeat(only, 1), ErrorCode.NONE)
  })

  describe('static members', () => {
    const staticJoin = (instance: string, more: JoinOptions = {}) => join('', { groupInstanceId: instance, ...more })

    /** A stable group of static members `a` (the leader) and `b`; their ids. */
    function stableStatic(): [a: string, b: string] {
      const a = staticJoin('a')
      const b = staticJoin('b')
      harness.advance(2 * DELAY_MS)
      const ids = [a[0]?.memberId ?? '', b[0]?.memberId ?? ''] as [string, string]
      sync(ids[1], 1)
      sync(ids[0], 1, { [ids[0]]: 'of a', [ids[1]]: 'of b' })
      assert.equal(group().state, 'Stable')
      return ids
    }

    it('come back to what they had without a rebalance', () => {
      const [, b] = stableStatic()
      const back = staticJoin('b')
      assert.equal(back[0]?.errorCode, ErrorCode.NONE)
      const memberId = back[0].memberId ?? ''
      assert.notEqual(memberId, b)
      assert.equal(back[0].generationId, 1)
      assert.equal(back[0].skipAssignment, false)
      assert.equal(sync(memberId, 1)[0]?.assignment?.toString(), 'of b')
      assert.equal(heartbeat(b, 1, 'b'), ErrorCode.FENCED_INSTANCE_ID)
      const record = harness.log.at(-1)
      assert.ok(record?.type === 'GroupMetadata')
      assert.equal(record.value?.members[1]?.memberId, memberId)
    })

    it('that lead take the lead again, and leave the assignment as it is', () => {
      const [a, b] = stableStatic()
      const back = staticJoin('a')
      assert.equal(back[0]?.skipAssignment, true)
      assert.equal(back[0].leader, back[0].memberId)
      assert.deepEqual(
        back[0].members?.map(({ memberId }) => memberId),
        [back[0].memberId, b],
      )
      // Older clients are told of the old leader, so that they do not compute an assignment.
      const older = staticJoin('a', { apiVersion: 8 })
      assert.equal(older[0]?.leader, back[0].memberId)
      assert.deepEqual(older[0]?.members, [])
      assert.notEqual(older[0].memberId, a)
    })

    it('rebalance the group when they bring other protocols that change the choice', () => {
      stableStatic()
      staticJoin('b', {
        protocols: [
          { name: 'sticky', metadata: subscription('t') },
          { name: 'range', metadata: subscription('t') },
        ],
      })
      assert.equal(group().state, 'Stable')
      const a = group().leaderId ?? ''
      join(a, { groupInstanceId: 'a', protocols: [{ name: 'range', metadata: subscription('u') }] })
      assert.equal(group().state, 'PreparingRebalance')
    })

    it('fence the one who waits under the same name', () => {
      const first = staticJoin('a')
      const second = staticJoin('a')
      assert.equal(first[0]?.errorCode, ErrorCode.FENCED_INSTANCE_ID)
      harness.advance(2 * DELAY_MS)
      assert.equal(second[0]?.errorCode, ErrorCode.NONE)
      assert.equal(group().memberCount, 1)
    })

    it('stay while their session lasts, though they do not join again', () => {
      const [a, b] = stableStatic()
      const third = joinNew()
      join(a, { groupInstanceId: 'a' })
      live([], 0)
      for (let ms = 0; ms < REBALANCE_MS; ms += 5000) {
        heartbeat(b, 1, 'b')
        harness.advance(5000)
      }
      harness.advance(1)
      assert.equal(third.answers[0]?.generationId, 2)
      assert.equal(group().memberCount, 3)
      assert.ok(group().member(b))
    })

    it('are removed by admins, who know their instance ids only', () => {
      stableStatic()
      assert.equal(leave('', 'nobody'), ErrorCode.UNKNOWN_MEMBER_ID)
      assert.equal(leave('', 'b'), ErrorCode.NONE)
      assert.equal(group().memberCount, 1)
      assert.equal(leave('stranger', 'a'), ErrorCode.FENCED_INSTANCE_ID)
    })
  })

  describe('after loading', () => {
    function reload(): void {
      const records = harness.compacted()
      const { nowMs } = harness
      start()
      manager = new ClassicGroupManager(harness.context)
      harness.advance(Math.max(0, nowMs - harness.nowMs))
      for (const record of records) replay(record)
      manager.onLoaded()
    }

    it('go on with their members, assignments and generation', () => {
      const [leader = '', follower = ''] = stable(2)
      reload()
      assert.equal(group().state, 'Stable')
      assert.equal(heartbeat(leader, 1), ErrorCode.NONE)
      assert.equal(sync(follower, 1)[0]?.assignment?.toString(), 'part 1')
      assert.equal(join(follower)[0]?.generationId, 1)
      harness.advance(SESSION_MS)
      assert.equal(heartbeat(leader, 1), ErrorCode.UNKNOWN_MEMBER_ID)
      assert.equal(group().state, 'Empty')
    })

    it('are gone when they were deleted', () => {
      const [only = ''] = stable(1)
      leave(only)
      harness.run({ records: group().tombstones(), reply: undefined })
      assert.equal(harness.context.groups.size, 0)
      reload()
      assert.equal(harness.context.groups.size, 0)
    })
  })

  it('tell all who wait when the coordinator moves', () => {
    const [leader = ''] = stable(1)
    const waiting = joinNew()
    manager.onUnloaded(ErrorCode.NOT_COORDINATOR)
    assert.equal(waiting.answers[0]?.errorCode, ErrorCode.NOT_COORDINATOR)
    assert.equal(waiting.answers.length, 1)
    assert.ok(leader)
  })

  it('describe themselves', () => {
    const [leader = ''] = stable(1)
    const described = manager.describe('g', 6)
    assert.equal(described.groupState, 'Stable')
    assert.equal(described.protocolData, 'range')
    assert.deepEqual(described.members, [
      {
        memberId: leader,
        groupInstanceId: null,
        clientId: 'client',
        clientHost: '/127.0.0.1',
        memberMetadata: subscription('t'),
        memberAssignment: Buffer.from('part 0'),
      },
    ])
    assert.equal(manager.describe('unknown', 5).groupState, 'Dead')
    assert.equal(manager.describe('unknown', 5).errorCode, undefined)
    assert.equal(manager.describe('unknown', 6).errorCode, ErrorCode.GROUP_ID_NOT_FOUND)
  })

  it('rebalance with a thousand members in little time', () => {
    const startMs = performance.now()
    const ids = stable(1000)
    assert.ok(performance.now() - startMs < 1000, `${performance.now() - startMs} ms`)
    assert.equal(ids.length, 1000)
  })
})
