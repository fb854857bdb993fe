/** The records that the clients write, and the comparison of what others read. */
import assert from 'node:assert/strict'

import { SeededRandom } from '../../common/random.ts'
import type { ClientTraits, ReadRecord, WriteRecord } from './client.ts'
import { headersAsKcatPrints } from './kcat.ts'

/** A time that clients set: past, but not so long that retention would remove the records during the run. */
export const pastMs = Math.floor(Date.now() / 1000) * 1000 - 7_200_000

export function base64(text: string | Uint8Array): string {
  return Buffer.from(typeof text === 'string' ? Buffer.from(text) : text).toString('base64')
}

/** Bytes that no codec can shrink, the same for the same seed. */
export function randomBytes(size: number, seed: number): Buffer {
  return new SeededRandom(seed).bytes(size)
}

/** A record with less to say. */
export function record(value: string | null, more: Partial<WriteRecord> = {}): WriteRecord {
  return { key: null, value: value === null ? null : base64(value), headers: [], ...more }
}

/**
 * The edges of what a record can be, as far as the client can say it: null and empty keys and values, all bytes,
 * headers of every kind, large values, and many small ones in one batch.
 * Timestamps go up and down; kcat can't set them.
 */
export function edgeRecords(writer: ClientTraits): WriteRecord[] {
  const isKcat = writer.name === 'kcat'
  const anyBytes = isKcat
    ? base64('not only ascii: äöü ✓')
    : base64(Uint8Array.from({ length: 256 }, (_, byte) => byte))
  const records: WriteRecord[] = [
    { key: base64('key'), value: base64('value'), headers: [] },
    { key: null, value: base64('no key'), headers: [] },
    { key: base64('tombstone'), value: null, headers: [] },
    { key: base64('ключ ✓'), value: base64('значение ✓'), headers: [['заголовок', base64('да')]] },
    { key: anyBytes, value: base64(Uint8Array.from({ length: 256 }, (_, byte) => 255 - byte)), headers: [] },
    { key: null, value: base64('one header'), headers: [['name', base64('content')]] },
    {
      key: null,
      value: base64('many headers'),
      headers: [
        ['first', base64('1')],
        ['twice', base64('a')],
        ['twice', base64('b')],
        ['bytes', isKcat ? base64('text') : base64(Uint8Array.of(0, 1, 2, 254, 255))],
        ['last', base64('9')],
      ],
    },
    { key: null, value: base64('x'.repeat(60_000)), headers: [] },
    { key: null, value: base64(randomBytes(60_000, 7)), headers: [] },
  ]
  if (!isKcat) {
    records.push({ key: null, value: null, headers: [] })
    for (let index = 0; index < 200; index++) records.push(record(`small ${index}`, { key: base64(`k${index % 7}`) }))
  }
  if (writer.emptyValues) {
    records.push(
      { key: base64('empty value'), value: '', headers: [['h', base64('with empty value')]] },
      { key: null, value: '', headers: [] },
      { key: null, value: base64('empty header value'), headers: [['empty', '']] },
    )
  }
  if (writer.emptyKeys)
    records.push({ key: '', value: base64('empty key'), headers: [] }, { key: '', value: '', headers: [] })
  if (writer.nullHeaderValues) records.push({ key: null, value: base64('null header'), headers: [['nothing', null]] })
  if (isKcat) return records
  return records.map((one, index) => ({ ...one, timestamp: pastMs + index * 1000 - (index % 3) * 2500 }))
}

/** What readers must get for what was written, given the records' offsets. */
export function expectedRecords(written: readonly WriteRecord[], firstOffset: number): ReadRecord[] {
  return written.map((one, index) => {
    if (typeof one.key === 'object' && one.key !== null) throw new Error('keys are never files')
    if (typeof one.value === 'object' && one.value !== null) throw new Error('give the expected digest instead')
    return {
      offset: firstOffset + index,
      timestamp: one.timestamp ?? -1,
      key: one.key,
      value: one.value,
      headers: one.headers,
    }
  })
}

/**
 * Compares all of what a client read with what it must have read: offsets, keys, values, headers, timestamps. A
 * timestamp of -1 is not compared.
 */
export function assertSameRecords(
  actual: readonly ReadRecord[],
  expected: readonly ReadRecord[],
  reader: ClientTraits,
  about = '',
): void {
  const who = `${reader.name}${about}`
  assert.equal(actual.length, expected.length, `${who} read ${actual.length} records instead of ${expected.length}`)
  for (const [index, want] of expected.entries()) {
    const got = actual[index]
    assert.ok(got !== undefined)
    const seen = {
      offset: got.offset,
      key: got.key,
      value: got.value,
      headers: got.headersText ?? got.headers,
      timestamp: want.timestamp === -1 ? -1 : got.timestamp,
    }
    const wanted = {
      offset: want.offset,
      key: want.key,
      value: want.value,
      headers: got.headersText === undefined ? headersAsRead(want.headers, reader) : headersAsKcatPrints(want.headers),
      timestamp: want.timestamp,
    }
    assert.deepEqual(seen, wanted, `${who}, record ${index}`)
  }
}

function headersAsRead(headers: ReadRecord['headers'], reader: ClientTraits): ReadRecord['headers'] {
  return reader.readsNullHeaderValues ? headers : headers.map(([name, value]) => [name, value ?? ''])
}
