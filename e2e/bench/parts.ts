/** What is measured, one function a part. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { SeededRandom } from '../../common/random.ts'
import { sleep } from '../lib/wait.ts'
import type { Contestant } from './contestants.ts'
import { processCpuSeconds, residentBytes } from './machine.ts'
import type { Measurement, Metric, Outcome, Recorder } from './measure.ts'
import type { BenchOptions } from './options.ts'

export interface Bench {
  readonly options: BenchOptions
  readonly recorder: Recorder
  /** For payload files. */
  readonly folder: string
  /** The contestants, as they are wanted: running. */
  readonly running: readonly Contestant[]
}

const throughput: Metric = { name: 'throughput', unit: 'MB/s', better: 'higher' }
const brokerCpu: Metric = { name: 'broker CPU', unit: 's/GB', better: 'lower' }
const latencyP99: Metric = { name: 'latency p99', unit: 'ms', better: 'lower' }
const time: Metric = { name: 'time', unit: 's', better: 'lower' }
const memory: Metric = { name: 'resident memory', unit: 'MB', better: 'lower' }

const partitionCount = 6

/** Work that is not measured, so that no broker is judged by code that its virtual machine has not compiled yet. */
export async function warmUp(bench: Bench): Promise<void> {
  for (const contestant of bench.running) {
    const topic = await contestant.createTopic('warm-up', partitionCount)
    const count = recordCount(bench, 100)
    await contestant.runTool('kafka-producer-perf-test', produceArgs(bench, contestant, topic, 100, 16, 'all', count))
    await contestant.runTool('partition-consumer', [contestant.broker.bootstrap, topic, String(count)])
    await contestant.deleteTopic(topic)
  }
}

/** Kafka's ProducerPerformance with ready-made payloads, so that the client's own work hides less of the broker's. */
export async function produce(bench: Bench): Promise<void> {
  for (const recordBytes of [100, 1024]) {
    for (const batchKib of [16, 64]) {
      for (const acks of ['1', 'all']) {
        const count = recordCount(bench, recordBytes)
        const what = `produce ${recordBytes} B, batches of ${batchKib} KiB, acks=${acks}`
        await bench.recorder.inTurn('produce', what, bench.options.rounds, bench.running, (contestant) =>
          produceOnce(bench, contestant, recordBytes, batchKib, acks, count),
        )
      }
    }
  }
}

async function produceOnce(
  bench: Bench,
  contestant: Contestant,
  recordBytes: number,
  batchKib: number,
  acks: string,
  count: number,
): Promise<Outcome> {
  const topic = await contestant.createTopic('produce', partitionCount)
  const before = processCpuSeconds(contestant.broker.pid)
  const { stdout, cpuSeconds } = await contestant.runTool(
    'kafka-producer-perf-test',
    produceArgs(bench, contestant, topic, recordBytes, batchKib, acks, count),
  )
  const used = processCpuSeconds(contestant.broker.pid) - before
  await contestant.deleteTopic(topic)
  const summary = parseProducerPerformance(stdout)
  return {
    toolCpuSeconds: cpuSeconds,
    metrics: [
      { ...throughput, value: summary.mbPerSecond },
      { ...brokerCpu, value: used / ((count * recordBytes) / 1e9) },
      { ...latencyP99, value: summary.p99Ms },
    ],
  }
}

function produceArgs(
  bench: Bench,
  contestant: Contestant,
  topic: string,
  recordBytes: number,
  batchKib: number,
  acks: string,
  count: number,
): string[] {
  const properties = [`acks=${acks}`, `batch.size=${batchKib * 1024}`, ...(batchKib > 16 ? ['linger.ms=10'] : [])]
  return [
    ...['--bootstrap-server', contestant.broker.bootstrap, '--topic', topic, '--num-records', String(count)],
    ...['--payload-file', payloadFile(bench, recordBytes), '--throughput', '-1'],
    ...['--warmup-records', String(Math.floor(count * 0.2))],
    ...properties.flatMap((property) => ['--command-property', property]),
  ]
}

