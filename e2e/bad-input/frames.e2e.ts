/** Streams that are no frames, or frames that are no requests: the connection is closed, with one log line. */
import assert from 'node:assert/strict'
import { ApiKey } from '../../broker/protocol/api-keys.ts'
import { ErrorCode } from '../../broker/protocol/error-codes.ts'
import { decodeMessage } from '../../broker/protocol/codec.ts'
import { apiVersionsRequest, apiVersionsResponse } from '../../broker/protocol/messages/18-api-versions.ts'
import { allApiMessages } from '../../broker/protocol/registry.ts'
import { Reader } from '../../broker/protocol/wire/reader.ts'
import { SeededRandom } from '../../common/random.ts'
import { waitFor } from '../lib/wait.ts'
import { frameOf, framed, header, int16, int32 } from './raw-client.ts'
import { world } from './world.ts'

const TLS_CLIENT_HELLO = Buffer.from('16030100c8010000c40303', 'hex')

describe('frames', () => {
  for (const [name, bytes, line] of [
    ['garbage', Buffer.from('ffffffffdeadbeef', 'hex'), /a frame of -1 bytes/],
    ['a negative length', int32(-0x80000000), /a frame of -2147483648 bytes/],
    ['a huge length', int32(0x7fffffff), /a frame of 2147483647 bytes/],
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), /an HTTP request on the Kafka port/],
    ['a TLS hello', TLS_CLIENT_HELLO, /a TLS handshake on a plaintext Kafka port/],
    ['an empty frame', int32(0), /malformed request/],
    ['a header cut short', framed(Buffer.from('000100', 'hex')), /malformed request/],
    ['an unknown API key', framed(header(3000, 0)), /unknown or unsupported API key 3000/],
    ['a negative API key', framed(header(-1, 0)), /unknown or unsupported API key -1/],
    ['a client id that lies about its length', framed(header(3, 1).subarray(0, 8), int16(0x7fff)), /malformed/],
    ['a body cut short', framed(header(3, 1)), /malformed request/],
    ['a hostile array count', framed(header(3, 1), int32(0x7fffffff)), /an array of 2147483647 elements/],
    ['a negative array count', framed(header(3, 1), int32(-7)), /impossible length -7/],
    [
      'an array count beyond all sense whose bytes are there',
      framed(header(3, 1), int32(1_000_000), Buffer.alloc(2_000_000)),
      /1000000 elements in one message/,
    ],
    ['a name cut short', framed(header(3, 1), int32(1), int16(200), Buffer.from('abc')), /malformed request/],
  ] as const) {
    it(`closes on ${name}`, async () => {
      const client = await world().connect()
      await client.send(bytes)
      await client.ended()
      await world().expectProblems(line)
    })
  }

  it('closes on random bytes, whatever they are', async () => {
    const random = new SeededRandom(42)
    for (let i = 0; i < 50; i++) {
      const client = await world().connect()
      const bytes = random.bytes(1000)
      // A length that makes no sense: anything else would be a frame to wait for.
      bytes[0] = 0x80 | (bytes[0] ?? 0)
      await client.send(bytes)
      await client.ended()
    }
    await world().expectProblems(...Array<RegExp>(50).fill(/closing a connection/))
  })

  it('closes on unknown versions of each API, and answers ApiVersions in version 0', async () => {
    const lines: RegExp[] = []
    for (const { request } of allApiMessages) {
      if (request.apiKey === ApiKey.ApiVersions) continue
      for (const version of [request.versions.last + 1, 0x7fff, -1]) {
        const client = await world().connect()
        await client.send(framed(header(request.apiKey, version)))
        await client.ended()
        lines.push(/are supported|unsupported API key/)
      }
    }
    await world().expectProblems(...lines)
    for (const version of [apiVersionsRequest.versions.last + 1, 0x7fff, -1]) {
      const client = await world().connect()
      await client.send(framed(header(ApiKey.ApiVersions, version, 77)))
      const frame = await client.nextFrame()
      assert.ok(frame)
      assert.equal(frame.readInt32BE(0), 77)
      const body = decodeMessage(apiVersionsResponse, 0, new Reader(frame, 4))
      assert.equal(body.errorCode, ErrorCode.UNSUPPORTED_VERSION)
      assert.ok(body.apiKeys.some(({ apiKey, maxVersion }) => apiKey === ApiKey.ApiVersions && maxVersion >= 4))
      // The client goes on with a version that it was told, on the same connection.
      const answer = await client.call([apiVersionsRequest, apiVersionsResponse], 3, {
        clientSoftwareName: 'bad-input',
        clientSoftwareVersion: '1',
      })
      assert.equal(answer.errorCode, 0)
    }
  })

  it('keeps a frame that is sent byte by byte', async () => {
    const client = await world().connect()
    for (const byte of frameOf(apiVersionsRequest, 0, {})) await client.send(Buffer.from([byte]))
    assert.ok(await client.nextFrame())
    await world().expectProblems()
  })

  it('waits for the rest of a frame, and forgets it when the client goes', async () => {
    const client = await world().connect()
    await client.send(Buffer.concat([int32(1000), Buffer.alloc(500)]))
    await client.close()
    await world().expectProblems()
  })

  it('answers what was complete before a client ended its side', async () => {
    const client = await world().connect()
    client.socket.end(frameOf(apiVersionsRequest, 0, {}))
    assert.ok(await client.nextFrame())
    await client.ended()
    await world().expectProblems()
  })

  it('reads 100 MB of garbage in one frame, and closes', async () => {
    const client = await world().connect()
    await client.send(int32(100_000_000))
    const chunk = Buffer.alloc(1_000_000, 0xaa)
    for (let i = 0; i < 100; i++) await client.send(chunk)
    await client.ended()
    await world().expectProblems(/unknown or unsupported API key/)
  })

  it('holds only so much of half-sent frames, and lets the oldest go', async () => {
    const clients = await Promise.all(Array.from({ length: 12 }, () => world().connect()))
    const chunk = Buffer.alloc(1_000_000, 0xaa)
    for (const client of clients) await client.send(int32(100_000_000))
    for (let i = 0; i < 60; i++) await Promise.all(clients.map((client) => client.send(chunk)))
    await waitFor('some clients to be closed', 20_000, () =>
      clients.some(({ isEnded }) => isEnded) ? true : undefined,
    )
    assert.ok(world().ottla.residentMib() < 900, `${world().ottla.residentMib()} MiB are resident`)
    const closed = clients.filter(({ isEnded }) => isEnded).length
    assert.ok(closed < clients.length, 'those that are within the limit stay')
    await world().expectProblems(...Array<RegExp>(closed).fill(/memory for unfinished requests is exhausted/))
  })
})
