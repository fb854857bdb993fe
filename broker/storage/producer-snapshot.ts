/**
 * The `.snapshot` files: the producer state of a log at an offset, in Kafka's format. Version int16 (1), CRC-32C uint32 of
 * what follows, entry count int32, then 46 bytes per producer, with its last batch only.
 *
 * A producer may repeat any of its last five batches, though, after a restart as before it. So the older ones follow, in
 * bytes that Kafka's readers leave alone: a mark int32, then for each producer in the same order a count int8 and 24 bytes
 * per batch, oldest first. Where no producer has older batches, the file ends as Kafka's does.
 */
import { crc32c } from '@node-rs/crc32'
import { readInt64, writeInt64 } from '../protocol/records/record-batch.ts'
import { ProducerStateEntry } from './producer-state.ts'

const VERSION = 1
const CRC_POSITION = 2
const ENTRIES_POSITION = 6
const FIRST_ENTRY_POSITION = 10
const ENTRY_BYTES = 46
/** 'OTB1' */
const OLDER_BATCHES_MARK = 0x4f544231
const BATCH_BYTES = 24
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
  let olderBatches = 0
  for (const entry of producers.values()) olderBatches += Math.max(0, entry.batchCount - 1)
  const entriesEnd = FIRST_ENTRY_POSITION + producers.size * ENTRY_BYTES
  const olderBytes = olderBatches === 0 ? 0 : 4 + producers.size + olderBatches * BATCH_BYTES
  const buffer = Buffer.allocUnsafe(entriesEnd + olderBytes)
  buffer.writeInt16BE(VERSION, 0)
  buffer.writeInt32BE(producers.size, ENTRIES_POSITION)
  let position = FIRST_ENTRY_POSITION
  for (const entry of producers.values()) {
    encodeEntry(buffer, position, entry)
    position += ENTRY_BYTES
  }
  if (olderBatches > 0) {
    position = buffer.writeInt32BE(OLDER_BATCHES_MARK, position)
    for (const entry of producers.values()) position = encodeOlderBatches(buffer, position, entry)
  }
  buffer.writeUInt32BE(crc32c(buffer.subarray(ENTRIES_POSITION)), CRC_POSITION)
  return buffer
}

function encodeEntry(buffer: Buffer, position: number, entry: ProducerStateEntry): void {
  writeInt64(buffer, entry.producerId, position)
  buffer.writeInt16BE(entry.producerEpoch, position + 8)
  buffer.writeInt32BE(entry.lastSequence, position + 10)
  writeInt64(buffer, entry.lastDataOffset, position + 14)
  buffer.writeInt32BE(entry.lastOffsetDelta, position + 22)
  writeInt64(buffer, entry.lastTimestamp, position + 26)
  buffer.writeInt32BE(entry.coordinatorEpoch, position + 34)
  writeInt64(buffer, entry.currentTxnFirstOffset, position + 38)
}

/** Returns the position after them. */
function encodeOlderBatches(buffer: Buffer, start: number, entry: ProducerStateEntry): number {
  if (entry.batchCount <= 1) return buffer.writeInt8(0, start)
  const older = entry.batches().slice(0, -1)
  let position = buffer.writeInt8(older.length, start)
  for (const { lastSequence, lastOffset, firstOffset, timestamp } of older) {
    buffer.writeInt32BE(lastSequence, position)
    writeInt64(buffer, lastOffset, position + 4)
    buffer.writeInt32BE(lastOffset - firstOffset, position + 12)
    writeInt64(buffer, timestamp, position + 16)
    position += BATCH_BYTES
  }
  return position
}

/** The producers in a file, with the batches that it holds of them. @throws {@link CorruptSnapshotError} */
export function decodeSnapshot(buffer: Buffer): ProducerStateEntry[] {
  if (buffer.length < FIRST_ENTRY_POSITION) throw new CorruptSnapshotError(`only ${buffer.length} bytes`)
  const version = buffer.readInt16BE(0)
  if (version !== VERSION) throw new CorruptSnapshotError(`unknown version ${version}`)
  const count = buffer.readInt32BE(ENTRIES_POSITION)
  const entriesEnd = FIRST_ENTRY_POSITION + count * ENTRY_BYTES
  if (count < 0 || buffer.length < entriesEnd) {
    throw new CorruptSnapshotError(`${buffer.length} bytes for ${count} producers`)
  }
  if (buffer.readUInt32BE(CRC_POSITION) !== crc32c(buffer.subarray(ENTRIES_POSITION))) {
    throw new CorruptSnapshotError('the CRC is wrong')
  }
  const older = new OlderBatches(buffer, entriesEnd)
  const entries: ProducerStateEntry[] = []
  for (let position = FIRST_ENTRY_POSITION; position < entriesEnd; position += ENTRY_BYTES) {
    entries.push(decodeEntry(buffer, position, older))
  }
  older.expectEnd()
  return entries
}

/** Reads what follows the entries, if anything does, one producer at a time. */
class OlderBatches {
  readonly #buffer: Buffer
  #position: number

  constructor(buffer: Buffer, start: number) {
    this.#buffer = buffer
    this.#position = start
    if (start === buffer.length) return
    if (buffer.length - start < 4 || buffer.readInt32BE(start) !== OLDER_BATCHES_MARK) {
      throw new CorruptSnapshotError(`${buffer.length - start} bytes after the producers`)
    }
    this.#position += 4
  }

  addTo(entry: ProducerStateEntry, producerEpoch: number): void {
    const buffer = this.#buffer
    if (this.#position === buffer.length) return
    const count = buffer.readInt8(this.#position++)
    if (count < 0 || buffer.length - this.#position < count * BATCH_BYTES) {
      throw new CorruptSnapshotError(`${count} older batches of producer ${entry.producerId}`)
    }
    for (let i = 0; i < count; i++) {
      const position = this.#position
      const lastOffset = exactInt64(buffer, position + 4)
      const timestamp = exactInt64(buffer, position + 16)
      entry.addBatch(
        producerEpoch,
        buffer.readInt32BE(position),
        lastOffset,
        buffer.readInt32BE(position + 12),
        timestamp,
      )
      this.#position += BATCH_BYTES
    }
  }

  expectEnd(): void {
    if (this.#position !== this.#buffer.length) throw new CorruptSnapshotError('bytes after the last producer')
  }
}

function decodeEntry(buffer: Buffer, position: number, older: OlderBatches): ProducerStateEntry {
  const entry = new ProducerStateEntry(exactInt64(buffer, position))
  const producerEpoch = buffer.readInt16BE(position + 8)
  const lastOffset = exactInt64(buffer, position + 14)
  const timestamp = exactInt64(buffer, position + 26)
  entry.producerEpoch = producerEpoch
  older.addTo(entry, producerEpoch)
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
