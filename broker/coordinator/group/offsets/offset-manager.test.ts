import assert from 'node:assert/strict'
import { ErrorCode, KafkaError } from '../../../protocol/error-codes.ts'
import type { OffsetCommitRequest } from '../../../protocol/messages/08-offset-commit.ts'
import type { Group } from '../group.ts'
import type { GroupRecord } from '../records/group-record.ts'
import { GroupHarness } from '../testing/group-harness.ts'
import { OffsetManager } from './offset-manager.ts'

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS

interface FakeGroup extends Group {
  stateName: string
  memberCount: number
  subscribed: Set<string>
  base: number | 'commit' | undefined
}

function fakeGroup(groupId: string): FakeGroup {
  return {
    groupId,
    type: 'classic',
    protocolType: '',
    stateName: 'Empty',
    memberCount: 0,
    subscribed: new Set(),
    base: 'commit',
    validateOffsetCommit({ generationIdOrMemberEpoch }) {
      if (generationIdOrMemberEpoch >= 0) throw new KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    },
    validateOffsetFetch(memberId) {
      if (memberId !== null) throw new KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    },
    validateOffsetDelete() {
      if (this.stateName === 'Dead') throw new KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    },
    validateDelete() {
      if (this.memberCount > 0) throw new KafkaError(ErrorCode.NON_EMPTY_GROUP)
    },
    isSubscribedTo(topicName) {
      return this.subscribed.has(topicName)
    },
    offsetExpirationBase() {
      return this.base
    },
    tombstones: () => [{ type: 'GroupMetadata', key: { group: groupId }, value: null }],
    members: () => [],
  }
}

