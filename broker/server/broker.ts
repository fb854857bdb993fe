/**
 * A broker without its ports: its data dir, its view of the metadata, its replicas, and what handles its requests.
 *
 * Start: logs are loaded and recovered, the incarnation is registered and acknowledged, and replicas are opened; only then
 * requests may be handled. Stop: replicas give up, logs are flushed, and the clean-shutdown mark is the last thing written.
 */
import type { Clock } from '../../common/clock.ts'
import type { Disk } from '../../common/disk.ts'
import type { Logger } from '../../common/logger.ts'
import { randomUuid, type Random } from '../../common/random.ts'
import type { Timers } from '../../common/timers.ts'
import type { Endpoint } from '../../crds/broker.ts'
import { LiveConfig } from '../../crds/config/live-config.ts'
import type { BrokerConfig } from '../../crds/config/resolve.ts'
import { LOCAL_CLUSTER_NAME } from '../../crds/cluster.ts'
import { LOCAL_NAMESPACE } from '../../crds/resource.ts'
import type { ResourceStore } from '../../crds/resource-store.ts'
import { GroupCoordinator } from '../coordinator/group/group-coordinator.ts'
import { MetadataCache } from '../metadata/metadata-cache.ts'
import { ProducerIdAllocator } from '../metadata/producer-id-allocator.ts'
import { ReplicaManager } from '../replication/replica-manager.ts'
import { logConfigFrom } from '../storage/log-config.ts'
import type { CleanerConfig } from '../storage/log-cleaner/cleaner-config.ts'
import { LogManager } from '../storage/log-manager.ts'
import type { ApiHandler } from './api-handler.ts'
import { registerBroker } from './broker-lifecycle.ts'
import type { BrokerContext } from './broker-context.ts'
import { ConfigAdmin } from './config-admin.ts'
import { FetchSessionCache } from './fetch-session.ts'
import { createHandlers } from './handlers.ts'
import { ClientQuotas } from './quota/client-quotas.ts'
import { QuotaAdmin } from './quota/quota-admin.ts'
import { RequestMetrics } from './request-metrics.ts'
import { RequestProcessor } from './request-processor.ts'
import { TopicAdmin } from './topic-admin.ts'

export interface BrokerOptions {
  readonly brokerId: number
  readonly clusterId: string
  readonly folder: string
  readonly version: string
  /** What is set at the start; the metadata store may hold more. */
  readonly config: BrokerConfig
}

export interface BrokerDependencies {
  readonly store: ResourceStore
  readonly disk: Disk
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly logger: Logger
}

export class Broker {
  readonly configs: LiveConfig
  readonly metadata: MetadataCache
  readonly quotas: ClientQuotas
  readonly logs: LogManager
  readonly replicas: ReplicaManager
  readonly groups: GroupCoordinator
  readonly fetchSessions: FetchSessionCache
  readonly requests = new RequestMetrics()
  readonly handlers: readonly ApiHandler[]
  readonly processor: RequestProcessor
  readonly #options: BrokerOptions
  readonly #dependencies: BrokerDependencies
  #brokerEpoch = -1

