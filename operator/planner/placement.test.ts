import assert from 'node:assert/strict'
import { randomInt, SeededRandom } from '../../common/random.ts'
import { loadOf, placePartitions, type Placement, type PlacementBroker } from './placement.ts'

function brokers(...racks: readonly (string | undefined)[]): PlacementBroker[] {
  return racks.map((rack, brokerId) => ({ brokerId, rack, isUsable: true }))
}

function placed(placement: Placement): Map<number, readonly number[]> {
  assert.ok(placement.isPlaced, JSON.stringify(placement))
  return new Map(placement.replicas)
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

describe('placement', () => {
  it('spreads leaders and replicas evenly, each partition on distinct brokers', () => {
    const plan = placed(
      placePartitions(brokers(undefined, undefined, undefined, undefined), loadOf([]), {
        missing: range(40),
        placed: [],
        replicas: 3,
      }),
    )
    const load = loadOf(plan.values())
    assert.deepEqual([...load.leaders.values()], [10, 10, 10, 10])
    assert.deepEqual([...load.replicas.values()], [30, 30, 30, 30])
    for (const replicas of plan.values()) assert.equal(new Set(replicas).size, 3)
  })

  it('puts the replicas of a partition on different racks', () => {
    const racks = ['a', 'a', 'b', 'b', 'c', 'c']
    const plan = placed(placePartitions(brokers(...racks), loadOf([]), { missing: range(30), placed: [], replicas: 3 }))
    for (const replicas of plan.values()) assert.equal(new Set(replicas.map((id) => racks[id])).size, 3)
  })

  it('honours explicit assignments and plans the others around them', () => {
    const plan = placed(
      placePartitions(brokers(undefined, undefined), loadOf([]), {
        missing: [0, 1],
        placed: [],
        replicas: 1,
        assignments: [[0]],
      }),
    )
    assert.deepEqual(
      [...plan],
      [
        [0, [0]],
        [1, [1]],
      ],
    )
  })

  it('uses no broker that takes no replicas, and says when there are too few', () => {
    const some = brokers(undefined, undefined).map((broker) => ({ ...broker, isUsable: broker.brokerId === 1 }))
    const request = { missing: [0, 1], placed: [], replicas: 1 }
    assert.deepEqual([...placed(placePartitions(some, loadOf([]), request)).values()], [[1], [1]])
    const reason = (placement: Placement): string => (placement.isPlaced ? 'placed' : placement.reason)
    assert.equal(reason(placePartitions(some, loadOf([]), { ...request, replicas: 2 })), 'InvalidReplicationFactor')
    assert.equal(reason(placePartitions([], loadOf([]), request)), 'NoBrokers')
    const explicit = (assignments: number[][]): string =>
      reason(placePartitions(some, loadOf([]), { ...request, assignments }))
    assert.equal(explicit([[7], [0]]), 'InvalidAssignment')
    assert.equal(explicit([[0, 0], [0]]), 'InvalidAssignment')
    assert.equal(explicit([[], [0]]), 'InvalidAssignment')
    assert.equal(explicit([[0], [0]]), 'placed')
  })

  it('keeps, over any sequence of topics, leaders within one of each other in a topic and everything deterministic', () => {
    for (let seed = 0; seed < 50; seed++) {
      const random = new SeededRandom(seed)
      const all = brokers(...range(randomInt(random, 1, 8)).map(() => (random.next() < 0.5 ? 'a' : 'b')))
      const load = loadOf([])
      const twin = loadOf([])
      for (let topic = 0; topic < 10; topic++) {
        const request = {
          missing: range(randomInt(random, 1, 20)),
          placed: [],
          replicas: randomInt(random, 1, all.length),
        }
        const plan = placed(placePartitions(all, load, request))
        assert.deepEqual(placed(placePartitions([...all].reverse(), twin, request)), plan)
        const leaders = loadOf(plan.values()).leaders
        const counts = all.map(({ brokerId }) => leaders.get(brokerId) ?? 0)
        assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, `seed ${seed}`)
        for (const replicas of plan.values()) assert.equal(new Set(replicas).size, request.replicas)
        // Planned is planned: nothing is missing any more.
        const again = placePartitions(all, load, { ...request, missing: [], placed: [...plan.values()] })
        assert.equal(placed(again).size, 0)
      }
      const leaders = all.map(({ brokerId }) => load.leaders.get(brokerId) ?? 0)
      assert.ok(Math.max(...leaders) - Math.min(...leaders) <= 1, `leaders of the cluster, seed ${seed}`)
    }
  })
})
