import assert from 'node:assert/strict'
import { randomInt, SeededRandom } from '../../common/random.ts'
import { decodeMessage, encodeMessage } from './codec.ts'
import { allApiMessages } from './registry.ts'
import { type Message } from './schema.ts'
import { randomMessage } from './testing/random-message.ts'
import { ProtocolError } from './wire/errors.ts'
import { Reader } from './wire/reader.ts'
import { Writer } from './wire/writer.ts'

/** `OTTLA_TEST_SEED` repeats a run that failed. */
const seed = Number(process.env['OTTLA_TEST_SEED'] ?? Date.now() % 1_000_000)

describe(`every message in every version (OTTLA_TEST_SEED=${seed})`, () => {
  for (const message of allApiMessages.flatMap(({ request, response }) => [request, response])) {
    it(`${message.name} survives encoding and decoding, and being cut short and damaged`, () => {
      const random = new SeededRandom(seed)
      for (let version = message.versions.first; version <= message.versions.last; version++) {
        for (let round = 0; round < 5; round++) {
          const { input, decoded } = randomMessage(message, version, random)
          const frame = encode(message, version, input)
          const reader = new Reader(frame)
          assert.deepEqual(decodeMessage(message, version, reader), decoded, `v${version}`)
          assert.equal(reader.remaining, 0, `v${version}: the decoder left bytes over`)
          if (round === 0) checkPrefixes(message, version, frame)
          checkDamage(message, version, frame, random)
        }
      }
    })
  }
})

function encode(message: Message, version: number, input: Record<string, unknown>): Buffer {
  const writer = new Writer()
  encodeMessage(message, version, writer, input)
  return Buffer.concat(writer.finish())
}

function checkPrefixes(message: Message, version: number, frame: Buffer): void {
  for (let length = 0; length < frame.length; length++) {
    assert.throws(
      () => decodeMessage(message, version, new Reader(frame, 0, length)),
      ProtocolError,
      `v${version} decodes from the first ${length} of ${frame.length} bytes`,
    )
  }
}

/** A damaged frame is another message or a ProtocolError, never any other error, and takes no memory beyond its size. */
function checkDamage(message: Message, version: number, frame: Buffer, random: SeededRandom): void {
  if (frame.length === 0) return
  for (let round = 0; round < 20; round++) {
    const damaged = Buffer.from(frame)
    const position = randomInt(random, 0, damaged.length - 1)
    if (random.next() < 0.5) damaged[position] = randomInt(random, 0, 0xff)
    // A huge count, in either encoding.
    else damaged.fill(random.next() < 0.5 ? 0x7f : 0xff, position, Math.min(damaged.length, position + 5))
    try {
      decodeMessage(message, version, new Reader(damaged))
    } catch (error) {
      assert.ok(error instanceof ProtocolError, `v${version}: ${String(error)} from ${damaged.toString('hex')}`)
    }
  }
}
