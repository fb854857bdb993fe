/**
 * Keys, values and headers as people can look at them: UTF-8 as text, all else as hex, both cut to a size. Copies what it
 * shows, so that the memory which the records lie in can be used again.
 */
import { isUtf8 } from 'node:buffer'

export interface BytesView {
  /** `text`: UTF-8 without control characters. */
  readonly type: 'text' | 'binary'
  /** The text itself, or two hex digits per byte. */
  readonly shown: string
  /** Bytes in all. */
  readonly sizeBytes: number
  readonly isCut: boolean
}

/** Binary data is looked at to recognise it, not to be read. */
export const MAX_BINARY_BYTES = 4096

const CONTROL_CHARACTERS = /[\0-\x08\x0e-\x1f\x7f]/

/** Null for null, which in Kafka is not the same as empty. */
export function bytesView(bytes: Buffer | null, maxBytes: number): BytesView | null {
  if (bytes === null) return null
  const sizeBytes = bytes.length
  if (isUtf8(bytes)) {
    const end = characterBoundary(bytes, maxBytes)
    const shown = bytes.toString('utf8', 0, end)
    if (!CONTROL_CHARACTERS.test(shown)) return { type: 'text', shown, sizeBytes, isCut: end < sizeBytes }
  }
  const end = Math.min(sizeBytes, maxBytes, MAX_BINARY_BYTES)
  return { type: 'binary', shown: bytes.toString('hex', 0, end), sizeBytes, isCut: end < sizeBytes }
}

/** A text that was cut to about `maxLength` characters, never in the middle of one. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const last = text.charCodeAt(maxLength - 1)
  const isHighSurrogate = last >= 0xd800 && last <= 0xdbff
  return `${text.slice(0, isHighSurrogate ? maxLength - 1 : maxLength)}…`
}

/** The largest end of at most `maxBytes` that doesn't split a character of valid UTF-8. */
function characterBoundary(bytes: Buffer, maxBytes: number): number {
  if (bytes.length <= maxBytes) return bytes.length
  let end = Math.max(0, maxBytes)
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return end
}
