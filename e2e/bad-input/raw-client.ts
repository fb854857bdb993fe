/** A client that can send anything: bytes go out as given, responses come in as frames, and the end of it is seen. */
import { createConnection, type Socket } from 'node:net'
import { decodeResponse, encodeRequest, responseCorrelationId } from '../../broker/protocol/frame.ts'
import type { Decoded, Input, Message } from '../../broker/protocol/schema.ts'

export interface RawClientOptions {
  /** The client reads nothing until {@link RawClient.startReading}. */
  readonly isPaused?: boolean
}

const TIMEOUT_MS = 20_000

export class RawClient {
  readonly socket: Socket
  readonly #frames: Buffer[] = []
  readonly #waiting: ((frame: Buffer | undefined) => void)[] = []
  #chunks: Buffer[] = []
  #chunkBytes = 0
  #correlationId = 0
  #isEnded = false
  readonly #ended = Promise.withResolvers<undefined>()

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    const end = (): void => {
      this.#isEnded = true
      this.#ended.resolve(undefined)
      for (const resolve of this.#waiting.splice(0)) resolve(undefined)
    }
    socket.on('end', end)
    socket.on('close', end)
  }

  static async connect(port: number, options: RawClientOptions = {}): Promise<RawClient> {
    const socket = createConnection({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    const client = new RawClient(socket)
    if (options.isPaused === true) socket.pause()
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return client
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Resolves when the broker has closed the connection; throws if it does not. */
  async ended(timeoutMs = TIMEOUT_MS): Promise<void> {
    await within(timeoutMs, 'the broker to close the connection', this.#ended.promise)
  }

  /** Resolves when the bytes are handed to the kernel, or can't be any more. */
  async send(bytes: Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()))
  }

  /** The next response, without its length; undefined if the broker closed the connection instead. */
  async nextFrame(timeoutMs = TIMEOUT_MS): Promise<Buffer | undefined> {
    const frame = this.#frames.shift()
    if (frame !== undefined) return frame
    if (this.#isEnded) return undefined
    const { promise, resolve } = Promise.withResolvers<Buffer | undefined>()
    this.#waiting.push(resolve)
    return within(timeoutMs, 'a response', promise)
  }

  /** A request and its response. */
  async call<Request extends Message, Response extends Message>(
    [request, response]: readonly [Request, Response],
    version: number,
    body: Input<Request>,
    timeoutMs = TIMEOUT_MS,
  ): Promise<Decoded<Response>> {
    const correlationId = ++this.#correlationId
    await this.send(frameOf(request, version, body, correlationId))
    const frame = await this.nextFrame(timeoutMs)
    if (frame === undefined) throw new Error(`${request.name} v${version}: the broker closed the connection`)
    const answered = responseCorrelationId(frame)
    if (answered !== correlationId) throw new Error(`the response ${answered} came for the request ${correlationId}`)
    return decodeResponse(response, version, frame)
  }

  startReading(): void {
    this.socket.resume()
  }

  async close(): Promise<void> {
    if (this.socket.closed) return
    const closed = new Promise<void>((resolve) => this.socket.once('close', () => resolve()))
    this.socket.destroy()
    await closed
  }

  #receive(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#chunkBytes += chunk.length
    let needed = this.#neededBytes()
    while (this.#chunkBytes >= needed) {
      const bytes = this.#chunks.length === 1 ? (this.#chunks[0] ?? chunk) : Buffer.concat(this.#chunks)
      if (needed <= 4) {
        this.#chunks = [bytes]
        needed = this.#neededBytes()
        if (needed <= 4) break
        continue
      }
      const frame = bytes.subarray(4, needed)
      this.#chunks = needed === bytes.length ? [] : [bytes.subarray(needed)]
      this.#chunkBytes -= needed
      const resolve = this.#waiting.shift()
      if (resolve === undefined) this.#frames.push(frame)
      else resolve(frame)
      needed = this.#neededBytes()
    }
  }

  /** Bytes up to the end of the next frame, or of its length (4). */
  #neededBytes(): number {
    const [first] = this.#chunks
    return first === undefined || first.length < 4 ? 4 : 4 + first.readInt32BE(0)
  }
}

/** A whole request as it goes over the wire. */
export function frameOf<Request extends Message>(
  request: Request,
  version: number,
  body: Input<Request>,
  correlationId = 1,
): Buffer {
  return Buffer.concat(encodeRequest(request, version, correlationId, 'bad-input', body))
}

/** A frame of any bytes, with a length that is right. */
export function framed(...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([int32(body.length), body])
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** Header of a request that is not flexible, without a client id. */
export function header(apiKey: number, apiVersion: number, correlationId = 1): Buffer {
  return Buffer.concat([int16(apiKey), int16(apiVersion), int32(correlationId), int16(-1)])
}

export async function within<T>(timeoutMs: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${timeoutMs} ms in vain for ${what}`)), timeoutMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
