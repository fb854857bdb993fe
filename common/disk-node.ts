/**
 * The real disk, on Node's callback API and plain file descriptors.
 *
 * Operations run on libuv's thread pool (`UV_THREADPOOL_SIZE`, 4 by default). An fsync holds a thread for as long as the
 * device takes, so a broker wants 16 threads or more; else a burst of fsyncs delays reads.
 */
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Disk, DiskEntry, DiskFile, DiskLock, FileStat, OpenMode } from './disk.ts'

/** The most buffers that Linux takes in one writev (IOV_MAX). */
const MAX_BUFFERS_PER_WRITE = 1024

export class NodeDisk implements Disk {
  async open(file: string, mode: OpenMode): Promise<DiskFile> {
    const fd = await promised<number>((done) => fs.open(file, flagsOf(mode), 0o644, done))
    return new NodeFile(fd)
  }

  async list(folder: string): Promise<DiskEntry[]> {
    const entries = await promised<fs.Dirent[]>((done) => fs.readdir(folder, { withFileTypes: true }, done))
    return entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }))
  }

  async makeFolder(folder: string): Promise<void> {
    // Level by level: Node's own `recursive` never comes back where a folder can't be made in a parent that exists (/proc).
    const error = await makeOneFolder(folder)
    if (error === undefined) return
    const parent = path.dirname(folder)
    if (error.code !== 'ENOENT' || parent === folder || (await this.stat(parent)) !== undefined) throw error
    await this.makeFolder(parent)
    await this.makeFolder(folder)
  }

  async rename(from: string, to: string): Promise<void> {
    await promised((done) => fs.rename(from, to, done))
  }

  async remove(file: string): Promise<void> {
    await promised((done) => fs.unlink(file, (error) => done(isMissing(error) ? null : error)))
  }

  async removeFolder(folder: string): Promise<void> {
    await promised((done) => fs.rm(folder, { recursive: true, force: true }, done))
  }

  async syncFolder(folder: string): Promise<void> {
    const fd = await promised<number>((done) => fs.open(folder, 'r', done))
    try {
      await promised((done) => fs.fsync(fd, done))
    } finally {
      await promised((done) => fs.close(fd, done))
    }
  }

  async readFile(file: string): Promise<Buffer | undefined> {
    return await promised<Buffer | undefined>((done) =>
      fs.readFile(file, (error, content) => (isMissing(error) ? done(null, undefined) : done(error, content))),
    )
  }

  async replaceFile(file: string, content: string | Buffer): Promise<void> {
    const temporary = `${file}.tmp`
    const fd = await promised<number>((done) => fs.open(temporary, 'w', 0o644, done))
    try {
      const bytes = typeof content === 'string' ? Buffer.from(content) : content
      await promised((done) => writeAll(fd, [bytes], 0, done))
      await promised((done) => fs.fdatasync(fd, done))
    } finally {
      await promised((done) => fs.close(fd, done))
    }
    await this.rename(temporary, file)
    await this.syncFolder(path.dirname(file))
  }

  async stat(file: string): Promise<FileStat | undefined> {
    return await promised<FileStat | undefined>((done) =>
      fs.stat(file, (error, stats) => {
        if (isMissing(error)) done(null, undefined)
        else if (error !== null) done(error)
        else
          done(null, {
            sizeBytes: stats.size,
            modifiedMs: stats.mtimeMs,
            createdMs: stats.birthtimeMs > 0 ? stats.birthtimeMs : stats.mtimeMs,
          })
      }),
    )
  }

  /**
   * The kernel must give the lock back when the process dies, and Node has no flock. SQLite, which is part of Node, holds
   * a POSIX record lock for the length of an exclusive transaction; nothing is ever written to its file.
   */
  lock(file: string): Promise<DiskLock | undefined> {
    return Promise.resolve().then(() => {
      const database = new DatabaseSync(file)
      try {
        // The rollback journal stays in memory: with it on disk, a file would be left behind at kill -9.
        database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
      } catch (error) {
        database.close()
        if (isBusy(error)) return undefined
        throw error
      }
      return { release: () => database.close() }
    })
  }

  async space(folder: string): Promise<{ freeBytes: number; totalBytes: number }> {
    const stats = await promised<fs.StatsFs>((done) => fs.statfs(folder, done))
    return { freeBytes: stats.bavail * stats.bsize, totalBytes: stats.blocks * stats.bsize }
  }
}

