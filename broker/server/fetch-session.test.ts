import assert from 'node:assert/strict'
import { SeededRandom } from '../../common/random.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import type { FetchPartitionResult } from '../replication/fetch-types.ts'
import { failedResult } from '../replication/read-partitions.ts'
import { FetchSessionCache, type FetchPlan, type FetchRequestHead, type SessionPartition } from './fetch-session.ts'

function partition(key: string, fetchOffset = 0): SessionPartition {
  return {
    key,
    topicName: key,
    topicId: undefined,
    partition: 0,
    fetchOffset,
    maxBytes: 1000,
    currentLeaderEpoch: -1,
    lastFetchedEpoch: -1,
    highWatermark: -1,
    logStartOffset: -1,
  }
}

function head(
  sessionId: number,
  sessionEpoch: number,
  keys: SessionPartition[],
  forgotten: string[] = [],
): FetchRequestHead {
  return { sessionId, sessionEpoch, usesTopicIds: false, partitions: keys, forgotten }
}

function result(highWatermark: number, sizeBytes = 0): FetchPartitionResult {
  return { ...failedResult(ErrorCode.NONE), highWatermark, logStartOffset: 0, sizeBytes }
}

class World {
  nowMs = 0
  readonly cache: FetchSessionCache

  constructor(slots = 10, maxPartitions = 1000) {
    const clock = { wallMs: () => 0, monotonicMs: () => this.nowMs }
    this.cache = new FetchSessionCache(slots, clock, new SeededRandom(1), maxPartitions)
  }

  plan(request: FetchRequestHead): FetchPlan {
    const plan = this.cache.plan(request)
    assert.ok(typeof plan !== 'number', 'no session error')
    return plan
  }

  /** Tells the same result for all partitions; returns the keys that the client hears of. */
  tell(plan: FetchPlan, told: FetchPartitionResult): string[] {
    return plan.partitions.filter((one) => plan.shouldTell(one, told)).map(({ key }) => key)
  }
}

describe('FetchSessionCache', () => {
  it('remembers partitions and tells only what is new', () => {
    const world = new World()
    const first = world.plan(head(0, 0, [partition('a'), partition('b')]))
    assert.notEqual(first.sessionId, 0)
    assert.deepEqual(world.tell(first, result(5)), ['a', 'b'])
    const second = world.plan(head(first.sessionId, 1, []))
    assert.deepEqual(world.tell(second, result(5)), [])
    const third = world.plan(head(first.sessionId, 2, [partition('c', 7)], ['a']))
    assert.deepEqual(
      third.partitions.map(({ key }) => key),
      ['b', 'c'],
    )
    assert.deepEqual(world.tell(third, result(5)), ['c'])
    assert.deepEqual(world.tell(world.plan(head(first.sessionId, 3, [])), result(6)), ['b', 'c'])
  })

  it('takes a new fetch offset of a known partition', () => {
    const world = new World()
    const { sessionId } = world.plan(head(0, 0, [partition('a')]))
    const plan = world.plan(head(sessionId, 1, [partition('a', 42)]))
    assert.equal(plan.partitions[0]?.fetchOffset, 42)
  })

  it('tells errors always, and everything again after one', () => {
    const world = new World()
    const { sessionId, ...first } = world.plan(head(0, 0, [partition('a')]))
    world.tell({ sessionId, ...first }, result(5))
    assert.deepEqual(world.tell(world.plan(head(sessionId, 1, [])), failedResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)), [
      'a',
    ])
    assert.deepEqual(world.tell(world.plan(head(sessionId, 2, [])), failedResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)), [
      'a',
    ])
    assert.deepEqual(world.tell(world.plan(head(sessionId, 3, [])), result(5)), ['a'])
  })

  it('sends who gave data to the end of the line', () => {
    const world = new World()
    const first = world.plan(head(0, 0, [partition('a'), partition('b')]))
    const [a] = first.partitions
    assert.ok(a)
    first.shouldTell(a, result(5, 100))
    assert.deepEqual(
      world.plan(head(first.sessionId, 1, [])).partitions.map(({ key }) => key),
      ['b', 'a'],
    )
  })

  it('answers unknown sessions and wrong epochs', () => {
    const world = new World()
    assert.equal(world.cache.plan(head(77, 1, [])), ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    const { sessionId } = world.plan(head(0, 0, [partition('a')]))
    assert.equal(world.cache.plan(head(sessionId, 2, [])), ErrorCode.INVALID_FETCH_SESSION_EPOCH)
    assert.equal(
      world.cache.plan({ ...head(sessionId, 1, []), usesTopicIds: true }),
      ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    )
    assert.equal(world.plan(head(sessionId, -1, [partition('a')])).sessionId, 0)
    assert.equal(world.cache.plan(head(sessionId, 1, [])), ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
  })

  it('replaces the session of a client that begins anew', () => {
    const world = new World()
    const { sessionId } = world.plan(head(0, 0, [partition('a')]))
    assert.notEqual(world.plan(head(sessionId, 0, [partition('a')])).sessionId, sessionId)
    assert.equal(world.cache.size, 1)
  })

  it('goes without a session when the cache is full, and evicts only the idle', () => {
    const world = new World(1)
    const { sessionId } = world.plan(head(0, 0, [partition('a')]))
    assert.equal(world.plan(head(0, 0, [partition('b')])).sessionId, 0)
    world.nowMs = 60_000
    world.plan(head(sessionId, 1, []))
    world.nowMs = 130_000
    assert.equal(world.plan(head(0, 0, [partition('b')])).sessionId, 0, 'used 70 s ago')
    world.nowMs = 181_000
    assert.notEqual(world.plan(head(0, 0, [partition('b')])).sessionId, 0)
    assert.equal(world.cache.plan(head(sessionId, 2, [])), ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
  })

  it('remembers only so many partitions of all clients together', () => {
    const world = new World(10, 4)
    const first = world.plan(head(0, 0, [partition('a'), partition('b')]))
    assert.notEqual(first.sessionId, 0)
    assert.equal(world.plan(head(0, 0, [partition('a'), partition('b'), partition('c')])).sessionId, 0)
    const grown = head(first.sessionId, 1, [partition('c'), partition('d'), partition('e')])
    assert.equal(world.cache.plan(grown), ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    assert.deepEqual([world.cache.size, world.cache.partitionCount], [0, 0])
  })
})
