/**
 * One client connection: frames in, responses out, in order.
 *
 * Requests of a connection are handled one after another, as Kafka does it, but for pipelined ones (Produce): these do
 * their ordered part when called and complete later, so that a producer's next batch is appended while the previous one
 * waits for its acknowledgement. Responses always leave in the order of the requests.
 *
 * Back-pressure: reading stops while the client does not take its responses, while too many requests of the connection
 * are unanswered, while its client is over a quota, and while the process holds too much memory for clients. What not reading can't bound (frames that
 * never become whole, responses that nobody takes) costs a client its connection once memory is short. What breaks the
 * protocol closes the connection. Either way there is one log line.
 */
import type { Socket } from 'node:net'
import { type Releasable, releaseAll } from '../../common/block-pool.ts'
import type { Clock } from '../../common/clock.ts'
import type { Logger } from '../../common/logger.ts'
import type { TimerHandle, Timers } from '../../common/timers.ts'
import type { ClientSignal } from '../replication/client-signal.ts'
import { FrameDecoder, FrameError } from './frame-decoder.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { unwrittenBytes } from './read-buffer.ts'
import type { FrameHolder } from './receive-budget.ts'
import type { RequestProcessor } from './request-processor.ts'

const EMPTY = Buffer.alloc(0)
const NO_BUFFERS: readonly Uint8Array[] = []
const NOTHING_HELD: readonly Releasable[] = []
/** How long requests that came together are started before other connections have a turn. */
const MAX_TURN_MS = 20
/** What a frame that waits costs besides its bytes. */
const WAITING_FRAME_OVERHEAD_BYTES = 128

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
  held: readonly Releasable[]
  requestBytes: number
}

export class Connection implements ClientSignal, FrameHolder {
  readonly #socket: Socket
  readonly #processor: RequestProcessor
  readonly #memory: MemoryBudget
  readonly #clock: Clock
  readonly #timers: Timers
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
  /** While it is set, no request is started: the client is over a quota. */
  #throttleTimer: TimerHandle | undefined
  #throttledUntilMs = 0
  /** Of the frames in the inbox, with their overhead. */
  #inboxBytes = 0
  #unsentBytes = 0
  /** When other connections have to get a turn; Infinity while the connection has started all that it got. */
  #turnEndMs = Infinity
  #lastActivityMs: number
  /** When the client last took bytes of its responses, or had all. */
  #lastTakenMs: number
  #lastUnwrittenBytes = 0

