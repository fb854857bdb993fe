import { EncodeError } from './errors.ts'
import { ZERO_UUID } from './uuid.ts'

/** Byte fields of this size and more are passed on by reference; smaller ones are cheaper to copy than to write apart. */
export const REFERENCE_MIN_BYTES = 1024

/** Small, because a response that waits for a slow client keeps the whole slab in memory. */
const SLAB_BYTES = 16 * 1024
/** Longer strings go through the runtime's encoder at once. */
const SHORT_STRING_CHARS = 48
const MAX_STRING_BYTES = 0x7fff
const TWO_POW_32 = 0x1_0000_0000

/** What a records or bytes field may be given as: one buffer, or several that follow each other. */
export type ByteInput = Uint8Array | readonly Uint8Array[]

/**
 * The unused rest of the last slab. One writer at a time owns it: it takes it when it is made and leaves the rest when it
 * finishes. A writer that is made meanwhile, or after one that failed, starts a slab of its own.
 */
let spareSlab: Buffer | null = null

/**
 * Writes the primitive types of the Kafka protocol into a list of buffers.
 *
 * Small values go into a slab; byte fields of {@link REFERENCE_MIN_BYTES} and more stand in the list by reference, so
 * records are never copied: the caller must leave them unchanged until the buffers are sent. A writer is used once, and
 * synchronously. A value that doesn't fit its type is an {@link EncodeError}.
 */
export class Writer {
  #slab: Buffer
  /** Where the current run of small values begins in the slab. */
  #start = 0
  #position = 0
  #buffers: Buffer[] = []
  /** Bytes of the buffers in the list. */
  #listedBytes = 0
  /** How many tagged fields are open. Their bytes have to stay in one run, so nothing goes by reference inside. */
  #openTags = 0

  constructor() {
    this.#slab = spareSlab ?? Buffer.allocUnsafeSlow(SLAB_BYTES)
    spareSlab = null
  }

  /** Bytes written so far. */
  get byteLength(): number {
    return this.#listedBytes + this.#position - this.#start
  }

  int8(value: number): void {
    if ((value << 24) >> 24 !== value) this.#outOfRange(value, 'int8')
    this.#byte(value)
  }

  bool(value: boolean): void {
    this.#byte(value ? 1 : 0)
  }

  int16(value: number): void {
    if ((value << 16) >> 16 !== value) this.#outOfRange(value, 'int16')
    this.#short(value)
  }

  uint16(value: number): void {
    if ((value & 0xffff) !== value) this.#outOfRange(value, 'uint16')
    this.#short(value)
  }

  int32(value: number): void {
    if ((value | 0) !== value) this.#outOfRange(value, 'int32')
    this.#word(value)
  }

  uint32(value: number): void {
    if (value >>> 0 !== value) this.#outOfRange(value, 'uint32')
    this.#word(value)
  }

  /** An int64 given as a number, which has to be a safe integer. */
  int64(value: number): void {
    if (!Number.isSafeInteger(value)) this.#outOfRange(value, 'int64')
    // The quotient is exact (a power of two), so its floor is the high word also of negative numbers.
    this.#word(Math.floor(value / TWO_POW_32))
    this.#word(value)
  }

  /** As {@link int64}; `Infinity` and `-Infinity` become the largest and smallest int64. */
  saturatingInt64(value: number): void {
    if (value === Infinity) {
      this.#word(0x7fffffff)
      this.#word(-1)
    } else if (value === -Infinity) {
      this.#word(0x80000000)
      this.#word(0)
    } else this.int64(value)
  }

  float64(value: number): void {
    this.#position = this.#slab.writeDoubleBE(value, this.#reserve(8))
  }

  /** A UUID of 22 characters of base64url. */
  uuid(value: string): void {
    const position = this.#reserve(16)
    if (value === ZERO_UUID) this.#slab.fill(0, position, position + 16)
    else if (value.length !== 22 || this.#slab.write(value, position, 16, 'base64url') !== 16) {
      throw new EncodeError(`'${value}' is no UUID in base64url`)
    }
    this.#position = position + 16
  }

