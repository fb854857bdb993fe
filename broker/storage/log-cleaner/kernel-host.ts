/** Where the work of a cleaner happens: in place, or in a thread of its own. Calls come one at a time. */
import {
  CleanerKernel,
  type BeginFilter,
  type BeginPass,
  type FilterChunk,
  type FilteredChunk,
  type IndexChunk,
  type IndexedChunk,
} from './cleaner-kernel.ts'

export interface KernelHost {
  /** Memory for a chunk: the caller's until it hands the chunk over. */
  takeBuffer(bytes: number): Buffer
  begin(pass: BeginPass): Promise<void>
  /** The chunk's memory is the host's from now on. */
  index(request: IndexChunk): Promise<IndexedChunk>
  beginFilter(rules: BeginFilter): Promise<void>
  /** The chunk's memory is the host's from now on. */
  filter(request: FilterChunk): Promise<FilteredChunk>
  /** The pass is over, or given up; its memory may go. */
  end(): Promise<void>
  /** Ends the thread, if there is one; the next `begin` starts another. */
  close(): Promise<void>
}

/** Works on the caller's thread: for tests, and for tools that have nothing else to do. */
export class InlineKernel implements KernelHost {
  readonly #kernel = new CleanerKernel()

  takeBuffer(bytes: number): Buffer {
    return Buffer.allocUnsafeSlow(bytes)
  }

  begin(pass: BeginPass): Promise<void> {
    return this.#run(() => this.#kernel.begin(pass))
  }

  index(request: IndexChunk): Promise<IndexedChunk> {
    return this.#run(() => this.#kernel.index(request))
  }

  beginFilter(rules: BeginFilter): Promise<void> {
    return this.#run(() => this.#kernel.beginFilter(rules))
  }

  filter(request: FilterChunk): Promise<FilteredChunk> {
    return this.#run(() => this.#kernel.filter(request))
  }

  end(): Promise<void> {
    return this.#run(() => this.#kernel.end())
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #run<T>(work: () => T): Promise<T> {
    return Promise.resolve().then(work)
  }
}
