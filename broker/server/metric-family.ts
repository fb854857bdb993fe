/**
 * The Prometheus text format, written straight from rows. For series per partition, topic and group, of which there can be
 * hundreds of thousands: a client library makes an object and a hash key of each label set, ten times the work.
 */

/** Metrics of one name: at most one sample per row. */
export interface MetricFamily<Row> {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  /** Undefined: this row has no such sample. */
  readonly value: (row: Row) => number | undefined
}

/** Rows that share families. */
export interface LabelledRow {
  /** As {@link labelText} made it. */
  readonly labels: string
}

/** Lines per chunk: well under a millisecond's work. */
const LINES_PER_CHUNK = 2000

/** `name="value"` pairs, escaped. */
export function labelText(labels: Readonly<Record<string, string | number>>): string {
  let text = ''
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${escapeLabelValue(String(labels[name]))}"`
  return text
}

function escapeLabelValue(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value
}

/** The text of some families over the same rows, in chunks that the caller may spread over time. */
export function* familiesText<Row extends LabelledRow>(
  families: readonly MetricFamily<Row>[],
  rows: readonly Row[],
): Generator<string, void> {
  for (const { name, type, help, value } of families) {
    let text = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
    let lines = 0
    for (const row of rows) {
      const sample = value(row)
      if (sample === undefined) continue
      text += `${name}{${row.labels}} ${sample}\n`
      if (++lines % LINES_PER_CHUNK === 0) {
        yield text
        text = ''
      }
    }
    yield text
  }
}
