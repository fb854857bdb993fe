import type { Clock } from '../../common/clock.ts'
import type { Logger } from '../../common/logger.ts'
import { randomUuid, type Random } from '../../common/random.ts'
import { ConfigError } from '../../crds/config/config-def.ts'
import type { LiveConfig } from '../../crds/config/live-config.ts'
import { FENCED_EPOCH, NO_LEADER, partitionKey, type PartitionEntry } from '../../crds/partition-slice.ts'
import { refOf, type ObjectRef } from '../../crds/resource.ts'
import type { ResourceStore } from '../../crds/resource-store.ts'
import { TOPIC_FINALIZER, topicNameOf, topicObjectName, type Topic, type TopicStatus } from '../../crds/topic.ts'
import { loadOf, placePartitions, type PlacementLoad } from '../planner/placement.ts'
import { SlicePacker } from '../planner/slice-packing.ts'
import { BrokerFacts } from './broker-facts.ts'
import { outcomeOf, SliceEdits, type EditOutcome } from './slice-edits.ts'
import { SliceView, type LocatedEntry } from './slice-view.ts'
import { topicStatus, type TopicProblem } from './topic-status.ts'
import type { Outcome } from './work-queue.ts'

/**
 * Makes the slices' entries what the Topics want. Works on many topics at once, so that the entries of a thousand new
 * topics go in a few patches.
 *
 * The order that keeps it safe at every crash, and beside a second operator:
 *  1. Read consistently: the topics, then all slices, then the brokers.
 *  2. Record in `Topic.status`, testing the resourceVersion that was read, the topic id (adopted from entries that exist
 *     under the name, else minted) and which slice holds which partition.
 *  3. Read the slices again, after the record, and add the entries that no slice has, testing `allocationEpoch`.
 *  4. Say in `Topic.status` how it is.
 * A deletion: entries go, by topic id, only for a Topic that was read with our finalizer and a deletionTimestamp; when a
 * consistent read shows none, the finalizer goes. Recorded slices in which a partition was never born move on as well, so
 * that no birth lands after the deletion. That a Topic is absent says nothing: its entries are left alone.
 */
export interface TopicControllerOptions {
  readonly store: ResourceStore
  readonly namespace: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly config: LiveConfig
}

interface Birth {
  readonly partition: number
  readonly key: string
  readonly slice: string
  readonly entry: PartitionEntry
}

/** What is to be done for one topic. */
interface TopicPlan {
  readonly key: string
  topic: Topic
  readonly topicName: string
  readonly topicId: string | undefined
  readonly isDeletion: boolean
  readonly problem: TopicProblem | undefined
  readonly slices: Readonly<Record<string, readonly number[]>> | undefined
  readonly births: readonly Birth[]
  readonly minIsr: number | undefined
  outcome: Outcome
}

/** What the plans of one pass share: each sees what the others have taken. */
interface Shared {
  readonly view: SliceView
  readonly brokers: BrokerFacts
  readonly load: PlacementLoad
  readonly packer: SlicePacker
}

export class TopicController {
  readonly #options: TopicControllerOptions

  constructor(options: TopicControllerOptions) {
    this.#options = options
  }

