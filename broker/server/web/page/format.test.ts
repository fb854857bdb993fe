import assert from 'node:assert/strict'
import {
  formatByteRate,
  formatBytes,
  formatCount,
  formatDuration,
  formatTime,
  formatUtc,
  hexDump,
  oneLine,
} from './format.js'
import { jsonTokens } from './json.js'
import { Rates } from './rates.js'
import { parseRoute, routeTo } from './route.js'

describe('what the page writes', () => {
  it('counts with separators', () => {
    assert.equal(formatCount(0), '0')
    assert.equal(formatCount(1234567), '1,234,567')
  })

  it('bytes in the unit that leaves few digits', () => {
    const cases: [number, string][] = [
      [0, '0 B'],
      [1023, '1,023 B'],
      [1024, '1 KiB'],
      [1536, '1.5 KiB'],
      [1024 * 1024 - 1, '1 MiB'],
      [150 * 1024 * 1024, '150 MiB'],
      [3 * 1024 ** 4, '3 TiB'],
    ]
    for (const [bytes, text] of cases) assert.equal(formatBytes(bytes), text)
    assert.equal(formatByteRate(0), '0')
    assert.equal(formatByteRate(0.2), '1 B/s')
    assert.equal(formatByteRate(2048), '2 KiB/s')
  })

  it('durations in their two largest units', () => {
    assert.equal(formatDuration(400), '0 s')
    assert.equal(formatDuration(61_000), '1 min 1 s')
    assert.equal(formatDuration(3_600_000), '1 h')
    assert.equal(formatDuration(93_784_000), '1 d 2 h')
  })

  it('times to the millisecond, and none as a dash', () => {
    const ms = new Date(2026, 11, 1, 7, 5, 9, 12).getTime()
    assert.equal(formatTime(ms), '2026-12-01 07:05:09.012')
    assert.equal(formatTime(-1), '–')
    assert.equal(formatTime(null), '–')
    assert.equal(formatTime(9e15), '9000000000000000')
    assert.equal(formatUtc(0), '1970-01-01T00:00:00.000Z')
    assert.equal(formatUtc(9e15), '')
  })

  it('values in one line', () => {
    assert.equal(oneLine('a\n\t b', 10), 'a b')
    assert.equal(oneLine('abcdef', 3), 'abc…')
  })

  it('binary as offset, hex and ASCII', () => {
    const hex = Buffer.from('Hello, binary world!\x00\xff', 'latin1').toString('hex')
    assert.deepEqual(hexDump(hex).split('\n'), [
      '00000000  48 65 6c 6c 6f 2c 20 62  69 6e 61 72 79 20 77 6f  Hello, binary wo',
      '00000010  72 6c 64 21 00 ff                                 rld!..',
    ])
    assert.equal(hexDump(''), '')
  })
})

describe('JSON on the page', () => {
  const pretty = (text: string, isCut = false): string | undefined =>
    jsonTokens(text, isCut)
      ?.map((token) => token.text)
      .join('')

  it('is indented as JSON.stringify does it', () => {
    const values = [{}, [], { a: 1, b: [1, 'x', null, true, {}], c: { d: 'e: {,}', 'f"\\': -1.5e3 } }, [[], [[1]]]]
    for (const value of values) assert.equal(pretty(JSON.stringify(value)), JSON.stringify(value, null, 2))
  })

  it('keeps numbers, double keys and spaces in texts as they are', () => {
    assert.equal(pretty('{"id":90071992547409931,"id":1.0}'), '{\n  "id": 90071992547409931,\n  "id": 1.0\n}')
    assert.equal(pretty('[ "a  b" ]'), '[\n  "a  b"\n]')
  })

  it('tells keys from texts, numbers and words', () => {
    const kinds = jsonTokens('{"k":"v","n":-1,"w":null}', false)?.flatMap(({ kind, text }) =>
      kind === 'space' || kind === 'punctuation' ? [] : [[kind, text]],
    )
    assert.deepEqual(kinds, [
      ['key', '"k"'],
      ['string', '"v"'],
      ['key', '"n"'],
      ['number', '-1'],
      ['key', '"w"'],
      ['word', 'null'],
    ])
  })

  it('is only what is JSON, or begins like it where it was cut', () => {
    assert.equal(pretty('{not json}'), undefined)
    assert.equal(pretty('12'), undefined)
    assert.equal(pretty('"text"'), undefined)
    assert.equal(pretty('{"a":"b', false), undefined)
    assert.equal(pretty('{"a":"b', true), '{\n  "a": "b')
    assert.equal(pretty('{"a":[1,{"b', true), '{\n  "a": [\n    1,\n    {\n      "b')
  })

  it('makes long and hostile texts only so much longer, in linear time', () => {
    for (const text of ['['.repeat(200_000), `{"a":"${'\\'.repeat(200_001)}`, '{' + '"'.repeat(200_000)]) {
      const startMs = performance.now()
      const shown = pretty(text, true) ?? ''
      assert.ok(shown.length < 110 * text.length)
      assert.ok(performance.now() - startMs < 5000)
    }
  })
})

describe('addresses on the page', () => {
  it('go both ways, whatever the names', () => {
    for (const name of ['numbers', 'a/b', 'ä ?#&', '%', '<script>']) {
      const { path, params } = parseRoute(routeTo(['groups', name], { filter: name, none: undefined, empty: '' }))
      assert.deepEqual(path, ['groups', name])
      assert.deepEqual([...params], [['filter', name]])
    }
  })

  it('take what is not encoded well as it is', () => {
    assert.deepEqual(parseRoute('#/topics/100%').path, ['topics', '100%'])
    assert.deepEqual(parseRoute('').path, [])
  })
})

describe('rates on the page', () => {
  it('need two samples, and time between them', () => {
    const rates = new Rates()
    rates.add(1000, [['t', { in: 10 }]])
    assert.equal(rates.perSecond('t', 'in'), undefined)
    rates.add(1100, [['t', { in: 20 }]])
    assert.equal(rates.perSecond('t', 'in'), undefined)
    rates.add(3000, [['t', { in: 210 }]])
    assert.equal(rates.perSecond('t', 'in'), 100)
    assert.equal(rates.perSecond('other', 'in'), undefined)
  })

  it('look at the last seconds only', () => {
    const rates = new Rates()
    for (let second = 0; second <= 60; second += 5) rates.add(second * 1000, [['t', { in: second < 30 ? 0 : 1000 }]])
    assert.equal(rates.perSecond('t', 'in'), 0)
  })

  it('begin anew with the counters', () => {
    const rates = new Rates()
    rates.add(1000, [['t', { in: 1000 }]])
    rates.add(3000, [['t', { in: 10 }]])
    assert.equal(rates.perSecond('t', 'in'), 0)
    rates.add(10, [['t', { in: 5 }]])
    assert.equal(rates.perSecond('t', 'in'), undefined)
  })
})
