import { ProtocolError } from './errors.ts'
import { TextCache } from './text-cache.ts'
import { ZERO_UUID } from './uuid.ts'

const TWO_POW_32 = 0x1_0000_0000
/** The longest string that Kafka takes, in bytes, in the compact encoding too. */
const MAX_STRING_BYTES = 0x7fff
/**
 * The most elements of all arrays of one frame together. An element may take three bytes in the frame and a hundred as an
 * object, so the size of the frame alone would allow far more memory, and time, than a request may cost.
 */
export const MAX_ARRAY_ELEMENTS = 100_000
/** Topic names and client ids are mostly shorter. */
const MAX_CACHED_CHARS = 64
/** The uuid that was read last: the same topic's comes many times in a row. */
const lastUuidBytes = Buffer.alloc(16)
let lastUuid = ''
const cachedTexts = new TextCache(1024)

/**
 * Reads the primitive types of the Kafka protocol from a frame.
 *
 * It holds a position in a buffer that it never copies: byte fields are views (`subarray`) of the frame, so a caller that
 * keeps one beyond the request copies it first. Every read is checked against the end of the frame, and every length and
 * count against what is left of it before anything is allocated; each failure is a {@link ProtocolError}. The cost of a
 * frame is therefore bounded by its size and by {@link MAX_ARRAY_ELEMENTS}, whatever is in it.
 */
export class Reader {
  readonly #buffer: Buffer
  readonly #end: number
  #position: number
  /** Elements of arrays that were announced so far. */
  #elements = 0

  /** Reads `buffer` from `start` (inclusive) to `end` (exclusive), both in bytes. */
  constructor(buffer: Buffer, start = 0, end = buffer.length) {
    if (start < 0 || end > buffer.length || start > end) {
      throw new ProtocolError(`a range of ${start} to ${end} is outside of a frame of ${buffer.length} bytes`)
    }
    this.#buffer = buffer
    this.#position = start
    this.#end = end
  }

  /** The offset of the next byte in the buffer. */
  get position(): number {
    return this.#position
  }

  /** Bytes that are left. */
  get remaining(): number {
    return this.#end - this.#position
  }

  int8(): number {
    return (this.uint8() << 24) >> 24
  }

