import assert from 'node:assert/strict'
import { familiesText, labelsOf, labelText, type MetricFamily } from './metric-family.ts'

interface Row {
  readonly labels: string
  readonly value: number | undefined
}

const FAMILY: MetricFamily<Row> = { name: 'm', type: 'gauge', help: 'What it is', value: ({ value }) => value }

describe('the text of metrics', () => {
  it('is what Prometheus reads', () => {
    const rows = [
      { labels: labelText({ topic: 'a', partition: 0 }), value: 1.5 },
      { labels: labelText({ topic: 'b' }), value: undefined },
      { labels: labelText({ topic: 'c' }), value: 0 },
    ]
    assert.equal(
      [...familiesText([FAMILY], rows, labelsOf)].join(''),
      '# HELP m What it is\n# TYPE m gauge\nm{topic="a",partition="0"} 1.5\nm{topic="c"} 0\n',
    )
  })

  it('escapes what a name may bring', () => {
    assert.equal(labelText({ g: 'a"b\\c\nd' }), 'g="a\\"b\\\\c\\nd"')
    assert.equal(labelText({ g: '\\n' }), 'g="\\\\n"')
  })

  it('comes in pieces', () => {
    const rows = Array.from({ length: 10_000 }, (_, i) => ({ labels: `i="${i}"`, value: i }))
    const pieces = [...familiesText([FAMILY], rows, labelsOf)]
    assert.ok(pieces.length > 4)
    assert.equal(pieces.join('').split('\n').length, 10_000 + 3)
  })
})