  constructor(
    socket: Socket,
    processor: RequestProcessor,
    memory: MemoryBudget,
    clock: Clock,
    timers: Timers,
    logger: Logger,
    options: ConnectionOptions,
  ) {
    this.#socket = socket
    this.#processor = processor
    this.#memory = memory
    this.#clock = clock
    this.#timers = timers
    this.#logger = logger
    this.#options = options
    this.#decoder = new FrameDecoder(options.maxFrameBytes)
    this.#lastActivityMs = clock.monotonicMs()
    this.#lastTakenMs = this.#lastActivityMs
    this.remoteAddress = socket.remoteAddress ?? 'unknown'
    socket.setNoDelay(true)
    socket.on('drain', this.#resume)
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

  /** Also called when the client sends no more: it may wait for what it asked for, but then it should get that soon. */
  onClose(listener: () => void): void {
    if (this.#isClosed || this.#socket.readableEnded) listener()
    else this.#closeListeners.add(listener)
  }

  offClose(listener: () => void): void {
    this.#closeListeners.delete(listener)
  }

  /** When the connection last moved a byte in either direction (monotonic). */
  lastActivityMs(): number {
    return Math.max(this.#lastActivityMs, this.#unsentBytes === 0 ? 0 : this.#takenMs())
  }

  /** Since when the client has taken nothing of the responses that wait for it; undefined if none does. */
  stalledSinceMs(): number | undefined {
    return this.#unsentBytes === 0 ? undefined : this.#takenMs()
  }

  #takenMs(): number {
    const bytes = unwrittenBytes(this.#socket)
    if (bytes !== this.#lastUnwrittenBytes) {
      this.#lastUnwrittenBytes = bytes
      this.#lastTakenMs = this.#clock.monotonicMs()
    }
    return this.#lastTakenMs
  }

  /** Closes at once. */
  destroy(): void {
    this.#socket.destroy()
  }

  /** Takes no more requests, answers those that were taken, then closes. */
  end(): void {
    this.#isEnding = true
    // What is parked is answered with what there is.
    this.#tellListeners()
    this.#dropInbox()
    // What comes is ignored from now on, but the end of it has to be seen.
    this.#adjustReading()
    this.#finishIfDone()
  }

  /** Starts no request for that time: the client is over a quota. Responses still leave. */
  throttle(timeMs: number): void {
    if (this.#isClosed) return
    const untilMs = this.#clock.monotonicMs() + timeMs
    if (this.#throttleTimer !== undefined && untilMs <= this.#throttledUntilMs) return
    this.#throttledUntilMs = untilMs
    this.#throttleTimer?.cancel()
    this.#throttleTimer = this.#timers.schedule(timeMs, () => {
      this.#throttleTimer = undefined
      // Who is held up is not idle.
      this.#lastActivityMs = this.#clock.monotonicMs()
      this.#resume()
    })
  }

  /** Takes bytes that came; they are not looked at again after the call. */
  receive(chunk: Buffer): void {
    if (this.#isClosed) return
    this.#lastActivityMs = this.#clock.monotonicMs()
    if (this.#isEnding) return
    const knownFrames = this.#inbox.length
    try {
      this.#decoder.push(chunk, this.#inbox)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.fail(error.message)
      return
    }
    const hasProgressed = this.#inbox.length > knownFrames
    for (let i = knownFrames; i < this.#inbox.length; i++) this.#inboxBytes += waitingBytes(this.#inbox[i])
    this.#pump()
    this.#keepWaitingFrames(chunk)
    this.#countHeld(hasProgressed)
  }

  /** Copies frames that could not be handled yet out of the chunk's memory. */
  #keepWaitingFrames(chunk: Buffer): void {
    for (const [i, frame] of this.#inbox.entries()) {
      // Frames that waited before, or were assembled, have memory of their own.
      if (frame.buffer === chunk.buffer) this.#inbox[i] = Buffer.from(frame)
    }
  }

  /** Tells what the connection holds of requests that are not worked on yet; may close it. */
  #countHeld(hasProgressed: boolean): void {
    if (this.#isClosed) return
    this.#memory.received.set(this, this.#decoder.pendingBytes + this.#inboxBytes, hasProgressed)
  }

  evict(reason: string): void {
    this.fail(reason)
  }

  /** Lets go of responses that nobody takes any more; those that are not ready yet come here again. */
  #dropSlots(): void {
    for (const slot of this.#slots) {
      releaseAll(slot.held)
      slot.held = NOTHING_HELD
    }
  }

  #dropInbox(): void {
    this.#inbox.length = 0
    this.#inboxBytes = 0
    this.#countHeld(false)
  }

  readonly #resume = (): void => {
    const waiting = this.#inbox.length
    this.#pump()
    if (this.#inbox.length < waiting) this.#countHeld(true)
  }

  readonly #onTurn = (): void => {
    this.#turnEndMs = Infinity
    this.#resume()
  }

  #pump(): void {
    if (this.#isPumping || this.#isClosed) return
    this.#isPumping = true
    this.#socket.cork()
    try {
      while (this.#canStart()) {
        const frame = this.#inbox.shift()
        if (frame === undefined) break
        this.#inboxBytes -= waitingBytes(frame)
        // Responses may be ready before the event loop turns, and start the next request each: the turn counts, not the call.
        if (this.#inbox.length > 0 && this.#turnEndMs === Infinity) {
          this.#turnEndMs = this.#clock.monotonicMs() + MAX_TURN_MS
          setImmediate(this.#onTurn)
        }
        this.#start(frame)
      }
    } finally {
      this.#isPumping = false
      this.#socket.uncork()
    }
    this.#adjustReading()
  }

  #canStart(): boolean {
    if (this.#isBusy || this.#isClosed || this.#inbox.length === 0 || this.#throttleTimer !== undefined) return false
    if (this.#turnEndMs !== Infinity && this.#clock.monotonicMs() >= this.#turnEndMs) return false
    if (this.#slots.length >= this.#options.maxInFlightRequests) return false
    if (this.#socket.writableNeedDrain) return false
    if (this.#memory.isExhausted) {
      this.#memory.whenFree(this.#resume)
      return false
    }
    return true
  }

  #start(frame: Buffer): void {
    const slot: ResponseSlot = { buffers: null, held: NOTHING_HELD, requestBytes: frame.length }
    this.#slots.push(slot)
    this.#memory.take(frame.length)
    let isPipelined = false
    const outcome = this.#processor.process(frame, this, this.#options.listener, (buffers, held) => {
      slot.buffers = buffers ?? NO_BUFFERS
      slot.held = held
      this.#memory.giveBack(slot.requestBytes)
      slot.requestBytes = 0
      if (!isPipelined) this.#isBusy = false
      this.#sendReady()
      this.#resume()
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
      this.#send(slot.buffers, slot.held)
      this.#slots.shift()
    }
    this.#socket.uncork()
    this.#finishIfDone()
  }

  /** Queues a response; its bytes count as held memory until the kernel has them. */
  #send(buffers: readonly Uint8Array[], held: readonly Releasable[]): void {
    let bytes = 0
    for (const buffer of buffers) bytes += buffer.length
    if (bytes === 0) {
      releaseAll(held)
      return
    }
    this.#memory.take(bytes)
    if (this.#unsentBytes === 0) this.#lastTakenMs = this.#clock.monotonicMs()
    this.#unsentBytes += bytes
    const last = buffers.length - 1
    for (let i = 0; i < last; i++) this.#socket.write(buffers[i] ?? EMPTY)
    this.#socket.write(buffers[last] ?? EMPTY, () => this.#onSent(bytes, held))
  }

  /** Also called when the bytes can't be sent any more: the kernel does not look at them then. */
  #onSent(bytes: number, held: readonly Releasable[]): void {
    releaseAll(held)
    if (this.#isClosed) return
    this.#lastTakenMs = this.#clock.monotonicMs()
    this.#lastActivityMs = this.#lastTakenMs
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
    // The client sends no more, and maybe is gone; what it asked for is still answered, but nothing is waited for.
    this.#tellListeners()
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
    this.#throttleTimer?.cancel()
    this.#memory.forget(this.#resume)
    this.#memory.giveBack(this.#unsentBytes)
    this.#unsentBytes = 0
    this.#inbox.length = 0
    this.#inboxBytes = 0
    this.#memory.received.set(this, 0, false)
    this.#dropSlots()
    // Requests under way give their bytes back when they complete.
    this.#tellListeners()
  }

  #tellListeners(): void {
    const listeners = [...this.#closeListeners]
    this.#closeListeners.clear()
    for (const listener of listeners) listener()
  }
}

function waitingBytes(frame: Buffer | undefined): number {
  return frame === undefined ? 0 : frame.length + WAITING_FRAME_OVERHEAD_BYTES
}
