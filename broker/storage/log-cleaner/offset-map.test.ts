import assert from 'node:assert/strict'
import { SeededRandom } from '../../../common/random.ts'
import { KeyHash } from './key-hash.ts'
import { OffsetMap } from './offset-map.ts'

const hash = new KeyHash(Uint8Array.from({ length: 16 }, (_, i) => i))

function hashOf(key: string): KeyHash {
  const bytes = Buffer.from(key)
  hash.update(bytes, 0, bytes.length)
  return hash
}

describe('key hash', () => {
  it('is HalfSipHash-2-4 of 64 bits, twice', () => {
    // The first two test vectors of the algorithm's authors: of no byte, and of the byte 0, under the key 0..7.
    const same = new KeyHash(Uint8Array.from({ length: 16 }, (_, i) => i % 8))
    const expected = ['218d1f59b9b83cc8', 'be552412f8387315']
    for (const [length, hex] of expected.entries()) {
      same.update(Uint8Array.of(0), 0, length)
      const found = Buffer.alloc(16)
      for (const [i, word] of [same.h0, same.h1, same.h2, same.h3].entries()) found.writeInt32LE(word, i * 4)
      assert.equal(found.toString('hex'), hex + hex)
    }
  })

  it('depends on the key, on each byte, and on nothing around', () => {
    const other = new KeyHash(Uint8Array.from({ length: 16 }, (_, i) => i + 1))
    const bytes = Buffer.from('..some key..')
    const seen = new Set<string>()
    const note = (each: KeyHash): void => void seen.add([each.h0, each.h1, each.h2, each.h3].join())
    other.update(bytes, 2, 8)
    note(other)
    hash.update(bytes, 2, 8)
    note(hash)
    hash.update(Buffer.from('some key'), 0, 8)
    note(hash)
    assert.equal(seen.size, 2, 'where the key lies does not matter, the hash key does')
    for (let length = 0; length <= 12; length++) {
      for (let i = 0; i < length; i++) {
        const changed = Buffer.alloc(length, 7)
        changed[i] = 8
        hash.update(changed, 0, length)
        note(hash)
      }
      hash.update(Buffer.alloc(length, 7), 0, length)
      note(hash)
    }
    assert.equal(seen.size, 2 + (12 * 13) / 2 + 13)
  })
})

describe('offset map', () => {
  it('has the newest offset of each key, whatever it grows to', () => {
    const random = new SeededRandom(3)
    const map = new OffsetMap(64 * 1024 * 1024, 0.9)
    const expected = new Map<string, number>()
    for (let offset = 0; offset < 150_000; offset++) {
      const key = `key-${Math.floor(random.next() * 60_000)}`
      assert.ok(map.put(hashOf(key), offset))
      expected.set(key, offset)
    }
    assert.equal(map.size, expected.size)
    for (const [key, offset] of expected) assert.equal(map.get(hashOf(key)), offset)
    assert.equal(map.get(hashOf('another key')), -1)
    assert.ok(map.sizeBytes < 64 * 1024 * 1024 && map.sizeBytes > expected.size * 24)
  })

  it('takes no more keys than its memory and load factor allow, and still updates those that it has', () => {
    const map = new OffsetMap(24 * 1000, 0.9)
    let count = 0
    while (map.put(hashOf(`key-${count}`), count)) count++
    assert.equal(count, 900)
    assert.equal(map.size, 900)
    assert.equal(map.sizeBytes, 24_000)
    assert.equal(map.get(hashOf(`key-${count}`)), -1)
    assert.ok(map.put(hashOf('key-7'), 5000))
    assert.equal(map.get(hashOf('key-7')), 5000)
    assert.equal(map.utilization, 0.9)
  })

  it('keeps offset 0 apart from nothing', () => {
    const map = new OffsetMap(1000, 1)
    assert.ok(map.put(hashOf('a'), 0))
    assert.equal(map.get(hashOf('a')), 0)
    assert.equal(map.get(hashOf('b')), -1)
  })

  it('never fills its last slot, so that a search ends', () => {
    const map = new OffsetMap(24 * 3, 1)
    assert.ok(map.put(hashOf('a'), 1))
    assert.ok(map.put(hashOf('b'), 2))
    assert.equal(map.put(hashOf('c'), 3), false)
    assert.equal(map.get(hashOf('c')), -1)
  })
})
