/**
 * Compaction while records come in: how long the updates of many keys take to be compacted, and what that does to the
 * latency of a producer which goes on at a steady rate.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { waitFor } from '../lib/wait.ts'
import type { Contestant } from './contestants.ts'
import { processCpuSeconds, residentBytes } from './machine.ts'
import type { Outcome } from './measure.ts'
import type { Bench } from './parts.ts'

const KEYS = 1_000_000
const VALUE_BYTES = 100
/** With the key and what a batch adds. */
const RECORD_BYTES = 112
const STEADY_BYTES_PER_SECOND = 20_000_000
/** Keeps the cleaner off a topic. */
const NOT_YET = { 'min.compaction.lag.ms': '3600000' } as const

export async function compaction(bench: Bench): Promise<void> {
  const gigabytes = bench.options.quick ? 0.3 : 2
  const seconds = bench.options.quick ? 8 : 30
  const what = `${gigabytes} GB of updates of ${KEYS / 1e6} million keys, beside 20 MB/s more`
  await bench.recorder.inTurn('compaction', what, bench.options.rounds, bench.running, (contestant) =>
    compactOnce(contestant, Math.floor((gigabytes * 1e9) / RECORD_BYTES), seconds),
  )
}

async function compactOnce(contestant: Contestant, records: number, seconds: number): Promise<Outcome> {
  const topic = await contestant.createTopic('compaction', 1, {
    'cleanup.policy': 'compact',
    'segment.bytes': String(64 * 1024 * 1024),
    'min.cleanable.dirty.ratio': '0.01',
    ...NOT_YET,
  })
  const steadyRecords = Math.floor((seconds * STEADY_BYTES_PER_SECOND) / RECORD_BYTES)
  const load = async (count: number, bytesPerSecond: number): Promise<{ p99Us: number; cpuSeconds: number }> => {
    const args = [contestant.broker.bootstrap, topic, String(KEYS), String(count), String(VALUE_BYTES)]
    const { stdout, cpuSeconds } = await contestant.runTool('keyed-load', [...args, String(bytesPerSecond)])
    const { p99Us } = JSON.parse(stdout) as { p99Us: number }
    return { p99Us, cpuSeconds }
  }
  const filled = await load(records, 0)
  const alone = await load(steadyRecords, STEADY_BYTES_PER_SECOND)
  const total = records + steadyRecords
  const cpuBefore = processCpuSeconds(contestant.broker.pid)
  await contestant.withAdmin((admin) => admin.call('alterConfig', { topic, key: 'min.compaction.lag.ms', value: '0' }))
  const startedMs = performance.now()
  const beside = load(steadyRecords, STEADY_BYTES_PER_SECOND)
  // All but what the last segment before held.
  const target = total - Math.ceil((64 * 1024 * 1024) / RECORD_BYTES)
  const compactedMs = await waitForCheckpoint(contestant, topic, target)
  const peakBytes = residentBytes(contestant.broker.pid)
  const { p99Us, cpuSeconds } = await beside
  const used = processCpuSeconds(contestant.broker.pid) - cpuBefore
  await contestant.deleteTopic(topic)
  return {
    toolCpuSeconds: filled.cpuSeconds + alone.cpuSeconds + cpuSeconds,
    metrics: [
      { name: 'until compacted', unit: 's', better: 'lower', value: (compactedMs - startedMs) / 1000 },
      { name: 'produce p99 without', unit: 'ms', better: 'lower', value: alone.p99Us / 1000 },
      { name: 'produce p99 beside', unit: 'ms', better: 'lower', value: p99Us / 1000 },
      { name: 'broker CPU', unit: 's', better: 'lower', value: used },
      { name: 'resident memory', unit: 'MB', better: 'lower', value: peakBytes / 1e6 },
    ],
  }
}

async function waitForCheckpoint(contestant: Contestant, topic: string, offset: number): Promise<number> {
  const file = join(contestant.broker.dataFolder, 'cleaner-offset-checkpoint')
  return await waitFor(`${contestant.name} to compact up to ${offset}`, 600_000, () => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    const line = text.split('\n').find((each) => each.startsWith(`${topic} 0 `))
    return Number(line?.split(' ')[2] ?? -1) >= offset ? performance.now() : undefined
  })
}
