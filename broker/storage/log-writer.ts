/**
 * Brings the appends of one log to its segment files, and makes them durable.
 *
 * Appends are queued in offset order. One `writev` is in flight; what is queued meanwhile forms the next vector. One flush
 * (fdatasync of each segment with new bytes, the folder if it has a new file, the epoch checkpoint if it has news) is in
 * flight; it covers what was written before it began.
 *
 * Invariants:
 * - `logEndOffset` moves only when a vector was written whole, `durableOffset` only when everything before it, directory
 *   entries included, was fsynced. `durableOffset <= logEndOffset`.
 * - The first failed write or fsync ends it all: what is queued is dropped, and nothing is written any more. Nothing is
 *   retried, since after a failed fsync the kernel may call pages clean that never reached the disk.
 */
import type { Block } from '../../common/block-pool.ts'
import type { Disk } from '../../common/disk.ts'
import { invariant } from '../../common/invariant.ts'
import { datasync } from './disk-calls.ts'
import type { LogSegment } from './log-segment.ts'

/** One append: whole batches for one segment. Empty records only have the segment's file made. */
export interface QueuedAppend {
  readonly records: Buffer
  /** What `records` lies in, with a reference that goes to whoever takes the append; undefined for empty records. */
  readonly block: Block | undefined
  readonly segment: LogSegment
  readonly nextOffset: number
}

export interface LogWriterEvents {
  /** An append was written; before `onProgress`. */
  onWritten(append: QueuedAppend): void
  /** `logEndOffset` or `durableOffset` moved. */
  onProgress(): void
  onFailure(error: Error): void
  /** What else a flush must make durable, beside segments and folder; undefined when there is nothing. */
  flushMore(): Promise<void> | undefined
}

export interface LogWriterOptions {
  readonly disk: Disk
  readonly events: LogWriterEvents
  readonly folder: string
  readonly logEndOffset: number
  readonly flushMessages: number
  /** Whether the files that are there are in the folder durably; if not, the first flush syncs it. */
  readonly isFolderSynced: boolean
}

const MAX_VECTOR_BYTES = 8 * 1024 * 1024
const MAX_VECTOR_BUFFERS = 512