/** Reads a topic from the start with the Java client, by partition (ConsumerPerformance needs a group). */
export async function consume(bench: Bench): Promise<void> {
  for (const recordBytes of [100, 1024]) {
    const count = recordCount(bench, recordBytes) * (bench.options.quick ? 1 : 2)
    const topics = new Map<Contestant, string>()
    for (const contestant of bench.running) {
      const topic = await contestant.createTopic('consume', partitionCount)
      await contestant.runTool(
        'kafka-producer-perf-test',
        produceArgs(bench, contestant, topic, recordBytes, 64, 'all', count),
      )
      topics.set(contestant, topic)
    }
    const what = `consume ${recordBytes} B`
    await bench.recorder.inTurn('consume', what, bench.options.rounds, bench.running, async (contestant) => {
      const before = processCpuSeconds(contestant.broker.pid)
      const args = [contestant.broker.bootstrap, topics.get(contestant) ?? '', String(count)]
      const { stdout, cpuSeconds } = await contestant.runTool('partition-consumer', args)
      const used = processCpuSeconds(contestant.broker.pid) - before
      const { bytes, seconds } = JSON.parse(stdout) as { bytes: number; seconds: number }
      return {
        toolCpuSeconds: cpuSeconds,
        metrics: [
          // As ProducerPerformance counts them.
          { ...throughput, value: bytes / 1024 ** 2 / seconds },
          { ...brokerCpu, value: used / (bytes / 1e9) },
        ],
      }
    })
    for (const [contestant, topic] of topics) await contestant.deleteTopic(topic)
  }
}

/** One record there and back, again and again. */
export async function endToEnd(bench: Bench): Promise<void> {
  const [count, warmUp] = bench.options.quick ? ['3000', '1000'] : ['10000', '3000']
  await bench.recorder.inTurn(
    'e2e',
    'end to end, acks=all',
    bench.options.rounds,
    bench.running,
    async (contestant) => {
      const topic = await contestant.createTopic('e2e', 1)
      const args = [contestant.broker.bootstrap, topic, count, warmUp, 'all', '100']
      const { stdout, cpuSeconds } = await contestant.runTool('round-trip', args)
      await contestant.deleteTopic(topic)
      const { endToEndUs } = JSON.parse(stdout) as { endToEndUs: { p50: number; p99: number } }
      return {
        toolCpuSeconds: cpuSeconds,
        metrics: [
          { name: 'p50', unit: 'ms', better: 'lower', value: endToEndUs.p50 / 1000 },
          { name: 'p99', unit: 'ms', better: 'lower', value: endToEndUs.p99 / 1000 },
        ],
      }
    },
  )
}

/** From the start of the process to its first full answer, with an orderly stop before. */
export async function startup(bench: Bench): Promise<void> {
  await bench.recorder.inTurn(
    'startup',
    'start to ready',
    Math.max(3, bench.options.rounds),
    bench.running,
    async (contestant) => {
      await contestant.broker.stop()
      const startMs = await contestant.broker.start()
      return startedOutcome(contestant, startMs, [])
    },
  )
}

/** The start that follows a kill, with so much in the log. */
export async function recovery(bench: Bench): Promise<void> {
  const gigabytes = bench.options.quick ? 0.3 : 2
  const count = Math.floor((gigabytes * 1e9) / 1024)
  const what = `start after kill -9 with ${gigabytes} GB of log`
  await bench.recorder.inTurn('recovery', what, bench.options.rounds, bench.running, async (contestant) => {
    const topic = await contestant.createTopic('recovery', partitionCount)
    const args = produceArgs(bench, contestant, topic, 1024, 64, 'all', count)
    const { cpuSeconds } = await contestant.runTool('kafka-producer-perf-test', args)
    const busyBefore = processCpuSeconds(contestant.broker.pid)
    await contestant.broker.kill()
    const startMs = await contestant.broker.start({ leaders: { [topic]: partitionCount }, timeoutMs: 300_000 })
    await contestant.deleteTopic(topic)
    const outcome = startedOutcome(contestant, startMs, [])
    return { ...outcome, toolCpuSeconds: outcome.toolCpuSeconds + cpuSeconds + busyBefore }
  })
}

