import assert from 'node:assert/strict'
import { ProtocolError } from './errors.ts'
import { MAX_ARRAY_ELEMENTS, Reader } from './reader.ts'

function reader(hex: string): Reader {
  return new Reader(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
}

describe('Reader', () => {
  it('reads integers with their signs', () => {
    const r = reader('fe fffe fffe fffffffe fffffffe fffffffffffffffe')
    assert.deepEqual(
      [r.int8(), r.int16(), r.uint16(), r.int32(), r.uint32(), r.int64()],
      [-2, -2, 0xfffe, -2, 0xfffffffe, -2],
    )
    assert.equal(r.remaining, 0)
  })

  it('refuses an int64 that a number cannot hold, or reads it as no limit', () => {
    assert.equal(reader('001fffffffffffff').int64(), Number.MAX_SAFE_INTEGER)
    assert.throws(() => reader('0020000000000000').int64(), ProtocolError)
    assert.throws(() => reader('ffe0000000000000').int64(), ProtocolError)
    assert.equal(reader('7fffffffffffffff').saturatingInt64(), Infinity)
    assert.equal(reader('8000000000000000').saturatingInt64(), -Infinity)
    assert.equal(reader('ffffffffffffffff').saturatingInt64(), -1)
  })

  it('reads varints of up to 32 bits, also if they are longer than they need to be', () => {
    assert.equal(reader('ffffffff0f').uvarint(), 0xffffffff)
    assert.equal(reader('8080808000').uvarint(), 0)
    assert.throws(() => reader('ffffffff1f').uvarint(), ProtocolError)
    assert.throws(() => reader('808080808000').uvarint(), ProtocolError)
    assert.throws(() => reader('8080').uvarint(), ProtocolError)
  })

  it('reads nulls where they are allowed only', () => {
    assert.equal(reader('ffff').nullableString(), null)
    assert.equal(reader('00').compactNullableString(), null)
    assert.equal(reader('ffffffff').nullableBytes(), null)
    assert.equal(reader('00').compactNullableBytes(), null)
    assert.equal(reader('ffffffff').nullableArrayLength(1), -1)
    assert.equal(reader('00').compactNullableArrayLength(1), -1)
    assert.throws(() => reader('ffff').string(), /null/)
    assert.throws(() => reader('00').compactString(), /null/)
    assert.throws(() => reader('ffffffff').bytes(), /null/)
    assert.throws(() => reader('00').compactBytes(), /null/)
    assert.throws(() => reader('ffffffff').arrayLength(1), /null/)
    assert.throws(() => reader('00').compactArrayLength(1), /null/)
  })

  it('refuses negative lengths', () => {
    assert.throws(() => reader('fffe').nullableString(), ProtocolError)
    assert.throws(() => reader('fffffffe').nullableBytes(), ProtocolError)
    assert.throws(() => reader('fffffffe').nullableArrayLength(1), ProtocolError)
  })

  it('refuses a length or count beyond the frame', () => {
    assert.throws(() => reader('0003 6161').string(), ProtocolError)
    assert.throws(() => reader('04 6161').compactString(), ProtocolError)
    assert.throws(() => reader('7fffffff 00').bytes(), ProtocolError)
    assert.throws(() => reader('00000002 00000000').arrayLength(3), /needs 6 bytes or more, but 4 are left/)
    assert.equal(reader('00000002 000000000000').arrayLength(3), 2)
    assert.throws(() => reader('03 00').compactArrayLength(1), ProtocolError)
  })

  it('refuses strings longer than the protocol allows, also if they are all there', () => {
    const tooLong = Buffer.concat([Buffer.from('818002', 'hex'), Buffer.alloc(0x8000, 'a')])
    assert.throws(() => new Reader(tooLong).compactString(), /impossible length 32768/)
  })

  it('gives each string its own text, however often strings are read', () => {
    const texts = ['orders', 'ordert', 'prders', 'Ã©', 'é', 'x'.repeat(64), 'x'.repeat(65), '']
    for (let i = 0; i < 3000; i++) texts.push(`topic-${i}`)
    for (let round = 0; round < 2; round++) {
      for (const text of texts) {
        const bytes = Buffer.from(text)
        const frame = Buffer.concat([Buffer.from([0, bytes.length]), bytes])
        assert.equal(new Reader(frame).string(), text)
      }
    }
  })

  it('stays within its range of the buffer', () => {
    const r = new Reader(Buffer.from('aabbccdd', 'hex'), 1, 3)
    assert.equal(r.uint16(), 0xbbcc)
    assert.throws(() => r.uint8(), ProtocolError)
    assert.throws(() => new Reader(Buffer.alloc(2), 3), ProtocolError)
  })

  it('prints UUIDs as Kafka does', () => {
    assert.equal(reader('0102030405060708090a0b0c0d0e0f10').uuid(), 'AQIDBAUGBwgJCgsMDQ4PEA')
    assert.equal(reader('00000000000000000000000000000000').uuid(), 'AAAAAAAAAAAAAAAAAAAAAA')
  })

  it('skips tagged fields, however many are claimed', () => {
    const r = reader('02 00 01 aa 05 02 bbbb 07')
    r.skipTaggedFields()
    assert.equal(r.uint8(), 7)
    assert.throws(() => reader('ffffffff0f 00 00').skipTaggedFields(), ProtocolError)
    assert.throws(() => reader('01 00 ffffffff0f').skipTaggedFields(), ProtocolError)
  })

  it('bounds the elements of all arrays of a message together', () => {
    const frame = Buffer.alloc(4 * MAX_ARRAY_ELEMENTS)
    for (let position = 0; position < 16; position += 4) frame.writeInt32BE(MAX_ARRAY_ELEMENTS / 4, position)
    frame.writeInt32BE(-1, 16)
    frame.writeInt32BE(1, 20)
    const r = new Reader(frame)
    for (let i = 0; i < 4; i++) r.arrayLength(1)
    r.nullableArrayLength(1)
    assert.throws(() => r.arrayLength(1), /100001 elements/)
  })
})
