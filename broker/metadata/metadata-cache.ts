/**
 * A broker's view of the cluster: topics, partitions, brokers, quotas and configs, kept from watches of the resource store.
 *
 * Place: the read side of metadata for all request handlers, and the source of assignments for the replica manager.
 * Invariants:
 * - An entry's `partitionEpoch` never goes back for one topic id: an older entry than the one known is ignored.
 * - An entry that is in two slices is obeyed where it was seen first (replication review 1.4).
 * - Partitions come from PartitionSlices alone; Topic resources add only what users configured.
 * - Listeners hear of a change after the whole view is consistent with it, and never re-entrantly.
 */
import type { Broker, Endpoint } from '../../crds/broker.ts'
import type { ClientQuota } from '../../crds/client-quota.ts'
import type { Cluster } from '../../crds/cluster.ts'
import type { GroupConfig } from '../../crds/group-config.ts'
import { parsePartitionKey, type PartitionEntry, type PartitionSlice } from '../../crds/partition-slice.ts'
import type { Kind, ResourceStore, Watch, WatchEvent } from '../../crds/resource-store.ts'
import { topicNameOf, type Topic } from '../../crds/topic.ts'
import type { Logger } from '../../common/logger.ts'
import type { Timers } from '../../common/timers.ts'

export interface BrokerImage {
  readonly brokerId: number
  readonly endpoints: Readonly<Record<string, Endpoint>>
  readonly rack: string | undefined
  readonly isFenced: boolean
  readonly brokerEpoch: number
}

export interface TopicImage {
  readonly name: string
  readonly topicId: string
  /** By partition index; sparse while the topic's slices have not all been seen. */
  readonly partitions: ReadonlyMap<number, PartitionEntry>
}

export interface MetadataDelta {
  /** Keys of entries that appeared, changed or vanished. */
  readonly partitions: ReadonlySet<string>
  /** Names of topics whose Topic resource appeared, changed or vanished. */
  readonly topics: ReadonlySet<string>
  readonly brokersChanged: boolean
  /** The Cluster resource changed. */
  readonly clusterChanged: boolean
  readonly quotasChanged: boolean
  /** Ids of groups whose configs changed. */
  readonly groups: ReadonlySet<string>
}

/** Topic ids whose deletion is remembered; far more than can be on their way through the watches at once. */
const MAX_REMEMBERED_DELETIONS = 100_000

interface KnownEntry {
  readonly entry: PartitionEntry
  readonly slice: string
  readonly topicName: string
  readonly partition: number
}

interface MutableTopic {
  name: string
  topicId: string
  partitions: Map<number, PartitionEntry>
}

