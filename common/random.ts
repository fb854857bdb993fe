import { randomBytes } from 'node:crypto'

/** Randomness as a constructor parameter, so that a simulation can draw all of it from one seed. */
export interface Random {
  /** A float in [0, 1). */
  next(): number
  /** `size` random bytes. */
  bytes(size: number): Buffer
}

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (size) => randomBytes(size),
}

/** A deterministic generator (xorshift128 seeded by splitmix32): the same seed gives the same sequence on every machine. */
export class SeededRandom implements Random {
  #a: number
  #b: number
  #c: number
  #d: number

  constructor(seed: number) {
    let state = seed >>> 0
    const splitmix = (): number => {
      state = (state + 0x9e3779b9) >>> 0
      let z = state
      z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
      z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
      return (z ^ (z >>> 16)) >>> 0
    }
    this.#a = splitmix()
    this.#b = splitmix()
    this.#c = splitmix()
    this.#d = splitmix() | 1
  }

  next(): number {
    let t = this.#d
    const s = this.#a
    this.#d = this.#c
    this.#c = this.#b
    this.#b = s
    t ^= t << 11
    t ^= t >>> 8
    this.#a = (t ^ s ^ (s >>> 19)) >>> 0
    return this.#a / 0x1_0000_0000
  }

  bytes(size: number): Buffer {
    const out = Buffer.allocUnsafe(size)
    for (let i = 0; i < size; i++) out[i] = this.next() * 256
    return out
  }
}

/** An integer in [min, max]. */
export function randomInt(random: Random, min: number, max: number): number {
  return min + Math.floor(random.next() * (max - min + 1))
}

/** A random version-4 UUID as 16 bytes, in base64url without padding: the form in which Kafka prints topic ids. */
export function randomUuid(random: Random): string {
  const bytes = random.bytes(16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const text = bytes.toString('base64url')
  // Kafka's tools read a leading dash as an option, so Kafka never makes such an id, and neither does Ottla.
  return text.startsWith('-') ? randomUuid(random) : text
}
