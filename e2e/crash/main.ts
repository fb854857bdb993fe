/**
 * The crash suite: the broker is killed with SIGKILL again and again, at moments drawn from a seed, while producers
 * write with acks=all, consumers follow, and topics come and go. At the end every promise made is compared with what
 * the logs hold (see ledger.ts and topic-churn.ts), and Kafka's DumpLogSegments judges the files.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { type Random, randomInt, SeededRandom } from '../../common/random.ts'
import { type InteropClient, WorkerClient } from '../interop/client.ts'
import { findClients } from '../interop/install-clients.ts'
import { clientTraits } from '../interop/world.ts'
import { KafkaTools } from '../kafka/tools.ts'
import { type BrokerProcess, chosenBrokerKind } from '../lib/broker.ts'
import { createBroker } from '../lib/create-broker.ts'
import { dumpLogFiles } from '../lib/dump-log.ts'
import { makeRunFolder } from '../lib/paths.ts'
import { MissingRequirementError } from '../lib/requirements.ts'
import { sleep, waitFor } from '../lib/wait.ts'
import { Ledger, partitionName } from './ledger.ts'
import { allTopics, Load, topicArgs } from './load.ts'
import { type CrashOptions, parseOptions, usage } from './options.ts'
import { TopicChurn } from './topic-churn.ts'

/** How many violations are printed. */
const shownViolations = 20

/** How soon after a restart a producer must get an acknowledgement. */
const progressTimeoutMs = 60_000

const leaders = Object.fromEntries(allTopics.map(({ topic, partitions }) => [topic, partitions]))

/** @returns what is wrong; nothing when all promises were kept */
async function runCrashes(options: CrashOptions, folder: string): Promise<string[]> {
  const clients = findClients()
  const tools = await KafkaTools.open()
  const kind = chosenBrokerKind()
  const random = new SeededRandom(options.seed)
  const config = {
    'log.retention.check.interval.ms': '1000',
    'log.segment.delete.delay.ms': '1000',
    // A killed Kafka node is not let in again before its session has run out.
    ...(kind === 'kafka' ? { 'broker.session.timeout.ms': '4000', 'broker.heartbeat.interval.ms': '500' } : {}),
    ...options.settings,
  }
  const broker = await createBroker(kind, tools, { folder, config })
  await broker.start()
  const admin = new WorkerClient(clientTraits.java, 'java', tools.javaArgs('client-worker', [broker.bootstrap]))
  for (const topic of allTopics) await admin.call('createTopic', { ...topic, replicationFactor: 1 })
  const ledger = new Ledger()
  const load = new Load(tools, clients, broker.bootstrap, ledger)
  const churn = new TopicChurn(admin, new SeededRandom(options.seed + 1))
  churn.start()
  try {
    await killAgainAndAgain(options.kills, random, broker, ledger, load, churn)
    await load.finish(120_000)
    await churn.stop()
    await readBack(tools, broker, ledger)
    await admin.close()
    await broker.stop()
    const left = foldersOfDeletedTopics(broker.dataFolder, churn)
    const dumped = await dumpLogFiles(tools, broker.dataFolder)
    const files = [...dumped.counts].map(([ending, count]) => `${count} ${ending}`).join(', ')
    console.log(`acknowledged: ${ledger.acknowledgedCount} records; seen by the follower: ${ledger.seenCount}`)
    console.log(`topics: ${JSON.stringify(churn.counts)}`)
    console.log(`files judged: ${files}`)
    return [...ledger.violations, ...churn.violations, ...left, ...dumped.complaints]
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    load.killAll()
    // What is in the logs now often tells why.
    await readBack(tools, broker, ledger).catch((failed: unknown) => console.error(failed))
    return [...ledger.violations, ...churn.violations, `the run could not go on: ${text}`]
  } finally {
    churn.abandon()
    load.killAll()
    await endEverything(broker, admin)
  }
}

