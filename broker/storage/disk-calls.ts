/** The callback methods of an open file as promises, for the control path. */
import type { DiskFile } from '../../common/disk.ts'

export function writeFully(file: DiskFile, buffers: readonly Uint8Array[], position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    file.writev(buffers, position, (error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}

export function datasync(file: DiskFile): Promise<void> {
  return new Promise((resolve, reject) => {
    file.datasync((error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}

/** Reads up to `target.length` bytes; fewer only at the end of the file. */
export function readAt(file: Pick<DiskFile, 'read'>, target: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    file.read(target, position, (error, bytesRead) => {
      if (error === null) resolve(bytesRead)
      else reject(error)
    })
  })
}

/** What a file system frees in a few milliseconds. */
const FREED_AT_ONCE_BYTES = 4 * 1024 * 1024

/**
 * Closes a file that has no name any more, and gives its space back step by step before: to free a large file at once would
 * hold up every fsync of the file system for as long.
 */
export async function freeAndClose(file: Pick<DiskFile, 'truncate' | 'close'>, sizeBytes: number): Promise<void> {
  try {
    for (let left = sizeBytes - FREED_AT_ONCE_BYTES; left > 0; left -= FREED_AT_ONCE_BYTES) await file.truncate(left)
  } finally {
    await file.close()
  }
}

/** Bytes in memory as a file to read from. */
export function fileOf(content: Buffer): Pick<DiskFile, 'read'> {
  return {
    read: (target, position, done) => {
      const bytesRead = content.copy(target, 0, position, Math.min(position + target.length, content.length))
      done(null, bytesRead)
    },
  }
}
