/**
 * A 128-bit hash of record keys: HalfSipHash-2-4 with 64 bits of output, twice, under two keys (Aumasson, Bernstein).
 *
 * The offset map tells keys apart by it, so a collision would cost the record of a key. It is keyed: whoever writes
 * records can't compute two keys that collide, and each pass draws a new hash key, so that not even chance hits twice. Its
 * words have 32 bits, which is what JavaScript is fast at: a third of the time of a call of the native MD5.
 */
export class KeyHash {
  /** The hash of the last call, as four int32. */
  h0 = 0
  h1 = 0
  h2 = 0
  h3 = 0
  readonly #key: Int32Array

  /** `key`: 16 random bytes. */
  constructor(key: Uint8Array) {
    const view = new DataView(key.buffer, key.byteOffset, 16)
    this.#key = Int32Array.from({ length: 4 }, (_, i) => view.getInt32(i * 4, true))
  }

  /** Hashes `length` bytes of `bytes` from `start`. */
  update(bytes: Uint8Array, start: number, length: number): void {
    const key = this.#key
    halfSipHash(bytes, start, length, key[0] ?? 0, key[1] ?? 0)
    this.h0 = low
    this.h1 = high
    halfSipHash(bytes, start, length, key[2] ?? 0, key[3] ?? 0)
    this.h2 = low
    this.h3 = high
  }
}

/** The result of {@link halfSipHash}: there is a call per record. */
let low = 0
let high = 0

function halfSipHash(bytes: Uint8Array, start: number, length: number, key0: number, key1: number): void {
  let v0 = key0
  let v1 = key1 ^ 0xee
  let v2 = key0 ^ 0x6c796765
  let v3 = key1 ^ 0x74656462
  const wordsEnd = start + (length & ~3)
  let position = start
  for (;;) {
    let word: number
    const isLast = position === wordsEnd
    if (isLast) {
      word = length << 24
      const rest = length & 3
      if (rest >= 1) word |= bytes[position] ?? 0
      if (rest >= 2) word |= (bytes[position + 1] ?? 0) << 8
      if (rest === 3) word |= (bytes[position + 2] ?? 0) << 16
    } else {
      word =
        (bytes[position] ?? 0) |
        ((bytes[position + 1] ?? 0) << 8) |
        ((bytes[position + 2] ?? 0) << 16) |
        ((bytes[position + 3] ?? 0) << 24)
    }
    v3 ^= word
    for (let round = 0; round < 2; round++) {
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
    }
    v0 ^= word
    if (isLast) break
    position += 4
  }
  v2 ^= 0xee
  for (let round = 0; round < 8; round++) {
    if (round === 4) {
      low = v1 ^ v3
      v1 ^= 0xdd
    }
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
  }
  high = v1 ^ v3
}
