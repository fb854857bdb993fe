/**
 * Seeded random requests: valid frames of every API and version with random content, then with random bytes changed. Each
 * is answered or closes its connection; none is an unforeseen error, and none disturbs anybody else.
 */
import assert from 'node:assert/strict'
import { encodeRequest } from '../../broker/protocol/frame.ts'
import { allApiMessages } from '../../broker/protocol/registry.ts'
import { randomMessage } from '../../broker/protocol/testing/random-message.ts'
import { EncodeError } from '../../broker/protocol/wire/errors.ts'
import { SeededRandom, randomInt } from '../../common/random.ts'
import type { RawClient } from './raw-client.ts'
import { world } from './world.ts'

const SEED = Number(process.env['OTTLA_E2E_SEED'] ?? 1)
const FRAMES_PER_API = Number(process.env['OTTLA_E2E_FUZZ_FRAMES'] ?? 100)
/** How long a frame may go unanswered (it may ask for a long wait, or for no answer) before the next one is tried. */
const PATIENCE_MS = 5

/** Sends frames one after another, on a new connection whenever the last one was closed or waits. */
async function attack(frames: Iterable<Buffer>): Promise<{ answered: number; closed: number; silent: number }> {
  const counts = { answered: 0, closed: 0, silent: 0 }
  let client: RawClient | undefined
  for (const frame of frames) {
    client ??= await world().connect()
    await client.send(frame)
    const answer = await client.nextFrame(PATIENCE_MS).catch(() => null)
    if (answer === null) {
      counts.silent++
      await client.close()
    } else if (answer === undefined) counts.closed++
    else counts.answered++
    if (answer === null || answer === undefined) client = undefined
  }
  return counts
}

function* randomFrames(random: SeededRandom, mutate: (frame: Buffer) => Buffer): Generator<Buffer> {
  for (const { request } of allApiMessages) {
    for (let i = 0; i < FRAMES_PER_API; i++) {
      const version = randomInt(random, request.versions.first, request.versions.last)
      const { input } = randomMessage(request, version, random)
      try {
        yield mutate(Buffer.concat(encodeRequest(request, version, i, 'fuzz', input)))
      } catch (error) {
        // A random text may be too long in its encoding.
        if (!(error instanceof EncodeError)) throw error
      }
    }
  }
}

describe(`fuzz with seed ${SEED}`, () => {
  for (const [name, mutate] of [
    ['random content', (_random: SeededRandom, frame: Buffer) => frame],
    [
      'changed bytes',
      (random: SeededRandom, frame: Buffer) => {
        // Not those of the length, or the rest of the stream would be waited for.
        for (let n = randomInt(random, 1, 4); n > 0; n--) {
          frame[randomInt(random, 6, frame.length - 1)] = randomInt(random, 0, 255)
        }
        return frame
      },
    ],
    [
      'frames cut short',
      (random: SeededRandom, frame: Buffer) => {
        const cut = Buffer.from(frame.subarray(0, randomInt(random, 4, frame.length)))
        cut.writeInt32BE(cut.length - 4)
        return cut
      },
    ],
  ] as const) {
    it(`survives requests of every API with ${name}`, async function () {
      this.timeout(180_000)
      const random = new SeededRandom(SEED)
      const counts = await attack(randomFrames(random, (frame) => mutate(random, frame)))
      if (process.env['OTTLA_E2E_VERBOSE'] !== undefined) console.log(`      ${JSON.stringify(counts)}`)
      assert.ok(counts.answered > 0)
      const unforeseen = world()
        .problems()
        .filter((line) => !line.includes('closing a connection'))
      assert.deepEqual(unforeseen, [])
      assert.ok(world().problems().length <= counts.closed + counts.silent, 'one log line a connection')
    })
  }
})
