/**
 * The strings that were read last, each at the place that its bytes hash to. Requests and records name the same few topics,
 * groups and clients again and again; to find such a string here is several times cheaper than to make it anew, and a
 * string that was used before carries its hash into the maps that it is looked up in. A stranger can only replace entries.
 */
export class TextCache {
  readonly #texts: string[]
  readonly #mask: number

  /** `size`: a power of two. */
  constructor(size: number) {
    this.#texts = new Array<string>(size).fill('')
    this.#mask = size - 1
  }

  /** The UTF-8 text at `position`. Only ASCII is found again. */
  text(buffer: Buffer, position: number, length: number): string {
    let hash = length
    for (let i = 0; i < length; i++) hash = (Math.imul(hash, 31) + (buffer[position + i] as number)) | 0
    const index = (hash ^ (hash >>> 15)) & this.#mask
    const cached = this.#texts[index] as string
    if (isTextAt(cached, buffer, position, length)) return cached
    const text = buffer.toString('utf8', position, position + length)
    this.#texts[index] = text
    return text
  }
}

/** True for ASCII text that stands in the buffer byte by byte. */
export function isTextAt(text: string, buffer: Buffer, position: number, length: number): boolean {
  if (text.length !== length) return false
  // From the end, where names that belong together differ.
  for (let i = length - 1; i >= 0; i--) {
    const byte = buffer[position + i] as number
    if (byte > 0x7f || text.charCodeAt(i) !== byte) return false
  }
  return true
}
