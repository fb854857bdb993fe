/**
 * One broker, put together: its data dir, its view of the metadata, its replicas, its Kafka port and its web port.
 *
 * Start: ports are taken first, so that a clash is told at once; clients that connect wait. Logs are loaded and
 * recovered, the incarnation is registered and acknowledged, replicas are opened, and only then requests are answered.
 * Stop: no more requests are taken, those under way are answered, logs are flushed, and the clean-shutdown mark is the
 * last thing written.
 */
import type { Registry } from 'prom-client'
import type { Clock } from '../../common/clock.ts'
import type { Disk } from '../../common/disk.ts'
import type { Logger } from '../../common/logger.ts'
import { randomUuid, type Random } from '../../common/random.ts'
import type { TimerHandle, Timers } from '../../common/timers.ts'
import type { BrokerConfig } from '../../crds/config/resolve.ts'
import { LOCAL_CLUSTER_NAME } from '../../crds/cluster.ts'
import { LOCAL_NAMESPACE } from '../../crds/resource.ts'
import type { ResourceStore } from '../../crds/resource-store.ts'
import { MetadataCache } from '../metadata/metadata-cache.ts'
import { ProducerIdAllocator } from '../metadata/producer-id-allocator.ts'
import { ReplicaManager } from '../replication/replica-manager.ts'
import { logConfigFrom } from '../storage/log-config.ts'
import { LogManager } from '../storage/log-manager.ts'
import { registerBroker } from './broker-lifecycle.ts'
import { createBrokerMetrics } from './broker-metrics.ts'
import type { BrokerContext } from './broker-context.ts'
import { FetchSessionCache } from './fetch-session.ts'
import { createHandlers } from './handlers.ts'
import { MemoryBudget } from './memory-budget.ts'
import { RequestMetrics } from './request-metrics.ts'
import { RequestProcessor } from './request-processor.ts'
import { SocketServer } from './socket-server.ts'
import { TopicAdmin } from './topic-admin.ts'
import { WebServer } from './web-server.ts'

export interface BrokerServerOptions {
  readonly brokerId: number
  readonly clusterId: string
  readonly folder: string
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly httpPort: number
  readonly version: string
  readonly config: BrokerConfig
}

export interface BrokerServerDependencies {
  readonly store: ResourceStore
  readonly disk: Disk
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly logger: Logger
}

/** The one listener of a broker that runs outside of Kubernetes. */
const LISTENER = 'PLAINTEXT'
/** How long connections have to take their last responses when the broker stops. */
const CLOSE_GRACE_MS = 5000
const QUANTILE_WINDOW_MS = 60_000

export class BrokerServer {
  readonly #options: BrokerServerOptions
  readonly #dependencies: BrokerServerDependencies
  readonly #logger: Logger
  readonly #metadata: MetadataCache
  readonly #logs: LogManager
  readonly #replicas: ReplicaManager
  readonly #requests = new RequestMetrics()
  readonly #server: SocketServer
  readonly #web: WebServer
  #quantileTimer: TimerHandle | undefined
  #brokerEpoch = -1
  #state: 'starting' | 'ready' | 'stopping' = 'starting'
  #port = 0
  #httpPort = 0

