import assert from 'node:assert/strict'
import { crc32, deflateRawSync } from 'node:zlib'
import { readZipEntries } from './zip.ts'

/** A zip archive as other tools write it: local headers with the contents, then the directory, then its end record. */
function zip(entries: { name: string; content: Buffer; method: number }[], comment = ''): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content, method } of entries) {
    const stored = method === 8 ? deflateRawSync(content) : content
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(method, 4)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(stored.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(name.length, 22)
    // An extra field in the local header only.
    const local = Buffer.concat([Buffer.from('504b0304', 'hex'), common, Buffer.from(name), Buffer.from('abcd')])
    local.writeUInt16LE(4, 28)
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    directory.push(Buffer.from('504b01021400', 'hex'), common, tail, Buffer.from(name))
    parts.push(local, stored)
    offset += local.length + stored.length
  }
  const directoryBytes = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(directoryBytes.length, 12)
  end.writeUInt32LE(offset, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([...parts, directoryBytes, end, Buffer.from(comment)])
}

describe('readZipEntries', () => {
  const first = { name: 'a/first.json', content: Buffer.from('{}'), method: 0 }
  const second = { name: 'a/second.json', content: Buffer.alloc(5000, 'x'), method: 8 }

  it('reads stored and deflated entries', () => {
    for (const comment of ['', 'a comment']) {
      const entries = readZipEntries(zip([first, second], comment), () => true)
      assert.deepEqual([...entries.keys()], [first.name, second.name])
      assert.deepEqual([...entries.values()], [first.content, second.content])
    }
  })

  it('leaves out what is not wanted', () => {
    const entries = readZipEntries(zip([first, second]), (name) => name.endsWith('second.json'))
    assert.deepEqual([...entries.keys()], [second.name])
  })

  it('refuses what is no archive, and methods it does not know', () => {
    assert.throws(() => readZipEntries(Buffer.alloc(100), () => true), /no zip archive/)
    assert.throws(() => readZipEntries(zip([{ ...first, method: 12 }]), () => true), /method 12/)
  })
})