  uvarint(value: number): void {
    if (value >>> 0 !== value) this.#outOfRange(value, 'unsigned varint')
    this.#uvarint(value)
  }

  /** A signed 32-bit value as a zigzag varint. */
  varint(value: number): void {
    if ((value | 0) !== value) this.#outOfRange(value, 'varint')
    this.#uvarint(((value << 1) ^ (value >> 31)) >>> 0)
  }

  string(value: string): void {
    if (value.length <= SHORT_STRING_CHARS) {
      const position = this.#reserve(2 + value.length)
      if (this.#ascii(value, position + 2)) {
        this.#short(value.length)
        this.#position = position + 2 + value.length
        return
      }
    }
    const byteLength = this.#checkedByteLength(value)
    this.#short(byteLength)
    this.#utf8(value, byteLength)
  }

  nullableString(value: string | null): void {
    if (value === null) this.#short(-1)
    else this.string(value)
  }

  compactString(value: string): void {
    if (value.length <= SHORT_STRING_CHARS) {
      // Up to 126 bytes, the length takes one byte.
      const position = this.#reserve(1 + value.length)
      if (this.#ascii(value, position + 1)) {
        this.#slab[position] = value.length + 1
        this.#position = position + 1 + value.length
        return
      }
    }
    const byteLength = this.#checkedByteLength(value)
    this.#uvarint(byteLength + 1)
    this.#utf8(value, byteLength)
  }

  compactNullableString(value: string | null): void {
    if (value === null) this.#byte(0)
    else this.compactString(value)
  }

  /** Bytes or records, by reference where they are large. */
  bytes(value: ByteInput): void {
    this.int32(byteLengthOf(value))
    this.#raw(value)
  }

  nullableBytes(value: ByteInput | null): void {
    if (value === null) this.#word(-1)
    else this.bytes(value)
  }

  compactBytes(value: ByteInput): void {
    this.#uvarint(byteLengthOf(value) + 1)
    this.#raw(value)
  }

  compactNullableBytes(value: ByteInput | null): void {
    if (value === null) this.#byte(0)
    else this.compactBytes(value)
  }

  /** The count of an array, or -1 for null. */
  arrayLength(length: number): void {
    this.int32(length)
  }

  /** The count of a compact array, or -1 for null. */
  compactArrayLength(length: number): void {
    this.uvarint(length + 1)
  }

  /** The byte that stands before a nullable struct. */
  presence(isPresent: boolean): void {
    this.#byte(isPresent ? 1 : -1)
  }

  /** Begins a tagged field; the result goes to {@link endTagged} after its value was written. */
  beginTagged(tag: number): number {
    this.uvarint(tag)
    this.#openTags++
    return this.#position - this.#start
  }

  /** Ends a tagged field: puts its size, which is known only now, before its value. */
  endTagged(begin: number): void {
    const size = this.#position - this.#start - begin
    const sizeBytes = uvarintBytes(size)
    this.#reserve(sizeBytes)
    const from = this.#start + begin
    this.#slab.copyWithin(from + sizeBytes, from, from + size)
    this.#position = from
    this.#uvarint(size)
    this.#position = from + sizeBytes + size
    this.#openTags--
  }

  /** The buffers in order. The writer can't be used again. */
  finish(): Buffer[] {
    this.#list()
    // A short rest would make the next writer grow at once, and small messages mustn't keep a large slab in memory.
    const isReusable = this.#slab.buffer.byteLength === SLAB_BYTES && this.#slab.length - this.#start >= 256
    spareSlab = isReusable ? this.#slab.subarray(this.#start) : null
    const buffers = this.#buffers
    this.#buffers = []
    this.#slab = Buffer.alloc(0)
    this.#start = 0
    this.#position = 0
    return buffers
  }