/** Resident memory of a broker that has just been started, and of one that has worked. */
export async function restingMemory(bench: Bench): Promise<void> {
  await bench.recorder.inTurn('memory', 'at rest, after its start', 1, bench.running, async (contestant) => {
    await contestant.broker.stop()
    await contestant.broker.start()
    await sleep(10_000)
    return { toolCpuSeconds: processCpuSeconds(contestant.broker.pid), metrics: [residentNow(contestant)] }
  })
  await bench.recorder.inTurn('memory', 'at rest, after work', 1, bench.running, async (contestant) => {
    const topic = await contestant.createTopic('memory', partitionCount)
    const count = recordCount(bench, 1024)
    const args = produceArgs(bench, contestant, topic, 1024, 64, 'all', count)
    const produced = await contestant.runTool('kafka-producer-perf-test', args)
    const consumed = await contestant.runTool('partition-consumer', [contestant.broker.bootstrap, topic, String(count)])
    await contestant.deleteTopic(topic)
    await sleep(10_000)
    return { toolCpuSeconds: produced.cpuSeconds + consumed.cpuSeconds, metrics: [residentNow(contestant)] }
  })
}

/** Very many partitions on one broker: made, and started again. */
export async function manyPartitions(bench: Bench): Promise<void> {
  const [topicCount, each] = bench.options.quick ? [4, 250] : [10, 1000]
  const total = topicCount * each
  await bench.recorder.inTurn('partitions', `${total} partitions`, 1, bench.running, async (contestant) => {
    const topics = Array.from({ length: topicCount }, (_, index) => `partitions-${index}`)
    const leaders = Object.fromEntries(topics.map((topic) => [topic, each]))
    const startedMs = performance.now()
    await contestant.withAdmin(async (admin) => {
      for (const topic of topics) await admin.call('createTopic', { topic, partitions: each, replicationFactor: 1 })
      await contestant.waitForLeaders(leaders)
    })
    const createSeconds = (performance.now() - startedMs) / 1000
    await contestant.broker.stop()
    const startMs = await contestant.broker.start({ leaders, timeoutMs: 300_000 })
    const created = { name: 'creation', unit: 's', better: 'lower', value: createSeconds } as const
    const outcome = startedOutcome(contestant, startMs, [created, residentNow(contestant)])
    await contestant.withAdmin(async (admin) => {
      for (const topic of topics) await admin.call('deleteTopic', { topic })
    })
    return outcome
  })
}

function startedOutcome(contestant: Contestant, startMs: number, more: Measurement['metrics']): Outcome {
  const cpuSeconds = processCpuSeconds(contestant.broker.pid)
  const metrics = [...more, { ...time, name: 'start', value: startMs / 1000 }]
  return { toolCpuSeconds: cpuSeconds, metrics }
}

function residentNow(contestant: Contestant): Metric & { value: number } {
  return { ...memory, value: residentBytes(contestant.broker.pid) / 1e6 }
}

/** About 0.5 GB of small records and 1 GB of larger ones; a tenth of that when quick. */
function recordCount(bench: Bench, recordBytes: number): number {
  const bytes = recordBytes < 1000 ? 500_000_000 : 1_000_000_000
  return Math.floor(bytes / recordBytes / (bench.options.quick ? 10 : 1))
}

function payloadFile(bench: Bench, recordBytes: number): string {
  const file = join(bench.folder, `payload-${recordBytes}.txt`)
  const random = new SeededRandom(recordBytes)
  const lines = Array.from({ length: 1000 }, () =>
    Array.from({ length: recordBytes }, () => String.fromCharCode(65 + Math.floor(random.next() * 26))).join(''),
  )
  writeFileSync(file, lines.join('\n'))
  return file
}

function parseProducerPerformance(output: string): { mbPerSecond: number; p99Ms: number } {
  const lines = output.split('\n').filter((line) => /records sent, .* 99th/.test(line))
  // With warm-up the last line is about what came after it.
  const last = lines.at(-1) ?? ''
  const found = /\(([\d.]+) MB\/sec\).* (\d+) ms 99th/.exec(last)
  if (found === null) throw new Error(`ProducerPerformance printed no summary:\n${output.slice(-1000)}`)
  return { mbPerSecond: Number(found[1]), p99Ms: Number(found[2]) }
}
