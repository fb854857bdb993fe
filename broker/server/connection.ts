/**
 * One client connection: frames in, responses out, in order.
 *
 * Requests of a connection are handled one after another, as Kafka does it, but for pipelined ones (Produce): these do
 * their ordered part when called and complete later, so that a producer's next batch is appended while the previous one
 * waits for its acknowledgement. Responses always leave in the order of the requests.
 *
 * Back-pressure: reading stops while the client does not take its responses, while too many requests of the connection
 * are unanswered, and while the process holds too much memory for clients. Limits are kept by not reading, never by
 * dropping. What breaks the protocol closes the connection with one log line.
 */
import type { Socket } from 'node:net'
import { type Block, releaseAll } from '../../common/block-pool.ts'
import type { Clock } from '../../common/clock.ts'
import type { Logger } from '../../common/logger.ts'
import type { ClientSignal } from '../replication/client-signal.ts'
import { FrameDecoder, FrameError } from './frame-decoder.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { RequestProcessor } from './request-processor.ts'

const EMPTY = Buffer.alloc(0)
const NO_BUFFERS: readonly Uint8Array[] = []
const NO_BLOCKS: readonly Block[] = []

export interface ConnectionOptions {
  readonly listener: string
  readonly maxFrameBytes: number
  /** Unanswered requests at which the connection is read no further. */
  readonly maxInFlightRequests: number
}

/** A response in the order of its request; `buffers` is null until it is ready, and empty where there is none to send. */
interface ResponseSlot {
  buffers: readonly Uint8Array[] | null
  /** What `buffers` lie in. */
  blocks: readonly Block[]
  requestBytes: number
}

export class Connection implements ClientSignal {
  readonly #socket: Socket
  readonly #processor: RequestProcessor
  readonly #memory: MemoryBudget
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #options: ConnectionOptions
  readonly #decoder: FrameDecoder
  readonly #inbox: Buffer[] = []
  readonly #slots: ResponseSlot[] = []
  readonly #closeListeners = new Set<() => void>()
  readonly remoteAddress: string
  /** Whether a request that is not pipelined is being handled. */
  #isBusy = false
  #isPumping = false
  #isClosed = false
  #isEnding = false
  #isPaused = false
  #decoderBytes = 0
  #unsentBytes = 0
  #lastActivityMs: number
  #lastBytesWritten = 0
  readonly #resume = (): void => this.#pump()

