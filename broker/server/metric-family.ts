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

/** A row that brings its labels, as {@link labelText} made them. */
export interface LabelledRow {
  readonly labels: string
}

export const labelsOf = ({ labels }: LabelledRow): string => labels

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

/**
 * The text of some families over the same rows, in chunks that the caller may spread over time. `labelsOf` gives what
 * {@link labelText} made.
 */
export function* familiesText<Row>(
  families: readonly MetricFamily<Row>[],
  rows: readonly Row[],
  labelsOf: (row: Row) => string,
): Generator<string, void> {
  for (const { name, type, help, value } of families) {
    let text = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
    let lines = 0
    for (const row of rows) {
      const sample = value(row)
      if (sample === undefined) continue
      text += `${name}{${labelsOf(row)}} ${sample}\n`
      if (++lines % LINES_PER_CHUNK === 0) {
        yield text
        text = ''
      }
    }
    yield text
  }
}
