import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import type { Clock } from '../../common/clock.ts'
import { silentLogger, type Logger } from '../../common/logger.ts'
import type { TimerHandle, Timers } from '../../common/timers.ts'
import { ApiKey } from '../protocol/api-keys.ts'
import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'
import { encodeRequest, responseCorrelationId } from '../protocol/frame.ts'
import { fetchRequest, fetchResponse } from '../protocol/messages/01-fetch.ts'
import { produceRequest, produceResponse } from '../protocol/messages/00-produce.ts'
import { apiVersionsRequest, apiVersionsResponse } from '../protocol/messages/18-api-versions.ts'
import { defineApi, type ApiHandler } from './api-handler.ts'
import { apiVersionsHandler } from './handlers/18-api-versions.ts'
import { Connection } from './connection.ts'
import { MemoryBudget } from './memory-budget.ts'
import { RequestMetrics } from './request-metrics.ts'
import { RequestProcessor } from './request-processor.ts'

/** The server's end of a connection in memory: the test writes what a client sends and sees what it gets. */
class FakeSocket extends Duplex {
  remoteAddress = '10.0.0.1'
  bytesWritten = 0
  readonly sent: Buffer[] = []
  /** While set, the client takes nothing. */
  isStuck = false
  #blocked: (() => void) | undefined

  constructor() {
    super({ allowHalfOpen: true, writableHighWaterMark: 1024 })
  }

  setNoDelay(): this {
    return this
  }

  override _read(): void {
    // Data is pushed by the test.
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    for (const { chunk } of chunks) this.sent.push(chunk)
    if (this.isStuck) this.#blocked = done
    else done()
  }

  unstick(): void {
    this.isStuck = false
    this.#blocked?.()
  }

