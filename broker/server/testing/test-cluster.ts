/**
 * A whole cluster of one broker in memory: the real controllers, store, log and handlers on a disk in memory, without
 * sockets. Requests go in and responses come out as frames, so that the codec is part of what is tested.
 */
import { releaseAll } from '../../../common/block-pool.ts'
import { systemClock } from '../../../common/clock.ts'
import { silentLogger, type Logger } from '../../../common/logger.ts'
import { SeededRandom } from '../../../common/random.ts'
import { MemoryDisk } from '../../../common/testing/memory-disk.ts'
import { TimingWheel } from '../../../common/timing-wheel.ts'
import { BrokerConfig } from '../../../crds/config/resolve.ts'
import { LOCAL_CLUSTER_NAME } from '../../../crds/cluster.ts'
import { openLocalStore, type LocalStore } from '../../../crds/local-store/local-store.ts'
import { LOCAL_NAMESPACE } from '../../../crds/resource.ts'
import { startControllers, type Controllers } from '../../../operator/controllers/controller-manager.ts'
import { decodeResponse, encodeRequest } from '../../protocol/frame.ts'
import { createTopicsRequest, createTopicsResponse } from '../../protocol/messages/19-create-topics.ts'
import type { Decoded, Input, Message } from '../../protocol/schema.ts'
import { Broker } from '../broker.ts'
import { RequestMetrics } from '../request-metrics.ts'
import { RequestProcessor, type ConnectionInfo } from '../request-processor.ts'

export const TEST_LISTENER = 'PLAINTEXT'

/** What a client's connection is to the request processor. */
export class TestConnection implements ConnectionInfo {
  readonly remoteAddress = '127.0.0.1'
  readonly #listeners = new Set<() => void>()
  isClosed = false
  failure: string | undefined
  /** Of all throttlings together. */
  throttledMs = 0

  onClose(listener: () => void): void {
    this.#listeners.add(listener)
  }

  offClose(listener: () => void): void {
    this.#listeners.delete(listener)
  }

  throttle(timeMs: number): void {
    this.throttledMs += timeMs
  }

  fail(reason: string): void {
    this.failure = reason
    this.close()
  }

  close(): void {
    this.isClosed = true
    for (const listener of this.#listeners) listener()
  }
}

export interface TestClusterOptions {
  readonly disk?: MemoryDisk
  readonly config?: Readonly<Record<string, string>>
  readonly logger?: Logger
}

export class TestCluster {
  readonly broker: Broker
  readonly store: LocalStore
  readonly disk: MemoryDisk
  readonly connection = new TestConnection()
  readonly #controllers: Controllers
  readonly #timers: TimingWheel
  #correlationId = 0

  private constructor(
    broker: Broker,
    store: LocalStore,
    disk: MemoryDisk,
    controllers: Controllers,
    timers: TimingWheel,
  ) {
    this.broker = broker
    this.store = store
    this.disk = disk
    this.#controllers = controllers
    this.#timers = timers
  }

  static async start({
    disk = new MemoryDisk(),
    config = {},
    logger = silentLogger,
  }: TestClusterOptions = {}): Promise<TestCluster> {
    const timers = new TimingWheel(systemClock)
    const dependencies = { disk, clock: systemClock, timers, random: new SeededRandom(11), logger }
    const brokerConfig = new BrokerConfig({ staticBroker: config })
    const store = await openLocalStore({ ...dependencies, folder: '/data/metadata' })
    const ref = { namespace: LOCAL_NAMESPACE, name: LOCAL_CLUSTER_NAME }
    if ((await store.get('Cluster', ref)) === undefined) {
      const spec = { clusterId: 'Cluster-0', brokers: 1, config: {}, nextProducerId: 0 }
      await store.create({ kind: 'Cluster', metadata: ref, spec })
    }
    const controllers = startControllers({ ...dependencies, store, config: brokerConfig })
    const broker = new Broker(
      { brokerId: 0, clusterId: 'Cluster-0', folder: '/data/broker-0', version: '0', config: brokerConfig },
      { ...dependencies, store },
    )
    await broker.join({ [TEST_LISTENER]: { host: 'broker-0.test', port: 9092 } })
    return new TestCluster(broker, store, disk, controllers, timers)
  }

  async close(): Promise<void> {
    await this.broker.close()
    await this.#controllers.close()
    await this.store.close()
    this.#timers.close()
  }

  /** For a cluster whose process or machine the test has ended: nothing of it runs on. */
  abandon(): void {
    this.#timers.close()
  }

  /** Sends a request and resolves with its response; null where there is none (Produce with acks=0). */
  async call<Request extends Message, Response extends Message>(
    [request, response]: readonly [Request, Response],
    version: number,
    body: Input<Request>,
    connection = this.connection,
  ): Promise<Decoded<Response>> {
    const answer = await this.#send(request, version, body, connection)
    if (answer === null) throw new Error(`${request.name} v${version} was not answered`)
    return decodeResponse(response, version, answer)
  }

  /** As {@link call}, but the handler throws an error that nobody foresaw. */
  async callFailing(messages: readonly [Message, Message], version: number, body: object): Promise<unknown> {
    const handlers = this.broker.handlers.map((handler) => ({
      ...handler,
      handle: () => {
        throw new Error('unforeseen')
      },
    }))
    const processor = new RequestProcessor(handlers, new RequestMetrics(), systemClock, silentLogger)
    const answer = await this.#send(messages[0], version, body, new TestConnection(), processor)
    return answer === null ? null : decodeResponse(messages[1], version, answer)
  }

  /** Sends a request that gets no response. */
  async send(request: Message, version: number, body: object, connection = this.connection): Promise<void> {
    const answer = await this.#send(request, version, body, connection)
    if (answer !== null) throw new Error(`${request.name} v${version} was answered`)
  }

  async createTopic(
    name: string,
    { partitions = 1, configs = {} }: { partitions?: number; configs?: Record<string, string> } = {},
  ): Promise<string> {
    const { topics } = await this.call([createTopicsRequest, createTopicsResponse], 7, {
      topics: [
        {
          name,
          numPartitions: partitions,
          replicationFactor: -1,
          configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
        },
      ],
      timeoutMs: 10_000,
    })
    const [created] = topics
    if (created?.errorCode !== 0)
      throw new Error(`topic ${name}: ${created?.errorCode ?? ''} ${created?.errorMessage ?? ''}`)
    return created.topicId
  }

  async #send(
    request: Message,
    version: number,
    body: object,
    connection: TestConnection,
    processor = this.broker.processor,
  ): Promise<Buffer | null> {
    const frame = Buffer.concat(encodeRequest(request, version, ++this.#correlationId, 'test', body)).subarray(4)
    const { promise, resolve } = Promise.withResolvers<Buffer | null>()
    const outcome = processor.process(frame, connection, TEST_LISTENER, (buffers, blocks) => {
      resolve(buffers === null ? null : Buffer.concat(buffers).subarray(4))
      releaseAll(blocks)
    })
    // As on a real connection: the memory of a request is used again as soon as its handler was called.
    frame.fill(0xee)
    if (typeof outcome === 'string') throw new Error(outcome)
    return promise
  }
}