  /** Looks at some topics, by `namespace/name`. */
  async process(keys: readonly string[]): Promise<ReadonlyMap<string, Outcome>> {
    const { store } = this.#options
    const topics = await Promise.all(keys.map((key) => store.get('Topic', parseKey(key))))
    const slices = await store.list('PartitionSlice')
    const brokers = new BrokerFacts(await store.list('Broker'))
    const records = await store.list('Topic')
    const view = SliceView.of(slices)
    const shared: Shared = {
      view,
      brokers,
      load: clusterLoad(view),
      packer: new SlicePacker(slicesInUse(view, records)),
    }
    const plans = keys.flatMap((key, index) => {
      const topic = topics[index]
      return topic === undefined ? [] : [this.#plan(key, topic, shared)]
    })
    await Promise.all(plans.map((plan) => this.#record(plan)))
    const result = await this.#edit(plans)
    await Promise.all(plans.map((plan) => this.#finish(plan, result)))
    return new Map(plans.map((plan) => [plan.key, plan.outcome]))
  }

  /** Whether a topic is, by what watches have shown, as it should be; false when it has to be looked at. */
  isSettled(topic: Topic, view: SliceView): boolean {
    if (topic.metadata.deletionTimestamp !== undefined || topic.status === undefined) return false
    const topicName = topicNameOf(topic)
    const located = view.topic(topicName)
    const entries = ownEntries(located, topic.status.topicId)
    const minIsr = this.#minIsr(topic)
    if (typeof minIsr !== 'number' || located.length !== topic.spec.partitions) return false
    if (entries.length !== located.length || entries.some(({ entry }) => entry.minIsr !== minIsr)) return false
    const facts = { topicId: topic.status.topicId, slices: topic.status.slices, entries, problem: undefined }
    return topicStatus(topic, facts, '') === topic.status
  }

  #plan(key: string, topic: Topic, shared: Shared): TopicPlan {
    const topicName = topicNameOf(topic)
    const located = shared.view.topic(topicName)
    const idle = { key, topic, topicName, births: [], minIsr: undefined, outcome: 'done' as Outcome }
    if (topic.metadata.deletionTimestamp !== undefined) {
      const { topicId } = topic.status ?? {}
      return { ...idle, topicId, isDeletion: true, problem: undefined, slices: undefined }
    }
    // Entries that exist under the name are adopted: a lost status must not cost the data.
    const topicId = topic.status?.topicId ?? located[0]?.entry.topicId
    const living = { ...idle, topicId, isDeletion: false, slices: topic.status?.slices }
    if (topic.metadata.name !== topicObjectName(topicName)) {
      const message = `the topic ${topicName} belongs to the object name ${topicObjectName(topicName)}, not ${topic.metadata.name}`
      return { ...living, topicId: topic.status?.topicId, problem: { reason: 'NameConflict', message } }
    }
    const stranger = located.find(({ entry }) => entry.topicId !== topicId)
    if (stranger !== undefined) {
      const message = `${stranger.key} in slice ${stranger.slice} belongs to the topic id ${stranger.entry.topicId}`
      return { ...living, problem: { reason: 'EntryConflict', message } }
    }
    const minIsr = this.#minIsr(topic)
    if (typeof minIsr !== 'number') return { ...living, problem: minIsr }
    return this.#placed({ ...living, minIsr, problem: undefined }, located, shared)
  }

  /** The plan with replicas, leaders and slices for the partitions that have no entry. */
  #placed(plan: TopicPlan, located: readonly LocatedEntry[], shared: Shared): TopicPlan {
    const { topic, topicName, minIsr } = plan
    const { spec } = topic
    const entries = ownEntries(located, plan.topicId, topic.status)
    const present = new Set(entries.map(({ partition }) => partition))
    const missing = Array.from({ length: spec.partitions }, (_, index) => index).filter((index) => !present.has(index))
    const placement = placePartitions(shared.brokers.placement(), shared.load, {
      missing,
      placed: entries.map(({ entry }) => entry.replicas),
      replicas: spec.replicas,
      ...(spec.assignments === undefined ? {} : { assignments: spec.assignments }),
    })
    if (!placement.isPlaced) return { ...plan, slices: recordOf(entries), problem: placement, outcome: 'done' }
    const topicId = plan.topicId ?? randomUuid(this.#options.random)
    const recorded = slicesByPartition(topic.status)
    const births: Birth[] = []
    for (const [partition, replicas] of placement.replicas) {
      const entry = newEntry(topicId, replicas, minIsr ?? 1, shared.brokers)
      if (entry === undefined) {
        const message = `partition ${partition}: none of the brokers [${replicas.join(', ')}] is alive`
        return { ...plan, slices: recordOf(entries), problem: { reason: 'NoBrokers', message } }
      }
      // The packer counts what is recorded as taken, so a record stands unless its slice was filled by others.
      const before = recorded.get(partition)
      const slice =
        before !== undefined && shared.packer.isWithin(before) ? before : shared.packer.allocate(replicas[0] ?? 0)
      births.push({ partition, key: partitionKey(topicName, partition), slice, entry })
    }
    return { ...plan, topicId, births, slices: recordOf([...entries, ...births]) }
  }

  #minIsr(topic: Topic): number | TopicProblem {
    try {
      const config = this.#options.config.current
      config.validateTopic(topic.spec.config)
      return config.topic(topic.spec.config).get('min.insync.replicas')
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      return { reason: 'InvalidConfig', message: error.message }
    }
  }

  /** Step 2. Nothing is added for a topic whose record did not get through. */
  async #record(plan: TopicPlan): Promise<void> {
    if (plan.isDeletion || plan.births.length === 0) return
    const { status } = plan.topic
    if (status?.topicId === plan.topicId && sameRecord(status?.slices, plan.slices)) return
    const recorded = { ...status, topicId: plan.topicId, slices: plan.slices }
    await this.#writeStatus(plan, recorded as TopicStatus)
  }

  /** Step 3. Answers the slices as they are afterwards, and what became of each slice's edit. */
  async #edit(plans: readonly TopicPlan[]): Promise<{ view: SliceView; outcomes: ReadonlyMap<string, EditOutcome> }> {
    const { store, namespace } = this.#options
    const view = SliceView.of(await store.list('PartitionSlice'))
    const edits = new SliceEdits()
    const touched = new Map<TopicPlan, Set<string>>()
    for (const plan of plans) {
      if (plan.outcome === 'done') touched.set(plan, addEdits(plan, view, edits))
    }
    const outcomes = await edits.apply(store, namespace, view)
    for (const [plan, slices] of touched) {
      for (const slice of slices) {
        const outcome = outcomes.get(slice)
        if (outcome !== undefined && outcome !== 'applied') plan.outcome = outcome
      }
    }
    return { view, outcomes }
  }

  /** Step 4, and the end of a deletion. */
  async #finish(plan: TopicPlan, { view }: { view: SliceView }): Promise<void> {
    if (plan.outcome !== 'done') return
    const located = view.topic(plan.topicName)
    if (plan.isDeletion) {
      if (isRetained(plan.topic) || ownEntries(located, plan.topicId).length === 0) await this.#removeFinalizer(plan)
      else plan.outcome = 'again'
      return
    }
    const entries = ownEntries(located, plan.topicId, plan.topic.status)
    // An entry that another operator made between our reads is found the next time.
    if (plan.problem === undefined && entries.length < plan.topic.spec.partitions) plan.outcome = 'again'
    const slices = plan.problem === undefined ? recordOf(entries) : plan.slices
    const now = `${new Date(this.#options.clock.wallMs()).toISOString().slice(0, 19)}Z`
    const facts = { topicId: plan.topicId, slices, entries, problem: plan.problem }
    const status = topicStatus(plan.topic, facts, now)
    if (status === plan.topic.status) return
    if (plan.problem !== undefined) {
      this.#options.logger.warn({ topic: plan.topicName, ...plan.problem }, 'a topic is not as it should be')
    }
    const wanted = plan.outcome
    await this.#writeStatus(plan, status)
    if (plan.outcome === 'done') plan.outcome = wanted
  }

