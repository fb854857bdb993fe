/**
 * Reused memory for bytes that live for a short while: records on their way from a socket to the disk and to readers.
 *
 * Buffers made per request would cost far more than their bytes: each is memory outside of the JavaScript heap, and a
 * garbage collection of the whole heap follows every few dozen megabytes of it. So such bytes live in blocks that are
 * counted by reference and used again.
 *
 * Safety rests on one rule: a block is used again only when everybody who took a reference has released it. Whoever
 * forgets to release merely leaves the block to the garbage collector. Releasing twice is a bug, and is noticed.
 */
import { invariant } from './invariant.ts'

export interface BlockPoolOptions {
  /** Size of a block. Larger needs get a block of their own size, which is not used again. */
  readonly blockBytes: number
  /** Blocks that are kept for use while nobody needs them; more are left to the garbage collector. */
  readonly maxFreeBlocks: number
}

export class BlockPool {
  readonly blockBytes: number
  readonly #maxFreeBlocks: number
  readonly #free: Buffer[] = []

  constructor({ blockBytes, maxFreeBlocks }: BlockPoolOptions) {
    this.blockBytes = blockBytes
    this.#maxFreeBlocks = maxFreeBlocks
  }

  get freeBlocks(): number {
    return this.#free.length
  }

  /** A block of at least `bytes` with one reference, which is the caller's. Its content is arbitrary. */
  take(bytes: number): Block {
    if (bytes > this.blockBytes) return new Block(undefined, Buffer.allocUnsafeSlow(bytes))
    return new Block(this, this.#free.pop() ?? Buffer.allocUnsafeSlow(this.blockBytes))
  }

  /** Called by a block that nobody references any more. */
  returned(bytes: Buffer): void {
    if (this.#free.length < this.#maxFreeBlocks) this.#free.push(bytes)
  }
}

/** Memory with a count of references. A new object for each use, so that a late release can't hit the next user. */
export class Block {
  readonly bytes: Buffer
  readonly #pool: BlockPool | undefined
  #references = 1

  constructor(pool: BlockPool | undefined, bytes: Buffer) {
    this.#pool = pool
    this.bytes = bytes
  }

  /** One more reference. */
  retain(): void {
    invariant(this.#references > 0, 'a block that was given back is retained')
    this.#references++
  }

  /** One reference less; after the last one nobody may look at the bytes. */
  release(): void {
    invariant(this.#references > 0, 'a block is released more often than it was retained')
    if (--this.#references === 0) this.#pool?.returned(this.bytes)
  }
}

/** Something that is held until it is released once. */
export interface Releasable {
  release(): void
}

export function releaseAll(held: readonly Releasable[]): void {
  for (const each of held) each.release()
}