  constructor(options: BrokerOptions, dependencies: BrokerDependencies) {
    const { config, brokerId, clusterId } = options
    const { store, clock, timers, random, disk, logger } = dependencies
    this.#options = options
    this.#dependencies = dependencies
    const metadata = new MetadataCache(logger)
    this.metadata = metadata
    const configs = new LiveConfig(config, logger)
    this.configs = configs
    this.quotas = new ClientQuotas(metadata, clock, {
      samples: config.get('quota.window.num'),
      windowMs: config.get('quota.window.size.seconds') * 1000,
    })
    const logConfigOf = (topicName: string): ReturnType<typeof logConfigFrom> => {
      const topic = configs.current.topic(metadata.topicConfig(topicName))
      return logConfigFrom((key) => topic.text(key))
    }
    const logs = new LogManager(
      { disk, clock, timers, random, logger },
      {
        folder: options.folder,
        clusterId,
        nodeId: brokerId,
        retentionCheckIntervalMs: config.get('log.retention.check.interval.ms'),
        recoveryPointIntervalMs: config.get('log.flush.offset.checkpoint.interval.ms'),
        logStartIntervalMs: config.get('log.flush.start.offset.checkpoint.interval.ms'),
        producerIdExpirationMs: config.get('producer.id.expiration.ms'),
        freeSpaceFloorBytes: config.get('ottla.disk.free.bytes.min'),
        logConfigOf,
        cleanerConfig: () => cleanerConfigFrom(configs.current),
      },
      {
        onProgress: (log) => this.replicas.logProgressed(log),
        onFailure: (log) => this.replicas.logFailed(log),
      },
    )
    this.logs = logs
    this.replicas = new ReplicaManager({
      brokerId,
      metadata,
      logs,
      timers,
      logger,
      maxReadBytes: clientMemoryBytes(config),
      logConfigOf,
    })
    this.groups = new GroupCoordinator({
      metadata,
      replicas: this.replicas,
      config: () => configs.current,
      clock,
      timers,
      random,
      logger,
    })
    this.fetchSessions = new FetchSessionCache(config.get('max.incremental.fetch.session.cache.slots'), clock, random)
    const cluster = { namespace: LOCAL_NAMESPACE, name: LOCAL_CLUSTER_NAME }
    const topics = new TopicAdmin({ store, metadata, replicas: this.replicas, configs, timers, logger })
    const context: BrokerContext = {
      brokerId,
      clusterId,
      get config() {
        return configs.current
      },
      configs,
      metadata,
      replicas: this.replicas,
      groups: this.groups,
      store,
      topics,
      configAdmin: new ConfigAdmin({ brokerId, store, cluster, metadata, configs, topics, timers }),
      quotaAdmin: new QuotaAdmin({ store, metadata, timers }),
      quotas: this.quotas,
      producerIds: new ProducerIdAllocator(store, cluster, () => this.#highestProducerId(), logger),
      fetchSessions: this.fetchSessions,
      logDir: {
        path: options.folder,
        isOffline: () => logs.isOffline,
        space: () => disk.space(options.folder),
      },
      hasSpaceForProducers: () => !logs.isBelowFloor,
      clock,
      timers,
      logger,
    }
    metadata.subscribe(({ clusterChanged, brokersChanged }) => {
      if (clusterChanged || brokersChanged) this.#takeDynamicConfigs()
    })
    configs.subscribe(() => this.replicas.updateConfigs())
    this.handlers = createHandlers(context)
    this.processor = new RequestProcessor(this.handlers, this.requests, clock, logger, this.quotas)
  }

  /** Loads the data dir and becomes part of the cluster, reachable at `endpoints` (by listener). Errors: DataDirError, StoreError. */
  async join(endpoints: Readonly<Record<string, Endpoint>>): Promise<void> {
    const { store, random, logger } = this.#dependencies
    const { brokerId, config, version } = this.#options
    await this.logs.open()
    await this.metadata.start(store)
    this.#brokerEpoch = await registerBroker(
      store,
      this.metadata,
      {
        brokerId,
        incarnation: randomUuid(random),
        directoryId: this.logs.directoryId,
        cleanShutdownEpoch: this.logs.cleanShutdownEpoch,
        endpoints,
        rack: config.get('broker.rack') ?? undefined,
        version,
        highestProducerId: this.logs.highestProducerId,
      },
      logger,
    )
    this.groups.start()
    await this.replicas.start(this.#brokerEpoch)
  }

  /** Stops in order; safe at any time after construction. */
  async close(): Promise<void> {
    this.groups.close()
    this.replicas.close()
    this.metadata.close()
    await this.logs.close({ brokerEpoch: this.#brokerEpoch })
  }

  #takeDynamicConfigs(): void {
    const { metadata, configs } = this
    configs.update({
      dynamicBroker: metadata.brokerResource(this.#options.brokerId)?.spec.config ?? {},
      dynamicDefault: metadata.cluster?.spec.config ?? {},
    })
  }

  #highestProducerId(): number {
    let highest = this.logs.highestProducerId
    for (const { brokerId } of this.metadata.brokers()) {
      highest = Math.max(highest, this.metadata.brokerResource(brokerId)?.status?.highestProducerId ?? -1)
    }
    return highest
  }
}

function cleanerConfigFrom(config: BrokerConfig): CleanerConfig {
  return {
    isEnabled: config.get('log.cleaner.enable'),
    dedupeBufferBytes: config.get('log.cleaner.dedupe.buffer.size'),
    maxLoad: config.get('log.cleaner.io.buffer.load.factor'),
    ioBufferBytes: config.get('log.cleaner.io.buffer.size'),
    maxBytesPerSecond: config.get('log.cleaner.io.max.bytes.per.second'),
    backoffMs: config.get('log.cleaner.backoff.ms'),
  }
}

/** What clients' requests, and what is read for them, may hold of the memory; each of the two. */
export function clientMemoryBytes(config: BrokerConfig): number {
  const limitBytes = config.get('queued.max.request.bytes')
  return limitBytes < 0 ? Infinity : limitBytes
}