  constructor(
    socket: Socket,
    processor: RequestProcessor,
    memory: MemoryBudget,
    clock: Clock,
    logger: Logger,
    options: ConnectionOptions,
  ) {
    this.#socket = socket
    this.#processor = processor
    this.#memory = memory
    this.#clock = clock
    this.#logger = logger
    this.#options = options
    this.#decoder = new FrameDecoder(options.maxFrameBytes)
    this.#lastActivityMs = clock.monotonicMs()
    this.remoteAddress = socket.remoteAddress ?? 'unknown'
    socket.setNoDelay(true)
    socket.on('drain', () => this.#pump())
    socket.on('end', () => this.#onEnd())
    socket.on('error', (error) => {
      // The peer went away; nothing is wrong with this process.
      this.#logger.debug({ remoteAddress: this.remoteAddress, error: error.message }, 'connection error')
    })
    socket.on('close', () => this.#onClose())
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  onClose(listener: () => void): void {
    if (this.#isClosed) listener()
    else this.#closeListeners.add(listener)
  }

  offClose(listener: () => void): void {
    this.#closeListeners.delete(listener)
  }

  /** When the connection last moved a byte in either direction (monotonic). */
  lastActivityMs(): number {
    if (this.#socket.bytesWritten - this.#socket.writableLength !== this.#lastBytesWritten) {
      this.#lastBytesWritten = this.#socket.bytesWritten - this.#socket.writableLength
      this.#lastActivityMs = this.#clock.monotonicMs()
    }
    return this.#lastActivityMs
  }

  /** Whether a request waits for its response; such a connection is not idle. */
  get hasUnansweredRequests(): boolean {
    return this.#slots.some((slot) => slot.buffers === null)
  }

  /** Closes at once. */
  destroy(): void {
    this.#socket.destroy()
  }

  /** Takes no more requests, answers those that were taken, then closes. */
  end(): void {
    this.#isEnding = true
    this.#dropInbox()
    this.#finishIfDone()
  }

  /** Takes bytes that came; they are not looked at again after the call. */
  receive(chunk: Buffer): void {
    if (this.#isClosed) return
    this.#lastActivityMs = this.#clock.monotonicMs()
    if (this.#isEnding) return
    const known = this.#inbox.length
    try {
      this.#decoder.push(chunk, this.#inbox)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.fail(error.message)
      return
    }
    for (let i = known; i < this.#inbox.length; i++) this.#memory.take(this.#inbox[i]?.length ?? 0)
    const decoderBytes = this.#decoder.pendingBytes
    this.#memory.take(decoderBytes - this.#decoderBytes)
    this.#decoderBytes = decoderBytes
    // A partial frame may grow past the limit, since only whole ones can be handled and freed; twice the limit is the end.
    if (this.#memory.usedBytes > 2 * this.#memory.limitBytes) {
      this.fail('the memory for client requests is exhausted')
      return
    }
    this.#pump()
    this.#keepWaitingFrames(chunk)
  }

  /** Copies frames that could not be handled yet out of the chunk's memory. */
  #keepWaitingFrames(chunk: Buffer): void {
    for (let i = this.#inbox.length - 1; i >= 0; i--) {
      const frame = this.#inbox[i]
      // Frames that waited before, or were assembled, have memory of their own.
      if (frame?.buffer !== chunk.buffer) break
      this.#inbox[i] = Buffer.from(frame)
    }
  }

  /** Lets go of responses that nobody takes any more; those that are not ready yet come here again. */
  #dropSlots(): void {
    for (const slot of this.#slots) {
      releaseAll(slot.blocks)
      slot.blocks = NO_BLOCKS
    }
  }

  #dropInbox(): void {
    for (const frame of this.#inbox) this.#memory.giveBack(frame.length)
    this.#inbox.length = 0
  }

  #pump(): void {
    if (this.#isPumping || this.#isClosed) return
    this.#isPumping = true
    this.#socket.cork()
    try {
      while (this.#canStart()) {
        const frame = this.#inbox.shift()
        if (frame === undefined) break
        this.#start(frame)
      }
    } finally {
      this.#isPumping = false
      this.#socket.uncork()
    }
    this.#adjustReading()
  }

  #canStart(): boolean {
    if (this.#isBusy || this.#isClosed || this.#inbox.length === 0) return false
    if (this.#slots.length >= this.#options.maxInFlightRequests) return false
    if (this.#socket.writableNeedDrain) return false
    if (this.#memory.isExhausted) {
      this.#memory.whenFree(this.#resume)
      return false
    }
    return true
  }

  #start(frame: Buffer): void {
    const slot: ResponseSlot = { buffers: null, blocks: NO_BLOCKS, requestBytes: frame.length }
    this.#slots.push(slot)
    let isPipelined = false
    const outcome = this.#processor.process(frame, this, this.#options.listener, (buffers, blocks) => {
      slot.buffers = buffers ?? NO_BUFFERS
      slot.blocks = blocks
      this.#memory.giveBack(slot.requestBytes)
      slot.requestBytes = 0
      if (!isPipelined) this.#isBusy = false
      this.#sendReady()
      this.#pump()
    })
    if (typeof outcome === 'string') {
      this.#memory.giveBack(slot.requestBytes)
      this.fail(outcome)
      return
    }
    isPipelined = outcome.isPipelined
    if (!isPipelined && slot.buffers === null) this.#isBusy = true
  }

  #sendReady(): void {
    if (this.#isClosed) {
      this.#dropSlots()
      return
    }
    this.#socket.cork()
    for (let slot = this.#slots[0]; slot !== undefined && slot.buffers !== null; slot = this.#slots[0]) {
      this.#send(slot.buffers, slot.blocks)
      this.#slots.shift()
    }
    this.#socket.uncork()
    this.#finishIfDone()
  }

  /** Queues a response; its bytes count as held memory until the kernel has them. */
  #send(buffers: readonly Uint8Array[], blocks: readonly Block[]): void {
    let bytes = 0
    for (const buffer of buffers) bytes += buffer.length
    if (bytes === 0) {
      releaseAll(blocks)
      return
    }
    this.#memory.take(bytes)
    this.#unsentBytes += bytes
    const last = buffers.length - 1
    for (let i = 0; i < last; i++) this.#socket.write(buffers[i] ?? EMPTY)
    this.#socket.write(buffers[last] ?? EMPTY, () => this.#onSent(bytes, blocks))
  }

  /** Also called when the bytes can't be sent any more: the kernel does not look at them then. */
  #onSent(bytes: number, blocks: readonly Block[]): void {
    releaseAll(blocks)
    if (this.#isClosed) return
    this.#unsentBytes -= bytes
    this.#memory.giveBack(bytes)
  }

  #adjustReading(): void {
    const shouldPause = this.#inbox.length > 0 && !this.#isClosed
    if (shouldPause === this.#isPaused) return
    this.#isPaused = shouldPause
    if (shouldPause) this.#socket.pause()
    else this.#socket.resume()
  }

  #onEnd(): void {
    // The client sends no more; what it asked for is still answered.
    if (this.#inbox.length > 0 || this.#slots.length > 0) {
      this.#finishIfDone()
    } else {
      this.#socket.end()
    }
  }

  #finishIfDone(): void {
    const isHalfClosed = this.#socket.readableEnded
    if ((this.#isEnding || isHalfClosed) && this.#slots.length === 0 && this.#inbox.length === 0) this.#socket.end()
  }

  /** Closes at once because the client broke the protocol or can't be answered; one log line says why. */
  fail(reason: string): void {
    if (this.#isClosed) return
    this.#logger.warn({ remoteAddress: this.remoteAddress, reason }, 'closing a connection')
    this.#socket.destroy()
    this.#onClose()
  }

  #onClose(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#memory.forget(this.#resume)
    this.#memory.giveBack(this.#decoderBytes + this.#unsentBytes)
    this.#decoderBytes = 0
    this.#unsentBytes = 0
    this.#dropInbox()
    this.#dropSlots()
    // Requests under way give their bytes back when they complete.
    for (const listener of this.#closeListeners) listener()
    this.#closeListeners.clear()
  }
}
