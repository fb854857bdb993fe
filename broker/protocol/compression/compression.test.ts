import assert from 'node:assert/strict'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { createRequire } from 'node:module'
import { randomInt, SeededRandom } from '../../../common/random.ts'
import { RecordsError } from '../records/records-error.ts'
import type { CompressionType } from './compression.ts'
import { compress, compressionIdOf, compressionTypeOf, compressionTypes, decompress } from './compression.ts'
import type { Lz4Codec } from './lz4-frame.ts'
import type { SnappyCodec } from './xerial-snappy.ts'

const require = createRequire(import.meta.url)
const LIMIT = 1 << 20
const codecs = compressionTypes.filter((type) => type !== 'none')

function rejects(errorName: string): (error: unknown) => boolean {
  return (error) => error instanceof RecordsError && error.errorName === errorName
}

/** Text that compresses, with some noise. */
function sample(size: number): Buffer {
  const random = new SeededRandom(size)
  const bytes = Buffer.alloc(size, 'event streaming ')
  for (let i = 0; i < size / 50; i++) bytes[randomInt(random, 0, size - 1)] = randomInt(random, 0, 255)
  return bytes
}

describe('compression', () => {
  it('has the ids of the protocol', () => {
    assert.deepEqual(compressionTypes.map(compressionIdOf), [0, 1, 2, 3, 4])
    assert.deepEqual([0, 1, 2, 3, 4].map(compressionTypeOf), ['none', 'gzip', 'snappy', 'lz4', 'zstd'])
    for (const id of [-1, 5, 6, 7]) assert.throws(() => compressionTypeOf(id), rejects('UNSUPPORTED_COMPRESSION_TYPE'))
  })

  for (const type of codecs) {
    it(`${type}: gives back what went in, at all sizes around block borders`, () => {
      for (const size of [0, 1, 10, 1000, 32767, 32768, 32769, 65535, 65536, 65537, 300_000, 1 << 20]) {
        const data = sample(size)
        const compressed = compress(type, data)
        assert.ok(decompress(type, compressed, LIMIT).equals(data), `${size} bytes`)
        if (size > 1000) assert.ok(compressed.length < size)
      }
      const noise = new SeededRandom(7).bytes(100_000)
      assert.ok(decompress(type, compress(type, noise), LIMIT).equals(noise))
    })

    it(`${type}: refuses every prefix`, () => {
      const compressed = compress(type, sample(3000))
      for (let length = 0; length < compressed.length; length++) {
        const prefix = compressed.subarray(0, length)
        // A snappy stream without blocks, and one cut between blocks, are streams.
        if (type === 'snappy' && length === 16) continue
        assert.throws(() => decompress(type, prefix, LIMIT), rejects('INVALID_RECORD'), `${length} bytes`)
      }
    })

    it(`${type}: refuses or survives damage, within the limit`, () => {
      const random = new SeededRandom(8)
      const data = sample(5000)
      for (let round = 0; round < 500; round++) {
        const damaged = Buffer.from(compress(type, data))
        for (let flips = randomInt(random, 1, 4); flips > 0; flips--) {
          damaged[randomInt(random, 0, Math.min(damaged.length - 1, 40 + round))] = randomInt(random, 0, 255)
        }
        try {
          assert.ok(decompress(type, damaged, 10_000).length <= 10_000)
        } catch (error) {
          assert.ok(error instanceof RecordsError, String(error))
        }
      }
    })

    it(`${type}: stops a bomb before it goes off`, () => {
      const bomb = compress(type, Buffer.alloc(64 << 20))
      const before = process.memoryUsage.rss()
      assert.throws(() => decompress(type, bomb, LIMIT), rejects('MESSAGE_TOO_LARGE'))
      assert.ok(process.memoryUsage.rss() - before < 32 << 20)
      // The limit itself is allowed.
      assert.equal(decompress(type, compress(type, Buffer.alloc(LIMIT)), LIMIT).length, LIMIT)
    })
  }

  it('takes the levels', () => {
    const data = sample(200_000)
    const size = (type: CompressionType, level: number): number => compress(type, data, { [type]: level }).length
    assert.ok(size('gzip', 9) < size('gzip', 1))
    assert.ok(size('zstd', 19) < size('zstd', 1))
    assert.ok(decompress('lz4', compress('lz4', data, { lz4: 17 }), LIMIT).equals(data))
  })

  it('reads concatenated streams, as Java does', () => {
    const [a, b] = [sample(100), sample(200)]
    const both = Buffer.concat([a, b])
    assert.ok(decompress('gzip', Buffer.concat([gzipSync(a), gzipSync(b)]), LIMIT).equals(both))
    assert.ok(decompress('zstd', Buffer.concat([zstdCompressSync(a), zstdCompressSync(b)]), LIMIT).equals(both))
    assert.ok(decompress('snappy', Buffer.concat([compress('snappy', a), compress('snappy', b)]), LIMIT).equals(both))
  })
})

