/**
 * One broker with its ports: the Kafka port and the web port.
 *
 * Start: ports are taken first, so that a clash is told at once; clients that connect wait until the broker serves.
 * Stop: no more requests are taken, those under way are answered, then the broker is closed.
 */
import type { TimerHandle } from '../../common/timers.ts'
import { Broker, clientMemoryBytes, type BrokerDependencies, type BrokerOptions } from './broker.ts'
import { MemoryBudget } from './memory-budget.ts'
import { SocketServer } from './socket-server.ts'
import { WEB_ENDPOINT } from './web/web-endpoint.ts'
import { WebServer } from './web/web-server.ts'

export interface BrokerServerOptions extends BrokerOptions {
  readonly host: string
  /** What clients are told to connect to. */
  readonly advertisedHost: string
  /** 0: any free port. */
  readonly port: number
  readonly httpPort: number
}

/** The one listener of a broker that runs outside of Kubernetes. */
const LISTENER = 'PLAINTEXT'
/** How long connections have to take their last responses when the broker stops. */
const CLOSE_GRACE_MS = 5000
const QUANTILE_WINDOW_MS = 60_000

export class BrokerServer {
  readonly #options: BrokerServerOptions
  readonly #dependencies: BrokerDependencies
  readonly #broker: Broker
  readonly #server: SocketServer
  readonly #web: WebServer
  #quantileTimer: TimerHandle | undefined
  #state: 'starting' | 'ready' | 'stopping' = 'starting'
  #port = 0
  #httpPort = 0

  constructor(options: BrokerServerOptions, dependencies: BrokerDependencies) {
    const { config } = options
    const { clock, timers } = dependencies
    const logger = dependencies.logger.child({ broker: options.brokerId })
    this.#options = options
    this.#dependencies = dependencies
    const broker = new Broker(options, { ...dependencies, logger })
    this.#broker = broker
    const limitBytes = clientMemoryBytes(config)
    const memory = new MemoryBudget(limitBytes, Math.max(limitBytes, config.get('socket.request.max.bytes')))
    this.#server = new SocketServer(broker.processor, memory, clock, timers, logger, {
      host: options.host,
      port: options.port,
      listener: LISTENER,
      maxFrameBytes: config.get('socket.request.max.bytes'),
      maxInFlightRequests: config.get('ottla.connection.max.requests'),
      throttleConnectionMs: (address) => broker.quotas.chargeConnection(address),
      limits: () => ({
        maxConnections: broker.configs.current.get('max.connections'),
        maxConnectionsPerAddress: broker.configs.current.get('max.connections.per.ip'),
      }),
      maxIdleMs: config.get('connections.max.idle.ms'),
    })
    this.#web = new WebServer({
      brokerId: options.brokerId,
      clusterId: options.clusterId,
      version: options.version,
      hosts: [options.host, options.advertisedHost],
      broker,
      groups: broker.groups,
      server: this.#server,
      memory,
      listener: LISTENER,
      clock,
      logger,
      isStarting: () => this.#state === 'starting',
      notReadyReason: () => this.#notReadyReason(),
    })
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
    const host = this.#options.advertisedHost
    await this.#broker.join({
      [LISTENER]: { host, port: this.#port },
      [WEB_ENDPOINT]: { host, port: this.#httpPort },
    })
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
    await this.#broker.close()
    await this.#web.close()
  }

  #notReadyReason(): string | undefined {
    if (this.#state !== 'ready') return this.#state
    if (this.#broker.logs.isOffline) return 'the log directory is offline'
    return this.#dependencies.store.failure?.message
  }

  #rotateQuantiles(): void {
    this.#quantileTimer = this.#dependencies.timers.schedule(QUANTILE_WINDOW_MS, () => {
      this.#broker.requests.rotate()
      this.#rotateQuantiles()
    })
  }
}
