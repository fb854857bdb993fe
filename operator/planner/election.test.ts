import assert from 'node:assert/strict'
import { randomInt, SeededRandom } from '../../common/random.ts'
import { entry } from '../../crds/testing/store-contract.ts'
import type { PartitionEntry } from '../../crds/partition-slice.ts'
import { acknowledgeReplica, type Incarnation } from './acknowledgement.ts'
import { electLeader } from './election.ts'

const three = (change: Partial<PartitionEntry> = {}): PartitionEntry =>
  entry({
    replicas: [1, 2, 3],
    brokerEpochs: [11, 12, 13],
    isr: [1, 2, 3],
    leader: 1,
    leaderEpoch: 4,
    partitionEpoch: 9,
    minIsr: 2,
    ...change,
  })

const only =
  (...ids: readonly number[]) =>
  (brokerId: number): boolean =>
    ids.includes(brokerId)

describe('election', () => {
  it('changes nothing while the leader can lead', () => {
    const before = three()
    assert.equal(electLeader(before, only(1)), before)
  })

  const cases: readonly (readonly [string, Partial<PartitionEntry>, readonly number[], Partial<PartitionEntry>])[] = [
    ['takes the first of the ISR in assignment order', { isr: [3, 2, 1] }, [2, 3], { leader: 2, isr: [3, 2, 1] }],
    ['passes over who is not in the ISR', { isr: [1, 3] }, [2, 3], { leader: 3 }],
    ['passes over who is fenced', { brokerEpochs: [11, -1, 13] }, [2, 3], { leader: 3, isr: [1, 3], elr: [] }],
    [
      'keeps who leaves a too small ISR eligible',
      { isr: [1, 2], brokerEpochs: [-1, 12, 13] },
      [2, 3],
      { leader: 2, isr: [2], elr: [1] },
    ],
    [
      'falls back to an eligible leader replica',
      { isr: [1], elr: [2], brokerEpochs: [-1, 12, 13] },
      [2, 3],
      { leader: 2, isr: [2], elr: [1] },
    ],
    [
      'elects nobody else, and keeps the ISR',
      { isr: [1], brokerEpochs: [-1, 12, 13] },
      [2, 3],
      { leader: -1, isr: [1] },
    ],
    ['gives a leaderless partition a leader', { leader: -1, isr: [2] }, [1, 2], { leader: 2 }],
  ]
  for (const [name, change, alive, expected] of cases) {
    it(name, () => {
      const before = three(change)
      const after = electLeader(before, only(...alive))
      assert.deepEqual(after, { ...before, ...expected, leaderEpoch: 5, partitionEpoch: 10 })
      assert.equal(electLeader(after, only(...alive)), after, 'electing again changes nothing')
    })
  }

  it('leaves a leaderless partition as it is while nobody can lead', () => {
    const before = three({ leader: -1 })
    assert.equal(electLeader(before, only()), before)
  })
})

describe('acknowledgement', () => {
  const incarnation = (change: Partial<Incarnation> = {}): Incarnation => ({
    brokerId: 1,
    brokerEpoch: 20,
    isDataLost: false,
    isTailLost: false,
    ...change,
  })
  const all = only(1, 2, 3)

  const cases: readonly (readonly [
    string,
    Partial<PartitionEntry>,
    Partial<Incarnation>,
    readonly number[],
    Partial<PartitionEntry>,
  ])[] = [
    ['gives a leader a new epoch to lead', {}, {}, [1, 2, 3], { leader: 1, leaderEpoch: 5 }],
    ['leaves the leader of another replica alone', { leader: 2 }, {}, [1, 2, 3], { leader: 2, leaderEpoch: 4 }],
    [
      'moves a lost leader to another member',
      {},
      { isDataLost: true },
      [1, 2, 3],
      { leader: 2, leaderEpoch: 5, isr: [2, 3] },
    ],
    [
      'takes a lost replica out even as the last member',
      { isr: [1] },
      { isDataLost: true },
      [1, 2, 3],
      { leader: -1, leaderEpoch: 5, isr: [] },
    ],
    [
      'takes a lost replica out of the eligible ones',
      { isr: [], elr: [1], leader: -1 },
      { isDataLost: true },
      [1, 2, 3],
      { elr: [], isr: [] },
    ],
    [
      'takes a replica with a lost tail out, and elects an eligible one',
      { isr: [1], elr: [2] },
      { isTailLost: true },
      [1, 2, 3],
      { leader: 2, leaderEpoch: 5, isr: [2], elr: [] },
    ],
    [
      'brings a leaderless partition back',
      { leader: -1, isr: [1] },
      {},
      [1, 2, 3],
      { leader: 1, leaderEpoch: 5, isr: [1] },
    ],
  ]
  for (const [name, change, of, alive, expected] of cases) {
    it(name, () => {
      const before = three(change)
      const after = acknowledgeReplica(before, incarnation(of), only(...alive))
      assert.deepEqual(after, { ...before, brokerEpochs: [20, 12, 13], partitionEpoch: 10, ...expected })
      assert.equal(acknowledgeReplica(after, incarnation(of), only(...alive)), after)
    })
  }

  it('lets a single replica with a lost tail lead on, since nobody holds more, but not one with a lost disk', () => {
    const single = entry({ replicas: [1], brokerEpochs: [11], isr: [1], leader: 1 })
    assert.equal(acknowledgeReplica(single, incarnation({ isTailLost: true }), all).leader, 1)
    const lost = acknowledgeReplica(single, incarnation({ isDataLost: true }), all)
    assert.deepEqual([lost.leader, lost.isr, lost.leaderEpoch], [-1, [], 1])
  })

  it('ignores entries of others', () => {
    const before = three()
    assert.equal(acknowledgeReplica(before, incarnation({ brokerId: 9 }), all), before)
  })

  it('keeps its invariants over any sequence of restarts and deaths', () => {
    for (let seed = 0; seed < 300; seed++) {
      const random = new SeededRandom(seed)
      let now = three({ minIsr: randomInt(random, 1, 3) })
      let epoch = 100
      const lost = new Set<number>()
      for (let step = 0; step < 20; step++) {
        const alive = [1, 2, 3].filter(() => random.next() < 0.7)
        const before = now
        if (random.next() < 0.5) {
          now = electLeader(now, only(...alive))
        } else {
          const brokerId = randomInt(random, 1, 3)
          const isDataLost = random.next() < 0.1
          if (isDataLost) lost.add(brokerId)
          const of = incarnation({ brokerId, brokerEpoch: ++epoch, isDataLost })
          now = acknowledgeReplica(now, of, only(...alive, brokerId))
          const again = acknowledgeReplica(now, of, only(...alive, brokerId))
          assert.equal(again, now, `seed ${seed}`)
          if (before.leader === brokerId) assert.ok(now.leaderEpoch > before.leaderEpoch, 'no old epoch is led again')
        }
        assert.ok(now === before || now.partitionEpoch === before.partitionEpoch + 1, `seed ${seed}`)
        assert.ok(now.leaderEpoch >= before.leaderEpoch)
        if (now.leader !== before.leader) assert.ok(now.leaderEpoch > before.leaderEpoch)
        assert.ok(now.leader === -1 || now.isr.includes(now.leader), `seed ${seed}`)
        assert.ok(!now.elr.some((id) => now.isr.includes(id)))
        for (const id of [...now.isr, ...now.elr]) assert.ok(!lost.has(id), `seed ${seed}: a lost replica is trusted`)
      }
    }
  })
})