describe('snappy', () => {
  const raw = (require('snappy') as SnappyCodec).compressSync(sample(1000))

  it('is read without framing', () => {
    assert.ok(decompress('snappy', raw, LIMIT).equals(sample(1000)))
  })

  it('is refused when a block lies about its length', () => {
    const stream = compress('snappy', sample(1000))
    for (const length of [-1, 0x7fff_ffff, stream.length]) {
      const lying = Buffer.from(stream)
      lying.writeInt32BE(length, 16)
      assert.throws(() => decompress('snappy', lying, LIMIT), rejects('INVALID_RECORD'))
    }
    for (const preamble of ['ffffffff0f', 'ffffffffff', 'ffffffff7f']) {
      const block = Buffer.concat([Buffer.from(preamble, 'hex'), raw.subarray(2)])
      assert.throws(() => decompress('snappy', block, LIMIT), rejects('INVALID_RECORD'))
    }
  })
})

describe('lz4', () => {
  const frame = compress('lz4', sample(1000))

  it('is a frame of version 1 with independent blocks and without content checksum', () => {
    assert.equal(frame.readUInt32LE(0), 0x184d2204)
    assert.equal(frame[4], 0x60)
    assert.equal(frame.readUInt32LE(frame.length - 4), 0)
  })

  it('is refused where Java clients could not read it', () => {
    const lz4 = require('lz4-napi') as Lz4Codec
    const withFlags = (flags: number): Buffer => {
      const changed = Buffer.from(frame)
      changed[4] = flags
      return changed
    }
    for (const flags of [0x40, 0x20, 0xa0, 0x61, 0x62]) {
      assert.throws(() => decompress('lz4', withFlags(flags), LIMIT), rejects('INVALID_RECORD'), `flags ${flags}`)
    }
    const wrongHeaderChecksum = Buffer.from(frame)
    wrongHeaderChecksum[6] = (wrongHeaderChecksum[6] ?? 0) ^ 1
    assert.throws(() => decompress('lz4', wrongHeaderChecksum, LIMIT), rejects('INVALID_RECORD'))
    assert.ok(lz4.decompressFrameSync(frame).equals(sample(1000)))
  })

  it('is read with checksums, and up to its end mark', () => {
    const codec = require('lz4-napi') as {
      compressFrameSync(data: Buffer, options: { contentChecksum: boolean; blockChecksums: boolean }): Buffer
    }
    const checked = codec.compressFrameSync(sample(1000), { contentChecksum: true, blockChecksums: true })
    assert.ok(decompress('lz4', checked, LIMIT).equals(sample(1000)))
    assert.ok(decompress('lz4', Buffer.concat([checked, Buffer.from('more')]), LIMIT).equals(sample(1000)))
    checked[20] = (checked[20] ?? 0) ^ 1
    assert.throws(() => decompress('lz4', checked, LIMIT), rejects('INVALID_RECORD'))
  })
})
