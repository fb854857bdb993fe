/** The entries of an index file in memory: of one size, in the form of the file, added at the end. */
const EMPTY = Buffer.alloc(0)
const FIRST_CAPACITY = 32

export class IndexEntries {
  readonly #entryBytes: number
  #buffer: Buffer
  #sizeBytes: number

  /** `content`: the bytes of a file, which are this object's from now on. What is no whole entry at their end is left out. */
  constructor(entryBytes: number, content: Buffer = EMPTY) {
    this.#entryBytes = entryBytes
    this.#buffer = content
    this.#sizeBytes = content.length - (content.length % entryBytes)
  }

  get count(): number {
    return this.#sizeBytes / this.#entryBytes
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** To read entries from, each at its number times the entry size. */
  get buffer(): Buffer {
    return this.#buffer
  }

  /** Adds an entry, which the caller writes into {@link buffer} at the position that this returns. */
  add(): number {
    const position = this.#sizeBytes
    this.#sizeBytes += this.#entryBytes
    if (this.#sizeBytes > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY * this.#entryBytes, this.#buffer.length * 2))
      this.#buffer.copy(grown, 0, 0, position)
      this.#buffer = grown
    }
    return position
  }

  /** Keeps the first `count` entries. */
  truncateTo(count: number): void {
    this.#sizeBytes = count * this.#entryBytes
  }

  /** The bytes of the file from `fromBytes`: a copy, since truncation and additions change the buffer in place. */
  content(fromBytes: number): Buffer {
    return Buffer.from(this.#buffer.subarray(fromBytes, this.#sizeBytes))
  }

  /** The last entry for which `isBefore` holds, which it does up to some entry; -1 when there is none. */
  lastWhere(isBefore: (entry: number) => boolean): number {
    let low = 0
    let high = this.count - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      if (isBefore(middle)) low = middle + 1
      else high = middle - 1
    }
    return high
  }
}