class NodeFile implements DiskFile {
  readonly #fd: number

  constructor(fd: number) {
    this.#fd = fd
  }

  writev(buffers: readonly Uint8Array[], position: number, done: (error: Error | null) => void): void {
    writeAll(this.#fd, buffers, position, done)
  }

  read(target: Uint8Array, position: number, done: (error: Error | null, bytesRead: number) => void): void {
    readAll(this.#fd, target, 0, position, done)
  }

  datasync(done: (error: Error | null) => void): void {
    fs.fdatasync(this.#fd, done)
  }

  async size(): Promise<number> {
    return (await promised<fs.Stats>((done) => fs.fstat(this.#fd, done))).size
  }

  async truncate(length: number): Promise<void> {
    await promised((done) => fs.ftruncate(this.#fd, length, done))
  }

  async close(): Promise<void> {
    await promised((done) => fs.close(this.#fd, done))
  }
}

/** Writes all of `buffers`, in as many calls as the kernel wants. */
function writeAll(
  fd: number,
  buffers: readonly Uint8Array[],
  position: number,
  done: (error: Error | null) => void,
): void {
  const vector =
    buffers.length <= MAX_BUFFERS_PER_WRITE ? (buffers as Uint8Array[]) : buffers.slice(0, MAX_BUFFERS_PER_WRITE)
  fs.writev(fd, vector, position, (error, bytesWritten) => {
    if (error !== null) {
      done(error)
      return
    }
    let written = bytesWritten
    let index = 0
    for (let buffer = buffers[0]; buffer !== undefined && written >= buffer.length; buffer = buffers[++index]) {
      written -= buffer.length
    }
    const partial = buffers[index]
    if (partial === undefined) {
      done(null)
    } else if (bytesWritten === 0) {
      done(Object.assign(new Error('EIO: the file system wrote nothing and gave no reason'), { code: 'EIO' }))
    } else {
      // A short write: the next call writes the rest, or says why it can't (no space left, most often).
      writeAll(fd, [partial.subarray(written), ...buffers.slice(index + 1)], position + bytesWritten, done)
    }
  })
}

/** Reads until `target` is full or the file ends. */
function readAll(
  fd: number,
  target: Uint8Array,
  start: number,
  position: number,
  done: (error: Error | null, bytesRead: number) => void,
): void {
  if (start === target.length) {
    process.nextTick(done, null, start)
    return
  }
  fs.read(fd, target, start, target.length - start, position, (error, bytesRead) => {
    if (error !== null) done(error, start)
    else if (bytesRead === 0 || start + bytesRead === target.length) done(null, start + bytesRead)
    else readAll(fd, target, start + bytesRead, position + bytesRead, done)
  })
}

function flagsOf(mode: OpenMode): number {
  const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL } = fs.constants
  switch (mode) {
    case 'read':
      return O_RDONLY
    case 'write':
      return O_RDWR | O_CREAT
    case 'create':
      return O_RDWR | O_CREAT | O_EXCL
  }
}

function promised<T = void>(start: (done: (error: Error | null, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, value) => {
      // `value` is there whenever there is no error; T itself may include undefined.
      if (error === null) resolve(value as T)
      else reject(error)
    })
  })
}

function isMissing(error: NodeJS.ErrnoException | null): boolean {
  return error?.code === 'ENOENT'
}

/** SQLITE_BUSY. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === 5
}

/** The error with which a folder could not be made; undefined also when it is there already. */
async function makeOneFolder(folder: string): Promise<NodeJS.ErrnoException | undefined> {
  return await promised<NodeJS.ErrnoException | undefined>((done) => {
    fs.mkdir(folder, (error) => {
      if (error?.code !== 'EEXIST') {
        done(null, error ?? undefined)
        return
      }
      fs.stat(folder, (_statError, stats) =>
        done(null, (stats as fs.Stats | undefined)?.isDirectory() === true ? undefined : error),
      )
    })
  })
}
