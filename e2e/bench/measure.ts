/** Takes measurements in turn (A B C, A B C, ...), each on idle cores, and keeps them. */
import { appendFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

import type { Contestant } from './contestants.ts'
import { busySeconds, processCpuSeconds, waitForIdleCores } from './machine.ts'
import type { ContestantName, Part } from './options.ts'

/** A figure and which way is better. */
export interface Metric {
  readonly name: string
  readonly unit: string
  readonly better: 'higher' | 'lower'
}

export interface Measurement {
  readonly part: Part
  /** What was done, for the table's first column. */
  readonly what: string
  readonly contestant: ContestantName
  readonly round: number
  readonly metrics: readonly (Metric & { readonly value: number })[]
  /** The share of all cores that other work took meanwhile. */
  readonly foreignShare: number
  readonly isDisturbed: boolean
}

/** What one measurement gives: figures, and the CPU seconds of the tools that it ran. */
export interface Outcome {
  readonly metrics: Measurement['metrics']
  readonly toolCpuSeconds: number
}

/** A measurement with more foreign work than this is repeated. */
const disturbedShare = 0.12
const maxRepeats = 3

export class Recorder {
  readonly measurements: Measurement[] = []
  readonly #file: string
  readonly #idleLimitMs: number

  constructor(file: string, idleLimitMs: number) {
    this.#file = file
    this.#idleLimitMs = idleLimitMs
  }

  /** Measures every contestant once a round. */
  async inTurn(
    part: Part,
    what: string,
    rounds: number,
    contestants: readonly Contestant[],
    measure: (contestant: Contestant) => Promise<Outcome>,
  ): Promise<void> {
    for (let round = 1; round <= rounds; round++) {
      for (const contestant of contestants) await this.#one(part, what, round, contestant, contestants, measure)
    }
  }

  async #one(
    part: Part,
    what: string,
    round: number,
    contestant: Contestant,
    contestants: readonly Contestant[],
    measure: (contestant: Contestant) => Promise<Outcome>,
  ): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await waitForIdleCores(runningPids(contestants), this.#idleLimitMs)
      const busyBefore = busySeconds()
      const ownBefore = ownSeconds(contestants)
      const startedMs = performance.now()
      const outcome = await measure(contestant)
      const wallSeconds = (performance.now() - startedMs) / 1000
      // A broker that was started anew meanwhile has counted from zero.
      const own = Math.max(0, ownSeconds(contestants) - ownBefore) + outcome.toolCpuSeconds
      const foreignShare = Math.max(0, busySeconds() - busyBefore - own) / wallSeconds / availableParallelism()
      const isDisturbed = foreignShare > disturbedShare
      const { metrics } = outcome
      const measurement = { part, what, contestant: contestant.name, round, metrics, foreignShare, isDisturbed }
      appendFileSync(this.#file, `${JSON.stringify(measurement)}\n`)
      const figures = metrics.map(({ name, value, unit }) => `${name} ${format(value)} ${unit}`).join(', ')
      const note = isDisturbed ? ` (other work took ${(foreignShare * 100).toFixed(0)} % of the cores)` : ''
      console.error(`${part}, ${what}, ${contestant.name}, round ${round}: ${figures}${note}`)
      if (isDisturbed && attempt < maxRepeats && this.#idleLimitMs > 30_000) continue
      this.measurements.push(measurement)
      return
    }
  }
}

function runningPids(contestants: readonly Contestant[]): number[] {
  return contestants.flatMap(({ broker }) => {
    try {
      return [broker.pid]
    } catch {
      return [] // It was not started.
    }
  })
}

function ownSeconds(contestants: readonly Contestant[]): number {
  return runningPids(contestants).reduce((sum, pid) => sum + processCpuSeconds(pid), 0)
}

/** Three significant digits. */
export function format(value: number): string {
  if (value >= 100) return value.toFixed(0)
  if (value >= 10) return value.toFixed(1)
  return value.toFixed(2)
}