interface Waiter {
  readonly offset: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export class LogWriter {
  readonly #disk: Disk
  readonly #events: LogWriterEvents
  readonly #folder: string
  #logEndOffset: number
  #durableOffset: number
  #flushMessages: number
  #failure: Error | undefined
  #queue: QueuedAppend[] = []
  #head = 0
  #isPumpDue = false
  #isWriting = false
  #vector: Buffer[] = []
  #vectorBytes = 0
  #vectorSegment: LogSegment | undefined
  /** Appends of the queue that the vector covers. */
  #vectorAppends = 0
  /** Segments with bytes that were written and not fsynced, in offset order. */
  #dirty: LogSegment[] = []
  /** A file was made since the folder was synced. */
  #isFolderDirty: boolean
  #isFlushing = false
  #flushTarget = 0
  #flushBytes = 0
  /** Flushes are due up to here, whatever the policy says. */
  #wantedOffset = 0
  #waiters: Waiter[] = []
  #idleWaiters: Waiter[] = []
  #creationWaiters: Waiter[] = []
  /** A truncation is under way. */
  #isHeld = false

  constructor(options: LogWriterOptions) {
    this.#disk = options.disk
    this.#events = options.events
    this.#folder = options.folder
    this.#logEndOffset = options.logEndOffset
    this.#durableOffset = options.logEndOffset
    this.#flushMessages = options.flushMessages
    this.#isFolderDirty = !options.isFolderSynced
  }

  get logEndOffset(): number {
    return this.#logEndOffset
  }

  get durableOffset(): number {
    return this.#durableOffset
  }

  get failure(): Error | undefined {
    return this.#failure
  }

  setFlushMessages(flushMessages: number): void {
    this.#flushMessages = flushMessages
    this.#flushIfDue()
  }

  enqueue(append: QueuedAppend): void {
    this.#queue.push(append)
    if (this.#isWriting || this.#isPumpDue) return
    // After this turn of the event loop: appends of several pipelined requests go in one vector.
    this.#isPumpDue = true
    queueMicrotask(this.#pump)
  }

  /** Resolves once everything before `offset` is durable. */
  flushTo(offset: number): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (offset <= this.#durableOffset && !this.#isFolderDirty) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#waiters.push({ offset, resolve, reject })
      this.#wantedOffset = Math.max(this.#wantedOffset, offset)
      this.#flushIfDue()
    })
  }

  /**
   * Resolves once nothing is queued, being written or being flushed, and lets no flush begin until {@link resume}; the
   * caller sees to it that nothing is appended.
   */
  hold(): Promise<void> {
    this.#isHeld = true
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#isIdle) return Promise.resolve()
    return new Promise((resolve, reject) => this.#idleWaiters.push({ offset: 0, resolve, reject }))
  }

  resume(): void {
    this.#isHeld = false
    this.#flushIfDue()
  }

  /** Resolves once the file of a queued segment was made. */
  whenCreated(segment: LogSegment): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (segment.isOnDisk) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#creationWaiters.push({ offset: segment.baseOffset, resolve, reject })
    })
  }

  /** After a truncation, while held. */
  reset(logEndOffset: number): void {
    invariant(this.#isHeld && this.#isIdle, 'a log is truncated while nothing is being written')
    this.#logEndOffset = logEndOffset
    this.#durableOffset = Math.min(this.#durableOffset, logEndOffset)
    this.#wantedOffset = 0
    this.#dirty = this.#dirty.filter(
      (segment) => !segment.file.isDropped && segment.durableBytes < segment.writtenBytes,
    )
    if (this.#dirty.length === 0) this.#durableOffset = logEndOffset
    // Whoever waits for what was cut off waits for nothing.
    for (const waiter of this.#waiters) this.#wantedOffset = Math.max(this.#wantedOffset, waiter.offset)
    this.#wantedOffset = Math.min(this.#wantedOffset, logEndOffset)
    const cut = this.#waiters.filter((waiter) => waiter.offset > logEndOffset)
    this.#waiters = this.#waiters.filter((waiter) => waiter.offset <= logEndOffset)
    for (const waiter of cut) waiter.resolve()
    this.#tellFlushed()
  }

  /** Ends everything. */
  fail(error: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    // Their blocks are left to the garbage collector, since the kernel may still read from them.
    this.#queue = []
    this.#head = 0
    const waiters = [...this.#waiters, ...this.#idleWaiters, ...this.#creationWaiters]
    this.#waiters = []
    this.#creationWaiters = []
    this.#idleWaiters = []
    for (const waiter of waiters) waiter.reject(error)
    this.#events.onFailure(error)
  }

  get #isIdle(): boolean {
    return this.#head === this.#queue.length && !this.#isWriting && !this.#isFlushing
  }

  readonly #pump = (): void => {
    this.#isPumpDue = false
    if (this.#isWriting || this.#failure !== undefined) return
    const first = this.#queue[this.#head]
    if (first === undefined) return
    const { segment } = first
    this.#isWriting = true
    this.#vectorSegment = segment
    if (!segment.isOnDisk) {
      this.#createFile(segment)
      return
    }
    this.#gather(segment)
    segment.file.pin()
    segment.file.use(this.#write)
  }

  /** Collects what is queued for `segment`, within limits. */
  #gather(segment: LogSegment): void {
    this.#vector = []
    this.#vectorBytes = 0
    this.#vectorAppends = 0
    for (let i = this.#head; i < this.#queue.length; i++) {
      const append = this.#queue[i]
      if (append?.segment !== segment) break
      const isFull = this.#vectorBytes + append.records.length > MAX_VECTOR_BYTES
      if (this.#vectorAppends > 0 && (isFull || this.#vector.length >= MAX_VECTOR_BUFFERS)) break
      if (append.records.length > 0) this.#vector.push(append.records)
      this.#vectorBytes += append.records.length
      this.#vectorAppends++
    }
  }

  readonly #write: Parameters<LogSegment['file']['use']>[0] = (error, file) => {
    if (file === undefined) {
      this.#isWriting = false
      this.fail(error ?? new Error('no file'))
    } else if (this.#failure !== undefined) {
      // It failed while the file was being opened.
      this.#isWriting = false
      this.#vectorSegment?.file.release()
    } else if (this.#vector.length === 0) {
      this.#written(null)
    } else {
      file.writev(this.#vector, this.#vectorSegment?.writtenBytes ?? 0, this.#written)
    }
  }

  readonly #written = (error: Error | null): void => {
    const segment = this.#vectorSegment
    invariant(segment !== undefined, 'a write has a segment')
    segment.file.release()
    this.#isWriting = false
    this.#vector = []
    if (this.#failure !== undefined) return
    if (error !== null) {
      this.fail(error)
      return
    }
    if (this.#vectorBytes > 0) {
      if (segment.writtenBytes === segment.durableBytes && !this.#dirty.includes(segment)) this.#dirty.push(segment)
      segment.writtenBytes += this.#vectorBytes
    }
    for (let i = 0; i < this.#vectorAppends; i++) {
      const append = this.#queue[this.#head++]
      if (append === undefined) break
      this.#logEndOffset = append.nextOffset
      this.#events.onWritten(append)
    }
    if (this.#head === this.#queue.length) {
      this.#queue = []
      this.#head = 0
    } else if (this.#head > 64 && this.#head * 2 > this.#queue.length) {
      // A log that never rests would otherwise keep all that it ever wrote.
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
    // The disk first, then whoever waits: their work overlaps with the next write.
    this.#pump()
    this.#flushIfDue()
    this.#events.onProgress()
    this.#tellIdle()
  }

  #createFile(segment: LogSegment): void {
    this.#disk.open(segment.path('.log'), 'create').then(
      (file) => {
        segment.isOnDisk = true
        segment.file.adopt(file)
        this.#isFolderDirty = true
        this.#isWriting = false
        this.#tellCreated(segment)
        this.#pump()
      },
      (error: unknown) => {
        this.#isWriting = false
        this.fail(error instanceof Error ? error : new Error(String(error)))
      },
    )
  }

  #tellCreated(segment: LogSegment): void {
    const due = this.#creationWaiters.filter((waiter) => waiter.offset === segment.baseOffset)
    this.#creationWaiters = this.#creationWaiters.filter((waiter) => waiter.offset !== segment.baseOffset)
    for (const waiter of due) waiter.resolve()
  }

  #flushIfDue(): void {
    if (this.#isFlushing || this.#isHeld || this.#failure !== undefined) return
    const pending = this.#logEndOffset - this.#durableOffset
    const isWanted = this.#durableOffset < Math.min(this.#wantedOffset, this.#logEndOffset)
    const isFolderWanted = this.#isFolderDirty && this.#waiters.length > 0
    if (!isWanted && !isFolderWanted && (pending === 0 || pending < this.#flushMessages)) return
    this.#isFlushing = true
    this.#flushTarget = this.#logEndOffset
    const more = this.#events.flushMore()
    const [segment] = this.#dirty
    if (more !== undefined || this.#isFolderDirty || this.#dirty.length !== 1 || segment === undefined) {
      this.#flushAll(more).then(
        () => this.#flushed(null),
        (error: unknown) => this.#flushed(error instanceof Error ? error : new Error(String(error))),
      )
      return
    }
    // The common case, without promises: one segment has new bytes.
    this.#flushBytes = segment.writtenBytes
    segment.file.use((error, file) => {
      if (file === undefined) {
        this.#flushed(error)
        return
      }
      file.datasync((syncError) => {
        segment.file.release()
        if (syncError === null) this.#segmentFlushed(segment, this.#flushBytes)
        this.#flushed(syncError)
      })
    })
  }

  async #flushAll(more: Promise<void> | undefined): Promise<void> {
    // A rejection of `more` is noticed below; until then it must not count as unhandled.
    more?.catch(() => undefined)
    for (const segment of [...this.#dirty]) {
      const bytes = segment.writtenBytes
      await segment.withFile(datasync)
      this.#segmentFlushed(segment, bytes)
    }
    if (this.#isFolderDirty) {
      this.#isFolderDirty = false
      await this.#disk.syncFolder(this.#folder)
    }
    await more
  }

  #segmentFlushed(segment: LogSegment, bytes: number): void {
    segment.durableBytes = bytes
    if (segment.writtenBytes > bytes) return
    this.#dirty = this.#dirty.filter((each) => each !== segment)
    // A write that is under way needs the file pinned; it will be flushed in turn.
    if (!this.#isWriting || this.#vectorSegment !== segment) segment.file.unpin()
  }

  #flushed(error: Error | null): void {
    this.#isFlushing = false
    if (this.#failure !== undefined) return
    if (error !== null) {
      this.fail(error)
      return
    }
    this.#durableOffset = Math.max(this.#durableOffset, this.#flushTarget)
    if (this.#waiters.length > 0) this.#tellFlushed()
    this.#flushIfDue()
    this.#events.onProgress()
    this.#tellIdle()
  }

  #tellFlushed(): void {
    const due = this.#waiters.filter((waiter) => waiter.offset <= this.#durableOffset)
    if (due.length === 0) return
    this.#waiters = this.#waiters.filter((waiter) => waiter.offset > this.#durableOffset)
    for (const waiter of due) waiter.resolve()
  }

  #tellIdle(): void {
    if (this.#idleWaiters.length === 0 || !this.#isIdle) return
    const waiters = this.#idleWaiters
    this.#idleWaiters = []
    for (const waiter of waiters) waiter.resolve()
  }
}
