import assert from 'node:assert/strict'
import { randomInt, SeededRandom, type Random } from '../../../../common/random.ts'
import { configuredAssignors } from './assignors.ts'
import { NO_PARTITIONS, type AssignorInput, type AssignorMember, type TargetAssignment } from './partition-assignor.ts'
import { rangeAssignor } from './range-assignor.ts'
import { uniformAssignor } from './uniform-assignor.ts'

function member(
  memberId: string,
  topicIds: readonly string[],
  previous: TargetAssignment = NO_PARTITIONS,
): AssignorMember {
  return { memberId, instanceId: null, topicIds: new Set(topicIds), previous }
}

const countOf = (assignment: TargetAssignment | undefined): number =>
  [...(assignment ?? NO_PARTITIONS).values()].reduce((sum, partitions) => sum + partitions.length, 0)

/** Every partition of a subscribed topic has one owner, who subscribes to it; lists are in order. */
function checkValid({ members, partitionCounts }: AssignorInput, result: ReadonlyMap<string, TargetAssignment>): void {
  const owned = new Set<string>()
  assert.deepEqual([...result.keys()].sort(), members.map(({ memberId }) => memberId).sort())
  for (const { memberId, topicIds } of members) {
    for (const [topicId, partitions] of result.get(memberId) ?? NO_PARTITIONS) {
      assert.ok(topicIds.has(topicId))
      assert.ok(partitions.length > 0)
      assert.deepEqual(
        partitions,
        [...new Set(partitions)].sort((a, b) => a - b),
      )
      for (const partition of partitions) {
        assert.ok(partition < (partitionCounts.get(topicId) ?? 0))
        assert.ok(!owned.has(`${topicId} ${partition}`), 'no partition has two owners')
        owned.add(`${topicId} ${partition}`)
      }
    }
  }
  for (const [topicId, count] of partitionCounts) {
    if (!members.some(({ topicIds }) => topicIds.has(topicId))) continue
    for (let partition = 0; partition < count; partition++) assert.ok(owned.has(`${topicId} ${partition}`))
  }
}

function drawInput(random: Random, isSame: boolean): AssignorInput {
  const topics = Array.from({ length: randomInt(random, 1, 6) }, (_, i) => `topic-${i}`)
  const partitionCounts = new Map(topics.map((topicId) => [topicId, randomInt(random, 0, 9)]))
  const members = Array.from({ length: randomInt(random, 1, 8) }, (_, i) =>
    member(`member-${i}`, isSame ? topics : topics.filter(() => random.next() < 0.6)),
  )
  return { members, partitionCounts }
}

/** The same members, who have what was assigned to them. */
function after(input: AssignorInput, result: ReadonlyMap<string, TargetAssignment>): AssignorInput {
  const members = input.members.map((each) => ({ ...each, previous: result.get(each.memberId) ?? NO_PARTITIONS }))
  return { ...input, members }
}

describe('server-side assignors', () => {
  it('give every partition to one subscriber, and the same for the same input in any order', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = new SeededRandom(seed)
      const input = drawInput(random, seed % 2 === 0)
      for (const assignor of [uniformAssignor, rangeAssignor]) {
        const result = assignor.assign(input)
        checkValid(input, result)
        const reversed = { ...input, members: input.members.toReversed() }
        assert.deepEqual(new Map([...assignor.assign(reversed)].sort()), new Map([...result].sort()))
      }
    }
  })

  it('uniform: counts differ by one at most among equal subscribers, and nothing moves twice', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const input = drawInput(new SeededRandom(seed), true)
      const result = uniformAssignor.assign(input)
      const counts = input.members.map(({ memberId }) => countOf(result.get(memberId)))
      assert.ok(Math.max(...counts) - Math.min(...counts) <= 1)
      assert.deepEqual(uniformAssignor.assign(after(input, result)), result)
    }
  })

  it('uniform: only what must move moves when a member leaves', () => {
    const partitionCounts = new Map([['t', 12]])
    const input: AssignorInput = { partitionCounts, members: ['a', 'b', 'c'].map((id) => member(id, ['t'])) }
    const first = uniformAssignor.assign(input)
    const settled = after(input, first)
    const second = uniformAssignor.assign({
      ...settled,
      members: settled.members.filter(({ memberId }) => memberId !== 'c'),
    })
    for (const id of ['a', 'b']) {
      const kept = new Set(second.get(id)?.get('t'))
      for (const partition of first.get(id)?.get('t') ?? []) assert.ok(kept.has(partition))
      assert.equal(kept.size, 6)
    }
  })

  it('range: the same partitions of topics with equal counts go to the same member', () => {
    const partitionCounts = new Map([
      ['t', 5],
      ['u', 5],
    ])
    const result = rangeAssignor.assign({ partitionCounts, members: ['a', 'b'].map((id) => member(id, ['t', 'u'])) })
    for (const id of ['a', 'b']) assert.deepEqual(result.get(id)?.get('t'), result.get(id)?.get('u'))
    assert.deepEqual(result.get('a')?.get('t'), [0, 1, 2])
  })

  it('are known by name, in the configured order', () => {
    assert.deepEqual(configuredAssignors(['range', 'uniform', 'other']), [rangeAssignor, uniformAssignor])
  })

  it('take little time for 1,000 members and 10,000 partitions', () => {
    const topics = Array.from({ length: 10 }, (_, i) => `topic-${i}`)
    const topicIds = new Set(topics)
    const members = Array.from({ length: 1000 }, (_, i) => ({ ...member(`member-${i}`, []), topicIds }))
    const input = { members, partitionCounts: new Map(topics.map((topicId) => [topicId, 1000])) }
    for (const assignor of [uniformAssignor, rangeAssignor]) {
      const startMs = performance.now()
      checkValid(input, assignor.assign(input))
      assert.ok(performance.now() - startMs < 1000)
    }
  })
})
