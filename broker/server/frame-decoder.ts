const EMPTY = Buffer.alloc(0)
/** What is taken at first for a frame that did not come in one piece; it doubles from there. */
const FIRST_BYTES = 256 * 1024

/**
 * Cuts a TCP byte stream into Kafka frames (int32 size, then that many bytes).
 *
 * A frame that lies within one chunk is a view of it; one that is spread over chunks is assembled with one copy. Nothing
 * of a chunk is kept: its memory may be used again once `push` returned and the frames were handled or copied. Memory
 * grows only with bytes that have arrived, whatever size a client announces.
 */
export class FrameDecoder {
  readonly #maxFrameBytes: number
  readonly #prefix = Buffer.alloc(4)
  #prefixBytes = 0
  /** Size of the unfinished frame without its prefix; -1 while the prefix is incomplete. */
  #frameBytes = -1
  /** What came of the unfinished frame, at its start. */
  #frame = EMPTY
  #filledBytes = 0

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /** Memory held for a frame that is not complete. */
  get pendingBytes(): number {
    return this.#prefixBytes + this.#frame.length
  }

  /** Appends the frames that `chunk` completes, without their size prefix, to `frames`. Errors: {@link FrameError}; the stream can't go on after it. */
  push(chunk: Buffer, frames: Buffer[]): void {
    let position = 0
    while (position < chunk.length) {
      if (this.#frameBytes < 0) {
        position = this.#readPrefix(chunk, position)
        if (this.#frameBytes < 0) return
      }
      const missingBytes = this.#frameBytes - this.#filledBytes
      if (this.#filledBytes === 0 && chunk.length - position >= missingBytes) {
        frames.push(chunk.subarray(position, position + missingBytes))
        this.#frameBytes = -1
        position += missingBytes
        continue
      }
      const bytes = Math.min(missingBytes, chunk.length - position)
      this.#fill(chunk, position, bytes)
      position += bytes
      if (bytes === missingBytes) this.#finish(frames)
    }
    // A frame of no bytes is complete with its prefix.
    if (this.#frameBytes === 0) this.#finish(frames)
  }

  /** Reads what is there of the prefix; returns the position after it. */
  #readPrefix(chunk: Buffer, position: number): number {
    if (this.#prefixBytes === 0 && chunk.length - position >= 4) {
      this.#frameBytes = this.#checked(chunk, position)
      return position + 4
    }
    const bytes = Math.min(4 - this.#prefixBytes, chunk.length - position)
    chunk.copy(this.#prefix, this.#prefixBytes, position, position + bytes)
    this.#prefixBytes += bytes
    if (this.#prefixBytes === 4) {
      this.#frameBytes = this.#checked(this.#prefix, 0)
      this.#prefixBytes = 0
    }
    return position + bytes
  }

  #fill(chunk: Buffer, position: number, bytes: number): void {
    const neededBytes = this.#filledBytes + bytes
    if (neededBytes > this.#frame.length) {
      const grownBytes = Math.max(neededBytes, FIRST_BYTES, this.#frame.length * 2)
      const grown = Buffer.allocUnsafeSlow(Math.min(this.#frameBytes, grownBytes))
      this.#frame.copy(grown, 0, 0, this.#filledBytes)
      this.#frame = grown
    }
    chunk.copy(this.#frame, this.#filledBytes, position, position + bytes)
    this.#filledBytes = neededBytes
  }

  #finish(frames: Buffer[]): void {
    frames.push(this.#frame.subarray(0, this.#filledBytes))
    this.#frameBytes = -1
    this.#frame = EMPTY
    this.#filledBytes = 0
  }

  #checked(buffer: Buffer, position: number): number {
    const frameBytes = buffer.readInt32BE(position)
    if (frameBytes >= 0 && frameBytes <= this.#maxFrameBytes) return frameBytes
    const start = buffer.toString('latin1', position, position + 4)
    if (/^(GET |POST|PUT |HEAD|DELE|OPTI|PATC)/.test(start)) {
      throw new FrameError('an HTTP request on the Kafka port')
    }
    if (buffer[position] === 0x16 && buffer[position + 1] === 0x03) {
      throw new FrameError('a TLS handshake on a plaintext Kafka port')
    }
    throw new FrameError(`a frame of ${frameBytes} bytes, where 0 to ${this.#maxFrameBytes} are allowed`)
  }
}

/** The byte stream is not Kafka's protocol. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
}
