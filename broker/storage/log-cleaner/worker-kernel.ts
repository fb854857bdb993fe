/**
 * The cleaner's kernel in a thread of its own, so that hashing and recompressing never hold up the event loop. The thread
 * starts with the first pass and ends when the caller says so: an idle broker has none.
 *
 * If the thread dies, the request in flight fails, and the next `begin` starts a new one.
 */
import { Worker } from 'node:worker_threads'
import { invariant } from '../../../common/invariant.ts'
import type { BeginFilter, BeginPass, FilterChunk, FilteredChunk, IndexChunk, IndexedChunk } from './cleaner-kernel.ts'
import type { KernelHost } from './kernel-host.ts'
import type { CleanerAnswer, CleanerRequest, SentChunk } from './worker-messages.ts'

interface Waiting {
  readonly worker: Worker
  resolve(answer: CleanerAnswer): void
  reject(error: Error): void
}

export class WorkerKernel implements KernelHost {
  #worker: Worker | undefined
  #waiting: Waiting | undefined
  /** Memory that came back, for the next chunk. */
  #spare: ArrayBuffer | undefined

  takeBuffer(bytes: number): Buffer {
    const spare = this.#spare
    this.#spare = undefined
    if (spare !== undefined && spare.byteLength >= bytes) return Buffer.from(spare, 0, bytes)
    return Buffer.allocUnsafeSlow(bytes)
  }

  async begin(pass: BeginPass): Promise<void> {
    this.#worker ??= this.#start()
    await this.#ask({ kind: 'begin', pass })
  }

  async index({ chunk, ...request }: IndexChunk): Promise<IndexedChunk> {
    const answer = await this.#ask({ kind: 'index', sent: sentOf(chunk), request })
    invariant(answer.kind === 'indexed', 'an index request is answered as such')
    this.#spare = answer.memory
    return answer.result
  }

  async beginFilter(rules: BeginFilter): Promise<void> {
    await this.#ask({ kind: 'beginFilter', rules })
  }

  async filter({ chunk, ...request }: FilterChunk): Promise<FilteredChunk> {
    const answer = await this.#ask({ kind: 'filter', sent: sentOf(chunk), request })
    invariant(answer.kind === 'filtered', 'a filter request is answered as such')
    this.#spare = answer.memory
    return { ...answer.result, output: Buffer.from(answer.output) }
  }

  async end(): Promise<void> {
    this.#spare = undefined
    if (this.#worker !== undefined) await this.#ask({ kind: 'end' })
  }

  async close(): Promise<void> {
    this.#spare = undefined
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #start(): Worker {
    // The sources run as they are while developing, compiled ones in a package.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    const worker = new Worker(new URL(`./cleaner-worker.${extension}`, import.meta.url), { name: 'log-cleaner' })
    worker.unref()
    worker.on('message', (answer: CleanerAnswer) => {
      const waiting = this.#waiting
      this.#waiting = undefined
      if (answer.kind === 'failed') waiting?.reject(new Error(answer.message))
      else waiting?.resolve(answer)
    })
    worker.on('error', (error) => this.#died(worker, asError(error)))
    worker.on('exit', (code) => this.#died(worker, new Error(`the thread of the log cleaner ended with code ${code}`)))
    return worker
  }

  #died(worker: Worker, error: Error): void {
    if (this.#worker === worker) this.#worker = undefined
    const waiting = this.#waiting
    if (waiting?.worker !== worker) return
    this.#waiting = undefined
    waiting.reject(error)
  }

  #ask(request: CleanerRequest): Promise<CleanerAnswer> {
    const worker = this.#worker
    if (worker === undefined) return Promise.reject(new Error('the thread of the log cleaner is gone'))
    invariant(this.#waiting === undefined, 'the kernel is asked one thing at a time')
    return new Promise((resolve, reject) => {
      this.#waiting = { worker, resolve, reject }
      worker.postMessage(request, 'sent' in request ? [request.sent.memory] : [])
    })
  }
}

/** The chunk begins where its memory does: the host gave it out. */
function sentOf(chunk: Buffer): SentChunk {
  invariant(chunk.byteOffset === 0, 'chunks lie in memory that the host gave out')
  return { memory: chunk.buffer as ArrayBuffer, length: chunk.length }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
