/**
 * Open segment files, within a budget of descriptors: a file opens at its first use and may be closed when it is idle.
 *
 * Invariants:
 * - A file is never closed while somebody uses it, nor while it is pinned. The log pins a file that has bytes which were
 *   not fsynced: the kernel reports a failed write-back only to descriptors that were open at the time.
 * - A dropped file is not opened again, so that a late reader can't bring back the file that a deletion removed.
 */
import type { Disk, DiskFile } from '../../common/disk.ts'

export type FileUser = (error: Error | null, file: DiskFile | undefined) => void

export class FilePool {
  readonly disk: Disk
  readonly #maxOpenFiles: number
  /** Open files without users and pins, the longest unused first. */
  readonly #idle = new Set<PooledFile>()
  #openCount = 0

  constructor(disk: Disk, maxOpenFiles: number) {
    this.disk = disk
    this.#maxOpenFiles = maxOpenFiles
  }

  /** Descriptors in use. */
  get openCount(): number {
    return this.#openCount
  }

  opened(): void {
    this.#openCount++
    for (const file of this.#idle) {
      if (this.#openCount <= this.#maxOpenFiles) break
      file.closeIdle()
    }
  }

  closed(): void {
    this.#openCount--
  }

  becameIdle(file: PooledFile): void {
    if (this.#openCount > this.#maxOpenFiles) file.closeIdle()
    else this.#idle.add(file)
  }

  becameBusy(file: PooledFile): void {
    this.#idle.delete(file)
  }
}

/** One file of a pool. */
export class PooledFile {
  readonly #pool: FilePool
  readonly #path: string
  #file: DiskFile | undefined
  #users = 0
  #isPinned = false
  #isDropped = false
  #opening: FileUser[] | undefined
  #onOpened: (() => void) | undefined
  #heir: ((file: DiskFile) => void) | undefined

  constructor(pool: FilePool, path: string) {
    this.#pool = pool
    this.#path = path
  }

  get path(): string {
    return this.#path
  }

  get isDropped(): boolean {
    return this.#isDropped
  }

  /** Hands over the open file, at once if it is open already. The user calls {@link release} unless it got an error. */
  use(user: FileUser): void {
    if (this.#isDropped) {
      queueMicrotask(() => user(new DroppedFileError(this.#path), undefined))
      return
    }
    if (this.#file !== undefined) {
      if (this.#users === 0) this.#pool.becameBusy(this)
      this.#users++
      user(null, this.#file)
      return
    }
    if (this.#opening !== undefined) {
      this.#opening.push(user)
      return
    }
    this.#opening = [user]
    this.#pool.disk.open(this.#path, 'write').then(
      (file) => this.#opened(null, file),
      (error: unknown) => this.#opened(error instanceof Error ? error : new Error(String(error)), undefined),
    )
  }

  /** Ends a use. */
  release(): void {
    this.#users--
    if (this.#users > 0 || this.#isPinned) return
    if (this.#isDropped) this.closeIdle()
    else this.#pool.becameIdle(this)
  }

  /** Takes a file that the caller has just made. */
  adopt(file: DiskFile): void {
    this.#file = file
    this.#pool.opened()
    if (!this.#isPinned) this.#pool.becameIdle(this)
  }

  /** Keeps the file open from now on. */
  pin(): void {
    if (this.#isPinned) return
    this.#isPinned = true
    if (this.#file !== undefined && this.#users === 0) this.#pool.becameBusy(this)
  }

  unpin(): void {
    if (!this.#isPinned) return
    this.#isPinned = false
    if (this.#file === undefined || this.#users > 0) return
    if (this.#isDropped) this.closeIdle()
    else this.#pool.becameIdle(this)
  }

  /**
   * Refuses further uses and closes the file after the last one, or hands it to `heir` then. Resolves once no opening is
   * under way.
   */
  async drop(heir?: (file: DiskFile) => void): Promise<void> {
    this.#isDropped = true
    this.#heir = heir
    this.#isPinned = false
    if (this.#opening !== undefined) {
      await new Promise<void>((resolve) => {
        this.#onOpened = resolve
      })
    } else if (this.#file !== undefined && this.#users === 0) {
      this.#pool.becameBusy(this)
      this.closeIdle()
    }
  }

  /** Closes the file if nobody needs it open. */
  closeIfIdle(): void {
    if (this.#users === 0 && !this.#isPinned) this.closeIdle()
  }

  /** Closes the file; the pool's business. */
  closeIdle(): void {
    const file = this.#file
    if (file === undefined) return
    this.#pool.becameBusy(this)
    this.#file = undefined
    this.#pool.closed()
    if (this.#heir !== undefined) {
      this.#heir(file)
      return
    }
    // Nothing in the file depends on its close: bytes not synced are pinned, and close reports nothing else.
    file.close().catch(() => undefined)
  }

  #opened(error: Error | null, file: DiskFile | undefined): void {
    const users = this.#opening ?? []
    this.#opening = undefined
    this.#onOpened?.()
    if (file === undefined) {
      for (const user of users) user(error, undefined)
      return
    }
    this.#file = file
    this.#pool.opened()
    this.#users += users.length
    for (const user of users) user(null, file)
  }
}

/** A reader came too late: the segment was deleted. */
export class DroppedFileError extends Error {
  override readonly name = 'DroppedFileError'

  constructor(path: string) {
    super(`${path} was deleted`)
  }
}
