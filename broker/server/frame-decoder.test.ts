import assert from 'node:assert/strict'
import { SeededRandom, randomInt } from '../../common/random.ts'
import { FrameDecoder, FrameError } from './frame-decoder.ts'

function frame(payload: Buffer): Buffer {
  const size = Buffer.alloc(4)
  size.writeInt32BE(payload.length)
  return Buffer.concat([size, payload])
}

describe('FrameDecoder', () => {
  it('finds the same frames however the stream is cut', () => {
    const random = new SeededRandom(3)
    for (let round = 0; round < 200; round++) {
      const payloads = Array.from({ length: randomInt(random, 1, 8) }, () => random.bytes(randomInt(random, 0, 40)))
      const stream = Buffer.concat(payloads.map(frame))
      const decoder = new FrameDecoder(1000)
      const frames: Buffer[] = []
      for (let position = 0; position < stream.length;) {
        const length = randomInt(random, 1, 20)
        decoder.push(stream.subarray(position, position + length), frames)
        position += length
      }
      assert.deepEqual(frames, payloads)
      assert.equal(decoder.pendingBytes, 0)
    }
  })

  it('does not copy a frame that lies within one chunk', () => {
    const chunk = frame(Buffer.from('hello'))
    const frames: Buffer[] = []
    new FrameDecoder(100).push(chunk, frames)
    assert.equal(frames[0]?.buffer, chunk.buffer)
  })

  it('keeps nothing of a chunk whose memory is used again', () => {
    const random = new SeededRandom(4)
    const payloads = Array.from({ length: 200 }, () => random.bytes(randomInt(random, 0, 3000)))
    const stream = Buffer.concat(payloads.map(frame))
    const decoder = new FrameDecoder(5000)
    const reused = Buffer.alloc(1000)
    const found: Buffer[] = []
    for (let position = 0; position < stream.length;) {
      const bytes = Math.min(randomInt(random, 1, 1000), stream.length - position)
      stream.copy(reused, 0, position, position + bytes)
      const frames: Buffer[] = []
      decoder.push(reused.subarray(0, bytes), frames)
      found.push(...frames.map((one) => Buffer.from(one)))
      reused.fill(0xee)
      position += bytes
    }
    assert.deepEqual(found, payloads)
  })

  it('holds only what arrived of a huge frame', () => {
    const decoder = new FrameDecoder(100_000_000)
    decoder.push(Buffer.from([0x05, 0xf5, 0xe1, 0x00, 1, 2, 3]), [])
    assert.ok(decoder.pendingBytes <= 256 * 1024)
  })

  for (const [name, bytes, message] of [
    ['a negative size', [0xff, 0xff, 0xff, 0xff], /-1 bytes/],
    ['a size over the limit', [0, 0, 4, 1], /1025 bytes/],
    ['an HTTP request', [...Buffer.from('GET / HTTP/1.1')], /HTTP request/],
    ['a TLS handshake', [0x16, 0x03, 0x01, 0x02, 0x00], /TLS handshake/],
  ] as const) {
    it(`refuses ${name}, whole or byte by byte`, () => {
      assert.throws(() => new FrameDecoder(1024).push(Buffer.from(bytes), []), message)
      assert.throws(() => {
        const decoder = new FrameDecoder(1024)
        for (const byte of bytes) decoder.push(Buffer.from([byte]), [])
      }, FrameError)
    })
  }
})