  async #writeStatus(plan: TopicPlan, status: TopicStatus): Promise<void> {
    const { topic } = plan
    try {
      plan.topic = await this.#options.store.patch(
        'Topic',
        refOf(topic),
        [
          { op: 'test', path: '/metadata/resourceVersion', value: topic.metadata.resourceVersion },
          { op: 'add', path: '/status', value: status },
        ],
        { subresource: 'status' },
      )
    } catch (error) {
      plan.outcome = outcomeOf(error)
    }
  }

  async #removeFinalizer(plan: TopicPlan): Promise<void> {
    const { topic } = plan
    const finalizers = topic.metadata.finalizers ?? []
    if (!finalizers.includes(TOPIC_FINALIZER)) return
    try {
      await this.#options.store.patch('Topic', refOf(topic), [
        { op: 'test', path: '/metadata/uid', value: topic.metadata.uid },
        { op: 'test', path: '/metadata/finalizers', value: finalizers },
        {
          op: 'replace',
          path: '/metadata/finalizers',
          value: finalizers.filter((finalizer) => finalizer !== TOPIC_FINALIZER),
        },
      ])
      this.#options.logger.info({ topic: plan.topicName, topicId: plan.topicId }, 'topic deleted')
    } catch (error) {
      plan.outcome = outcomeOf(error)
    }
  }
}

