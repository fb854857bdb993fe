/**
 * The compression codecs of record batches: one table by Kafka's ids. A codec is loaded at its first use, so a broker
 * whose topics all have `compression.type=producer` and whose producers don't compress never loads one.
 *
 * Everything here is synchronous: one call compresses or decompresses one batch's records. What goes in comes from
 * clients, so the output of a decompression is bounded, and whatever is wrong with the input is a {@link RecordsError}.
 */
import { createRequire } from 'node:module'
import type * as Zlib from 'node:zlib'
import { RecordsError } from '../records/records-error.ts'
import type { Lz4Codec } from './lz4-frame.ts'
import type { SnappyCodec } from './xerial-snappy.ts'
import { lz4Compress, lz4Decompress } from './lz4-frame.ts'
import { snappyCompress, snappyDecompress } from './xerial-snappy.ts'

/** Kafka's names, in the order of their ids (attributes bits 0 to 2). `none` is called `uncompressed` in configs. */
export const compressionTypes = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type CompressionType = (typeof compressionTypes)[number]

/** `compression.gzip.level` and its siblings; absent = the codec's default. */
export interface CompressionLevels {
  /** -1 (zlib's choice) or 1 to 9. */
  readonly gzip?: number
  /** 1 to 17. Taken, and without effect: the native encoder has one level. */
  readonly lz4?: number
  /** -131072 to 22. */
  readonly zstd?: number
}

/**
 * How large one batch may become when it is decompressed. Far above what producers make of a batch that fits
 * `max.message.bytes`, far below what a compression bomb makes of it (lz4: 255 times, gzip: 1,000, zstd: more).
 */
export const DEFAULT_MAX_DECOMPRESSED_BYTES = 128 * 1024 * 1024

/** The id of a compression type, as in a batch's attributes. */
export function compressionIdOf(type: CompressionType): number {
  return compressionTypes.indexOf(type)
}

/** The compression type of an id. @throws {@link RecordsError} `UNSUPPORTED_COMPRESSION_TYPE` for 5 to 7. */
export function compressionTypeOf(id: number): CompressionType {
  const type = compressionTypes[id]
  if (type === undefined) throw new RecordsError('UNSUPPORTED_COMPRESSION_TYPE', `unknown compression type id ${id}`)
  return type
}

/** Compresses the records of a batch. */
export function compress(type: CompressionType, records: Buffer, levels?: CompressionLevels): Buffer {
  switch (type) {
    case 'none':
      return records
    case 'gzip':
      return zlib().gzipSync(records, levels?.gzip === undefined ? {} : { level: levels.gzip })
    case 'snappy':
      return snappyCompress(snappy(), records)
    case 'lz4':
      return lz4Compress(lz4(), records)
    case 'zstd': {
      const level = levels?.zstd
      const { constants, zstdCompressSync } = zlib()
      return zstdCompressSync(
        records,
        level === undefined ? {} : { params: { [constants.ZSTD_c_compressionLevel]: level } },
      )
    }
  }
}

/**
 * Decompresses the records of a batch.
 *
 * @throws {@link RecordsError} `INVALID_RECORD` for input that is not of that format, `MESSAGE_TOO_LARGE` (on which a
 * producer splits its batch) for output of more than `maxBytes`.
 */
export function decompress(type: CompressionType, compressed: Buffer, maxBytes: number): Buffer {
  try {
    switch (type) {
      case 'none':
        return compressed
      case 'gzip':
        return zlib().gunzipSync(compressed, { maxOutputLength: maxBytes })
      case 'snappy':
        return snappyDecompress(snappy(), compressed, maxBytes)
      case 'lz4':
        return lz4Decompress(lz4(), compressed, maxBytes)
      case 'zstd':
        return zlib().zstdDecompressSync(compressed, { maxOutputLength: maxBytes })
    }
  } catch (error) {
    if (error instanceof RecordsError) throw error
    if (isTooLarge(error)) {
      throw new RecordsError('MESSAGE_TOO_LARGE', `${type} data of more than ${maxBytes} bytes when decompressed`)
    }
    throw new RecordsError('INVALID_RECORD', `the ${type} data of a record batch can't be decompressed`, {
      cause: error,
    })
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
}

const require = createRequire(import.meta.url)
let zlibModule: typeof Zlib | undefined
let snappyModule: SnappyCodec | undefined
let lz4Module: Lz4Codec | undefined

function zlib(): typeof Zlib {
  return (zlibModule ??= require('node:zlib') as typeof Zlib)
}

function snappy(): SnappyCodec {
  return (snappyModule ??= require('snappy') as SnappyCodec)
}

function lz4(): Lz4Codec {
  return (lz4Module ??= require('lz4-napi') as Lz4Codec)
}
