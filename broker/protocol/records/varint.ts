/**
 * Kafka's varints (protocol guide, "Protocol Primitive Types"): base 128, least significant group first, zigzag. The
 * readers return the value and leave the position after it in {@link varintEnd}, since a tuple would be an allocation
 * for each field of each record. Single-threaded code may do so: read `varintEnd` before anything else is called.
 *
 * A read past the end of the buffer finds zeros instead of failing; whoever reads checks the position afterwards.
 */
import { RecordsError } from './records-error.ts'

/** Where the varint read last ended. */
export let varintEnd = 0

/** Reads a zigzag int32 of at most 5 bytes. @throws {@link RecordsError} `INVALID_RECORD` for a longer one. */
export function readVarint(buffer: Uint8Array, position: number): number {
  let byte = buffer[position++] ?? 0
  let value = byte & 0x7f
  if (byte >= 0x80) {
    byte = buffer[position++] ?? 0
    value |= (byte & 0x7f) << 7
    if (byte >= 0x80) {
      byte = buffer[position++] ?? 0
      value |= (byte & 0x7f) << 14
      if (byte >= 0x80) {
        byte = buffer[position++] ?? 0
        value |= (byte & 0x7f) << 21
        if (byte >= 0x80) {
          byte = buffer[position++] ?? 0
          if (byte >= 0x80) throw tooLong()
          value |= byte << 28
        }
      }
    }
  }
  varintEnd = position
  return (value >>> 1) ^ -(value & 1)
}

/**
 * Reads a zigzag int64 of at most 10 bytes: exact up to 2^52, approximate beyond.
 * @throws {@link RecordsError} `INVALID_RECORD` for a longer one.
 */
export function readVarlong(buffer: Uint8Array, position: number): number {
  let byte = buffer[position++] ?? 0
  let value = byte & 0x7f
  for (let shift = 7; byte >= 0x80 && shift < 28; shift += 7) {
    byte = buffer[position++] ?? 0
    value |= (byte & 0x7f) << shift
  }
  if (byte < 0x80) {
    varintEnd = position
    return (value >>> 1) ^ -(value & 1)
  }
  return readLongVarlong(buffer, position, value)
}

/** The part of {@link readVarlong} from the fifth byte on, where 32-bit arithmetic ends. */
function readLongVarlong(buffer: Uint8Array, position: number, lowBits: number): number {
  let value = lowBits
  let byte = 0x80
  for (let scale = 2 ** 28; byte >= 0x80; scale *= 128) {
    if (scale > 2 ** 63) throw tooLong()
    byte = buffer[position++] ?? 0
    value += (byte & 0x7f) * scale
  }
  varintEnd = position
  // The lowest bit is the sign; `value` itself may have lost it to rounding.
  return (lowBits & 1) === 0 ? value / 2 : -(value + 1) / 2
}

/** The size of a zigzag int32. */
export function sizeOfVarint(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0
  return zigzag < 0x80 ? 1 : zigzag < 0x4000 ? 2 : zigzag < 0x20_0000 ? 3 : zigzag < 0x1000_0000 ? 4 : 5
}

/** The size of a zigzag int64 within ±2^52. */
export function sizeOfVarlong(value: number): number {
  let zigzag = value < 0 ? -2 * value - 1 : 2 * value
  let size = 1
  for (; zigzag >= 0x80; zigzag = Math.floor(zigzag / 128)) size++
  return size
}

/** Writes a zigzag int32; returns the position after it. */
export function writeVarint(buffer: Uint8Array, value: number, position: number): number {
  let zigzag = ((value << 1) ^ (value >> 31)) >>> 0
  for (; zigzag >= 0x80; zigzag >>>= 7) buffer[position++] = (zigzag & 0x7f) | 0x80
  buffer[position++] = zigzag
  return position
}

/** Writes a zigzag int64 within ±2^52; returns the position after it. */
export function writeVarlong(buffer: Uint8Array, value: number, position: number): number {
  let zigzag = value < 0 ? -2 * value - 1 : 2 * value
  for (; zigzag >= 0x80; zigzag = Math.floor(zigzag / 128)) buffer[position++] = (zigzag % 128) | 0x80
  buffer[position++] = zigzag
  return position
}

function tooLong(): RecordsError {
  return new RecordsError('INVALID_RECORD', 'a varint in a record is longer than its type allows')
}
