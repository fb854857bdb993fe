/**
 * The `.snapshot` files: the producer state of a log at an offset, in Kafka's format. Version int16 (1), CRC-32C uint32 of
 * what follows, entry count int32, then 46 bytes per producer.
 */
import { crc32c } from '@node-rs/crc32'
import { readInt64, writeInt64 } from '../protocol/records/record-batch.ts'
import { ProducerStateEntry } from './producer-state.ts'

const VERSION = 1
const CRC_POSITION = 2
const ENTRIES_POSITION = 6
const FIRST_ENTRY_POSITION = 10
const ENTRY_BYTES = 46
const SUFFIX = '.snapshot'

/** A snapshot file that can't be read: torn, damaged, or of another version. */
export class CorruptSnapshotError extends Error {
  override readonly name = 'CorruptSnapshotError'
}

/** `00000000000000001234.snapshot` */
export function snapshotFileName(offset: number): string {
  return String(offset).padStart(20, '0') + SUFFIX
}

/** The offset in the name of a snapshot file; undefined for other names. */
export function snapshotOffsetOf(fileName: string): number | undefined {
  if (!/^\d{20}\.snapshot$/.test(fileName)) return undefined
  const offset = Number(fileName.slice(0, -SUFFIX.length))
  return Number.isSafeInteger(offset) ? offset : undefined
}

/** The file's bytes for these producers. */
export function encodeSnapshot(producers: ReadonlyMap<number, ProducerStateEntry>): Buffer {
  const buffer = Buffer.allocUnsafe(FIRST_ENTRY_POSITION + producers.size * ENTRY_BYTES)
  buffer.writeInt16BE(VERSION, 0)
  buffer.writeInt32BE(producers.size, ENTRIES_POSITION)
  let position = FIRST_ENTRY_POSITION
  for (const entry of producers.values()) {
    writeInt64(buffer, entry.producerId, position)
    buffer.writeInt16BE(entry.producerEpoch, position + 8)
    buffer.writeInt32BE(entry.lastSequence, position + 10)
    writeInt64(buffer, entry.lastDataOffset, position + 14)
    buffer.writeInt32BE(entry.lastOffsetDelta, position + 22)
    writeInt64(buffer, entry.lastTimestamp, position + 26)
    buffer.writeInt32BE(entry.coordinatorEpoch, position + 34)
    writeInt64(buffer, entry.currentTxnFirstOffset, position + 38)
    position += ENTRY_BYTES
  }
  buffer.writeUInt32BE(crc32c(buffer.subarray(ENTRIES_POSITION)), CRC_POSITION)
  return buffer
}

/** The producers in a file. Of a producer's batches a snapshot holds the last. @throws {@link CorruptSnapshotError} */
export function decodeSnapshot(buffer: Buffer): ProducerStateEntry[] {
  if (buffer.length < FIRST_ENTRY_POSITION) throw new CorruptSnapshotError(`only ${buffer.length} bytes`)
  const version = buffer.readInt16BE(0)
  if (version !== VERSION) throw new CorruptSnapshotError(`unknown version ${version}`)
  const count = buffer.readInt32BE(ENTRIES_POSITION)
  if (buffer.length !== FIRST_ENTRY_POSITION + count * ENTRY_BYTES) {
    throw new CorruptSnapshotError(`${buffer.length} bytes for ${count} producers`)
  }
  if (buffer.readUInt32BE(CRC_POSITION) !== crc32c(buffer.subarray(ENTRIES_POSITION))) {
    throw new CorruptSnapshotError('the CRC is wrong')
  }
  const entries: ProducerStateEntry[] = []
  for (let position = FIRST_ENTRY_POSITION; position < buffer.length; position += ENTRY_BYTES) {
    entries.push(decodeEntry(buffer, position))
  }
  return entries
}

function decodeEntry(buffer: Buffer, position: number): ProducerStateEntry {
  const entry = new ProducerStateEntry(exactInt64(buffer, position))
  const producerEpoch = buffer.readInt16BE(position + 8)
  const lastOffset = exactInt64(buffer, position + 14)
  const timestamp = exactInt64(buffer, position + 26)
  entry.producerEpoch = producerEpoch
  if (lastOffset >= 0) {
    const lastSequence = buffer.readInt32BE(position + 10)
    entry.addBatch(producerEpoch, lastSequence, lastOffset, buffer.readInt32BE(position + 22), timestamp)
  }
  entry.lastTimestamp = timestamp
  entry.coordinatorEpoch = buffer.readInt32BE(position + 34)
  entry.currentTxnFirstOffset = Math.max(exactInt64(buffer, position + 38), -1)
  return entry
}

function exactInt64(buffer: Buffer, position: number): number {
  const value = readInt64(buffer, position)
  if (!Number.isSafeInteger(value)) throw new CorruptSnapshotError(`${value} is out of range`)
  return value
}