/** Adds what a plan wants to the edits, against the slices as they are now; answers the names of the slices it touches. */
function addEdits(plan: TopicPlan, view: SliceView, edits: SliceEdits): Set<string> {
  const touched = new Set<string>()
  const located = view.topic(plan.topicName)
  const of = (slice: string): ReturnType<SliceEdits['of']> => {
    touched.add(slice)
    return edits.of(slice)
  }
  if (plan.isDeletion) {
    const isOurs = plan.topic.metadata.finalizers?.includes(TOPIC_FINALIZER) === true
    if (!isOurs || isRetained(plan.topic) || plan.topicId === undefined) return touched
    const own = located.filter(({ entry }) => entry.topicId === plan.topicId)
    for (const { slice, key, entry } of own) of(slice).removals.set(key, entry.topicId)
    // A birth whose outcome is unknown must not land once the topic is gone: its slice moves on, or exists already.
    const born = new Set(own.map(({ partition }) => partition))
    for (const [partition, slice] of slicesByPartition(plan.topic.status)) {
      if (!born.has(partition)) of(slice).isBarrier = true
    }
    return touched
  }
  for (const { slice, key, entry } of plan.births) {
    if (!located.some((other) => other.key === key)) of(slice).births.set(key, entry)
  }
  const own = ownEntries(located, plan.topicId, plan.topic.status)
  for (const { slice, key, entry } of own) {
    if (plan.minIsr === undefined || plan.minIsr === entry.minIsr) continue
    // Who was eligible under the old minimum need not hold what the new one commits.
    const to = { ...entry, minIsr: plan.minIsr, elr: [], partitionEpoch: entry.partitionEpoch + 1 }
    of(slice).changes.set(key, { from: entry, to })
  }
  for (const other of located) {
    // The same entry in two slices: the one that the record does not name goes.
    if (other.entry.topicId === plan.topicId && !own.includes(other))
      of(other.slice).removals.set(other.key, other.entry.topicId)
  }
  return touched
}

function isRetained(topic: Topic): boolean {
  return topic.spec.deletionPolicy === 'Retain'
}

/** The entries of a topic id, one a partition: where there are two, the one that the record names. */
function ownEntries(
  located: readonly LocatedEntry[],
  topicId: string | undefined,
  status?: TopicStatus,
): LocatedEntry[] {
  const recorded = slicesByPartition(status)
  const own = new Map<number, LocatedEntry>()
  for (const each of located) {
    if (topicId === undefined || each.entry.topicId !== topicId) continue
    if (!own.has(each.partition) || recorded.get(each.partition) === each.slice) own.set(each.partition, each)
  }
  return [...own.values()]
}

function newEntry(
  topicId: string,
  replicas: readonly number[],
  minIsr: number,
  brokers: BrokerFacts,
): PartitionEntry | undefined {
  const brokerEpochs = replicas.map((brokerId) => brokers.epoch(brokerId))
  const isr = replicas.filter((_, index) => brokerEpochs[index] !== FENCED_EPOCH)
  const leader = isr[0] ?? NO_LEADER
  if (leader === NO_LEADER) return undefined
  return { topicId, replicas, brokerEpochs, leader, leaderEpoch: 0, isr, elr: [], minIsr, partitionEpoch: 0 }
}

function clusterLoad(view: SliceView): PlacementLoad {
  return loadOf([...view.slices()].flatMap(({ spec }) => Object.values(spec.entries).map((entry) => entry.replicas)))
}

/** Places taken in each slice: by entries, and by records whose entries are not born yet. */
function slicesInUse(view: SliceView, topics: readonly Topic[]): Map<string, number> {
  const used = new Map<string, number>()
  for (const slice of view.slices()) used.set(slice.metadata.name, Object.keys(slice.spec.entries).length)
  for (const topic of topics) {
    const entries = view.topic(topicNameOf(topic))
    const partitions = Object.values(topic.status?.slices ?? {}).reduce((sum, each) => sum + each.length, 0)
    if (entries.length === partitions) continue
    const born = new Set(entries.map(({ partition }) => partition))
    for (const [name, recorded] of Object.entries(topic.status?.slices ?? {})) {
      const unborn = recorded.filter((partition) => !born.has(partition)).length
      used.set(name, (used.get(name) ?? 0) + unborn)
    }
  }
  return used
}

function slicesByPartition(status: TopicStatus | undefined): Map<number, string> {
  const recorded = new Map<number, string>()
  for (const [slice, partitions] of Object.entries(status?.slices ?? {})) {
    for (const partition of partitions) recorded.set(partition, slice)
  }
  return recorded
}

function recordOf(places: readonly { slice: string; partition: number }[]): Record<string, readonly number[]> {
  const record: Record<string, number[]> = {}
  for (const { slice, partition } of places) (record[slice] ??= []).push(partition)
  for (const partitions of Object.values(record)) partitions.sort((a, b) => a - b)
  return record
}

function sameRecord(a: TopicStatus['slices'], b: TopicStatus['slices']): boolean {
  const text = (record: TopicStatus['slices']): string =>
    JSON.stringify(Object.entries(record ?? {}).sort(([x], [y]) => (x < y ? -1 : 1)))
  return text(a) === text(b)
}

export function topicKey(topic: { readonly metadata: ObjectRef }): string {
  return `${topic.metadata.namespace}/${topic.metadata.name}`
}

function parseKey(key: string): ObjectRef {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