  uint8(): number {
    const position = this.#position
    if (position >= this.#end) this.#underflow(1)
    this.#position = position + 1
    return this.#buffer[position] as number
  }

  /** Any byte but zero is true, as in Kafka. */
  bool(): boolean {
    return this.uint8() !== 0
  }

  int16(): number {
    return (this.uint16() << 16) >> 16
  }

  uint16(): number {
    const position = this.#advance(2)
    const buffer = this.#buffer
    return ((buffer[position] as number) << 8) | (buffer[position + 1] as number)
  }

  int32(): number {
    const position = this.#advance(4)
    const buffer = this.#buffer
    return (
      ((buffer[position] as number) << 24) |
      ((buffer[position + 1] as number) << 16) |
      ((buffer[position + 2] as number) << 8) |
      (buffer[position + 3] as number)
    )
  }

  uint32(): number {
    return this.int32() >>> 0
  }

  /** An int64 that a number holds exactly. Offsets, ids and timestamps are far below 2^53; anything else is refused. */
  int64(): number {
    const high = this.int32()
    const value = high * TWO_POW_32 + this.uint32()
    if (!Number.isSafeInteger(value)) throw new ProtocolError(`an int64 is beyond what is supported: about ${value}`)
    return value
  }

  /** An int64 where 2^53 and beyond means "no limit": such a value reads as `Infinity` or `-Infinity`. */
  saturatingInt64(): number {
    const high = this.int32()
    const value = high * TWO_POW_32 + this.uint32()
    if (Number.isSafeInteger(value)) return value
    return value > 0 ? Infinity : -Infinity
  }

  float64(): number {
    return this.#buffer.readDoubleBE(this.#advance(8))
  }

  /** Sixteen bytes, as 22 characters of base64url. */
  uuid(): string {
    const position = this.#advance(16)
    const buffer = this.#buffer
    let bits = 0
    let difference = 0
    for (let i = 0; i < 16; i++) {
      const byte = buffer[position + i] as number
      bits |= byte
      difference |= byte ^ (lastUuidBytes[i] as number)
    }
    if (bits === 0) return ZERO_UUID
    if (difference !== 0) {
      buffer.copy(lastUuidBytes, 0, position, position + 16)
      lastUuid = lastUuidBytes.toString('base64url')
    }
    return lastUuid
  }

  /** An unsigned varint of at most 32 bits (five bytes). */
  uvarint(): number {
    const first = this.uint8()
    if (first < 0x80) return first
    let value = first & 0x7f
    for (let shift = 7; shift < 28; shift += 7) {
      const byte = this.uint8()
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    const last = this.uint8()
    if (last > 0x0f) throw new ProtocolError('a varint is longer than 32 bits')
    return (value | (last << 28)) >>> 0
  }

  /** A zigzag varint of at most 32 bits. */
  varint(): number {
    const value = this.uvarint()
    return (value >>> 1) ^ -(value & 1)
  }

  string(): string {
    const length = this.int16()
    if (length < 0) this.#badLength('a string', length)
    return this.#text(length)
  }

  nullableString(): string | null {
    const length = this.int16()
    if (length === -1) return null
    if (length < 0) this.#badLength('a string', length)
    return this.#text(length)
  }

  compactString(): string {
    const length = this.uvarint() - 1
    if (length < 0) this.#badLength('a string', length)
    return this.#text(length)
  }

  compactNullableString(): string | null {
    const length = this.uvarint() - 1
    return length === -1 ? null : this.#text(length)
  }

  /** A view of the frame. */
  bytes(): Buffer {
    const length = this.int32()
    if (length < 0) this.#badLength('a byte field', length)
    return this.#view(length)
  }

  /** A view of the frame, or null. */
  nullableBytes(): Buffer | null {
    const length = this.int32()
    if (length === -1) return null
    if (length < 0) this.#badLength('a byte field', length)
    return this.#view(length)
  }

  /** A view of the frame. */
  compactBytes(): Buffer {
    const length = this.uvarint() - 1
    if (length < 0) this.#badLength('a byte field', length)
    return this.#view(length)
  }

  /** A view of the frame, or null. */
  compactNullableBytes(): Buffer | null {
    const length = this.uvarint() - 1
    return length === -1 ? null : this.#view(length)
  }

  /** The count of an array whose elements take at least `minElementBytes` (one or more) each. */
  arrayLength(minElementBytes: number): number {
    const length = this.int32()
    if (length < 0) this.#badLength('an array', length)
    return this.#checkCount(length, minElementBytes)
  }

  /** As {@link arrayLength}, with -1 for null. */
  nullableArrayLength(minElementBytes: number): number {
    const length = this.int32()
    if (length < -1) this.#badLength('an array', length)
    return this.#checkCount(length, minElementBytes)
  }

  compactArrayLength(minElementBytes: number): number {
    const length = this.uvarint() - 1
    if (length < 0) this.#badLength('an array', length)
    return this.#checkCount(length, minElementBytes)
  }

  /** As {@link compactArrayLength}, with -1 for null. */
  compactNullableArrayLength(minElementBytes: number): number {
    return this.#checkCount(this.uvarint() - 1, minElementBytes)
  }

  /** The byte that stands before a nullable struct. */
  isPresent(): boolean {
    return this.int8() >= 0
  }

  /** Reads the size of a tagged field and returns the position where the field has to end. */
  taggedFieldEnd(): number {
    const size = this.uvarint()
    if (size > this.remaining) this.#underflow(size)
    return this.#position + size
  }

  /** Checks that a tagged field ended where its size said. */
  expectPosition(expected: number): void {
    if (this.#position !== expected) {
      throw new ProtocolError(`a tagged field ends at byte ${this.#position}, its size says ${expected}`)
    }
  }

  skip(byteCount: number): void {
    this.#advance(byteCount)
  }

  /** Skips a whole section of tagged fields, of which none is known here. */
  skipTaggedFields(): void {
    for (let count = this.uvarint(); count > 0; count--) {
      this.uvarint()
      this.skip(this.uvarint())
    }
  }

  #advance(byteCount: number): number {
    const position = this.#position
    if (byteCount > this.#end - position) this.#underflow(byteCount)
    this.#position = position + byteCount
    return position
  }

  #text(length: number): string {
    if (length > MAX_STRING_BYTES) this.#badLength('a string', length)
    const position = this.#advance(length)
    return length <= MAX_CACHED_CHARS
      ? cachedTexts.text(this.#buffer, position, length)
      : utf8(this.#buffer, position, length)
  }

  #view(length: number): Buffer {
    const position = this.#advance(length)
    return this.#buffer.subarray(position, position + length)
  }

  #checkCount(count: number, minElementBytes: number): number {
    if (count * minElementBytes > this.remaining) {
      throw new ProtocolError(
        `an array of ${count} elements needs ${count * minElementBytes} bytes or more, but ${this.remaining} are left`,
      )
    }
    // Null arrays have the count -1.
    if (count > 0) this.#elements += count
    if (this.#elements > MAX_ARRAY_ELEMENTS) {
      throw new ProtocolError(
        `arrays of ${this.#elements} elements in one message, where ${MAX_ARRAY_ELEMENTS} are allowed`,
      )
    }
    return count
  }

  #underflow(byteCount: number): never {
    throw new ProtocolError(`${byteCount} bytes are needed at byte ${this.#position}, but ${this.remaining} are left`)
  }

  #badLength(what: string, length: number): never {
    if (length === -1) throw new ProtocolError(`${what} is null, which is not allowed here`)
    throw new ProtocolError(`${what} has the impossible length ${length}`)
  }
}

function utf8(buffer: Buffer, position: number, length: number): string {
  return buffer.toString('utf8', position, position + length)
}
