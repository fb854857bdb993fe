/**
 * From hashes of keys to the newest offset of each, in bounded memory: 24 bytes a key, as Kafka's SkimpyOffsetMap.
 *
 * It begins small and doubles while keys come, up to `maxBytes`: a log of few keys costs little whatever the limit is. (While
 * it doubles, the old half is there too.) Open addressing with linear probes; keys are told apart by their hash alone.
 */
import type { KeyHash } from './key-hash.ts'

/** Four int32 of hash and a double. */
export const BYTES_PER_KEY = 24
const FIRST_SLOTS = 1 << 15
/** Below its largest size the map grows before probes get long. */
const GROWTH_LOAD = 0.7

export class OffsetMap {
  readonly #maxSlots: number
  readonly #maxLoad: number
  #slots: number
  #maxKeys: number
  #hashes: Int32Array
  /** `offset + 1`; 0: the slot is empty. */
  #offsets: Float64Array
  #size = 0

  /** `maxLoad`: the share of the slots that may be used at the largest size, as `log.cleaner.io.buffer.load.factor`. */
  constructor(maxBytes: number, maxLoad: number) {
    this.#maxSlots = Math.max(Math.floor(maxBytes / BYTES_PER_KEY), 2)
    this.#maxLoad = maxLoad
    this.#slots = Math.min(FIRST_SLOTS, this.#maxSlots)
    this.#maxKeys = this.#keysFor(this.#slots)
    this.#hashes = new Int32Array(this.#slots * 4)
    this.#offsets = new Float64Array(this.#slots)
  }

  /** Keys in the map. */
  get size(): number {
    return this.#size
  }

  /** The share of the largest size that is used. */
  get utilization(): number {
    return this.#size / this.#maxSlots
  }

  get sizeBytes(): number {
    return this.#slots * BYTES_PER_KEY
  }

  /** Notes the offset of the key whose hash `hash` holds. False, and nothing is changed, if a new key has no room. */
  put(hash: KeyHash, offset: number): boolean {
    let slot = this.#find(hash)
    if (this.#offsets[slot] === 0) {
      if (this.#size >= this.#maxKeys) {
        if (this.#slots === this.#maxSlots) return false
        this.#grow()
        slot = this.#find(hash)
      }
      this.#size++
      this.#hashes[slot * 4] = hash.h0
      this.#hashes[slot * 4 + 1] = hash.h1
      this.#hashes[slot * 4 + 2] = hash.h2
      this.#hashes[slot * 4 + 3] = hash.h3
    }
    this.#offsets[slot] = offset + 1
    return true
  }

  /** The newest offset of the key, -1 if the map doesn't have it. */
  get(hash: KeyHash): number {
    return (this.#offsets[this.#find(hash)] ?? 0) - 1
  }

  /** The slot of the key, or the empty one where it belongs. There always is an empty one. */
  #find({ h0, h1, h2, h3 }: KeyHash): number {
    const hashes = this.#hashes
    const offsets = this.#offsets
    const slots = this.#slots
    let slot = (h0 >>> 0) % slots
    while (offsets[slot] !== 0) {
      const at = slot * 4
      if (hashes[at] === h0 && hashes[at + 1] === h1 && hashes[at + 2] === h2 && hashes[at + 3] === h3) break
      slot = slot + 1 === slots ? 0 : slot + 1
    }
    return slot
  }

  #keysFor(slots: number): number {
    const load = slots === this.#maxSlots ? this.#maxLoad : GROWTH_LOAD
    return Math.max(Math.min(Math.floor(slots * load), slots - 1), 1)
  }

  #grow(): void {
    const hashes = this.#hashes
    const offsets = this.#offsets
    this.#slots = Math.min(this.#slots * 2, this.#maxSlots)
    this.#maxKeys = this.#keysFor(this.#slots)
    this.#hashes = new Int32Array(this.#slots * 4)
    this.#offsets = new Float64Array(this.#slots)
    for (let slot = 0; slot < offsets.length; slot++) {
      const stored = offsets[slot] ?? 0
      if (stored === 0) continue
      const at = slot * 4
      let target = ((hashes[at] ?? 0) >>> 0) % this.#slots
      while (this.#offsets[target] !== 0) target = target + 1 === this.#slots ? 0 : target + 1
      for (let i = 0; i < 4; i++) this.#hashes[target * 4 + i] = hashes[at + i] ?? 0
      this.#offsets[target] = stored
    }
  }
}
