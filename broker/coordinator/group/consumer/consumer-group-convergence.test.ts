import assert from 'node:assert/strict'
import { randomInt, SeededRandom, type Random } from '../../../../common/random.ts'
import { ErrorCode, KafkaError } from '../../../protocol/error-codes.ts'
import { assignedPartitions } from '../classic/consumer-protocol.ts'
import { ConsumerHarness, GROUP, REBALANCE_MS, subscription } from './testing/consumer-harness.ts'

const TOPICS = ['a', 'b', 'c', 'd']
const REGEXES = ['a|b', '.*', 'new-.*']
const SEEDS = 150
/** Long enough that nobody who lives is taken for dead. */
const SESSION_MS = 45_000
const STEPS = 120

/** What one consumer works on: `topic id` `partition`. */
type Owned = Set<string>

interface Consumer {
  readonly owned: Owned
  step(isLossy: boolean): void
  leave(): void
}

/** A consumer of the new protocol, as careful as real ones: it says all again after it missed an answer. */
class ModernConsumer implements Consumer {
  readonly owned: Owned = new Set()
  readonly #harness: ConsumerHarness
  readonly #random: Random
  readonly #memberId: string
  readonly #instanceId: string | null
  #epoch = 0
  #mustSayAll = true
  #hasOtherPartitions = false
  #assignment: Owned = new Set()
  #topicNames: string[] = []
  #regex = ''

  constructor(harness: ConsumerHarness, random: Random, memberId: string, instanceId: string | null) {
    this.#harness = harness
    this.#random = random
    this.#memberId = memberId
    this.#instanceId = instanceId
    this.subscribe()
  }

  get instanceId(): string | null {
    return this.#instanceId
  }

  subscribe(): void {
    this.#topicNames = TOPICS.filter(() => this.#random.next() < 0.6)
    this.#regex = this.#random.next() < 0.3 ? (REGEXES[randomInt(this.#random, 0, REGEXES.length - 1)] ?? '') : ''
    this.#mustSayAll = true
  }

  step(isLossy: boolean): void {
    // What it has to give up takes it a while, and what it gets it takes only then.
    const toRevoke = [...this.owned].filter((each) => !this.#assignment.has(each))
    if (toRevoke.length > 0) {
      if (this.#random.next() < 0.3) {
        this.#heartbeat(isLossy)
        return
      }
      for (const each of toRevoke) this.owned.delete(each)
      this.#hasOtherPartitions = true
    } else {
      for (const each of this.#assignment) {
        if (!this.owned.has(each)) this.#hasOtherPartitions = true
        this.owned.add(each)
      }
    }
    this.#heartbeat(isLossy)
  }

  leave(): void {
    this.owned.clear()
    try {
      this.#harness.leave(this.#memberId, {
        instanceId: this.#instanceId,
        memberEpoch: this.#instanceId === null || this.#random.next() < 0.5 ? -1 : -2,
      })
    } catch (error) {
      assert.ok(error instanceof KafkaError)
    }
  }

  #heartbeat(isLossy: boolean): void {
    const isJoining = this.#epoch === 0
    const saysAll = this.#mustSayAll || isJoining
    const topicPartitions = saysAll || this.#hasOtherPartitions ? asPartitions(this.owned) : null
    let answer
    try {
      answer = this.#harness.heartbeat({
        memberId: this.#memberId,
        memberEpoch: this.#epoch,
        instanceId: this.#instanceId,
        topicPartitions,
        ...(saysAll && {
          rebalanceTimeoutMs: REBALANCE_MS,
          subscribedTopicNames: this.#topicNames,
          subscribedTopicRegex: this.#regex,
        }),
      })
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      // Fenced: it gives up all and joins again.
      this.owned.clear()
      this.#assignment = new Set()
      this.#epoch = 0
      this.#mustSayAll = true
      return
    }
    if (isLossy) {
      this.#mustSayAll = true
      return
    }
    this.#mustSayAll = false
    this.#hasOtherPartitions = false
    this.#epoch = answer.memberEpoch ?? 0
    const assignment = answer.assignment
    if (assignment === null || assignment === undefined) return
    this.#assignment = new Set(
      assignment.topicPartitions?.flatMap(({ topicId, partitions }) => partitions?.map((p) => `${topicId} ${p}`) ?? []),
    )
  }
}

/** A consumer of the classic protocol: eager, it stops working while it joins; else it says what it goes on with. */
class ClassicConsumer implements Consumer {
  readonly owned: Owned = new Set()
  readonly #harness: ConsumerHarness
  readonly #isEager: boolean
  readonly #topicNames: readonly string[]
  #memberId = ''
  #generationId = -1
  #state: 'out' | 'joined' | 'stable' = 'out'

