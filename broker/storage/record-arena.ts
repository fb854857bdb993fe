import type { Block, BlockPool } from '../../common/block-pool.ts'

/** Records in memory of their own. The holder has one reference to the block. */
export interface StoredRecords {
  readonly records: Buffer
  readonly block: Block
}

/**
 * Keeps what was appended until it is written, and then for readers of the tail: all logs of a broker fill the same
 * blocks, one after another, so that blocks become free in about the order in which they were filled.
 */
export class RecordArena {
  readonly #pool: BlockPool
  #block: Block | undefined
  #usedBytes = 0

  constructor(pool: BlockPool) {
    this.#pool = pool
  }

  /** Copies `records`; the caller gets a reference to the block. */
  store(records: Buffer): StoredRecords {
    if (records.length > this.#pool.blockBytes / 4) {
      // Large ones would leave much of a shared block unused.
      const own = this.#pool.take(records.length)
      records.copy(own.bytes)
      return { records: own.bytes.subarray(0, records.length), block: own }
    }
    let block = this.#block
    if (block === undefined || block.bytes.length - this.#usedBytes < records.length) {
      block?.release()
      block = this.#pool.take(records.length)
      this.#block = block
      this.#usedBytes = 0
    }
    const stored = block.bytes.subarray(this.#usedBytes, this.#usedBytes + records.length)
    records.copy(stored)
    this.#usedBytes += records.length
    block.retain()
    return { records: stored, block }
  }
}
