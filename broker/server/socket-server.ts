/** The listening side: accepts connections within limits, and closes idle ones. */
import { createServer, type Server, type Socket } from 'node:net'
import type { Clock } from '../../common/clock.ts'
import type { Logger } from '../../common/logger.ts'
import type { TimerHandle, Timers } from '../../common/timers.ts'
import { Connection } from './connection.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { readIntoBuffer } from './read-buffer.ts'
import type { RequestProcessor } from './request-processor.ts'

export interface SocketServerOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly listener: string
  readonly maxFrameBytes: number
  readonly maxInFlightRequests: number
  /** For how long a new connection of an address is held up and then closed, since there are too many; 0: it is opened. */
  readonly throttleConnectionMs: (address: string) => number
  /** How many connections are taken; asked at each new one. */
  readonly limits: () => { readonly maxConnections: number; readonly maxConnectionsPerAddress: number }
  /** Negative: none is closed for being idle. */
  readonly maxIdleMs: number
}

const READ_BUFFER_BYTES = 1024 * 1024

/** How often connections are looked at. */
const CHECK_INTERVAL_MS = 10_000
/** How often it is looked whether memory is short. */
const MEMORY_CHECK_INTERVAL_MS = 250
/** How long a client may take nothing of its responses while memory is short and everybody waits for it. */
const MAX_STALL_MS = 1000

/** Of a connection that is not opened: it closes, and that is all. */
const ignore = (): void => undefined

export class SocketServer {
  readonly #server: Server
  readonly #connections = new Set<Connection>()
  readonly #perAddress = new Map<string, number>()
  readonly #processor: RequestProcessor
  readonly #memory: MemoryBudget
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #logger: Logger
  readonly #options: SocketServerOptions
  #checkTimer: TimerHandle | undefined
  #memoryTimer: TimerHandle | undefined
  #connectionCount = 0
  #isServing = false
  #isClosing = false
  /** Connections that came before {@link serve}; they are not read from until then. */
  readonly #early = new Map<Socket, string>()
  /** Connections over the quota of their address; they are never read from. */
  readonly #heldUp = new Set<Socket>()
  readonly #closed = Promise.withResolvers<undefined>()
  /** All connections are read into it, one after another; what they keep they copy. */
  readonly #readBuffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)

  constructor(
    processor: RequestProcessor,
    memory: MemoryBudget,
    clock: Clock,
    timers: Timers,
    logger: Logger,
    options: SocketServerOptions,
  ) {
    this.#processor = processor
    this.#memory = memory
    this.#clock = clock
    this.#timers = timers
    this.#logger = logger
    this.#options = options
    this.#server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) => {
      this.#accept(socket)
    })
  }

  get connectionCount(): number {
    return this.#connectionCount
  }

  /** Resolves with the port that it listens on. Errors: Node's (`EADDRINUSE`, `EACCES`, ...). */
  async listen(): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    this.#server.once('error', reject)
    this.#server.listen({ host: this.#options.host, port: this.#options.port, backlog: 1024 }, () => resolve(undefined))
    await promise
    this.#server.off('error', reject)
    this.#server.on('error', (error) => this.#logger.error({ err: error }, 'the listener failed'))
    this.#checkConnections()
    this.#checkMemory()
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : this.#options.port
  }

  /** Begins to read from connections; those that came before have waited. */
  serve(): void {
    this.#isServing = true
    const early = [...this.#early]
    this.#early.clear()
    for (const [socket, address] of early) this.#open(socket, address)
  }

  /** Accepts no more, answers what was taken, and closes all; connections that are not done after `graceMs` are cut. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true
    this.#checkTimer?.cancel()
    this.#memoryTimer?.cancel()
    this.#server.close()
    for (const socket of [...this.#early.keys(), ...this.#heldUp]) socket.destroy()
    for (const connection of this.#connections) connection.end()
    if (this.#connectionCount === 0) return
    const cut = this.#timers.schedule(graceMs, () => {
      for (const connection of this.#connections) connection.destroy()
    })
    await this.#closed.promise
    cut.cancel()
  }

  #accept(socket: Socket): void {
    const address = socket.remoteAddress ?? 'unknown'
    const ofAddress = this.#perAddress.get(address) ?? 0
    const { maxConnections, maxConnectionsPerAddress } = this.#options.limits()
    if (this.#isClosing || this.#connectionCount >= maxConnections || ofAddress >= maxConnectionsPerAddress) {
      this.#logger.warn(
        { remoteAddress: address, connections: this.#connectionCount },
        'refusing a connection over the limit',
      )
      socket.on('error', ignore)
      socket.destroy()
      return
    }
    this.#perAddress.set(address, ofAddress + 1)
    this.#connectionCount++
    const throttleMs = this.#options.throttleConnectionMs(address)
    if (throttleMs > 0) {
      this.#holdUp(socket, address, throttleMs)
      return
    }
    if (this.#isServing) {
      this.#open(socket, address)
      return
    }
    this.#early.set(socket, address)
    socket.on('error', ignore)
    socket.once('close', () => {
      if (this.#early.delete(socket)) this.#left(address)
    })
  }

  /** A connection over the quota of its address: closed, but not at once, or it would be there again at once. */
  #holdUp(socket: Socket, address: string, throttleMs: number): void {
    this.#heldUp.add(socket)
    const timer = this.#timers.schedule(throttleMs, () => socket.destroy())
    socket.on('error', ignore)
    socket.once('close', () => {
      timer.cancel()
      this.#heldUp.delete(socket)
      this.#left(address)
    })
  }

  #open(accepted: Socket, address: string): void {
    const socket = readIntoBuffer(accepted, this.#readBuffer, (bytes) => connection.receive(bytes))
    const connection = new Connection(
      socket,
      this.#processor,
      this.#memory,
      this.#clock,
      this.#timers,
      this.#logger,
      this.#options,
    )
    this.#connections.add(connection)
    socket.once('close', () => {
      this.#connections.delete(connection)
      this.#left(address)
    })
    socket.resume()
  }

  #left(address: string): void {
    this.#connectionCount--
    const left = (this.#perAddress.get(address) ?? 1) - 1
    if (left === 0) this.#perAddress.delete(address)
    else this.#perAddress.set(address, left)
    if (this.#isClosing && this.#connectionCount === 0) this.#closed.resolve(undefined)
  }

  #checkConnections(): void {
    const { maxIdleMs } = this.#options
    if (maxIdleMs < 0) return
    const intervalMs = Math.min(CHECK_INTERVAL_MS, Math.max(100, maxIdleMs / 4))
    this.#checkTimer = this.#timers.schedule(intervalMs, () => {
      this.#closeIdle(this.#clock.monotonicMs() - maxIdleMs)
      this.#checkConnections()
    })
  }

  #checkMemory(): void {
    this.#memoryTimer = this.#timers.schedule(MEMORY_CHECK_INTERVAL_MS, () => {
      if (this.#memory.isExhausted) this.#closeStalled(this.#clock.monotonicMs() - MAX_STALL_MS)
      this.#checkMemory()
    })
  }

  /** A client that only waits for a response is idle too, as in Kafka: it may be gone without a word. */
  #closeIdle(oldestMs: number): void {
    for (const connection of this.#connections) if (connection.lastActivityMs() < oldestMs) connection.destroy()
  }

  /** Memory is held by responses that are not taken, and others wait for it. */
  #closeStalled(oldestMs: number): void {
    for (const connection of this.#connections) {
      if (!this.#memory.isExhausted) return
      if ((connection.stalledSinceMs() ?? Infinity) < oldestMs) {
        connection.fail('it does not take its responses, and memory is short')
      }
    }
  }
}
