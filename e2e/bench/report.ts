/** The Markdown table: medians, and Ottla's ratio to Kafka in the same run. */
import { format, type Measurement } from './measure.ts'
import type { ContestantName } from './options.ts'

const titles: Readonly<Record<ContestantName, string>> = {
  kafka: 'Apache Kafka',
  ottla: 'Ottla, flushing as Kafka',
  'ottla-fsync': 'Ottla, fsync (default)',
}

/** One row a figure; a ratio in brackets is to Kafka, and bold where Ottla is not behind. */
export function markdownTable(measurements: readonly Measurement[], contestants: readonly ContestantName[]): string {
  const rows = new Map<string, { label: string; better: 'higher' | 'lower'; values: Map<ContestantName, number[]> }>()
  for (const { part, what, contestant, metrics } of measurements) {
    for (const { name, unit, better, value } of metrics) {
      const key = `${part} ${what} ${name}`
      let row = rows.get(key)
      if (row === undefined) {
        row = { label: `${what}: ${name} (${unit})`, better, values: new Map() }
        rows.set(key, row)
      }
      const values = row.values.get(contestant)
      if (values === undefined) row.values.set(contestant, [value])
      else values.push(value)
    }
  }
  const lines = [
    `| | ${contestants.map((name) => titles[name]).join(' | ')} |`,
    `|---|${contestants.map(() => '---:').join('|')}|`,
  ]
  for (const { label, better, values } of rows.values()) {
    const kafka = median(values.get('kafka') ?? [])
    const cells = contestants.map((name) => {
      const value = median(values.get(name) ?? [])
      if (value === undefined) return ''
      if (name === 'kafka' || kafka === undefined || kafka === 0) return format(value)
      const ratio = value / kafka
      const isGood = better === 'higher' ? ratio >= 1 : ratio <= 1
      const text = `${ratio.toFixed(2)}x`
      return `${format(value)} (${isGood ? `**${text}**` : text})`
    })
    lines.push(`| ${label}, ${better} is better | ${cells.join(' | ')} |`)
  }
  return lines.join('\n')
}

export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.floor((sorted.length - 1) / 2)]
  return upper === undefined || lower === undefined ? undefined : (lower + upper) / 2
}
