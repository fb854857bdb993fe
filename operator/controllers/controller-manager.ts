import type { Clock } from '../../common/clock.ts'
import type { Logger } from '../../common/logger.ts'
import type { Random } from '../../common/random.ts'
import type { Timers } from '../../common/timers.ts'
import type { Broker } from '../../crds/broker.ts'
import { LiveConfig } from '../../crds/config/live-config.ts'
import type { BrokerConfig } from '../../crds/config/resolve.ts'
import { FENCED_EPOCH, type PartitionSlice } from '../../crds/partition-slice.ts'
import { LOCAL_NAMESPACE } from '../../crds/resource.ts'
import type { Kind, Kinds, ResourceStore, WatchEvent } from '../../crds/resource-store.ts'
import { topicObjectName, type Topic } from '../../crds/topic.ts'
import { BrokerController } from './broker-controller.ts'
import { BrokerFacts } from './broker-facts.ts'
import { SliceView } from './slice-view.ts'
import { TopicController, topicKey } from './topic-controller.ts'
import { WorkQueue, type Outcome } from './work-queue.ts'

/**
 * Runs the controllers: watches notice work and put its key into a queue; the controllers read again and decide. Nothing is
 * done before every watch has shown the whole state. Two managers may run on one store at once.
 */
export interface ControllerOptions {
  readonly store: ResourceStore
  readonly clock: Clock
  readonly timers: Timers
  readonly logger: Logger
  readonly random: Random
  /** Gives the defaults of what topics do not set, together with what the Cluster sets for all brokers. */
  readonly config: BrokerConfig
  /** Where slices and brokers are; default: the local store's namespace. */
  readonly namespace?: string
}

export interface Controllers {
  /** Stops, and waits for what is under way. */
  close(): Promise<void>
}

export function startControllers(options: ControllerOptions): Controllers {
  return new ControllerManager(options)
}

class ControllerManager implements Controllers {
  readonly #topicController: TopicController
  readonly #brokerController: BrokerController
  readonly #topicQueue: WorkQueue
  readonly #brokerQueue: WorkQueue
  readonly #watches: { close(): void }[] = []
  readonly #synced = new Set<Kind>()
  readonly #topics = new Map<string, Topic>()
  readonly #brokers = new Map<string, Broker>()
  readonly #slices = new SliceView()
  readonly #config: LiveConfig
  #facts = new BrokerFacts([])

