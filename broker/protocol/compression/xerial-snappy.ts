/**
 * Snappy as Kafka's clients write it: snappy-java's stream ("xerial"), a header and then blocks, each a big-endian
 * int32 length and a raw snappy block. Some clients write one raw block without any framing; both are read.
 */
import { RecordsError } from '../records/records-error.ts'

/** The calls used of the native module. */
export interface SnappyCodec {
  compressSync(input: Uint8Array): Buffer
  uncompressSync(input: Uint8Array, options: { asBuffer: true }): string | Buffer
}

/** 0x82 "SNAPPY" 0x00, version 1, least compatible version 1. */
const HEADER = Buffer.from('82534e415050590000000001' + '00000001', 'hex')
const MAGIC = HEADER.subarray(0, 8)
/** The block size of the reference implementation; readers size their buffers by it. */
const BLOCK_BYTES = 32 * 1024
/** A snappy element of 3 bytes makes at most 64 bytes; what claims more is no snappy block. */
const MAX_RATIO = 22
const MAX_PREAMBLE_BYTES = 5

/** Compresses into the framed form. */
export function snappyCompress(codec: SnappyCodec, records: Buffer): Buffer {
  const parts: Buffer[] = [HEADER]
  for (let position = 0; position < records.length; position += BLOCK_BYTES) {
    const block = codec.compressSync(records.subarray(position, position + BLOCK_BYTES))
    const length = Buffer.allocUnsafe(4)
    length.writeInt32BE(block.length)
    parts.push(length, block)
  }
  return Buffer.concat(parts)
}

/** Decompresses either form. Errors of the native decoder pass through. */
export function snappyDecompress(codec: SnappyCodec, compressed: Buffer, maxBytes: number): Buffer {
  if (compressed.length < HEADER.length || !compressed.subarray(0, MAGIC.length).equals(MAGIC)) {
    uncompressedLength(compressed, maxBytes)
    return uncompressBlock(codec, compressed)
  }
  const parts: Buffer[] = []
  let total = 0
  let position = HEADER.length
  while (position < compressed.length) {
    if (startsWithHeader(compressed, position)) {
      // Streams may be concatenated: a header where a block's length is expected.
      position += HEADER.length
      continue
    }
    if (compressed.length - position < 4) throw malformed('a block length is cut off')
    const length = compressed.readInt32BE(position)
    position += 4
    if (length < 0 || length > compressed.length - position) throw malformed(`a block length is ${length}`)
    const block = compressed.subarray(position, position + length)
    position += length
    total += uncompressedLength(block, maxBytes - total)
    parts.push(uncompressBlock(codec, block))
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}

function startsWithHeader(compressed: Buffer, position: number): boolean {
  return (
    compressed[position] === MAGIC[0] &&
    compressed.length - position >= HEADER.length &&
    compressed.subarray(position, position + MAGIC.length).equals(MAGIC)
  )
}

function uncompressBlock(codec: SnappyCodec, block: Buffer): Buffer {
  const result = codec.uncompressSync(block, { asBuffer: true })
  return typeof result === 'string' ? Buffer.from(result) : result
}

/** The length that a block states in front (a little-endian base-128 varint), checked before anything is allocated. */
function uncompressedLength(block: Buffer, maxBytes: number): number {
  let length = 0
  for (let i = 0; i < MAX_PREAMBLE_BYTES; i++) {
    const byte = block[i]
    if (byte === undefined) break
    length += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) {
      if (length > block.length * MAX_RATIO) throw malformed(`a block of ${block.length} bytes claims ${length}`)
      if (length > maxBytes) {
        throw new RecordsError('MESSAGE_TOO_LARGE', `snappy data of more than ${maxBytes} bytes when decompressed`)
      }
      return length
    }
  }
  throw malformed('a block has no length')
}

function malformed(what: string): RecordsError {
  return new RecordsError('INVALID_RECORD', `the snappy data of a record batch is malformed: ${what}`)
}