async function killAgainAndAgain(
  kills: number,
  random: Random,
  broker: BrokerProcess,
  ledger: Ledger,
  load: Load,
  churn: TopicChurn,
): Promise<void> {
  const startMs: number[] = []
  let killsWhileStarting = 0
  await waitForProgress(ledger, load)
  for (let kill = 1; kill <= kills; kill++) {
    await sleep(randomInt(random, 100, 2500))
    await broker.kill()
    // Some kills hit a broker that is still recovering.
    if (random.next() < 0.15) {
      const starting = broker.start({ leaders }).then(
        () => undefined,
        () => undefined,
      )
      await sleep(randomInt(random, 20, 400))
      await broker.kill()
      await starting
      killsWhileStarting += 1
    }
    startMs.push(await broker.start({ leaders }))
    churn.noteRestart()
    await waitForProgress(ledger, load)
    if (kill % 10 === 0 || kill === kills) {
      console.log(
        `${kill} kills, ${ledger.acknowledgedCount} records acknowledged, ${ledger.violations.length + churn.violations.length} violations`,
      )
    }
  }
  startMs.sort((a, b) => a - b)
  const at = (share: number): string => (startMs[Math.floor((startMs.length - 1) * share)] ?? 0).toFixed(0)
  console.log(`kills: ${kills}, and ${killsWhileStarting} more while it was starting`)
  console.log(`kill to serving again, start of the process: median ${at(0.5)} ms, longest ${at(1)} ms`)
}

async function waitForProgress(ledger: Ledger, load: Load): Promise<void> {
  const before = ledger.acknowledgedCount
  await waitFor('producers to get acknowledgements again', progressTimeoutMs, () => {
    const dead = load.findDead()
    if (dead !== undefined) throw new Error(dead)
    return ledger.acknowledgedCount > before ? true : undefined
  })
}

async function readBack(tools: KafkaTools, broker: BrokerProcess, ledger: Ledger): Promise<void> {
  const bounds = new Map<string, [start: number, end: number]>()
  const logs = new Map<string, Map<number, { crc: number; producer: string; sequence: number }>>()
  const reader = tools.start('log-reader', [broker.bootstrap, 'all', ...topicArgs(allTopics)], (line) => {
    const [kind, topic = '', partition = '', first, second, producer = '', sequence] = line.split(' ')
    const name = partitionName(topic, partition)
    if (kind === 'l') {
      bounds.set(name, [Number(first), Number(second)])
      logs.set(name, new Map())
    } else {
      logs.get(name)?.set(Number(first), { crc: Number(second), producer, sequence: Number(sequence) })
    }
  })
  const exit = await reader.exit
  if (exit.code !== 0) throw new Error(`reading back ended with ${JSON.stringify(exit)}\n${reader.recentErrors()}`)
  let records = 0
  for (const { topic, partitions } of allTopics) {
    for (let partition = 0; partition < partitions; partition++) {
      const name = partitionName(topic, partition)
      const [start, end] = bounds.get(name) ?? [0, 0]
      const log = logs.get(name) ?? new Map<number, never>()
      records += log.size
      if (end === 0) ledger.violations.push(`${name} is empty`)
      ledger.check(name, start, end, log)
    }
  }
  const removed = [...bounds].filter(([, [start]]) => start > 0).map(([name, [start]]) => `${name} below ${start}`)
  console.log(
    `read back: ${records} records; removed by retention: ${removed.length === 0 ? 'nothing' : removed.join(', ')}`,
  )
  if (removed.length === 0) console.log('(too little was written for retention to remove anything)')
}

/** Folders of deleted topics that are not marked for removal. */
function foldersOfDeletedTopics(dataFolder: string, churn: TopicChurn): string[] {
  return readdirSync(dataFolder)
    .filter((name) => churn.deletedTopics.has(name.replace(/-\d+$/, '')))
    .map((name) => `the folder ${name} of a deleted topic is still there`)
}

async function endEverything(broker: BrokerProcess, admin: InteropClient): Promise<void> {
  await broker.kill().catch(() => undefined)
  await admin.close()
}

async function main(): Promise<number> {
  let options: CrashOptions
  try {
    options = parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`)
    return 2
  }
  const folder = makeRunFolder('crash')
  console.log(`seed ${options.seed}, ${options.kills} kills, ${chosenBrokerKind()}, files in ${folder}`)
  try {
    const violations = await runCrashes(options, join(folder, 'broker'))
    for (const violation of violations.slice(0, shownViolations)) console.error(`violation: ${violation}`)
    if (violations.length > shownViolations) console.error(`... and ${violations.length - shownViolations} more`)
    if (violations.length > 0) console.error(`run again with --seed ${options.seed}; the files are in ${folder}`)
    else if (!options.keep) rmSync(folder, { recursive: true, force: true })
    console.log(violations.length === 0 ? 'all promises kept' : `${violations.length} violations`)
    return violations.length === 0 ? 0 : 1
  } catch (error) {
    console.error(error instanceof MissingRequirementError ? error.message : error)
    console.error(`run again with --seed ${options.seed}; the files are in ${folder}`)
    return 1
  }
}

process.exitCode = await main()