  constructor(harness: ConsumerHarness, random: Random) {
    this.#harness = harness
    this.#isEager = random.next() < 0.5
    this.#topicNames = TOPICS.filter(() => random.next() < 0.6)
  }

  step(isLossy: boolean): void {
    if (this.#state === 'out') this.#join(isLossy)
    else if (this.#state === 'joined') this.#sync(isLossy)
    else this.#heartbeat(isLossy)
  }

  leave(): void {
    this.owned.clear()
    try {
      this.#harness.classicLeave({ memberId: this.#memberId })
    } catch (error) {
      assert.ok(error instanceof KafkaError)
    }
  }

  #join(isLossy: boolean): void {
    if (this.#isEager) this.owned.clear()
    const owned = asPartitions(this.owned).flatMap(({ topicId, partitions }) => {
      const topicName = this.#harness.topics.topicNameById(topicId)
      return topicName === undefined ? [] : [{ topicName, partitions }]
    })
    const answer = this.#try(
      () =>
        this.#harness.classicJoin(this.#memberId, subscription(this.#topicNames, owned), {
          sessionTimeoutMs: SESSION_MS,
        })[0],
    )
    if (answer === undefined || isLossy) return
    this.#memberId = answer.memberId ?? ''
    if (answer.errorCode !== 0) return
    this.#generationId = answer.generationId ?? -1
    this.#state = 'joined'
  }

  #sync(isLossy: boolean): void {
    const answer = this.#try(() => this.#harness.classicSync(this.#memberId, this.#generationId)[0])
    if (answer === undefined) return
    if (isLossy) {
      this.#state = 'out'
      return
    }
    const assignment = new Set(
      assignedPartitions(Buffer.from(answer.assignment as Buffer))?.flatMap(({ topicName, partitions }) => {
        const topicId = this.#harness.topics.topic(topicName)?.topicId ?? ''
        return partitions.map((partition) => `${topicId} ${partition}`)
      }),
    )
    const toRevoke = [...this.owned].filter((each) => !assignment.has(each))
    for (const each of toRevoke) this.owned.delete(each)
    for (const each of assignment) this.owned.add(each)
    // A cooperative member that gave something up joins again at once.
    this.#state = toRevoke.length > 0 ? 'out' : 'stable'
  }

  #heartbeat(isLossy: boolean): void {
    const errorCode = this.#try(() => this.#harness.classicHeartbeat(this.#memberId, this.#generationId))
    if (errorCode !== undefined && errorCode !== 0 && !isLossy) this.#state = 'out'
  }

  #try<T>(action: () => T): T | undefined {
    try {
      return action()
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      if (error.code !== ErrorCode.REBALANCE_IN_PROGRESS) this.owned.clear()
      if (error.code !== ErrorCode.REBALANCE_IN_PROGRESS && error.code !== ErrorCode.ILLEGAL_GENERATION)
        this.#memberId = ''
      this.#state = 'out'
      return undefined
    }
  }
}

function asPartitions(owned: Owned): { topicId: string; partitions: number[] }[] {
  const topics = new Map<string, number[]>()
  for (const each of owned) {
    const [topicId = '', partition] = each.split(' ')
    topics.set(topicId, [...(topics.get(topicId) ?? []), Number(partition)])
  }
  return [...topics].map(([topicId, partitions]) => ({ topicId, partitions }))
}

function checkExclusive(harness: ConsumerHarness, consumers: Iterable<Consumer>): void {
  const owners = new Set<string>()
  for (const { owned } of consumers) {
    for (const each of owned) {
      assert.ok(!owners.has(each), `${each} is worked on by two`)
      owners.add(each)
    }
  }
  const group = harness.context.groups.get(GROUP)
  if (group?.type !== 'consumer') return
  const assigned = new Set<string>()
  for (const { memberId, assigned: own, pendingRevocation } of harness.group().allMembers) {
    for (const [topicId, partitions] of [...own, ...pendingRevocation]) {
      for (const partition of partitions.keys()) {
        assert.ok(!assigned.has(`${topicId} ${partition}`), 'a partition has one owner at most')
        assigned.add(`${topicId} ${partition}`)
        assert.equal(harness.group().ownerOf(topicId, partition), memberId)
      }
    }
  }
}

/** The state without what only tests of it would know. */
function stateOf(harness: ConsumerHarness): unknown {
  const group = harness.group()
  const byId = (a: { memberId?: string | undefined }, b: { memberId?: string | undefined }): number =>
    (a.memberId ?? '') < (b.memberId ?? '') ? -1 : 1
  const { members = [], ...described } = harness.manager.describe(GROUP)
  return {
    described,
    describedMembers: [...members].sort(byId),
    members: [...group.allMembers].sort(byId),
    resolved: [...group.resolvedRegexes].sort(),
    hash: group.metadataHash,
  }
}

