import assert from 'node:assert/strict'
import type { DiskFile } from '../../common/disk.ts'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import { freeAndClose } from './disk-calls.ts'
import { DroppedFileError, FilePool, PooledFile } from './file-pool.ts'

describe('PooledFile', () => {
  it('hands a dropped file to its heir after the last use, and opens it no more', async () => {
    const disk = new MemoryDisk({ folders: ['/'] })
    const pool = new FilePool(disk, 10)
    const file = new PooledFile(pool, '/a')
    const use = (): Promise<DiskFile> =>
      new Promise((resolve, reject) => {
        file.use((error, opened) => (opened === undefined ? reject(error ?? new Error('no file')) : resolve(opened)))
      })
    const opened = await use()
    await use()
    let inherited: DiskFile | undefined
    await file.drop((left) => {
      inherited = left
    })
    file.release()
    assert.equal(inherited, undefined, 'somebody reads it still')
    file.release()
    assert.equal(inherited, opened)
    assert.equal(pool.openCount, 0)
    await assert.rejects(use(), DroppedFileError)
    assert.equal(await opened.size(), 0, 'it is the heir who closes it')
    await opened.close()
  })
})

describe('freeAndClose', () => {
  it('cuts a large file step by step, then closes it', async () => {
    const sizes: number[] = []
    let isClosed = false
    const file: Pick<DiskFile, 'truncate' | 'close'> = {
      truncate: (length) => Promise.resolve(void sizes.push(length)),
      close: () => {
        isClosed = true
        return Promise.resolve()
      },
    }
    const mib = 1024 * 1024
    await freeAndClose(file, 10 * mib)
    assert.deepEqual(sizes, [6 * mib, 2 * mib])
    assert.ok(isClosed)
    await freeAndClose(file, mib)
    assert.equal(sizes.length, 2, 'a small one goes at once')
  })
})
