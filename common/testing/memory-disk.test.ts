import assert from 'node:assert/strict'
import type { DiskFile } from '../disk.ts'
import { SeededRandom } from '../random.ts'
import { MemoryDisk } from './memory-disk.ts'

function write(file: DiskFile, text: string, position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    file.writev([Buffer.from(text)], position, (error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}

function sync(file: DiskFile): Promise<void> {
  return new Promise((resolve, reject) => {
    file.datasync((error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}

describe('MemoryDisk', () => {
  it('keeps unsynced bytes at a kill and drops them at a power loss', async () => {
    let disk = new MemoryDisk({ folders: ['/d'] })
    const file = await disk.open('/d/a', 'create')
    await disk.syncFolder('/d')
    await write(file, 'abc', 0)
    await sync(file)
    await write(file, 'XYZ', 2)
    disk = disk.kill()
    assert.equal(disk.peek('/d/a')?.toString(), 'abXYZ')
    disk = disk.powerLoss()
    assert.equal(disk.peek('/d/a')?.toString(), 'abc')
  })

  it('makes creations, renames and removals durable only by syncing the folder', async () => {
    let disk = new MemoryDisk({ folders: ['/d'] })
    const file = await disk.open('/d/a', 'create')
    await write(file, 'abc', 0)
    await sync(file)
    disk = disk.powerLoss()
    assert.equal(disk.peek('/d/a'), undefined)

    await disk.replaceFile('/d/a', 'one')
    await disk.rename('/d/a', '/d/b')
    disk = disk.powerLoss()
    assert.equal(disk.peek('/d/a')?.toString(), 'one')
    assert.equal(disk.peek('/d/b'), undefined)

    await disk.remove('/d/a')
    await disk.syncFolder('/d')
    disk = disk.powerLoss()
    assert.deepEqual(await disk.list('/d'), [])
  })

  it('loses for good what a failed datasync was to save', async () => {
    const disk = new MemoryDisk({ folders: ['/d'] })
    const file = await disk.open('/d/a', 'create')
    await disk.syncFolder('/d')
    await write(file, 'abc', 0)
    disk.setFault((call) => (call.operation === 'datasync' ? 'EIO' : undefined))
    await assert.rejects(sync(file), { code: 'EIO' })
    disk.setFault(undefined)
    await sync(file)
    assert.equal(disk.peek('/d/a')?.toString(), 'abc')
    assert.equal(disk.powerLoss().peek('/d/a')?.toString(), '')
  })

  it('leaves half of a short write', async () => {
    const disk = new MemoryDisk({ folders: ['/d'] })
    const file = await disk.open('/d/a', 'create')
    disk.setFault((call) => (call.operation === 'writev' ? 'ENOSPC' : undefined))
    await assert.rejects(write(file, 'abcd', 0), { code: 'ENOSPC' })
    assert.equal(disk.peek('/d/a')?.toString(), 'ab')
  })

  it('answers nothing after a crash', async () => {
    const disk = new MemoryDisk({ folders: ['/d'], fault: (call) => (call.index === 1 ? 'crash-torn' : undefined) })
    const file = await disk.open('/d/a', 'create')
    let answered = false
    file.writev([Buffer.from('abcd')], 0, () => (answered = true))
    await disk.crashed
    disk
      .list('/d')
      .finally(() => (answered = true))
      .catch(() => undefined)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(answered, false)
    assert.equal(disk.kill().peek('/d/a')?.toString(), 'ab')
  })

  it('with a random power loss keeps synced bytes and some of the others', async () => {
    const outcomes = new Set<string>()
    for (let seed = 0; seed < 50; seed++) {
      const disk = new MemoryDisk({ folders: ['/d'] })
      const file = await disk.open('/d/a', 'create')
      await disk.syncFolder('/d')
      await write(file, 'abc', 0)
      await sync(file)
      await write(file, 'def', 3)
      const left = disk.powerLoss(new SeededRandom(seed)).peek('/d/a')?.toString() ?? ''
      assert.ok('abcdef'.startsWith(left) && left.length >= 3, left)
      outcomes.add(left)
    }
    assert.ok(outcomes.size > 2)
  })

  it('moves folders, truncates and reads past the end', async () => {
    const disk = new MemoryDisk()
    await disk.makeFolder('/x/y')
    const file = await disk.open('/x/y/f', 'write')
    await write(file, 'abcdef', 0)
    await file.truncate(2)
    await write(file, 'z', 4)
    await disk.rename('/x/y', '/x/z')
    assert.deepEqual(disk.peek('/x/z/f'), Buffer.from('ab\0\0z'))
    await disk.removeFolder('/x')
    await assert.rejects(disk.list('/x'), { code: 'ENOENT' })
  })
})
