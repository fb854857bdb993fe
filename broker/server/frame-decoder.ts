/**
 * Cuts a TCP byte stream into Kafka frames (int32 size, then that many bytes).
 *
 * A frame that lies within one chunk is a view of it; one that is spread over chunks is assembled with one copy.
 * Memory grows only with bytes that have arrived, whatever size a client announces.
 */
export class FrameDecoder {
  readonly #maxFrameBytes: number
  /** Bytes of the unfinished frame, its size prefix included. */
  #pending: Buffer[] = []
  #pendingBytes = 0
  /** Size of the unfinished frame without its prefix; -1 while the prefix is incomplete. */
  #frameBytes = -1

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /** Bytes held for a frame that is not complete. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  /** Appends the frames that `chunk` completes, without their size prefix, to `frames`. Errors: {@link FrameError}; the stream can't go on after it. */
  push(chunk: Buffer, frames: Buffer[]): void {
    let rest = chunk
    if (this.#pendingBytes > 0) {
      rest = this.#fill(rest, frames)
      if (rest.length === 0) return
    }
    let position = 0
    while (rest.length - position >= 4) {
      const frameBytes = this.#checked(rest, position)
      if (rest.length - position - 4 < frameBytes) break
      frames.push(rest.subarray(position + 4, position + 4 + frameBytes))
      position += 4 + frameBytes
    }
    if (position < rest.length) {
      const tail = rest.subarray(position)
      this.#frameBytes = tail.length >= 4 ? this.#checked(tail, 0) : -1
      // A short tail is copied, so that a few bytes don't keep a whole chunk alive.
      this.#pending = [tail.length < 4096 ? Buffer.from(tail) : tail]
      this.#pendingBytes = tail.length
    }
  }

  /** Adds to the unfinished frame; returns what follows it. */
  #fill(chunk: Buffer, frames: Buffer[]): Buffer {
    let rest = chunk
    if (this.#frameBytes < 0) {
      const missing = Math.min(4 - this.#pendingBytes, rest.length)
      this.#add(rest.subarray(0, missing))
      rest = rest.subarray(missing)
      if (this.#pendingBytes < 4) return rest
      this.#frameBytes = this.#checked(Buffer.concat(this.#pending, 4), 0)
    }
    const missing = this.#frameBytes + 4 - this.#pendingBytes
    if (rest.length < missing) {
      this.#add(rest)
      return rest.subarray(rest.length)
    }
    this.#add(rest.subarray(0, missing))
    frames.push(Buffer.concat(this.#pending, this.#pendingBytes).subarray(4))
    this.#pending = []
    this.#pendingBytes = 0
    this.#frameBytes = -1
    return rest.subarray(missing)
  }

  #add(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#pending.push(bytes)
    this.#pendingBytes += bytes.length
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
