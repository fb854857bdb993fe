import assert from 'node:assert/strict'
import { EncodeError } from './errors.ts'
import { Reader } from './reader.ts'
import { REFERENCE_MIN_BYTES, Writer } from './writer.ts'

function written(write: (writer: Writer) => void): string {
  const writer = new Writer()
  write(writer)
  return Buffer.concat(writer.finish()).toString('hex')
}

describe('Writer', () => {
  it('writes integers in network order', () => {
    assert.equal(
      written((w) => {
        w.int8(-2)
        w.int16(-2)
        w.uint16(0xfffe)
        w.int32(-2)
        w.uint32(0xfffffffe)
        w.int64(-2)
        w.int64(0x1_2345_6789)
      }),
      'fe' + 'fffe' + 'fffe' + 'fffffffe' + 'fffffffe' + 'fffffffffffffffe' + '0000000123456789',
    )
  })

  it('reads back the extremes of each integer', () => {
    const values = [
      Number.MIN_SAFE_INTEGER,
      -(2 ** 32) - 1,
      -(2 ** 32),
      -1,
      0,
      2 ** 31,
      2 ** 32,
      Number.MAX_SAFE_INTEGER,
    ]
    for (const value of values) {
      const reader = new Reader(
        Buffer.from(
          written((w) => w.int64(value)),
          'hex',
        ),
      )
      assert.equal(reader.int64(), value)
    }
    for (const value of [0, 0x7f, 0x80, 0x3fff, 0x4000, 0xfffffff, 0x10000000, 0xffffffff]) {
      const reader = new Reader(
        Buffer.from(
          written((w) => w.uvarint(value)),
          'hex',
        ),
      )
      assert.equal(reader.uvarint(), value)
    }
    for (const value of [0, -1, 1, -64, 64, -0x80000000, 0x7fffffff]) {
      const reader = new Reader(
        Buffer.from(
          written((w) => w.varint(value)),
          'hex',
        ),
      )
      assert.equal(reader.varint(), value)
    }
  })

  it('writes an int64 without limit as the extremes of the type', () => {
    assert.equal(
      written((w) => w.saturatingInt64(Infinity)),
      '7fffffffffffffff',
    )
    assert.equal(
      written((w) => w.saturatingInt64(-Infinity)),
      '8000000000000000',
    )
    assert.equal(
      written((w) => w.saturatingInt64(5)),
      '0000000000000005',
    )
  })

  it('refuses integers out of range', () => {
    const writer = new Writer()
    assert.throws(() => writer.int8(0x80), EncodeError)
    assert.throws(() => writer.int16(-0x8001), EncodeError)
    assert.throws(() => writer.uint16(-1), EncodeError)
    assert.throws(() => writer.int32(2 ** 31), EncodeError)
    assert.throws(() => writer.uint32(-1), EncodeError)
    assert.throws(() => writer.uvarint(2 ** 32), EncodeError)
    assert.throws(() => writer.int64(2 ** 53), EncodeError)
  })

  it('writes strings of any length and alphabet as the runtime does', () => {
    for (const text of [
      '',
      'a',
      'é',
      '漢字',
      '😀',
      'x'.repeat(48),
      'x'.repeat(49),
      'é'.repeat(48),
      'x'.repeat(127),
      'é'.repeat(9000),
    ]) {
      const hex = Buffer.from(text).toString('hex')
      const length = Buffer.byteLength(text)
      assert.equal(
        written((w) => w.string(text)),
        length.toString(16).padStart(4, '0') + hex,
      )
      const compact = new Reader(
        Buffer.from(
          written((w) => w.compactString(text)),
          'hex',
        ),
      )
      assert.equal(compact.compactString(), text)
      assert.equal(compact.remaining, 0)
    }
  })

  it('passes large byte fields on by reference, and copies small ones', () => {
    const large = Buffer.alloc(REFERENCE_MIN_BYTES, 1)
    const small = Buffer.alloc(10, 2)
    const writer = new Writer()
    writer.bytes([small, large, small])
    writer.int8(3)
    const buffers = writer.finish()
    assert.equal(buffers[1], large)
    assert.deepEqual(
      Buffer.concat(buffers),
      Buffer.concat([Buffer.from([0, 0, 4, 20]), small, large, small, Buffer.from([3])]),
    )
  })

  it('grows without losing a byte', () => {
    const writer = new Writer()
    const expected: Buffer[] = []
    for (let i = 0; i < 3000; i++) {
      writer.int32(i)
      const bytes = Buffer.alloc(4)
      bytes.writeInt32BE(i)
      expected.push(bytes)
      if (i % 500 === 0) {
        const large = Buffer.alloc(REFERENCE_MIN_BYTES + i, i)
        writer.compactBytes(large)
        expected.push(
          Buffer.from(
            written((w) => w.uvarint(large.length + 1)),
            'hex',
          ),
          large,
        )
      }
    }
    const { byteLength } = writer
    const actual = Buffer.concat(writer.finish())
    assert.equal(byteLength, actual.length)
    assert.deepEqual(actual, Buffer.concat(expected))
  })

  it('never gives the bytes of one message to another, whether writers overlap or fail', () => {
    const messages: { buffers: Buffer[]; value: number }[] = []
    for (let value = 1; value < 3000; value++) {
      const outer = new Writer()
      outer.int32(value)
      const failed = new Writer()
      failed.int32(-1)
      const inner = new Writer()
      inner.int32(-value)
      messages.push({ buffers: inner.finish(), value: -value })
      outer.int32(value)
      messages.push({ buffers: outer.finish(), value })
    }
    for (const { buffers, value } of messages) {
      const bytes = Buffer.concat(buffers)
      for (let at = 0; at < bytes.length; at += 4) assert.equal(bytes.readInt32BE(at), value)
    }
  })

  it('puts the size of a frame before it', () => {
    const writer = new Writer()
    writer.int32(0)
    writer.bytes(Buffer.alloc(REFERENCE_MIN_BYTES))
    for (let i = 0; i < 10_000; i++) writer.int64(i)
    const frame = Buffer.concat(writer.finishFrame())
    assert.equal(frame.readInt32BE(0), frame.length - 4)
  })
})
