/**
 * LZ4 as Kafka's clients write it: the LZ4 frame format (version 1) with independent blocks. The native module makes and
 * reads such frames; what it doesn't do is bound its output or refuse what Kafka's Java client can't read later, so the
 * frame's structure is walked here first, without decompressing anything.
 */
import { RecordsError } from '../records/records-error.ts'

/** The calls used of the native module. */
export interface Lz4Codec {
  compressFrameSync(data: Buffer): Buffer
  decompressFrameSync(data: Buffer): Buffer
}

const FRAME_MAGIC = 0x184d2204
const VERSION_MASK = 0xc0
const VERSION_1 = 0x40
const INDEPENDENT_BLOCKS = 0x20
const BLOCK_CHECKSUM = 0x10
const CONTENT_SIZE = 0x08
const CONTENT_CHECKSUM = 0x04
const RESERVED_OR_DICTIONARY = 0x03
const UNCOMPRESSED_BLOCK = 0x8000_0000
/** An LZ4 block grows by less than 255 for each byte of it. */
const MAX_RATIO = 255

/** Compresses into one frame. */
export function lz4Compress(codec: Lz4Codec, records: Buffer): Buffer {
  return codec.compressFrameSync(records)
}

/**
 * Decompresses one frame; bytes after its end mark are ignored, as Kafka does. At no time is there more than `maxBytes`
 * and one block (4 MiB at most) of output. Errors of the decoder pass through.
 */
export function lz4Decompress(codec: Lz4Codec, compressed: Buffer, maxBytes: number): Buffer {
  const { end, atMostBytes, lastBlockAtMostBytes } = measureFrame(compressed)
  // Only the last block is usually not full, so what the others may hold is close to what they do hold.
  if (atMostBytes - lastBlockAtMostBytes > maxBytes) throw tooLarge(maxBytes)
  const result = codec.decompressFrameSync(compressed.subarray(0, end))
  if (result.length > maxBytes) throw tooLarge(maxBytes)
  return result
}

interface FrameMeasure {
  /** Position after the frame. */
  readonly end: number
  /** The most that all blocks, and the last one of them, can decompress to. */
  readonly atMostBytes: number
  readonly lastBlockAtMostBytes: number
}

/** Walks the blocks of the frame at the start of `frame`. */
function measureFrame(frame: Buffer): FrameMeasure {
  if (frame.length < 7) throw malformed('the frame header is cut off')
  if (frame.readUInt32LE(0) !== FRAME_MAGIC) throw malformed('the magic bytes are wrong')
  const flags = frame.readUInt8(4)
  const maxBlockBytes = checkDescriptor(flags, frame.readUInt8(5))
  let position = (flags & CONTENT_SIZE) === 0 ? 7 : 15
  let atMostBytes = 0
  let lastBlockAtMostBytes = 0
  for (;;) {
    if (frame.length - position < 4) throw malformed('a block is cut off')
    const word = frame.readUInt32LE(position)
    position += 4
    if (word === 0) break
    const isCompressed = word < UNCOMPRESSED_BLOCK
    const length = isCompressed ? word : word - UNCOMPRESSED_BLOCK
    if (length > maxBlockBytes) throw malformed(`a block of ${length} bytes`)
    lastBlockAtMostBytes = isCompressed ? Math.min(maxBlockBytes, length * MAX_RATIO) : length
    atMostBytes += lastBlockAtMostBytes
    position += length + ((flags & BLOCK_CHECKSUM) === 0 ? 0 : 4)
  }
  const end = position + ((flags & CONTENT_CHECKSUM) === 0 ? 0 : 4)
  if (end > frame.length) throw malformed('the content checksum is cut off')
  return { end, atMostBytes, lastBlockAtMostBytes }
}

/** Checks the two descriptor bytes for what Kafka's clients can read; returns the block size limit. */
function checkDescriptor(flags: number, blockDescriptor: number): number {
  if ((flags & VERSION_MASK) !== VERSION_1) throw malformed('unknown frame version')
  if ((flags & INDEPENDENT_BLOCKS) === 0) throw malformed('dependent blocks are not supported')
  if ((flags & RESERVED_OR_DICTIONARY) !== 0) throw malformed('reserved flags are set')
  const sizeId = (blockDescriptor >> 4) & 0x07
  if (sizeId < 4 || (blockDescriptor & 0x8f) !== 0) throw malformed(`block descriptor ${blockDescriptor}`)
  return 2 ** (8 + 2 * sizeId)
}

function tooLarge(maxBytes: number): RecordsError {
  return new RecordsError('MESSAGE_TOO_LARGE', `lz4 data of more than ${maxBytes} bytes when decompressed`)
}

function malformed(what: string): RecordsError {
  return new RecordsError('INVALID_RECORD', `the lz4 data of a record batch is malformed: ${what}`)
}
