import { parseArgs } from 'node:util'

export interface CrashOptions {
  readonly seed: number
  readonly kills: number
  /** Broker settings beside the suite's own. */
  readonly settings: Readonly<Record<string, string>>
  /** Keep the broker's files even when all is well. */
  readonly keep: boolean
}

export const usage = `usage: node e2e/crash/main.ts [--seed N] [--kills N] [--set key=value]... [--keep]
  --seed N           draws all random choices (default: the time)
  --kills N          how often the broker is killed with SIGKILL (default 50)
  --set key=value    a broker setting, for example log.flush.interval.messages=9223372036854775807
  --keep             keep the broker's files
  OTTLA_E2E_TARGET=kafka runs it against Apache Kafka (takes 10 s more for each kill)`

/** Throws an Error with one sentence when an argument is wrong. */
export function parseOptions(args: readonly string[]): CrashOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      kills: { type: 'string', default: '50' },
      set: { type: 'string', multiple: true, default: [] },
      keep: { type: 'boolean', default: false },
    },
  })
  const settings: Record<string, string> = {}
  for (const text of values.set) {
    const equals = text.indexOf('=')
    if (equals < 1) throw new Error(`--set ${text}: expected key=value`)
    settings[text.slice(0, equals)] = text.slice(equals + 1)
  }
  return {
    seed: values.seed === undefined ? Date.now() % 1_000_000_000 : wholeNumber('--seed', values.seed),
    kills: wholeNumber('--kills', values.kills),
    settings,
    keep: values.keep,
  }
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`${name} ${text}: expected a whole number`)
  return Number(text)
}
