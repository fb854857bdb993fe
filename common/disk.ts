/**
 * The disk as a constructor parameter: what the log and the metadata journal need of a file system, small enough to be
 * simulated with its faults (lost un-fsynced bytes, short writes, failing fsync, full disk).
 *
 * The data path uses the callback methods on open files (`writev`, `read`, `datasync`); everything else is control path.
 * Errors are Node's (`code` is `ENOENT`, `ENOSPC`, ...).
 */
export interface Disk {
  /** Opens a file. `read`: existing, read only; `write`: read and write, created if missing; `create`: as `write`, but must not exist. */
  open(path: string, mode: OpenMode): Promise<DiskFile>
  /** Names of the entries of a folder, unsorted. */
  list(folder: string): Promise<DiskEntry[]>
  /** Makes a folder and its parents; no error when it exists. */
  makeFolder(path: string): Promise<void>
  /** Atomically replaces `to`. Not durable until the folder is synced. */
  rename(from: string, to: string): Promise<void>
  /** Removes a file; no error when it is missing. */
  remove(path: string): Promise<void>
  /** Removes a folder with all in it; no error when it is missing. */
  removeFolder(path: string): Promise<void>
  /** Makes creations, renames and removals in `folder` durable (fsync of the folder). */
  syncFolder(folder: string): Promise<void>
  /** The whole content of a small file; undefined when it does not exist. */
  readFile(path: string): Promise<Buffer | undefined>
  /** Replaces a small file atomically and durably: temporary file, fsync, rename, fsync of the folder. */
  replaceFile(path: string, content: string | Buffer): Promise<void>
  /** Size and times of a file; undefined when it does not exist. */
  stat(path: string): Promise<FileStat | undefined>
  /**
   * Takes the lock of `path`, a file of its own, until `release` or the end of the process, however it ends; undefined
   * while another holder, in this process or another, has it.
   */
  lock(path: string): Promise<DiskLock | undefined>
  /** Free and total bytes of the file system that holds `path`. */
  space(path: string): Promise<{ freeBytes: number; totalBytes: number }>
}

export type OpenMode = 'read' | 'write' | 'create'

export interface DiskEntry {
  readonly name: string
  readonly isFolder: boolean
}

export interface FileStat {
  readonly sizeBytes: number
  /** When the content last changed, by the wall clock. */
  readonly modifiedMs: number
  /** When the file was made, by the wall clock; `modifiedMs` where the file system doesn't know. */
  readonly createdMs: number
}

export interface DiskLock {
  release(): void
}

/** An open file. Positions are absolute; a file has no cursor. */
export interface DiskFile {
  /** Writes all buffers at `position`, whole or an error; a short write is an error (`code: 'EIO'`). */
  writev(buffers: readonly Uint8Array[], position: number, done: (error: Error | null) => void): void
  /** Reads up to `target.length` bytes at `position`; `bytesRead` is smaller only at the end of the file. */
  read(target: Uint8Array, position: number, done: (error: Error | null, bytesRead: number) => void): void
  /** Makes the file's bytes and size durable (fdatasync). */
  datasync(done: (error: Error | null) => void): void
  size(): Promise<number>
  truncate(length: number): Promise<void>
  close(): Promise<void>
}

/**
 * Whether an error, or what caused it, says that there is no room on the disk. What was to be replaced is then as it was,
 * and another try may succeed later.
 */
export function isNoSpace(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    const { code } = each as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT') return true
  }
  return false
}
