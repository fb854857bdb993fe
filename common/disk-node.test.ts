import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { DiskFile } from './disk.ts'
import { NodeDisk } from './disk-node.ts'

function write(file: DiskFile, buffers: readonly Uint8Array[], position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    file.writev(buffers, position, (error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}

function readAt(file: DiskFile, bytes: number, position: number): Promise<Buffer> {
  const target = Buffer.alloc(bytes)
  return new Promise((resolve, reject) => {
    file.read(target, position, (error, bytesRead) => {
      if (error === null) resolve(target.subarray(0, bytesRead))
      else reject(error)
    })
  })
}

describe('NodeDisk', () => {
  const disk = new NodeDisk()
  let folder = ''

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'disk-'))
  })

  afterEach(() => {
    fs.rmSync(folder, { recursive: true, force: true })
  })

  it('writes vectors larger than the kernel takes at once, and reads them at any position', async () => {
    const file = await disk.open(`${folder}/a`, 'create')
    const buffers = Array.from({ length: 3000 }, (_, i) => Buffer.from(`${i},`))
    const all = Buffer.concat(buffers)
    await write(file, buffers, 10)
    assert.equal(await file.size(), 10 + all.length)
    assert.deepEqual(await readAt(file, all.length, 10), all)
    assert.deepEqual(await readAt(file, 100, 5 + all.length), all.subarray(-5))
    assert.equal((await readAt(file, 10, 1e9)).length, 0)
    assert.equal((await readAt(file, 0, 0)).length, 0)
    await new Promise<void>((resolve, reject) => {
      file.datasync((error) => {
        if (error === null) resolve()
        else reject(error)
      })
    })
    await file.truncate(12)
    assert.equal(await file.size(), 12)
    await file.close()
  })

  it('opens in the three modes', async () => {
    await assert.rejects(disk.open(`${folder}/a`, 'read'), { code: 'ENOENT' })
    await (await disk.open(`${folder}/a`, 'write')).close()
    await assert.rejects(disk.open(`${folder}/a`, 'create'), { code: 'EEXIST' })
    const reader = await disk.open(`${folder}/a`, 'read')
    await assert.rejects(write(reader, [Buffer.from('x')], 0), { code: 'EBADF' })
    await reader.close()
  })

  it('makes folders with their parents, and says when it can not', async () => {
    const deep = path.join(folder, 'a', 'b', 'c')
    await disk.makeFolder(deep)
    await disk.makeFolder(deep)
    assert.deepEqual(await disk.list(path.dirname(deep)), [{ name: 'c', isFolder: true }])
    await disk.replaceFile(path.join(folder, 'file'), 'x')
    await assert.rejects(disk.makeFolder(path.join(folder, 'file')), { code: 'EEXIST' })
    await assert.rejects(disk.makeFolder(path.join(folder, 'file', 'below')), { code: 'ENOTDIR' })
    // A parent that exists and takes no folders; only Linux has one.
    if (process.platform === 'linux') await assert.rejects(disk.makeFolder('/proc/ottla/below'), { code: 'ENOENT' })
  })

  it('handles folders and small files', async () => {
    await disk.makeFolder(`${folder}/x/y`)
    await disk.makeFolder(`${folder}/x/y`)
    await disk.replaceFile(`${folder}/x/f`, 'one')
    await disk.replaceFile(`${folder}/x/f`, Buffer.from('two'))
    assert.equal((await disk.readFile(`${folder}/x/f`))?.toString(), 'two')
    assert.equal(await disk.readFile(`${folder}/x/missing`), undefined)
    const entries = await disk.list(`${folder}/x`)
    assert.deepEqual(
      entries.sort((a, b) => a.name.localeCompare(b.name)),
      [
        { name: 'f', isFolder: false },
        { name: 'y', isFolder: true },
      ],
    )
    await disk.rename(`${folder}/x/f`, `${folder}/x/g`)
    await disk.syncFolder(`${folder}/x`)
    const stat = await disk.stat(`${folder}/x/g`)
    assert.equal(stat?.sizeBytes, 3)
    assert.ok(Math.abs(stat.modifiedMs - Date.now()) < 60_000 && stat.createdMs <= stat.modifiedMs + 1000)
    assert.equal(await disk.stat(`${folder}/nothing`), undefined)
    await disk.remove(`${folder}/x/g`)
    await disk.remove(`${folder}/x/g`)
    await disk.removeFolder(`${folder}/x`)
    await disk.removeFolder(`${folder}/x`)
    assert.deepEqual(await disk.list(folder), [])
    const { freeBytes, totalBytes } = await disk.space(folder)
    assert.ok(freeBytes > 0 && freeBytes <= totalBytes)
  })

  it('locks against others in the process, and until released', async () => {
    const lock = await disk.lock(`${folder}/.lock`)
    assert.ok(lock !== undefined)
    assert.equal(await disk.lock(`${folder}/.lock`), undefined)
    lock.release()
    const again = await disk.lock(`${folder}/.lock`)
    assert.ok(again !== undefined)
    again.release()
    assert.deepEqual(
      (await disk.list(folder)).map((entry) => entry.name),
      ['.lock'],
    )
  })

  it('locks against other processes, until they end by kill -9', async () => {
    const script = `
      import { NodeDisk } from ${JSON.stringify(new URL('./disk-node.ts', import.meta.url).href)}
      const lock = await new NodeDisk().lock(process.argv[1])
      console.log(lock === undefined ? 'refused' : 'locked')
      setInterval(() => lock, 1000)
    `
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, `${folder}/.lock`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = new Promise((resolve) => child.once('exit', resolve))
    const said = await new Promise<string>((resolve) => {
      child.stdout.once('data', (data: Buffer) => resolve(data.toString().trim()))
    })
    assert.equal(said, 'locked')
    assert.equal(await disk.lock(`${folder}/.lock`), undefined)
    child.kill('SIGKILL')
    await exited
    const lock = await disk.lock(`${folder}/.lock`)
    assert.ok(lock !== undefined)
    lock.release()
  })
})
