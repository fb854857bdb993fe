/** The programs that write and read while the broker is being killed. */
import { join } from 'node:path'

import type { InstalledClients } from '../interop/install-clients.ts'
import type { KafkaTools } from '../kafka/tools.ts'
import { LongProcess } from '../lib/process.ts'
import { type Ledger, partitionName } from './ledger.ts'
import { verifiableProducer } from './value.ts'

export interface CrashTopic {
  readonly topic: string
  readonly partitions: number
  readonly config: Readonly<Record<string, string>>
}

/** Segments of 1 MiB roll all the time; one topic loses its old segments; one is compressed anew by the broker. */
export const crashTopics: readonly CrashTopic[] = [
  { topic: 'crash-one', partitions: 1, config: {} },
  { topic: 'crash-many', partitions: 6, config: { 'segment.bytes': '1048576', 'index.interval.bytes': '512' } },
  {
    topic: 'crash-retained',
    partitions: 2,
    config: { 'segment.bytes': '1048576', 'retention.bytes': '3145728', 'file.delete.delay.ms': '1000' },
  },
  { topic: 'crash-recompressed', partitions: 1, config: { 'compression.type': 'lz4', 'segment.bytes': '1048576' } },
]

/** Kafka's VerifiableProducer has a topic of its own. */
export const verifiableTopic: CrashTopic = {
  topic: 'crash-verifiable',
  partitions: 2,
  config: { 'segment.bytes': '1048576' },
}

export const allTopics: readonly CrashTopic[] = [...crashTopics, verifiableTopic]

export function topicArgs(topics: readonly CrashTopic[]): string[] {
  return topics.map(({ topic, partitions }) => `${topic}:${partitions}`)
}

const producers = [
  { name: 'java-idempotent', program: 'java', isIdempotent: true, codec: 'lz4', perSecond: 500 },
  { name: 'java-plain', program: 'java', isIdempotent: false, codec: 'none', perSecond: 300 },
  { name: 'librdkafka-idempotent', program: 'librdkafka', isIdempotent: true, codec: 'none', perSecond: 500 },
  { name: 'librdkafka-plain', program: 'librdkafka', isIdempotent: false, codec: 'snappy', perSecond: 300 },
] as const

export class Load {
  readonly #running: { name: string; process: LongProcess }[] = []
  readonly #follower: LongProcess
  readonly #verifiable: LongProcess

  constructor(tools: KafkaTools, clients: InstalledClients, bootstrap: string, ledger: Ledger) {
    for (const { name, program, isIdempotent, codec, perSecond } of producers) {
      ledger.addProducer({ name, isIdempotent, isPersistent: true })
      const args = [bootstrap, name, String(isIdempotent), codec, String(perSecond), ...topicArgs(crashTopics)]
      const onLine = (line: string): void => readProducerLine(ledger, name, line)
      const process =
        program === 'java'
          ? tools.start('crash-producer', args, onLine)
          : new LongProcess(clients.nativeNode, [join(import.meta.dirname, 'librdkafka-producer.mjs'), ...args], {
              env: { OTTLA_E2E_CLIENTS: clients.npmFolder },
              onLine,
            })
      this.#running.push({ name, process })
    }
    // It never tries again, so it is as good as idempotent; but what it was not told may be missing.
    ledger.addProducer({ name: verifiableProducer, isIdempotent: true, isPersistent: false })
    this.#verifiable = tools.start(
      'kafka-verifiable-producer',
      [
        ...['--bootstrap-server', bootstrap, '--topic', verifiableTopic.topic, '--max-messages', '-1'],
        // Keys spread the records over the partitions.
        ...['--throughput', '200', '--acks', '-1', '--repeating-keys', '20'],
      ],
      (line) => readVerifiableLine(ledger, line),
    )
    this.#follower = tools.start('log-reader', [bootstrap, 'follow', ...topicArgs(allTopics)], (line) => {
      const [kind, topic, partition, offset, crc] = line.split(' ')
      if (kind === 'r') ledger.see(partitionName(topic ?? '', partition ?? ''), Number(offset), Number(crc))
    })
  }

  /** A sentence about a program that has ended although nobody told it to. */
  findDead(): string | undefined {
    const all = [
      ...this.#running,
      { name: 'VerifiableProducer', process: this.#verifiable },
      { name: 'follower', process: this.#follower },
    ]
    const dead = all.find(({ process }) => process.exited !== undefined)
    return dead && `${dead.name} has ended: ${JSON.stringify(dead.process.exited)}\n${dead.process.recentErrors()}`
  }

  /** Lets the producers deliver what they have, and ends everything. */
  async finish(timeoutMs: number): Promise<void> {
    const stuck: string[] = []
    await Promise.all(
      this.#running.map(async ({ name, process }) => {
        process.closeInput()
        const timer = setTimeout(() => {
          stuck.push(name)
          process.signal('SIGKILL')
        }, timeoutMs)
        const exit = await process.exit
        clearTimeout(timer)
        if (stuck.includes(name)) console.error(`${name} is stuck: ${process.recentErrors()}`)
        else if (exit.code !== 0) {
          throw new Error(`${name} ended with ${JSON.stringify(exit)}\n${process.recentErrors()}`)
        }
      }),
    )
    await this.#verifiable.stop(10_000)
    this.#follower.closeInput()
    await this.#follower.exit
    if (stuck.length > 0) throw new Error(`${stuck.join()} could not deliver what they had within ${timeoutMs} ms`)
  }

  killAll(): void {
    for (const { process } of this.#running) process.signal('SIGKILL')
    this.#verifiable.signal('SIGKILL')
    this.#follower.signal('SIGKILL')
  }
}

function readProducerLine(ledger: Ledger, name: string, line: string): void {
  const [kind, topic = '', partition = '', number, ...rest] = line.split(' ')
  const where = partitionName(topic, partition)
  if (kind === 'a') ledger.acknowledge(name, where, Number(number), Number(rest[0]))
  else if (kind === 'e') ledger.fail(name, where, Number(number), rest.join(' '))
  else if (kind === 's') ledger.finish(name, where, Number(number))
}

function readVerifiableLine(ledger: Ledger, line: string): void {
  const event = JSON.parse(line) as { name: string; topic: string; partition: number; value: string; offset: number }
  if (event.name !== 'producer_send_success') return
  ledger.acknowledge(verifiableProducer, partitionName(event.topic, event.partition), Number(event.value), event.offset)
}