  constructor(options: BrokerServerOptions, dependencies: BrokerServerDependencies) {
    const { config, brokerId, clusterId } = options
    const { store, clock, timers, random, disk } = dependencies
    this.#options = options
    this.#dependencies = dependencies
    const logger = dependencies.logger.child({ broker: brokerId })
    this.#logger = logger
    const metadata = new MetadataCache(logger)
    this.#metadata = metadata
    this.#logs = new LogManager(
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
        logConfigOf: (topicName) => this.#logConfigOf(topicName),
      },
      {
        onProgress: (log) => this.#replicas.logProgressed(log),
        onFailure: (log) => this.#replicas.logFailed(log),
      },
    )
    const logs = this.#logs
    this.#replicas = new ReplicaManager({
      brokerId,
      metadata,
      logs,
      timers,
      logger,
      logConfigOf: (topicName) => this.#logConfigOf(topicName),
    })
    const fetchSessions = new FetchSessionCache(config.get('max.incremental.fetch.session.cache.slots'), clock, random)
    const context: BrokerContext = {
      brokerId,
      clusterId,
      config,
      metadata,
      replicas: this.#replicas,
      store,
      topics: new TopicAdmin({ store, metadata, config, timers, logger }),
      producerIds: new ProducerIdAllocator(
        store,
        { namespace: LOCAL_NAMESPACE, name: LOCAL_CLUSTER_NAME },
        () => this.#highestProducerId(),
        logger,
      ),
      fetchSessions,
      hasSpaceForProducers: () => !logs.isBelowFloor,
      clock,
      timers,
      logger,
    }
    const memory = new MemoryBudget(memoryLimitBytes(config))
    const processor = new RequestProcessor(createHandlers(context), this.#requests, clock, logger)
    this.#server = new SocketServer(processor, memory, clock, timers, logger, {
      host: options.host,
      port: options.port,
      listener: LISTENER,
      maxFrameBytes: config.get('socket.request.max.bytes'),
      maxInFlightRequests: config.get('ottla.connection.max.requests'),
      maxConnections: config.get('max.connections'),
      maxConnectionsPerAddress: config.get('max.connections.per.ip'),
      maxIdleMs: config.get('connections.max.idle.ms'),
    })
    const metrics: Registry = createBrokerMetrics({
      metadata,
      replicas: this.#replicas,
      logs,
      requests: this.#requests,
      server: this.#server,
      memory,
      fetchSessions,
      listener: LISTENER,
    })
    this.#web = new WebServer({ notReadyReason: () => this.#notReadyReason(), metrics }, logger)
  }

  get port(): number {
    return this.#port
  }

  get httpPort(): number {
    return this.#httpPort
  }

  /** Takes the ports. Errors: Node's (`EADDRINUSE`, `EACCES`, ...). */
  async listen(): Promise<void> {
    this.#port = await this.#server.listen()
    this.#httpPort = await this.#web.listen(this.#options.host, this.#options.httpPort)
  }

  /** Loads the data dir and becomes part of the cluster. After {@link listen}. Errors: DataDirError, StoreError. */
  async join(): Promise<void> {
    const { store, random } = this.#dependencies
    const { brokerId, config } = this.#options
    await this.#logs.open()
    await this.#metadata.start(store)
    this.#brokerEpoch = await registerBroker(
      store,
      this.#metadata,
      {
        brokerId,
        incarnation: randomUuid(random),
        directoryId: this.#logs.directoryId,
        cleanShutdownEpoch: this.#logs.cleanShutdownEpoch,
        endpoints: { [LISTENER]: { host: this.#options.host, port: this.#port } },
        rack: config.get('broker.rack') ?? undefined,
        version: this.#options.version,
        highestProducerId: this.#logs.highestProducerId,
      },
      this.#logger,
    )
    await this.#replicas.start(this.#brokerEpoch)
  }

  /** Begins to answer clients. After {@link join}. */
  serve(): void {
    this.#state = 'ready'
    this.#server.serve()
    this.#rotateQuantiles()
  }

  /** Stops in order; safe at any time after construction. */
  async close(): Promise<void> {
    this.#state = 'stopping'
    this.#quantileTimer?.cancel()
    await this.#server.close(CLOSE_GRACE_MS)
    this.#replicas.close()
    this.#metadata.close()
    await this.#logs.close({ brokerEpoch: this.#brokerEpoch })
    await this.#web.close()
  }

  #logConfigOf(topicName: string): ReturnType<typeof logConfigFrom> {
    const topic = this.#options.config.topic(this.#metadata.topicConfig(topicName))
    return logConfigFrom((key) => topic.text(key))
  }

  #highestProducerId(): number {
    let highest = this.#logs.highestProducerId
    for (const { brokerId } of this.#metadata.brokers()) {
      highest = Math.max(highest, this.#metadata.brokerResource(brokerId)?.status?.highestProducerId ?? -1)
    }
    return highest
  }

  #notReadyReason(): string | undefined {
    if (this.#state !== 'ready') return this.#state
    return this.#logs.isOffline ? 'the log directory is offline' : undefined
  }

  #rotateQuantiles(): void {
    this.#quantileTimer = this.#dependencies.timers.schedule(QUANTILE_WINDOW_MS, () => {
      this.#requests.rotate()
      this.#rotateQuantiles()
    })
  }
}

function memoryLimitBytes(config: BrokerConfig): number {
  const limitBytes = config.get('queued.max.request.bytes')
  return limitBytes < 0 ? Infinity : limitBytes
}
