/**
 * Measures Ottla and Apache Kafka side by side, in one run, with Kafka's own clients and tools; prints a Markdown table
 * (for docs/performance.md) and keeps every measurement as a line of JSON in e2e/.cache/bench/.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { KafkaTools } from '../kafka/tools.ts'
import { kafkaVersion } from '../kafka/install.ts'
import { e2eFolder, makeRunFolder } from '../lib/paths.ts'
import { MissingRequirementError, requireProgram } from '../lib/requirements.ts'
import { compaction } from './compaction.ts'
import { Contestant } from './contestants.ts'
import { describeMachine } from './machine.ts'
import { Recorder } from './measure.ts'
import { type BenchOptions, parseOptions, type Part, usage } from './options.ts'
import {
  type Bench,
  consume,
  endToEnd,
  manyPartitions,
  produce,
  recovery,
  restingMemory,
  startup,
  warmUp,
} from './parts.ts'
import { markdownTable } from './report.ts'

const parts: Readonly<Record<Part, (bench: Bench) => Promise<void>>> = {
  produce,
  consume,
  e2e: endToEnd,
  startup,
  recovery,
  memory: restingMemory,
  partitions: manyPartitions,
  compaction,
}

async function runBench(options: BenchOptions): Promise<void> {
  requireProgram('bash', 'it tells the CPU time of the tools')
  const tools = await KafkaTools.open()
  const folder = makeRunFolder('bench')
  const results = join(e2eFolder, '.cache', 'bench')
  mkdirSync(results, { recursive: true })
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '')
  const recorder = new Recorder(join(results, `${stamp}.jsonl`), options.idleLimitMs)
  const running: Contestant[] = []
  try {
    for (const name of options.contestants) {
      const contestant = await Contestant.create(name, tools, folder)
      await contestant.broker.start()
      running.push(contestant)
    }
    const throughputParts: readonly Part[] = ['produce', 'consume', 'e2e']
    if (options.parts.some((part) => throughputParts.includes(part))) {
      await warmUp({ options, recorder, folder, running })
    }
    for (const part of options.parts) await parts[part]({ options, recorder, folder, running })
  } finally {
    for (const { broker } of running) await broker.kill().catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  }
  const report = [
    `Apache Kafka ${kafkaVersion()} and Ottla in turn, ${options.rounds} rounds, medians; ratios are to Kafka.`,
    await describeMachine(),
    '',
    markdownTable(recorder.measurements, options.contestants),
    '',
    disturbanceNote(recorder),
  ].join('\n')
  writeFileSync(join(results, `${stamp}.md`), report)
  console.log(report)
  console.error(`every measurement: e2e/.cache/bench/${stamp}.jsonl`)
}

function disturbanceNote(recorder: Recorder): string {
  const disturbed = recorder.measurements.filter((one) => one.isDisturbed).length
  return disturbed === 0
    ? 'No measurement was disturbed by other work on the machine.'
    : `${disturbed} of ${recorder.measurements.length} measurements were disturbed by other work on the machine.`
}

async function main(): Promise<number> {
  let options: BenchOptions
  try {
    options = parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`)
    return 2
  }
  try {
    await runBench(options)
    return 0
  } catch (error) {
    console.error(error instanceof MissingRequirementError ? error.message : error)
    return 1
  }
}

process.exitCode = await main()