export class MetadataCache {
  readonly #logger: Logger
  readonly #entries = new Map<string, KnownEntry>()
  readonly #sliceKeys = new Map<string, Set<string>>()
  readonly #topics = new Map<string, MutableTopic>()
  readonly #topicNamesById = new Map<string, string>()
  readonly #resources = new Map<string, Topic>()
  readonly #topicsByMetricName = new Map<string, string>()
  readonly #deletedTopicIds = new Set<string>()
  readonly #brokers = new Map<number, Broker>()
  readonly #quotas = new Map<string, ClientQuota>()
  readonly #groupConfigs = new Map<string, GroupConfig>()
  readonly #listeners = new Set<(delta: MetadataDelta) => void>()
  readonly #watches: Watch[] = []
  readonly #unsynced = new Set<Kind>(['PartitionSlice', 'Topic', 'Broker', 'Cluster', 'ClientQuota', 'GroupConfig'])
  readonly #synced = Promise.withResolvers<undefined>()
  #brokerImages: readonly BrokerImage[] | undefined
  #cluster: Cluster | undefined

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Begins to watch; resolves once the first state of all kinds is known. */
  async start(store: ResourceStore): Promise<void> {
    this.#watches.push(
      store.watch('Cluster', (event) => this.#onCluster(event)),
      store.watch('ClientQuota', (event) => this.#onQuotas(event)),
      store.watch('GroupConfig', (event) => this.#onGroupConfigs(event)),
      store.watch('Broker', (event) => this.#onBrokers(event)),
      store.watch('Topic', (event) => this.#onTopics(event)),
      store.watch('PartitionSlice', (event) => this.#onSlices(event)),
    )
    await this.#synced.promise
  }

  close(): void {
    for (const watch of this.#watches) watch.close()
    this.#listeners.clear()
  }

  /** Calls `listener` after each change; returns what ends that. */
  subscribe(listener: (delta: MetadataDelta) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves with true as soon as `condition` holds (checked now and after each change), or with false after `timeoutMs`. */
  async waitFor(condition: () => boolean, deadline?: { timers: Timers; timeoutMs: number }): Promise<boolean> {
    if (condition()) return true
    const held = Promise.withResolvers<boolean>()
    const unsubscribe = this.subscribe(() => {
      if (condition()) held.resolve(true)
    })
    const timer = deadline?.timers.schedule(deadline.timeoutMs, () => held.resolve(false))
    try {
      return await held.promise
    } finally {
      unsubscribe()
      timer?.cancel()
    }
  }

  topic(name: string): TopicImage | undefined {
    return this.#topics.get(name)
  }

  topicNameById(topicId: string): string | undefined {
    return this.#topicNamesById.get(topicId)
  }

  /** All topics that have entries, sorted by name. */
  topics(): TopicImage[] {
    return [...this.#topics.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Names of all topics that have entries, in no order. */
  topicNames(): Iterable<string> {
    return this.#topics.keys()
  }

  get topicCount(): number {
    return this.#topics.size
  }

  partition(topicName: string, partition: number): PartitionEntry | undefined {
    return this.#topics.get(topicName)?.partitions.get(partition)
  }

  /** Keys of all entries. */
  keys(): Iterable<string> {
    return this.#entries.keys()
  }

  entry(key: string): PartitionEntry | undefined {
    return this.#entries.get(key)?.entry
  }

  /** The Topic resource of a Kafka topic name. */
  topicResource(name: string): Topic | undefined {
    return this.#resources.get(name)
  }

  /** Whether the deletion of the topic with this id was seen: a Topic with a deletionTimestamp, never mere absence. */
  wasDeleted(topicId: string): boolean {
    return this.#deletedTopicIds.has(topicId)
  }

  /** An existing topic whose name differs from `name` only in '.' against '_'. */
  topicNameColliding(name: string): string | undefined {
    const colliding = this.#topicsByMetricName.get(metricName(name))
    return colliding === name ? undefined : colliding
  }

  /** What users configured for a topic: dotted key to value. */
  topicConfig(name: string): Readonly<Record<string, string>> {
    return this.#resources.get(name)?.spec.config ?? {}
  }

  /** What users configured for a consumer group: dotted key to value, checked when it was set. */
  groupConfig(groupId: string): Readonly<Record<string, string>> {
    return this.#groupConfigs.get(groupId)?.spec.config ?? {}
  }

  /** Ids of the groups that have configs of their own, sorted. */
  configuredGroups(): string[] {
    return [...this.#groupConfigs.keys()].sort()
  }

  get configuredGroupCount(): number {
    return this.#groupConfigs.size
  }

  /** All quotas of clients, in no order. */
  clientQuotas(): Iterable<ClientQuota> {
    return this.#quotas.values()
  }

  /** By the object name of the entity. */
  clientQuota(objectName: string): ClientQuota | undefined {
    return this.#quotas.get(objectName)
  }

  get clientQuotaCount(): number {
    return this.#quotas.size
  }

  /** The Cluster resource; undefined until it exists. */
  get cluster(): Cluster | undefined {
    return this.#cluster
  }

  /** All brokers that have ever registered, sorted by id. */
  brokers(): readonly BrokerImage[] {
    this.#brokerImages ??= [...this.#brokers.values()]
      .map((broker) => ({
        brokerId: broker.spec.brokerId,
        endpoints: broker.status?.endpoints ?? {},
        rack: broker.status?.rack,
        isFenced:
          broker.status?.acknowledged === undefined ||
          broker.status.acknowledged.incarnation !== broker.status.incarnation,
        brokerEpoch: broker.status?.acknowledged?.brokerEpoch ?? -1,
      }))
      .sort((a, b) => a.brokerId - b.brokerId)
    return this.#brokerImages
  }

  /** Brokers that are alive and reachable at `listener`. */
  aliveBrokers(
    listener: string,
  ): { readonly brokerId: number; readonly endpoint: Endpoint; readonly rack: string | undefined }[] {
    const alive = []
    for (const { brokerId, endpoints, rack, isFenced } of this.brokers()) {
      const endpoint = endpoints[listener]
      if (!isFenced && endpoint !== undefined) alive.push({ brokerId, endpoint, rack })
    }
    return alive
  }

  brokerResource(brokerId: number): Broker | undefined {
    return this.#brokers.get(brokerId)
  }

  #onBrokers(event: WatchEvent<'Broker'>): void {
    if (event.type === 'sync') {
      this.#brokers.clear()
      for (const broker of event.items) this.#brokers.set(broker.spec.brokerId, broker)
    } else if (event.type === 'put') this.#brokers.set(event.object.spec.brokerId, event.object)
    else this.#brokers.delete(event.object.spec.brokerId)
    this.#brokerImages = undefined
    this.#changed('Broker', event.type === 'sync', { brokersChanged: true })
  }

  #onCluster(event: WatchEvent<'Cluster'>): void {
    if (event.type === 'sync') this.#cluster = event.items[0]
    else if (event.type === 'put') this.#cluster = event.object
    this.#changed('Cluster', event.type === 'sync', { clusterChanged: true })
  }

  #onQuotas(event: WatchEvent<'ClientQuota'>): void {
    if (event.type === 'sync') {
      this.#quotas.clear()
      for (const quota of event.items) this.#quotas.set(quota.metadata.name, quota)
    } else if (event.type === 'put') this.#quotas.set(event.object.metadata.name, event.object)
    else this.#quotas.delete(event.object.metadata.name)
    this.#changed('ClientQuota', event.type === 'sync', { quotasChanged: true })
  }

  #onGroupConfigs(event: WatchEvent<'GroupConfig'>): void {
    const groups = new Set<string>()
    const put = (config: GroupConfig): void => {
      this.#groupConfigs.set(config.spec.groupId, config)
      groups.add(config.spec.groupId)
    }
    if (event.type === 'sync') {
      for (const groupId of this.#groupConfigs.keys()) groups.add(groupId)
      this.#groupConfigs.clear()
      event.items.forEach(put)
    } else if (event.type === 'put') put(event.object)
    else {
      this.#groupConfigs.delete(event.object.spec.groupId)
      groups.add(event.object.spec.groupId)
    }
    this.#changed('GroupConfig', event.type === 'sync', { groups })
  }

  #onTopics(event: WatchEvent<'Topic'>): void {
    const changed = new Set<string>()
    const put = (topic: Topic): void => {
      const name = topicNameOf(topic)
      if (this.#resources.get(name)?.metadata.resourceVersion === topic.metadata.resourceVersion) return
      this.#resources.set(name, topic)
      changed.add(name)
      if (topic.metadata.deletionTimestamp !== undefined) this.#rememberDeletion(topic.status?.topicId)
    }
    if (event.type === 'sync') {
      const listed = new Set(event.items.map(topicNameOf))
      for (const name of this.#resources.keys()) {
        if (!listed.has(name)) {
          this.#resources.delete(name)
          changed.add(name)
        }
      }
      event.items.forEach(put)
    } else if (event.type === 'put') put(event.object)
    else {
      const name = topicNameOf(event.object)
      // A successor of the same name may already be known; its predecessor's end does not concern it.
      if (this.#resources.get(name)?.metadata.uid === event.object.metadata.uid) {
        this.#resources.delete(name)
        changed.add(name)
      }
    }
    this.#changed('Topic', event.type === 'sync', { topics: changed })
  }

  #rememberDeletion(topicId: string | undefined): void {
    if (topicId === undefined) return
    this.#deletedTopicIds.add(topicId)
    if (this.#deletedTopicIds.size > MAX_REMEMBERED_DELETIONS) {
      for (const oldest of this.#deletedTopicIds) {
        this.#deletedTopicIds.delete(oldest)
        break
      }
    }
  }

  #onSlices(event: WatchEvent<'PartitionSlice'>): void {
    const changed = new Set<string>()
    if (event.type === 'sync') {
      const listed = new Set(event.items.map((slice) => slice.metadata.name))
      for (const name of [...this.#sliceKeys.keys()]) if (!listed.has(name)) this.#replaceSlice(name, {}, changed)
      // Removals come first, so that an entry that moved to another slice while the watch was away is not seen twice.
      for (const slice of event.items) this.#removeMissing(slice, changed)
      for (const slice of event.items) this.#replaceSlice(slice.metadata.name, slice.spec.entries, changed)
    } else if (event.type === 'put') {
      this.#replaceSlice(event.object.metadata.name, event.object.spec.entries, changed)
    } else {
      this.#replaceSlice(event.object.metadata.name, {}, changed)
    }
    this.#changed('PartitionSlice', event.type === 'sync', { partitions: changed })
  }

  #removeMissing(slice: PartitionSlice, changed: Set<string>): void {
    for (const key of [...(this.#sliceKeys.get(slice.metadata.name) ?? [])]) {
      if (slice.spec.entries[key] === undefined) this.#removeEntry(key, slice.metadata.name, changed)
    }
  }

  #replaceSlice(slice: string, entries: Readonly<Record<string, PartitionEntry>>, changed: Set<string>): void {
    for (const key of [...(this.#sliceKeys.get(slice) ?? [])]) {
      if (entries[key] === undefined) this.#removeEntry(key, slice, changed)
    }
    for (const key in entries) {
      const entry = entries[key]
      if (entry !== undefined) this.#putEntry(key, entry, slice, changed)
    }
  }

  #putEntry(key: string, entry: PartitionEntry, slice: string, changed: Set<string>): void {
    const known = this.#entries.get(key)
    if (known !== undefined) {
      if (known.slice !== slice) {
        this.#logger.error({ key, obeyed: known.slice, ignored: slice }, 'a partition is in two slices')
        return
      }
      if (known.entry.topicId === entry.topicId && known.entry.partitionEpoch >= entry.partitionEpoch) return
    }
    const parsed = parsePartitionKey(key)
    if (parsed === undefined) {
      this.#logger.error({ key, slice }, 'ignoring an entry whose key is not <topic>-<partition>')
      return
    }
    if (known !== undefined && known.entry.topicId !== entry.topicId) this.#removeEntry(key, slice, changed)
    this.#entries.set(key, { entry, slice, ...parsed })
    let keys = this.#sliceKeys.get(slice)
    if (keys === undefined) this.#sliceKeys.set(slice, (keys = new Set()))
    keys.add(key)
    let topic = this.#topics.get(parsed.topicName)
    if (topic?.topicId !== entry.topicId) {
      // Entries of a deleted predecessor may still be in another slice; the newest topic id seen names the topic.
      topic = { name: parsed.topicName, topicId: entry.topicId, partitions: new Map() }
      this.#topics.set(parsed.topicName, topic)
      this.#topicsByMetricName.set(metricName(parsed.topicName), parsed.topicName)
      this.#topicNamesById.set(entry.topicId, parsed.topicName)
    }
    topic.partitions.set(parsed.partition, entry)
    changed.add(key)
  }

  #removeEntry(key: string, slice: string, changed: Set<string>): void {
    const known = this.#entries.get(key)
    if (known?.slice !== slice) return
    this.#entries.delete(key)
    const keys = this.#sliceKeys.get(slice)
    keys?.delete(key)
    if (keys?.size === 0) this.#sliceKeys.delete(slice)
    changed.add(key)
    const topic = this.#topics.get(known.topicName)
    if (topic?.topicId === known.entry.topicId) {
      topic.partitions.delete(known.partition)
      if (topic.partitions.size === 0) {
        this.#topics.delete(known.topicName)
        this.#topicsByMetricName.delete(metricName(known.topicName))
      }
    }
    if (this.#topics.get(known.topicName)?.topicId !== known.entry.topicId) {
      this.#topicNamesById.delete(known.entry.topicId)
    }
  }

  #changed(kind: Kind, isSync: boolean, delta: Partial<MetadataDelta>): void {
    if (isSync && this.#unsynced.delete(kind) && this.#unsynced.size === 0) this.#synced.resolve(undefined)
    const none = new Set<string>()
    const whole: MetadataDelta = {
      partitions: delta.partitions ?? none,
      topics: delta.topics ?? none,
      brokersChanged: delta.brokersChanged ?? false,
      clusterChanged: delta.clusterChanged ?? false,
      quotasChanged: delta.quotasChanged ?? false,
      groups: delta.groups ?? none,
    }
    if (isEmpty(whole)) return
    for (const listener of this.#listeners) listener(whole)
  }
}

function isEmpty({ partitions, topics, groups, ...flags }: MetadataDelta): boolean {
  if (partitions.size > 0 || topics.size > 0 || groups.size > 0) return false
  return !flags.brokersChanged && !flags.clusterChanged && !flags.quotasChanged
}

/** Metric names have '_' for '.', so two topics that differ only there can't be told apart. */
function metricName(topicName: string): string {
  return topicName.replaceAll('.', '_')
}
