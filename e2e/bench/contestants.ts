/** The brokers that are compared: Kafka, and Ottla with flushing as in Kafka and with its default, fsync. */
import { join } from 'node:path'

import { clientTraits } from '../interop/world.ts'
import { WorkerClient } from '../interop/client.ts'
import { type KafkaTools, serverJvmFlags } from '../kafka/tools.ts'
import type { BrokerProcess } from '../lib/broker.ts'
import { createBroker } from '../lib/create-broker.ts'
import { describeFailure, runProgram } from '../lib/process.ts'
import { waitUntilServing } from '../lib/probe.ts'
import type { ContestantName } from './options.ts'

const brokerConfig: Readonly<Record<ContestantName, Readonly<Record<string, string>>>> = {
  kafka: {},
  ottla: { 'log.flush.interval.messages': '9223372036854775807' },
  'ottla-fsync': {},
}

/**
 * Deleted topics free the disk soon, so that one measurement does not pay for the last one; what is to be compacted is
 * compacted soon.
 */
const sharedConfig = { 'log.segment.delete.delay.ms': '1000', 'log.cleaner.backoff.ms': '1000' }

export class Contestant {
  readonly name: ContestantName
  readonly broker: BrokerProcess
  readonly #tools: KafkaTools
  #nextTopic = 1

  private constructor(name: ContestantName, broker: BrokerProcess, tools: KafkaTools) {
    this.name = name
    this.broker = broker
    this.#tools = tools
  }

  /** A broker of its own with an empty data folder, not yet started. */
  static async create(name: ContestantName, tools: KafkaTools, folder: string): Promise<Contestant> {
    const config = { ...sharedConfig, ...brokerConfig[name] }
    const kind = name === 'kafka' ? 'kafka' : 'ottla'
    return new Contestant(name, await createBroker(kind, tools, { folder: join(folder, name), config }), tools)
  }

  /** Makes a topic and waits until all its partitions have leaders. */
  async createTopic(about: string, partitions: number, config: Readonly<Record<string, string>> = {}): Promise<string> {
    const topic = `bench-${about}-${this.#nextTopic++}`
    await this.withAdmin((admin) => admin.call('createTopic', { topic, partitions, replicationFactor: 1, config }))
    await this.waitForLeaders({ [topic]: partitions })
    return topic
  }

  /** Waits until so many partitions of each topic have leaders. */
  async waitForLeaders(leaders: Readonly<Record<string, number>>): Promise<void> {
    await waitUntilServing(this.broker.host, this.broker.port, leaders, 300_000)
  }

  async deleteTopic(topic: string): Promise<void> {
    await this.withAdmin((admin) => admin.call('deleteTopic', { topic }))
  }

  /** A Java admin client for the time of `use`, so that none is there to disturb a measurement. */
  async withAdmin<T>(use: (admin: WorkerClient) => Promise<T>): Promise<T> {
    const args = this.#tools.javaArgs('client-worker', [this.broker.bootstrap])
    const admin = new WorkerClient(clientTraits.java, 'java', args)
    try {
      return await use(admin)
    } finally {
      await admin.close()
    }
  }

  /** Runs one of Kafka's tools against this broker, with the virtual machine's settings that Kafka's scripts use. */
  async runTool(tool: Parameters<KafkaTools['run']>[0], args: readonly string[]): Promise<ToolRun> {
    const javaArgs = this.#tools.javaArgs(tool, args, ['-Xmx512M', ...serverJvmFlags])
    // bash tells the CPU time of what it ran.
    const script = 'TIMEFORMAT="cpu %U %S"; time "$@"'
    const result = await runProgram('bash', ['-c', script, '--', 'java', ...javaArgs], { timeoutMs: 900_000 })
    if (result.status !== 0) throw new Error(describeFailure(tool, args, result))
    const cpu = /cpu ([\d.]+) ([\d.]+)/.exec(result.stderr)
    return { stdout: result.stdout, cpuSeconds: Number(cpu?.[1] ?? 0) + Number(cpu?.[2] ?? 0) }
  }
}

export interface ToolRun {
  readonly stdout: string
  /** What the tool itself used. */
  readonly cpuSeconds: number
}