class World {
  readonly harness = new ConsumerHarness({ 'group.consumer.migration.policy': 'bidirectional' })
  readonly consumers = new Set<Consumer>()
  readonly #random: Random
  readonly #hasClassic: boolean
  #created = 0

  constructor(seed: number) {
    this.#random = new SeededRandom(seed)
    this.#hasClassic = seed % 3 === 0
    for (const name of TOPICS) this.harness.topics.put(name, randomInt(this.#random, 1, 6))
    // So that the group is a consumer group all along.
    this.consumers.add(new ModernConsumer(this.harness, this.#random, 'first', null))
  }

  run(): void {
    for (let step = 0; step < STEPS; step++) {
      this.#disturb()
      for (const consumer of this.consumers) {
        if (this.#random.next() < 0.7) consumer.step(this.#random.next() < 0.15)
        checkExclusive(this.harness, this.consumers)
      }
      this.harness.base.advance(randomInt(this.#random, 1, 3000))
      checkExclusive(this.harness, this.consumers)
    }
  }

  settle(): void {
    for (let round = 0; round < 60; round++) {
      for (const consumer of this.consumers) {
        consumer.step(false)
        checkExclusive(this.harness, this.consumers)
      }
      this.harness.base.advance(3000)
    }
  }

  #disturb(): void {
    const random = this.#random
    const draw = random.next()
    const consumers = [...this.consumers].slice(1)
    const some = consumers[randomInt(random, 0, Math.max(0, consumers.length - 1))]
    if (draw < 0.12 && this.consumers.size < 7) this.#add()
    else if (draw < 0.17 && some !== undefined) this.#remove(some, true)
    else if (draw < 0.21 && some !== undefined) this.#remove(some, false)
    else if (draw < 0.28 && some instanceof ModernConsumer) some.subscribe()
    else if (draw < 0.36) this.#changeTopic()
    else if (draw < 0.38) this.harness.reload()
  }

  #add(): void {
    const id = `member-${++this.#created}`
    if (this.#hasClassic && this.#random.next() < 0.5) {
      this.consumers.add(new ClassicConsumer(this.harness, this.#random))
      return
    }
    const instanceId = this.#random.next() < 0.3 ? `static-${randomInt(this.#random, 1, 2)}` : null
    const isTaken = [...this.consumers].some((each) => each instanceof ModernConsumer && each.instanceId === instanceId)
    const ownInstanceId = isTaken ? null : instanceId
    this.consumers.add(new ModernConsumer(this.harness, this.#random, id, ownInstanceId))
  }

  /** By a farewell, or by a crash: then its session ends some time. */
  #remove(consumer: Consumer, saysSo: boolean): void {
    if (saysSo) consumer.leave()
    this.consumers.delete(consumer)
  }

  #changeTopic(): void {
    const names = [...TOPICS, 'new-1', 'new-2']
    const name = names[randomInt(this.#random, 0, names.length - 1)] ?? ''
    const known = this.harness.topics.topic(name)
    if (known !== undefined && this.#random.next() < 0.3) this.harness.topics.delete(name)
    else this.harness.topics.put(name, (known?.partitionCount ?? 0) + randomInt(this.#random, 1, 3))
    this.harness.changeTopics(name)
  }
}

describe('consumer groups, with members that come, go and miss answers', () => {
  it('never give a partition to two, reach their target, and are the same after a reload', function () {
    this.timeout(60_000)
    for (let seed = 1; seed <= SEEDS; seed++) {
      try {
        const world = new World(seed)
        world.run()
        world.settle()
        checkConverged(world)
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error })
      }
    }
  })
})

function checkConverged({ harness, consumers }: World): void {
  const group = harness.group()
  assert.equal(group.stateName, 'Stable')
  assert.equal(group.memberCount, consumers.size)
  const owned = [...consumers].flatMap((consumer) => [...consumer.owned]).sort()
  const wanted = [...harness.topics.topicNames()]
    .filter((name) => group.isSubscribedTo(name))
    .flatMap((name) => {
      const { topicId = '', partitionCount = 0 } = harness.topics.topic(name) ?? {}
      return Array.from({ length: partitionCount }, (_, partition) => `${topicId} ${partition}`)
    })
    .sort()
  assert.deepEqual(owned, wanted, 'all that somebody wants is worked on')

  const before = stateOf(harness)
  harness.reload()
  assert.deepEqual(stateOf(harness), before)
  const records = harness.base.log.length
  for (const consumer of consumers) consumer.step(false)
  assert.equal(harness.base.log.length, records, 'nothing changes any more')
}
