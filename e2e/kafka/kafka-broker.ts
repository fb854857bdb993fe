/** Apache Kafka as the broker under test: one node, broker and controller in one process (KRaft). */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { BrokerOptions, BrokerProcess, StartOptions } from '../lib/broker.ts'
import { e2eFolder } from '../lib/paths.ts'
import { waitUntilServing } from '../lib/probe.ts'
import { type ExitStatus, LongProcess } from '../lib/process.ts'
import { type KafkaTools, serverJvmFlags } from './tools.ts'

export class KafkaBroker implements BrokerProcess {
  readonly kind = 'kafka'
  readonly host = '127.0.0.1'
  readonly port: number
  readonly bootstrap: string
  readonly dataFolder: string
  readonly #folder: string
  readonly #tools: KafkaTools
  readonly #config: Readonly<Record<string, string>>
  #process: LongProcess | undefined

  /** Listens on `port` for clients and on the next one as controller. */
  constructor(tools: KafkaTools, options: BrokerOptions, port: number) {
    this.#tools = tools
    this.#folder = options.folder
    this.port = port
    this.bootstrap = `${this.host}:${port}`
    this.dataFolder = join(options.folder, 'data')
    this.#config = options.config ?? {}
    mkdirSync(join(options.folder, 'logs'), { recursive: true })
  }

  get pid(): number {
    return this.#running().pid
  }

  get exit(): Promise<ExitStatus> {
    return this.#running().exit
  }

  async start(options: StartOptions = {}): Promise<number> {
    if (this.#process !== undefined && this.#process.exited === undefined) throw new Error('Kafka runs already')
    const properties = join(this.#folder, 'server.properties')
    writeFileSync(properties, this.#properties())
    if (!existsSync(join(this.dataFolder, 'meta.properties'))) {
      await this.#tools.runOk('kafka-storage', ['format', '-t', clusterId(), '-c', properties])
    }
    const startedMs = performance.now()
    const started = new LongProcess(
      'java',
      [
        '-Xms1G',
        '-Xmx1G',
        ...serverJvmFlags,
        `-Dkafka.logs.dir=${join(this.#folder, 'logs')}`,
        `-Dlog4j2.configurationFile=${join(e2eFolder, 'kafka', 'log4j2-server.properties')}`,
        '-cp',
        join(this.#tools.libFolder, '*'),
        'kafka.Kafka',
        properties,
      ],
      { cwd: this.#folder },
    )
    this.#process = started
    try {
      const timeoutMs = options.timeoutMs ?? 90_000
      await waitUntilServing(this.host, this.port, options.leaders ?? {}, timeoutMs, () => started.exited === undefined)
    } catch (error) {
      throw new Error(`Kafka did not start\n${this.logTail()}`, { cause: error })
    }
    return performance.now() - startedMs
  }

  async stop(): Promise<void> {
    const exit = await this.#running().stop()
    // A Java virtual machine that ends in good order on SIGTERM reports 128 + 15.
    if (exit.code !== 143 && exit.code !== 0) {
      throw new Error(`Kafka ended with ${JSON.stringify(exit)} on SIGTERM\n${this.logTail()}`)
    }
  }

  async kill(): Promise<void> {
    const running = this.#running()
    running.signal('SIGKILL')
    await running.exit
  }

  logTail(): string {
    const log = join(this.#folder, 'logs', 'server.log')
    const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(-30) : []
    return [...lines, this.#process?.recentErrors() ?? ''].join('\n')
  }

  #running(): LongProcess {
    if (this.#process === undefined) throw new Error('Kafka was not started')
    return this.#process
  }

  #properties(): string {
    const settings: Record<string, string> = {
      'process.roles': 'broker,controller',
      'node.id': '1',
      'controller.quorum.voters': `1@${this.host}:${this.port + 1}`,
      'controller.listener.names': 'CONTROLLER',
      listeners: `PLAINTEXT://${this.bootstrap},CONTROLLER://${this.host}:${this.port + 1}`,
      'advertised.listeners': `PLAINTEXT://${this.bootstrap}`,
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
      'inter.broker.listener.name': 'PLAINTEXT',
      'log.dirs': this.dataFolder,
      'offsets.topic.replication.factor': '1',
      'transaction.state.log.replication.factor': '1',
      'transaction.state.log.min.isr': '1',
      'share.coordinator.state.topic.replication.factor': '1',
      'share.coordinator.state.topic.min.isr': '1',
      'group.initial.rebalance.delay.ms': '0',
      ...this.#config,
    }
    return Object.entries(settings)
      .map(([key, value]) => `${key}=${value}\n`)
      .join('')
  }
}

/** 16 random bytes as Kafka prints ids; never with a leading dash, which its tools read as an option. */
function clusterId(): string {
  const text = randomBytes(16).toString('base64url')
  return text.startsWith('-') ? clusterId() : text
}