  /**
   * As {@link finish}, for a writer whose first four bytes were written as a placeholder (`int32(0)`): puts the number of
   * the bytes that follow there.
   */
  finishFrame(): Buffer[] {
    const size = this.byteLength - 4
    if (size > 0x7fffffff) throw new EncodeError(`a message of ${size} bytes is larger than a frame can be`)
    const buffers = this.finish()
    buffers[0]?.writeInt32BE(size, 0)
    return buffers
  }

  #byte(value: number): void {
    const position = this.#reserve(1)
    this.#slab[position] = value
    this.#position = position + 1
  }

  #short(value: number): void {
    const position = this.#reserve(2)
    const slab = this.#slab
    slab[position] = value >>> 8
    slab[position + 1] = value
    this.#position = position + 2
  }

  /** The low 32 bits of any safe integer. */
  #word(value: number): void {
    const position = this.#reserve(4)
    const slab = this.#slab
    slab[position] = value >>> 24
    slab[position + 1] = value >>> 16
    slab[position + 2] = value >>> 8
    slab[position + 3] = value
    this.#position = position + 4
  }

  #uvarint(value: number): void {
    let position = this.#reserve(5)
    const slab = this.#slab
    while (value > 0x7f) {
      slab[position++] = (value & 0x7f) | 0x80
      value >>>= 7
    }
    slab[position++] = value
    this.#position = position
  }

  /** Copies `value` to `position`, where there is room, if it is all ASCII. Otherwise says no, with rubbish behind it. */
  #ascii(value: string, position: number): boolean {
    const slab = this.#slab
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i)
      if (code > 0x7f) return false
      slab[position + i] = code
    }
    return true
  }

  #utf8(value: string, byteLength: number): void {
    const position = this.#reserve(byteLength)
    this.#slab.write(value, position, byteLength, 'utf8')
    this.#position = position + byteLength
  }

  #checkedByteLength(value: string): number {
    const byteLength = Buffer.byteLength(value, 'utf8')
    if (byteLength > MAX_STRING_BYTES) {
      throw new EncodeError(`a string of ${byteLength} bytes is longer than the protocol's ${MAX_STRING_BYTES}`)
    }
    return byteLength
  }

  #raw(value: ByteInput): void {
    if (value instanceof Uint8Array) this.#rawBuffer(value)
    else for (const part of value) this.#rawBuffer(part)
  }

  #rawBuffer(value: Uint8Array): void {
    if (value.length >= REFERENCE_MIN_BYTES && this.#openTags === 0) {
      this.#list()
      this.#buffers.push(Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      this.#listedBytes += value.length
    } else {
      const position = this.#reserve(value.length)
      this.#slab.set(value, position)
      this.#position = position + value.length
    }
  }

  /** Ends the current run of small values and puts it in the list. */
  #list(): void {
    if (this.#position === this.#start) return
    this.#buffers.push(this.#slab.subarray(this.#start, this.#position))
    this.#listedBytes += this.#position - this.#start
    this.#start = this.#position
  }

  /** Makes room for `byteCount` bytes and returns the current position. */
  #reserve(byteCount: number): number {
    if (this.#slab.length - this.#position < byteCount) this.#grow(byteCount)
    return this.#position
  }

  /** Moves the current run, which has to stay in one piece, to a new slab; runs in the list stay in the old one. */
  #grow(byteCount: number): void {
    const used = this.#position - this.#start
    const slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, 2 * (used + byteCount)))
    this.#slab.copy(slab, 0, this.#start, this.#position)
    this.#slab = slab
    this.#start = 0
    this.#position = used
  }

  #outOfRange(value: number, type: string): never {
    throw new EncodeError(`${value} is no ${type}`)
  }
}

function byteLengthOf(value: ByteInput): number {
  if (value instanceof Uint8Array) return value.length
  let byteLength = 0
  for (const part of value) byteLength += part.length
  return byteLength
}

function uvarintBytes(value: number): number {
  let bytes = 1
  for (; value > 0x7f; value >>>= 7) bytes++
  return bytes
}
