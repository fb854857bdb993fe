import { parseArgs } from 'node:util'

export const allParts = [
  'produce',
  'consume',
  'e2e',
  'startup',
  'recovery',
  'memory',
  'partitions',
  'compaction',
] as const

export type Part = (typeof allParts)[number]

export const allContestants = ['kafka', 'ottla', 'ottla-fsync'] as const

export type ContestantName = (typeof allContestants)[number]

export interface BenchOptions {
  readonly parts: readonly Part[]
  readonly contestants: readonly ContestantName[]
  readonly rounds: number
  /** Everything smaller, for a look in about five minutes. */
  readonly quick: boolean
  /** How long to wait for idle cores before each measurement. */
  readonly idleLimitMs: number
}

export const usage = `usage: node e2e/bench/main.ts [--quick] [--only PART,...] [--contestants NAME,...] [--rounds N] [--idle-limit SECONDS]
  --quick          small amounts and one round: about five minutes
  --only           some of ${allParts.join(',')}
  --contestants    some of ${allContestants.join(',')} (default: all; ottla has flushing relaxed as in Kafka, ottla-fsync is the default)
  --rounds N       measurements of each kind, taken in turn (default 3)
  --idle-limit S   how long to wait for idle cores before each measurement (default 120)`

/** Throws an Error with one sentence when an argument is wrong. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: allParts.join(',') },
      contestants: { type: 'string', default: allContestants.join(',') },
      rounds: { type: 'string' },
      'idle-limit': { type: 'string' },
    },
  })
  return {
    parts: oneOf('--only', values.only, allParts),
    contestants: oneOf('--contestants', values.contestants, allContestants),
    rounds: positive('--rounds', values.rounds ?? (values.quick ? '1' : '3')),
    quick: values.quick,
    idleLimitMs: positive('--idle-limit', values['idle-limit'] ?? (values.quick ? '10' : '120')) * 1000,
  }
}

function oneOf<T extends string>(name: string, text: string, known: readonly T[]): T[] {
  return text.split(',').map((part) => {
    const found = known.find((one) => one === part)
    if (found === undefined) throw new Error(`${name} ${part}: expected some of ${known.join(',')}`)
    return found
  })
}

function positive(name: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`${name} ${text}: expected a positive whole number`)
  return Number(text)
}
