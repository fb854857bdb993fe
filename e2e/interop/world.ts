/** What one run of the interop suite shares: one broker, all clients, and what the log files must show at the end. */
import { join } from 'node:path'
import { mkdirSync } from 'node:fs'

import { type BrokerProcess, chosenBrokerKind } from '../lib/broker.ts'
import { createBroker } from '../lib/create-broker.ts'
import { makeRunFolder } from '../lib/paths.ts'
import { KafkaTools } from '../kafka/tools.ts'
import { type ClientTraits, type Codec, type CreateTopicRequest, type InteropClient, WorkerClient } from './client.ts'
import { findClients, type InstalledClients } from './install-clients.ts'
import { KcatClient } from './kcat.ts'

export const clientNames = [
  'java',
  'kafkajs',
  '@platformatic/kafka',
  '@confluentinc/kafka-javascript',
  'confluent-kafka-python',
  'kcat',
] as const

export type ClientName = (typeof clientNames)[number]

/** What each client can be asked; see {@link ClientTraits}. */
export const clientTraits: Readonly<Record<ClientName, ClientTraits>> = {
  java: traits('java', {}),
  // kafkajs fails in its own encoder on a null header value.
  kafkajs: traits('kafkajs', { nullHeaderValues: false, maxTimestamp: false }),
  '@platformatic/kafka': traits('@platformatic/kafka', { validateOnly: false }),
  // Its binding sends empty keys and values as null, and gives null header values as empty ones.
  '@confluentinc/kafka-javascript': traits('@confluentinc/kafka-javascript', {
    nullHeaderValues: false,
    readsNullHeaderValues: false,
    emptyKeys: false,
    emptyValues: false,
    manualAssignments: false,
    validateOnly: false,
    configs: false,
  }),
  'confluent-kafka-python': traits('confluent-kafka-python', { maxTimestamp: false }),
  kcat: new KcatClient('', '', '').traits,
}

function traits(name: string, less: Partial<ClientTraits>): ClientTraits {
  return {
    name,
    nullHeaderValues: true,
    readsNullHeaderValues: true,
    emptyKeys: true,
    emptyValues: true,
    idempotence: true,
    admin: true,
    manualAssignments: true,
    validateOnly: true,
    configs: true,
    maxTimestamp: true,
    ...less,
  }
}

export class World {
  readonly tools: KafkaTools
  readonly broker: BrokerProcess
  readonly clients: Readonly<Record<ClientName, InteropClient>>
  readonly installed: InstalledClients
  /** A folder for the run's own files. */
  readonly scratchFolder: string
  /** Codecs that batches of these topics must have on disk (`none`: not compressed): all of them, or at least one. */
  readonly expectedCodecs = new Map<string, { readonly codec: Codec; readonly isAll: boolean }>()

  private constructor(tools: KafkaTools, broker: BrokerProcess, installed: InstalledClients, scratchFolder: string) {
    this.tools = tools
    this.broker = broker
    this.installed = installed
    this.scratchFolder = scratchFolder
    this.clients = startClients(tools, installed, broker.bootstrap, scratchFolder)
  }

  static async open(): Promise<World> {
    const installed = findClients()
    const tools = await KafkaTools.open()
    const folder = makeRunFolder('interop')
    const config = { 'auto.create.topics.enable': 'true', 'log.retention.check.interval.ms': '5000' }
    const broker = await createBroker(chosenBrokerKind(), tools, { folder: join(folder, 'broker'), config })
    await broker.start()
    const scratchFolder = join(folder, 'scratch')
    mkdirSync(scratchFolder)
    console.log(`  target: ${broker.kind} at ${broker.bootstrap}, files in ${folder}`)
    return new World(tools, broker, installed, scratchFolder)
  }

  get java(): InteropClient {
    return this.clients.java
  }

  /** Makes a topic by the Java client and gives its name. */
  async createTopic(topic: string, request: Omit<CreateTopicRequest, 'topic'> = {}): Promise<string> {
    await this.java.call('createTopic', { partitions: 1, ...request, topic })
    return topic
  }

  async closeClients(): Promise<void> {
    await Promise.all(Object.values(this.clients).map((client) => client.close()))
  }
}

/** Starts one program for each client. */
export function startClients(
  tools: KafkaTools,
  installed: InstalledClients,
  bootstrap: string,
  scratchFolder: string,
): Readonly<Record<ClientName, InteropClient>> {
  const folder = join(import.meta.dirname, 'clients')
  const env = { OTTLA_E2E_CLIENTS: installed.npmFolder }
  const script = (name: ClientName, node: string, file: string): InteropClient =>
    new WorkerClient(clientTraits[name], node, [join(folder, file), bootstrap], env)
  return {
    java: new WorkerClient(clientTraits.java, 'java', tools.javaArgs('client-worker', [bootstrap])),
    kafkajs: script('kafkajs', installed.node, 'kafkajs.mjs'),
    '@platformatic/kafka': script('@platformatic/kafka', installed.node, 'platformatic.mjs'),
    '@confluentinc/kafka-javascript': script(
      '@confluentinc/kafka-javascript',
      installed.nativeNode,
      'confluent-javascript.mjs',
    ),
    'confluent-kafka-python': new WorkerClient(clientTraits['confluent-kafka-python'], installed.python, [
      join(folder, 'confluent_python.py'),
      bootstrap,
    ]),
    kcat: new KcatClient(installed.kcat, bootstrap, scratchFolder),
  }
}

let current: World | undefined

/** The run's world; there between the root hooks. */
export function world(): World {
  if (current === undefined) throw new Error('the suite has not started its broker')
  return current
}

export function setWorld(next: World | undefined): void {
  current = next
}

let nextTopic = 0

/** A topic name that no other test of this run uses. */
export function topicName(about: string): string {
  nextTopic += 1
  return `${about.replaceAll(/[^a-z0-9.-]+/gi, '-')}-${nextTopic}`
}