  /** Correlation ids of the responses that were sent. */
  responses(): number[] {
    const bytes = Buffer.concat(this.sent)
    const ids: number[] = []
    for (let position = 0; position + 4 <= bytes.length; position += 4 + bytes.readInt32BE(position)) {
      ids.push(responseCorrelationId(bytes.subarray(position + 4)))
    }
    return ids
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

class FakeTimers implements Timers {
  readonly waiting = new Set<{ delayMs: number; fire: () => void }>()

  schedule(delayMs: number, fire: () => void): TimerHandle {
    const timer = { delayMs, fire }
    this.waiting.add(timer)
    return { cancel: () => this.waiting.delete(timer) }
  }

  fireAll(): void {
    for (const timer of [...this.waiting]) if (this.waiting.delete(timer)) timer.fire()
  }
}

class World {
  readonly socket = new FakeSocket()
  readonly produced: number[] = []
  readonly fetched: number[] = []
  readonly warnings: string[] = []
  readonly memory: MemoryBudget
  readonly pending = new Map<string, { resolve: (value: object) => void; reject: (error: Error) => void }>()
  readonly connection: Connection
  readonly timers = new FakeTimers()

  nowMs = 0

  constructor({
    memoryBytes = 1_000_000,
    maxInFlightRequests = 10,
    memory = new MemoryBudget(memoryBytes),
    requestMs = 0,
  }: { memoryBytes?: number; maxInFlightRequests?: number; memory?: MemoryBudget; requestMs?: number } = {}) {
    this.memory = memory
    const clock: Clock = { wallMs: () => 0, monotonicMs: () => this.nowMs }
    const logger: Logger = {
      ...silentLogger,
      warn: (fields, text) => this.warnings.push(`${text} ${JSON.stringify(fields)}`),
    }
    const wait = <T extends object>(name: string): Promise<T> => {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      this.pending.set(name, { resolve: resolve as (value: object) => void, reject })
      return promise
    }
    const handlers: readonly ApiHandler[] = [
      defineApi({
        apiKey: ApiKey.Produce,
        name: 'Produce',
        versions: [0, 11],
        request: produceRequest,
        response: produceResponse,
        isPipelined: true,
        handle: (request, { correlationId }) => {
          this.produced.push(correlationId)
          this.nowMs += requestMs
          return request.acks === 0 ? null : wait(`produce ${correlationId}`)
        },
        errorResponse: () => ({ responses: [] }),
      }),
      defineApi({
        apiKey: ApiKey.Fetch,
        name: 'Fetch',
        versions: [4, 17],
        request: fetchRequest,
        response: fetchResponse,
        handle: (_request, { correlationId }) => {
          this.fetched.push(correlationId)
          return wait(`fetch ${correlationId}`)
        },
        errorResponse: (_request, errorCode) => ({ errorCode }),
      }),
      apiVersionsHandler(() => handlers),
    ]
    const processor = new RequestProcessor(handlers, new RequestMetrics(), clock, logger)
    this.connection = new Connection(
      this.socket as unknown as Socket,
      processor,
      this.memory,
      clock,
      this.timers,
      logger,
      {
        listener: 'L',
        maxFrameBytes: 100_000,
        maxInFlightRequests,
      },
    )
    this.socket.resume()
  }

  /** Bytes from the client, in memory that is used again at once. */
  client(...buffers: readonly Uint8Array[]): void {
    const bytes = Buffer.concat(buffers)
    const chunk = Buffer.allocUnsafeSlow(bytes.length)
    bytes.copy(chunk)
    this.connection.receive(chunk)
    chunk.fill(0xee)
  }

  produce(correlationId: number, acks = -1): Buffer {
    return Buffer.concat(encodeRequest(produceRequest, 9, correlationId, 'test', { acks, topicData: [] }))
  }

  /** With records of so many bytes. */
  produceOf(recordBytes: number): Buffer {
    const partitionData = [{ index: 0, records: Buffer.alloc(recordBytes) }]
    return Buffer.concat(
      encodeRequest(produceRequest, 9, 1, 'test', { acks: -1, topicData: [{ name: 't', partitionData }] }),
    )
  }

  fetch(correlationId: number): Buffer {
    return Buffer.concat(encodeRequest(fetchRequest, 12, correlationId, 'test', { topics: [] }))
  }
}

describe('Connection', () => {
  it('starts pipelined requests at once and answers in the order of the requests', async () => {
    const world = new World()
    world.client(world.produce(1), world.produce(2), world.produce(3))
    await settle()
    assert.deepEqual(world.produced, [1, 2, 3])
    world.pending.get('produce 3')?.resolve({})
    world.pending.get('produce 2')?.resolve({})
    await settle()
    assert.deepEqual(world.socket.responses(), [])
    world.pending.get('produce 1')?.resolve({})
    await settle()
    assert.deepEqual(world.socket.responses(), [1, 2, 3])
    assert.equal(world.memory.usedBytes, 0)
  })

  it('starts what follows a request that is not pipelined only after it', async () => {
    const world = new World()
    world.client(world.fetch(1), world.produce(2), world.fetch(3))
    await settle()
    assert.deepEqual([world.fetched, world.produced], [[1], []])
    world.pending.get('fetch 1')?.resolve({})
    await settle()
    assert.deepEqual([world.fetched, world.produced], [[1, 3], [2]])
    world.pending.get('fetch 3')?.resolve({})
    world.pending.get('produce 2')?.resolve({})
    await settle()
    assert.deepEqual(world.socket.responses(), [1, 2, 3])
  })

  it('sends nothing for acks=0', async () => {
    const world = new World()
    world.client(world.produce(1, 0), world.produce(2))
    await settle()
    world.pending.get('produce 2')?.resolve({})
    await settle()
    assert.deepEqual(world.socket.responses(), [2])
  })

  it('starts no request while its client is throttled, and answers those under way', async () => {
    const world = new World()
    world.client(world.produce(1))
    world.connection.throttle(500)
    world.connection.throttle(200)
    assert.deepEqual(
      [...world.timers.waiting].map(({ delayMs }) => delayMs),
      [500],
    )
    world.client(world.produce(2))
    world.pending.get('produce 1')?.resolve({})
    await settle()
    assert.deepEqual([world.produced, world.socket.responses()], [[1], [1]])
    assert.equal(world.socket.isPaused(), true)
    world.timers.fireAll()
    await settle()
    assert.deepEqual(world.produced, [1, 2])
    assert.equal(world.socket.isPaused(), false)
  })

  it('waits for nothing after it is closed while throttled', async () => {
    const world = new World()
    world.connection.throttle(500)
    world.connection.destroy()
    await settle()
    assert.equal(world.timers.waiting.size, 0)
  })

  it('reads no further while too many requests are unanswered', async () => {
    const world = new World({ maxInFlightRequests: 2 })
    world.client(world.produce(1), world.produce(2), world.produce(3))
    await settle()
    assert.deepEqual(world.produced, [1, 2])
    assert.equal(world.socket.isPaused(), true)
    world.pending.get('produce 1')?.resolve({})
    await settle()
    assert.deepEqual(world.produced, [1, 2, 3])
    assert.equal(world.socket.isPaused(), false)
  })

  it('reads no further while the client does not take its responses', async () => {
    const world = new World()
    world.socket.isStuck = true
    world.client(world.fetch(1))
    await settle()
    const records = Buffer.alloc(5000)
    world.pending.get('fetch 1')?.resolve({ responses: [{ topic: 't', partitions: [{ records }] }] })
    await settle()
    world.client(world.produce(2), world.produce(3))
    await settle()
    assert.deepEqual(world.produced, [])
    assert.ok(world.memory.usedBytes >= 5000, 'the unsent response counts')
    world.socket.unstick()
    await settle()
    assert.deepEqual(world.produced, [2, 3])
  })

  it('waits for memory, which other connections hold', async () => {
    const world = new World({ memoryBytes: 1000 })
    world.memory.take(1000)
    world.client(world.produce(1))
    await settle()
    assert.deepEqual(world.produced, [])
    world.memory.giveBack(1000)
    await settle()
    assert.deepEqual(world.produced, [1])
  })

  it('gives all its memory back when it closes', async () => {
    const world = new World()
    world.client(world.produce(1), world.produce(2).subarray(0, 10))
    await settle()
    assert.ok(world.memory.usedBytes > 0)
    let closed = 0
    world.connection.onClose(() => closed++)
    world.socket.destroy()
    await settle()
    assert.equal(closed, 1)
    world.pending.get('produce 1')?.resolve({})
    await settle()
    assert.equal(world.memory.usedBytes, 0)
    world.connection.onClose(() => closed++)
    assert.equal(closed, 2, 'whoever comes late is told at once')
  })

  it('answers what it took before it ends', async () => {
    const world = new World()
    world.client(world.produce(1))
    await settle()
    world.connection.end()
    world.client(world.produce(2))
    await settle()
    assert.deepEqual(world.produced, [1])
    assert.equal(world.socket.writableEnded, false)
    world.pending.get('produce 1')?.resolve({})
    await settle()
    assert.deepEqual(world.socket.responses(), [1])
    assert.equal(world.socket.writableEnded, true)
  })

  it('answers a client that has sent its last', async () => {
    const world = new World()
    world.client(world.produce(1))
    world.socket.push(null)
    await settle()
    world.pending.get('produce 1')?.resolve({})
    await settle()
    assert.deepEqual(world.socket.responses(), [1])
    assert.equal(world.socket.writableEnded, true)
  })

  it('answers an unforeseen error with an error response, and goes on', async () => {
    const world = new World()
    world.client(world.fetch(1), world.fetch(2))
    await settle()
    world.pending.get('fetch 1')?.reject(new Error('a bug'))
    await settle()
    world.pending.get('fetch 2')?.reject(new KafkaError(ErrorCode.INVALID_REQUEST, 'no'))
    await settle()
    assert.deepEqual(world.socket.responses(), [1, 2])
    assert.equal(world.socket.destroyed, false)
  })

  it('answers ApiVersions of an unknown version in version 0 with what it supports', async () => {
    const world = new World()
    const request = Buffer.concat(
      encodeRequest(apiVersionsRequest, 4, 9, 'test', { clientSoftwareName: 'x', clientSoftwareVersion: '1' }),
    )
    request.writeInt16BE(99, 6)
    world.client(request)
    await settle()
    const frame = Buffer.concat(world.socket.sent).subarray(4)
    assert.equal(frame.readInt32BE(0), 9)
    assert.equal(frame.readInt16BE(4), ErrorCode.UNSUPPORTED_VERSION)
    assert.equal(frame.readInt32BE(6), 3)
    assert.equal(apiVersionsResponse.name, 'ApiVersionsResponse')
  })

  it('answers Produce versions 0 to 2 with an error per partition', async () => {
    for (const version of [0, 1, 2]) {
      const world = new World()
      const body = Buffer.from([
        ...[0, 0, 0, version, 0, 0, 0, 5, 0, 1, 0x63], // header: Produce, version, correlation id 5, client 'c'
        ...[0xff, 0xff, 0, 0, 0, 1], // acks -1, timeout 1
        ...[0, 0, 0, 1, 0, 1, 0x74], // one topic, 't'
        ...[0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0], // one partition, 7, no records
      ])
      const size = Buffer.alloc(4)
      size.writeInt32BE(body.length)
      world.client(size, body)
      await settle()
      const frame = Buffer.concat(world.socket.sent).subarray(4)
      assert.equal(frame.readInt32BE(0), 5)
      assert.equal(frame.readInt32BE(4 + 4 + 3 + 4), 7, 'the partition')
      assert.equal(frame.readInt16BE(4 + 4 + 3 + 4 + 4), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
    }
  })

  it('keeps frames that wait out of memory that is used again, whatever follows them', async () => {
    const world = new World()
    // The empty frame is complete with its prefix, at the end of the chunk.
    world.client(world.fetch(1), world.produce(2), Buffer.alloc(4))
    world.pending.get('fetch 1')?.resolve({})
    await settle()
    assert.deepEqual(world.produced, [2])
  })

  it('keeps its memory accounts when garbage follows a good frame', async () => {
    const world = new World()
    const produce = world.produce(1)
    world.client(produce.subarray(0, 10))
    world.client(produce.subarray(10), world.produce(2), Buffer.from('ffffffffdeadbeef', 'hex'))
    await settle()
    assert.equal(world.socket.destroyed, true)
    assert.deepEqual([world.memory.usedBytes, world.memory.received.usedBytes], [0, 0])
  })

  it('admits requests whose frames alone are more than the limit', async () => {
    const memory = new MemoryBudget(1000, 100_000)
    const worlds = [new World({ memory }), new World({ memory }), new World({ memory })]
    for (const world of worlds) world.client(world.produceOf(900).subarray(0, 600))
    for (const world of worlds) world.client(world.produceOf(900).subarray(600))
    await settle()
    assert.deepEqual(
      worlds.map(({ produced }) => produced.length),
      [1, 1, 0],
      'the third waits for memory that the first two use',
    )
    worlds[0]?.pending.get('produce 1')?.resolve({})
    await settle()
    assert.equal(worlds[2]?.produced.length, 1)
  })

  it('closes the client with the oldest unfinished frame when they become too many bytes', async () => {
    const memory = new MemoryBudget(10_000)
    const hoarders = [new World({ memory }), new World({ memory }), new World({ memory })]
    for (const world of hoarders) world.client(world.produceOf(4000).subarray(0, 3900))
    const honest = new World({ memory })
    honest.client(honest.produceOf(500).subarray(0, 300))
    honest.client(honest.produceOf(500).subarray(300))
    await settle()
    assert.deepEqual(
      hoarders.map(({ socket, warnings }) => [socket.destroyed, warnings.length]),
      [
        [true, 1],
        [false, 0],
        [false, 0],
      ],
    )
    assert.equal(honest.produced.length, 1)
    assert.ok(memory.received.usedBytes <= 10_000)
    for (const { socket } of hoarders) socket.destroy()
    await settle()
    assert.equal(memory.received.usedBytes, 0)
  })

  it('counts frames that wait behind an unanswered request', async () => {
    const world = new World()
    world.client(world.fetch(1), world.produce(2))
    await settle()
    assert.ok(world.memory.received.usedBytes > 0)
    world.pending.get('fetch 1')?.resolve({})
    await settle()
    assert.equal(world.memory.received.usedBytes, 0)
  })

  it('gives others a turn between requests that take long, also when they are answered at once', async () => {
    const world = new World({ requestMs: 15 })
    world.client(world.produce(1, 0), world.produce(2, 0), world.produce(3, 0), world.produce(4, 0))
    assert.deepEqual(world.produced, [1, 2])
    await Promise.resolve()
    assert.deepEqual(world.produced, [1, 2])
    await settle()
    assert.deepEqual(world.produced, [1, 2, 3, 4])
  })

  it('tells who waits for the client that it sends no more', async () => {
    const world = new World()
    world.client(world.fetch(1))
    let told = 0
    world.connection.onClose(() => told++)
    world.socket.push(null)
    await settle()
    assert.equal(told, 1)
    world.connection.onClose(() => told++)
    assert.equal(told, 2, 'what comes late does not wait either')
    assert.equal(world.connection.isClosed, false, 'the client still takes its response')
    world.pending.get('fetch 1')?.resolve({})
    await settle()
    assert.deepEqual(world.socket.responses(), [1])
  })

  it('sees the end of a client that was not read from when the server stops', async () => {
    const world = new World()
    world.client(world.fetch(1), world.produce(2))
    await settle()
    assert.equal(world.socket.isPaused(), true)
    world.connection.end()
    assert.equal(world.socket.isPaused(), false)
  })

  it('knows since when a client has not taken its responses', async () => {
    const world = new World()
    assert.equal(world.connection.stalledSinceMs(), undefined)
    world.socket.isStuck = true
    world.client(world.fetch(1))
    await settle()
    world.nowMs = 100
    world.pending.get('fetch 1')?.resolve({})
    await settle()
    assert.equal(world.connection.stalledSinceMs(), 100)
    world.nowMs = 5000
    assert.equal(world.connection.stalledSinceMs(), 100)
    world.socket.unstick()
    await settle()
    assert.equal(world.connection.stalledSinceMs(), undefined)
    assert.equal(world.connection.lastActivityMs(), 5000)
  })

  it('closes with one log line when a name is too long to be said again', async () => {
    // Not UTF-8, so each byte becomes a replacement character of three.
    const name = Buffer.alloc(20_000, 0xff)
    const world = new World()
    const body = Buffer.concat([
      Buffer.from('0000 0000 00000005 0000 ffff 00000001 00000001 4e20'.replaceAll(' ', ''), 'hex'),
      name,
      Buffer.from('00000001 00000007 00000000'.replaceAll(' ', ''), 'hex'),
    ])
    const size = Buffer.alloc(4)
    size.writeInt32BE(body.length)
    world.client(size, body)
    await settle()
    assert.equal(world.socket.destroyed, true)
    assert.equal(world.warnings.length, 1)
    assert.match(world.warnings[0] ?? '', /no response could be made/)
    assert.equal(world.memory.usedBytes, 0)
  })

  for (const [name, bytes, message] of [
    ['garbage', Buffer.from('ffffffffdeadbeef', 'hex'), /a frame of -1 bytes/],
    ['an unknown API key', Buffer.from('0000000a 0bb8 0000 00000001 0000'.replaceAll(' ', ''), 'hex'), /API key 3000/],
    [
      'an unknown version',
      Buffer.from('0000000a 0001 03e8 00000001 0000'.replaceAll(' ', ''), 'hex'),
      /Fetch version 1000/,
    ],
    [
      'a request cut short',
      Buffer.from('0000000c 0001 000b 00000001 0000 0000'.replaceAll(' ', ''), 'hex'),
      /malformed request/,
    ],
    ['a header cut short', Buffer.from('00000003 000100'.replaceAll(' ', ''), 'hex'), /malformed request/],
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\n\r\n'), /HTTP request/],
  ] as const) {
    it(`closes on ${name} with one log line`, async () => {
      const world = new World()
      world.client(bytes)
      await settle()
      assert.equal(world.socket.destroyed, true)
      assert.equal(world.warnings.length, 1)
      assert.match(world.warnings[0] ?? '', message)
      assert.equal(world.memory.usedBytes, 0)
    })
  }
})