describe('offset manager', () => {
  let manager: OffsetManager
  let harness: GroupHarness
  let groups: Map<string, FakeGroup>
  const client = { clientId: 'c', clientHost: '/127.0.0.1', apiVersion: 9 }

  function start(configs: Record<string, string> = {}): void {
    groups = new Map()
    harness = new GroupHarness((record) => replay(record), configs)
    manager = new OffsetManager(harness.context, (groupId) => {
      const group = fakeGroup(groupId)
      groups.set(groupId, group)
      return group
    })
    harness.topics.put('t', 4)
  }

  function replay(record: GroupRecord): void {
    if (record.type === 'OffsetCommit') manager.replay(record)
    else if (record.type === 'GroupMetadata' && record.value === null) harness.context.groups.delete(record.key.group)
  }

  beforeEach(() => start())

  const request = (
    partitions: readonly (readonly [partition: number, offset: number, metadata?: string | null])[],
    more: Partial<OffsetCommitRequest> = {},
  ): OffsetCommitRequest => ({
    groupId: 'g',
    generationIdOrMemberEpoch: -1,
    memberId: '',
    groupInstanceId: null,
    retentionTimeMs: -1,
    topics: [
      {
        name: 't',
        topicId: '',
        partitions: partitions.map(([partitionIndex, committedOffset, committedMetadata = 'm']) => ({
          partitionIndex,
          committedOffset,
          committedLeaderEpoch: 3,
          committedMetadata,
        })),
      },
    ],
    ...more,
  })

  const commit = (...args: Parameters<typeof request>): number[] => {
    const { topics } = harness.run(manager.commit(request(...args), client))
    return (topics ?? []).flatMap(({ partitions }) => (partitions ?? []).map(({ errorCode }) => errorCode ?? -1))
  }

  const fetch = (partitions: number[] | null, memberId: string | null = null) =>
    manager.fetch({
      groupId: 'g',
      memberId,
      memberEpoch: -1,
      topics: partitions === null ? null : [{ name: 't', topicId: '', partitionIndexes: partitions }],
    })

  const offsets = (): (readonly [string, number, number])[] =>
    (fetch(null).topics ?? []).flatMap(({ name = '', partitions = [] }) =>
      partitions.map((one) => [name, one.partitionIndex ?? -1, one.committedOffset ?? -1] as const),
    )

  it('gives back what was committed, and -1 for the rest', () => {
    assert.deepEqual(
      commit([
        [0, 10],
        [1, 11, null],
      ]),
      [0, 0],
    )
    assert.deepEqual(fetch([0, 1, 2]).topics?.[0]?.partitions, [
      { partitionIndex: 0, committedOffset: 10, committedLeaderEpoch: 3, metadata: 'm', errorCode: 0 },
      { partitionIndex: 1, committedOffset: 11, committedLeaderEpoch: 3, metadata: '', errorCode: 0 },
      { partitionIndex: 2, committedOffset: -1, committedLeaderEpoch: -1, metadata: '', errorCode: 0 },
    ])
    assert.deepEqual(offsets(), [
      ['t', 0, 10],
      ['t', 1, 11],
    ])
  })

  it('changes nothing before the records are replayed', () => {
    manager.commit(request([[0, 10]]), client)
    assert.deepEqual(offsets(), [])
    assert.equal(harness.context.groups.size, 0)
  })

  it('refuses single partitions: too much metadata, unknown partitions and topics', () => {
    start({ 'offset.metadata.max.bytes': '3' })
    assert.deepEqual(
      commit([
        [0, 1, 'abcd'],
        [1, 1, 'abc'],
        [4, 1],
        [-1, 1],
      ]),
      [
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
      ],
    )
    const { topics } = harness.run(
      manager.commit(
        request([], {
          topics: [
            {
              name: 'nowhere',
              topicId: '',
              partitions: [
                { partitionIndex: 0, committedOffset: 1, committedLeaderEpoch: -1, committedMetadata: null },
              ],
            },
          ],
        }),
        client,
      ),
    )
    assert.equal(topics?.[0]?.partitions?.[0]?.errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert.deepEqual(offsets(), [['t', 1, 1]])
  })

  it('makes a group for who commits without one, but not for a generation that nobody knows', () => {
    commit([[0, 1]])
    assert.ok(harness.context.groups.has('g'))
    const stranger = request([[0, 1]], { groupId: 'other', generationIdOrMemberEpoch: 4, memberId: 'm' })
    const code = (apiVersion: number): number | undefined => {
      try {
        manager.commit(stranger, { ...client, apiVersion })
        return undefined
      } catch (error) {
        return error instanceof KafkaError ? error.code : undefined
      }
    }
    assert.equal(code(9), ErrorCode.GROUP_ID_NOT_FOUND)
    assert.equal(code(8), ErrorCode.ILLEGAL_GENERATION)
  })

  it('lets the group refuse commits and fetches of those that are not its members', () => {
    commit([[0, 1]])
    const stranger = request([[0, 1]], { generationIdOrMemberEpoch: 4, memberId: 'm' })
    assert.throws(() => manager.commit(stranger, client), { code: ErrorCode.UNKNOWN_MEMBER_ID })
    assert.throws(() => fetch([0], 'm'), { code: ErrorCode.UNKNOWN_MEMBER_ID })
  })

  it('deletes offsets, but not of topics that are subscribed to', () => {
    commit([
      [0, 1],
      [1, 2],
    ])
    harness.topics.put('u', 1)
    groups.get('g')?.subscribed.add('u')
    const reply = harness.run(
      manager.delete({
        groupId: 'g',
        topics: [
          { name: 't', partitions: [{ partitionIndex: 0 }, { partitionIndex: 3 }, { partitionIndex: 4 }] },
          { name: 'u', partitions: [{ partitionIndex: 0 }] },
        ],
      }),
    )
    assert.deepEqual(
      (reply.topics ?? []).flatMap(({ partitions }) => (partitions ?? []).map(({ errorCode }) => errorCode)),
      [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC],
    )
    assert.deepEqual(offsets(), [['t', 1, 2]])
    assert.throws(() => manager.delete({ groupId: 'unknown', topics: [] }), { code: ErrorCode.GROUP_ID_NOT_FOUND })
  })

  describe('expiry', () => {
    const afterChecks = (ms: number): void => harness.advance(ms + 600_000)

    it('takes offsets a week after their commit, and then the group', () => {
      manager.onLoaded()
      commit([[0, 1]])
      harness.advance(HOUR_MS)
      commit([[1, 2]])
      afterChecks(WEEK_MS - HOUR_MS)
      assert.deepEqual(offsets(), [['t', 1, 2]])
      assert.ok(harness.context.groups.has('g'))
      afterChecks(HOUR_MS)
      assert.deepEqual(offsets(), [])
      assert.equal(harness.context.groups.has('g'), false)
    })

    it('spares the offsets of groups with members, and of subscribed topics', () => {
      manager.onLoaded()
      commit([[0, 1]])
      const group = groups.get('g')
      assert.ok(group)
      group.base = undefined
      afterChecks(2 * WEEK_MS)
      group.base = 'commit'
      group.subscribed.add('t')
      afterChecks(0)
      assert.deepEqual(offsets(), [['t', 0, 1]])
      group.subscribed.clear()
      afterChecks(0)
      assert.deepEqual(offsets(), [])
    })

    it('counts from when the group became empty', () => {
      manager.onLoaded()
      commit([[0, 1]])
      const group = groups.get('g')
      assert.ok(group)
      group.base = harness.nowMs + WEEK_MS
      afterChecks(WEEK_MS)
      assert.equal(offsets().length, 1)
      afterChecks(WEEK_MS)
      assert.equal(offsets().length, 0)
    })

    it('keeps the time that an old client asked for', () => {
      manager.onLoaded()
      commit([[0, 1]], { retentionTimeMs: HOUR_MS })
      commit([[1, 1]], { retentionTimeMs: 3 * WEEK_MS })
      afterChecks(HOUR_MS)
      assert.deepEqual(offsets(), [['t', 1, 1]])
      afterChecks(2 * WEEK_MS)
      assert.deepEqual(offsets(), [['t', 1, 1]])
    })

    it('works off many offsets in bounded steps', () => {
      manager.onLoaded()
      harness.topics.put('t', 10_000)
      commit(Array.from({ length: 10_000 }, (_, i) => [i, i] as const))
      const before = harness.log.length
      afterChecks(WEEK_MS)
      assert.equal(harness.log.length - before, 10_001)
      assert.equal(harness.context.groups.has('g'), false)
    })
  })

  describe('topics', () => {
    const change = (): void => {
      harness.run({ records: manager.removeLost(new Set(['t'])).records, reply: undefined })
    }

    it('takes the offsets of a deleted topic', () => {
      commit([[0, 1]])
      harness.topics.delete('t')
      change()
      assert.deepEqual(offsets(), [])
    })

    it('takes the offsets of a predecessor, and keeps those of its successor', () => {
      commit([[0, 1]])
      harness.topics.delete('t')
      harness.topics.put('t', 4)
      commit([[1, 5]])
      change()
      assert.deepEqual(offsets(), [['t', 1, 5]])
    })

    it('looks at all of them after loading', () => {
      commit([[0, 1]])
      harness.topics.delete('t')
      harness.topics.put('t', 4)
      manager.onLoaded()
      harness.advance(1)
      assert.deepEqual(offsets(), [])
    })

    it('keeps offsets of a topic that is only absent', () => {
      commit([[0, 1]])
      harness.topics.lose('t')
      change()
      assert.deepEqual(offsets(), [['t', 0, 1]])
    })
  })
})