  constructor(options: ControllerOptions) {
    const { store, timers, random, logger } = options
    this.#config = new LiveConfig(options.config, logger)
    const shared = { ...options, config: this.#config, namespace: options.namespace ?? LOCAL_NAMESPACE }
    this.#topicController = new TopicController(shared)
    this.#brokerController = new BrokerController(shared)
    this.#topicQueue = new WorkQueue({
      name: 'topics',
      process: (keys) => this.#processTopics(keys),
      timers,
      random,
      logger,
    })
    this.#brokerQueue = new WorkQueue({
      name: 'brokers',
      process: (keys) => this.#processBrokers(keys),
      timers,
      random,
      logger,
    })
    this.#config.subscribe(() => {
      for (const key of this.#topics.keys()) this.#lookAtTopic(key)
    })
    this.#watches.push(
      store.watch('Cluster', (event) => this.#onCluster(event)),
      store.watch('Topic', (event) => this.#onTopics(event)),
      store.watch('Broker', (event) => this.#onBrokers(event)),
      store.watch('PartitionSlice', (event) => this.#onSlices(event)),
    )
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.close()
    await Promise.all([this.#topicQueue.close(), this.#brokerQueue.close()])
  }

  #onCluster(event: WatchEvent<'Cluster'>): void {
    const cluster = event.type === 'sync' ? event.items[0] : event.type === 'put' ? event.object : undefined
    if (event.type !== 'delete') this.#config.update({ dynamicDefault: cluster?.spec.config ?? {} })
    this.#onSynced('Cluster')
  }

  #onTopics(event: WatchEvent<'Topic'>): void {
    for (const key of applyTo(this.#topics, event)) this.#lookAtTopic(key)
    this.#onSynced('Topic')
  }

  #onBrokers(event: WatchEvent<'Broker'>): void {
    const before = this.#facts.fingerprint()
    const changed = applyTo(this.#brokers, event)
    this.#facts = new BrokerFacts([...this.#brokers.values()])
    for (const key of changed) this.#lookAtBroker(this.#brokers.get(key)?.spec.brokerId)
    // Where no broker was to be had, one may be now.
    if (this.#facts.fingerprint() !== before) {
      for (const [key, topic] of this.#topics) if (!isReady(topic)) this.#lookAtTopic(key)
    }
    this.#onSynced('Broker')
  }

  #onSlices(event: WatchEvent<'PartitionSlice'>): void {
    const changed = this.#slices.apply(event)
    // A topic may live in any namespace, and few are in use.
    const namespaces = new Set([...this.#topics.values()].map((topic) => topic.metadata.namespace))
    for (const topicName of changed) {
      const name = topicObjectName(topicName)
      for (const namespace of namespaces) this.#lookAtTopic(`${namespace}/${name}`)
    }
    if (event.type !== 'delete') this.#lookAtStaleEpochs(event.type === 'sync' ? event.items : [event.object])
    this.#onSynced('PartitionSlice')
  }

  /** An entry that was born while its broker was being acknowledged may carry the epoch of an earlier incarnation. */
  #lookAtStaleEpochs(slices: readonly PartitionSlice[]): void {
    for (const { spec } of slices) {
      for (const entry of Object.values(spec.entries)) {
        entry.replicas.forEach((brokerId, index) => {
          const epoch = this.#facts.epoch(brokerId)
          if (epoch !== FENCED_EPOCH && entry.brokerEpochs[index] !== epoch) this.#lookAtBroker(brokerId)
        })
      }
    }
  }

  #lookAtTopic(key: string): void {
    if (this.#isSynced() && this.#topics.has(key)) this.#topicQueue.add(key)
  }

  #lookAtBroker(brokerId: number | undefined): void {
    if (this.#isSynced() && brokerId !== undefined) this.#brokerQueue.add(String(brokerId))
  }

  #isSynced(): boolean {
    return this.#synced.size === 4
  }

  #onSynced(kind: Kind): void {
    if (this.#isSynced()) return
    this.#synced.add(kind)
    if (!this.#isSynced()) return
    for (const key of this.#topics.keys()) this.#lookAtTopic(key)
    for (const broker of this.#brokers.values()) this.#lookAtBroker(broker.spec.brokerId)
  }

  async #processTopics(keys: readonly string[]): Promise<ReadonlyMap<string, Outcome>> {
    const due = keys.filter((key) => {
      const topic = this.#topics.get(key)
      return topic !== undefined && !this.#topicController.isSettled(topic, this.#slices)
    })
    return due.length === 0 ? new Map() : await this.#topicController.process(due)
  }

  async #processBrokers(keys: readonly string[]): Promise<ReadonlyMap<string, Outcome>> {
    const due = keys.filter((key) => !this.#brokerController.isSettled(Number(key), this.#facts, this.#slices))
    return due.length === 0 ? new Map() : await this.#brokerController.process(due)
  }
}

/** Takes an event into a map by key; returns the keys that changed. */
function applyTo<K extends 'Topic' | 'Broker'>(objects: Map<string, Kinds[K]>, event: WatchEvent<K>): string[] {
  switch (event.type) {
    case 'sync': {
      const gone = new Set(objects.keys())
      objects.clear()
      for (const item of event.items) objects.set(topicKey(item), item)
      for (const key of objects.keys()) gone.delete(key)
      return [...objects.keys(), ...gone]
    }
    case 'put':
      objects.set(topicKey(event.object), event.object)
      return [topicKey(event.object)]
    case 'delete':
      objects.delete(topicKey(event.object))
      return [topicKey(event.object)]
  }
}

function isReady(topic: Topic): boolean {
  return topic.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}
