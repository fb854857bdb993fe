import type { Disk, DiskEntry, DiskFile, DiskLock, FileStat, OpenMode } from '../disk.ts'
import type { Random } from '../random.ts'

/**
 * A disk in memory that forgets what was not synced, and fails where a test tells it to.
 *
 * It keeps two states: what the running system sees, and what a power loss leaves. Bytes of a file become durable by
 * `datasync` of the file; creations, renames and removals become durable by `syncFolder` of the folder they happened in
 * (a rename between two folders is one change of both). A failed `datasync` loses the bytes it was to save, and a later
 * one that succeeds doesn't bring them back, as on Linux.
 *
 * A disk object belongs to one process. `kill()` and `powerLoss()` end that process (none of its operations is answered
 * any more) and return the disk as the next process finds it.
 */
export type DiskOperation =
  | 'open'
  | 'list'
  | 'makeFolder'
  | 'rename'
  | 'remove'
  | 'removeFolder'
  | 'syncFolder'
  | 'writev'
  | 'read'
  | 'datasync'
  | 'size'
  | 'stat'
  | 'lock'
  | 'truncate'
  | 'close'
  | 'space'

export interface DiskCall {
  /** Counts all operations of this disk object from 0. */
  readonly index: number
  readonly operation: DiskOperation
  readonly path: string
}

/**
 * What goes wrong. `EIO`: the operation fails and does nothing. `ENOSPC` and `short`: a write leaves the first half of
 * its bytes and fails (with ENOSPC or EIO); any other operation fails and does nothing. `crash-before` and
 * `crash-after`: the process ends just before or just after the operation's effect; {@link MemoryDisk.crashed} settles.
 * `crash-torn`: the process ends when a write has left the first half of its bytes.
 */
export type DiskFault = 'EIO' | 'ENOSPC' | 'short' | 'crash-before' | 'crash-after' | 'crash-torn'

export interface MemoryDiskOptions {
  /** Folders that exist, durably, from the start. */
  readonly folders?: readonly string[]
  /** Asked before each operation. */
  readonly fault?: (call: DiskCall) => DiskFault | undefined
  /** Runs the effect and the answer of an operation later, never at once; default: a microtask. */
  readonly defer?: (run: () => void) => void
  readonly freeBytes?: number
  readonly totalBytes?: number
  /** The wall clock of file times; default: a clock that stands at 0. */
  readonly wallMs?: () => number
}

interface PendingWrite {
  /** undefined: a truncation to `position`. */
  readonly bytes: Buffer | undefined
  readonly position: number
}

class Content {
  #buffer = Buffer.alloc(0)
  length = 0

  apply(write: PendingWrite): void {
    if (write.bytes === undefined) {
      this.truncate(write.position)
      return
    }
    const end = write.position + write.bytes.length
    if (write.position > this.length) this.truncate(write.position)
    this.#reserve(end)
    write.bytes.copy(this.#buffer, write.position)
    this.length = Math.max(this.length, end)
  }

  truncate(length: number): void {
    this.#reserve(length)
    // Bytes past the end read as zeros once the file grows over them again.
    this.#buffer.fill(0, Math.min(this.length, length), Math.max(this.length, length))
    this.length = length
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.length)
  }

  set(bytes: Uint8Array): void {
    this.#buffer = Buffer.from(bytes)
    this.length = bytes.length
  }

  #reserve(size: number): void {
    if (size <= this.#buffer.length) return
    const grown = Buffer.alloc(Math.max(size, this.#buffer.length * 2, 256))
    this.#buffer.copy(grown, 0, 0, this.length)
    this.#buffer = grown
  }
}

class FileNode {
  readonly live = new Content()
  readonly durable = new Content()
  pending: PendingWrite[] = []
  readonly createdMs: number
  modifiedMs: number

  constructor(nowMs: number) {
    this.createdMs = nowMs
    this.modifiedMs = nowMs
  }
}

class FolderNode {
  readonly live = new Map<string, TreeNode>()
  readonly durable = new Map<string, TreeNode>()
}

type TreeNode = FileNode | FolderNode

interface PendingChange {
  readonly folders: readonly FolderNode[]
  apply(): void
}

class Tree {
  readonly root = new FolderNode()
  pending: PendingChange[] = []

  /** Makes the changes of `folder` durable, with the earlier ones that they depend on. */
  commit(folder: FolderNode): void {
    const touched = new Set([folder])
    const committed = new Set<PendingChange>()
    for (let i = this.pending.length - 1; i >= 0; i--) {
      const change = this.pending[i]
      if (change === undefined || !change.folders.some((each) => touched.has(each))) continue
      for (const each of change.folders) touched.add(each)
      committed.add(change)
    }
    for (const change of this.pending) if (committed.has(change)) change.apply()
    this.pending = this.pending.filter((change) => !committed.has(change))
  }

  /** Goes back to the durable state; with `random`, some of what was not synced survives. */
  losePower(random: Random | undefined): void {
    const kept = random === undefined ? 0 : Math.floor(random.next() * (this.pending.length + 1))
    for (const change of this.pending.slice(0, kept)) change.apply()
    this.pending = []
    losePowerBelow(this.root, random, new Set())
  }
}

function losePowerBelow(folder: FolderNode, random: Random | undefined, seen: Set<TreeNode>): void {
  if (seen.has(folder)) return
  seen.add(folder)
  folder.live.clear()
  for (const [name, node] of folder.durable) {
    folder.live.set(name, node)
    if (node instanceof FolderNode) {
      losePowerBelow(node, random, seen)
    } else if (!seen.has(node)) {
      seen.add(node)
      for (const write of node.pending) {
        if (random === undefined || random.next() < 0.5) continue
        const keep = write.bytes === undefined ? 0 : Math.ceil(random.next() * write.bytes.length)
        node.durable.apply({ bytes: write.bytes?.subarray(0, keep), position: write.position })
      }
      node.pending = []
      node.live.set(node.durable.bytes())
    }
  }
}

export class MemoryDisk implements Disk {
  readonly #tree: Tree
  readonly #options: MemoryDiskOptions
  readonly #locks = new Set<string>()
  #operations = 0
  #dead = false
  #fault: MemoryDiskOptions['fault']
  #onCrash: () => void = () => undefined
  /** Settles when a crash fault ended the process. */
  readonly crashed: Promise<void>

  constructor(options: MemoryDiskOptions = {}, tree = new Tree()) {
    this.#options = options
    this.#tree = tree
    this.#fault = options.fault
    this.crashed = new Promise((resolve) => {
      this.#onCrash = resolve
    })
    for (const folder of options.folders ?? []) this.#makeDurableFolder(folder)
  }

  /** How many operations were begun. */
  get operations(): number {
    return this.#operations
  }

  /** Replaces the fault function from now on. */
  setFault(fault: MemoryDiskOptions['fault']): void {
    this.#fault = fault
  }

  /** Ends the process; what it wrote stays in the page cache, unsynced. Returns the disk of the next process. */
  kill(options?: Pick<MemoryDiskOptions, 'fault' | 'defer'>): MemoryDisk {
    this.#dead = true
    return new MemoryDisk({ ...this.#without(), ...options }, this.#tree)
  }

  /**
   * Ends the process and the machine: what was not synced is gone; with `random`, each unsynced write may have reached
   * the disk in whole or in part, and folder changes up to a random one have. Returns the disk of the next process.
   */
  powerLoss(random?: Random, options?: Pick<MemoryDiskOptions, 'fault' | 'defer'>): MemoryDisk {
    this.#dead = true
    this.#tree.losePower(random)
    return new MemoryDisk({ ...this.#without(), ...options }, this.#tree)
  }

  /** A file's bytes as they are now, or undefined: for assertions, not counted as an operation. */
  peek(path: string): Buffer | undefined {
    const node = this.#find(path)
    return node instanceof FileNode ? Buffer.from(node.live.bytes()) : undefined
  }

  /** Sets a file's bytes, durably, with its folders: to prepare a test, not counted as an operation. */
  poke(path: string, bytes: Uint8Array): void {
    const parts = split(path)
    const name = parts.pop() ?? ''
    const folder = this.#makeDurableFolder(parts.join('/'))
    const node = new FileNode(this.nowMs())
    node.live.set(bytes)
    node.durable.set(bytes)
    folder.live.set(name, node)
    folder.durable.set(name, node)
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    return await this.#promise('open', path, () => {
      const { folder, name } = this.#parent(path, 'open')
      let node = folder.live.get(name)
      if (node instanceof FolderNode) throw diskError('EISDIR', 'open', path)
      if (node !== undefined && mode === 'create') throw diskError('EEXIST', 'open', path)
      if (node === undefined) {
        if (mode === 'read') throw diskError('ENOENT', 'open', path)
        node = new FileNode(this.nowMs())
        this.#put(folder, name, node)
      }
      return new MemoryFile(this, node, path, mode !== 'read')
    })
  }

  async list(folder: string): Promise<DiskEntry[]> {
    return await this.#promise('list', folder, () => {
      const node = this.#folder(folder, 'list')
      return [...node.live].map(([name, child]) => ({ name, isFolder: child instanceof FolderNode }))
    })
  }

  async makeFolder(path: string): Promise<void> {
    await this.#promise('makeFolder', path, () => {
      let folder = this.#tree.root
      for (const part of split(path)) {
        let next = folder.live.get(part)
        if (next instanceof FileNode) throw diskError('ENOTDIR', 'makeFolder', path)
        if (next === undefined) {
          next = new FolderNode()
          this.#put(folder, part, next)
        }
        folder = next
      }
    })
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#promise('rename', from, () => {
      const source = this.#parent(from, 'rename')
      const target = this.#parent(to, 'rename')
      const node = source.folder.live.get(source.name)
      if (node === undefined) throw diskError('ENOENT', 'rename', from)
      const replaced = target.folder.live.get(target.name)
      if (replaced === node) return
      if (replaced instanceof FolderNode && replaced.live.size > 0) throw diskError('ENOTEMPTY', 'rename', to)
      if (replaced !== undefined && replaced instanceof FolderNode !== node instanceof FolderNode) {
        throw diskError(replaced instanceof FolderNode ? 'EISDIR' : 'ENOTDIR', 'rename', to)
      }
      source.folder.live.delete(source.name)
      target.folder.live.set(target.name, node)
      this.#tree.pending.push({
        folders: [source.folder, target.folder],
        apply: () => {
          source.folder.durable.delete(source.name)
          target.folder.durable.set(target.name, node)
        },
      })
    })
  }

  async remove(path: string): Promise<void> {
    await this.#promise('remove', path, () => {
      const found = this.#tryParent(path)
      const node = found?.folder.live.get(found.name)
      if (found === undefined || node === undefined) return
      if (node instanceof FolderNode) throw diskError('EISDIR', 'remove', path)
      this.#delete(found.folder, found.name)
    })
  }

  async removeFolder(path: string): Promise<void> {
    await this.#promise('removeFolder', path, () => {
      const found = this.#tryParent(path)
      const node = found?.folder.live.get(found.name)
      if (found === undefined || node === undefined) return
      if (node instanceof FileNode) throw diskError('ENOTDIR', 'removeFolder', path)
      this.#emptyFolder(node)
      this.#delete(found.folder, found.name)
    })
  }

  async syncFolder(folder: string): Promise<void> {
    await this.#promise('syncFolder', folder, () => {
      this.#tree.commit(this.#folder(folder, 'syncFolder'))
    })
  }

  async readFile(path: string): Promise<Buffer | undefined> {
    return await this.#promise('read', path, () => {
      const node = this.#find(path)
      if (node instanceof FolderNode) throw diskError('EISDIR', 'read', path)
      return node === undefined ? undefined : Buffer.from(node.live.bytes())
    })
  }

  async replaceFile(path: string, content: string | Buffer): Promise<void> {
    const temporary = `${path}.tmp`
    await this.remove(temporary)
    const file = await this.open(temporary, 'create')
    try {
      await new Promise<void>((resolve, reject) => {
        file.writev([Buffer.from(content)], 0, (error) => {
          if (error === null) resolve()
          else reject(error)
        })
      })
      await new Promise<void>((resolve, reject) => {
        file.datasync((error) => {
          if (error === null) resolve()
          else reject(error)
        })
      })
    } finally {
      await file.close()
    }
    await this.rename(temporary, path)
    await this.syncFolder(parentOf(path))
  }

  async stat(path: string): Promise<FileStat | undefined> {
    return await this.#promise('stat', path, () => {
      const node = this.#find(path)
      if (node instanceof FolderNode) throw diskError('EISDIR', 'stat', path)
      if (node === undefined) return undefined
      return { sizeBytes: node.live.length, modifiedMs: node.modifiedMs, createdMs: node.createdMs }
    })
  }

  /** Locks are of this disk object: its `kill` and `powerLoss` release them. */
  async lock(path: string): Promise<DiskLock | undefined> {
    return await this.#promise('lock', path, () => {
      if (this.#locks.has(path)) return undefined
      this.#locks.add(path)
      return { release: () => this.#locks.delete(path) }
    })
  }

  /** The wall clock of this disk. */
  nowMs(): number {
    return this.#options.wallMs?.() ?? 0
  }

  async space(path: string): Promise<{ freeBytes: number; totalBytes: number }> {
    return await this.#promise('space', path, () => ({
      freeBytes: this.#options.freeBytes ?? 2 ** 40,
      totalBytes: this.#options.totalBytes ?? 2 ** 40,
    }))
  }

  /**
   * Runs one operation: asks for its fault, runs `effect` later, and answers. `torn` leaves half of a write.
   * Used by the files of this disk; not for others.
   */
  perform<T>(
    operation: DiskOperation,
    path: string,
    effect: () => T,
    done: (error: Error | null, value?: T) => void,
    torn?: () => void,
  ): void {
    if (this.#dead) return
    const index = this.#operations++
    const fault = this.#fault?.({ index, operation, path })
    const defer = this.#options.defer ?? queueMicrotask
    defer(() => {
      if (this.#dead) return
      if (fault?.startsWith('crash') === true) {
        if (fault === 'crash-torn' && operation === 'writev') torn?.()
        if (fault === 'crash-after') {
          try {
            effect()
          } catch {
            // The process is dead: nobody hears of the error.
          }
        }
        this.#dead = true
        this.#onCrash()
        return
      }
      if (fault !== undefined) {
        if (fault !== 'EIO' || operation === 'datasync') torn?.()
        done(diskError(fault === 'short' ? 'EIO' : fault, operation, path))
        return
      }
      let value: T
      try {
        value = effect()
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)))
        return
      }
      done(null, value)
    })
  }

  #promise<T>(operation: DiskOperation, path: string, effect: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.perform(operation, path, effect, (error, value) => {
        // `value` is there whenever there is no error; T itself may include undefined.
        if (error === null) resolve(value as T)
        else reject(error)
      })
    })
  }

  #without(): MemoryDiskOptions {
    const { freeBytes, totalBytes, defer, wallMs } = this.#options
    return {
      ...(freeBytes === undefined ? {} : { freeBytes }),
      ...(totalBytes === undefined ? {} : { totalBytes }),
      ...(defer === undefined ? {} : { defer }),
      ...(wallMs === undefined ? {} : { wallMs }),
    }
  }

  #put(folder: FolderNode, name: string, node: TreeNode): void {
    folder.live.set(name, node)
    this.#tree.pending.push({ folders: [folder], apply: () => folder.durable.set(name, node) })
  }

  #delete(folder: FolderNode, name: string): void {
    folder.live.delete(name)
    this.#tree.pending.push({ folders: [folder], apply: () => folder.durable.delete(name) })
  }

  #emptyFolder(folder: FolderNode): void {
    for (const [name, child] of folder.live) {
      if (child instanceof FolderNode) this.#emptyFolder(child)
      this.#delete(folder, name)
    }
  }

  #makeDurableFolder(path: string): FolderNode {
    let folder = this.#tree.root
    for (const part of split(path)) {
      const found = folder.live.get(part)
      const next = found instanceof FolderNode ? found : new FolderNode()
      folder.live.set(part, next)
      folder.durable.set(part, next)
      folder = next
    }
    return folder
  }

  #find(path: string): TreeNode | undefined {
    let node: TreeNode = this.#tree.root
    for (const part of split(path)) {
      if (node instanceof FileNode) return undefined
      const next = node.live.get(part)
      if (next === undefined) return undefined
      node = next
    }
    return node
  }

  #folder(path: string, operation: DiskOperation): FolderNode {
    const node = this.#find(path)
    if (node === undefined) throw diskError('ENOENT', operation, path)
    if (node instanceof FileNode) throw diskError('ENOTDIR', operation, path)
    return node
  }

  #tryParent(path: string): { folder: FolderNode; name: string } | undefined {
    const folder = this.#find(parentOf(path))
    const name = split(path).at(-1)
    return folder instanceof FolderNode && name !== undefined ? { folder, name } : undefined
  }

  #parent(path: string, operation: DiskOperation): { folder: FolderNode; name: string } {
    const found = this.#tryParent(path)
    if (found === undefined) throw diskError('ENOENT', operation, path)
    return found
  }
}

class MemoryFile implements DiskFile {
  readonly #disk: MemoryDisk
  readonly #node: FileNode
  readonly #path: string
  readonly #writable: boolean
  #closed = false

  constructor(disk: MemoryDisk, node: FileNode, path: string, writable: boolean) {
    this.#disk = disk
    this.#node = node
    this.#path = path
    this.#writable = writable
  }

  writev(buffers: readonly Uint8Array[], position: number, done: (error: Error | null) => void): void {
    this.#perform(
      'writev',
      () => {
        this.#write({ bytes: Buffer.concat(buffers), position })
      },
      done,
      () => {
        const bytes = Buffer.concat(buffers)
        this.#write({ bytes: bytes.subarray(0, bytes.length >> 1), position })
      },
    )
  }

  read(target: Uint8Array, position: number, done: (error: Error | null, bytesRead: number) => void): void {
    this.#perform(
      'read',
      () => {
        const bytes = this.#node.live.bytes().subarray(position, position + target.length)
        target.set(bytes)
        return bytes.length
      },
      (error, bytesRead) => done(error, bytesRead ?? 0),
    )
  }

  datasync(done: (error: Error | null) => void): void {
    // Only what was written before the call is certain to be saved.
    const covered = this.#node.pending.length
    this.#perform(
      'datasync',
      () => {
        for (const write of this.#node.pending.splice(0, covered)) this.#node.durable.apply(write)
      },
      done,
      // After a failed fsync the kernel marks the pages clean: a later fsync does not save them.
      () => this.#node.pending.splice(0, covered),
    )
  }

  size(): Promise<number> {
    return this.#promise('size', () => this.#node.live.length)
  }

  truncate(length: number): Promise<void> {
    return this.#promise('truncate', () => this.#write({ bytes: undefined, position: length }))
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#perform(
        'close',
        () => undefined,
        (error) => {
          this.#closed = true
          if (error === null) resolve()
          else reject(error)
        },
      )
    })
  }

  #write(write: PendingWrite): void {
    if (!this.#writable) throw diskError('EBADF', 'writev', this.#path)
    this.#node.live.apply(write)
    this.#node.modifiedMs = this.#disk.nowMs()
    this.#node.pending.push(write)
  }

  #promise<T>(operation: DiskOperation, effect: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#perform(operation, effect, (error, value) => {
        if (error === null) resolve(value as T)
        else reject(error)
      })
    })
  }

  #perform<T>(
    operation: DiskOperation,
    effect: () => T,
    done: (error: Error | null, value?: T) => void,
    torn?: () => void,
  ): void {
    const checked = (): T => {
      if (this.#closed) throw diskError('EBADF', operation, this.#path)
      return effect()
    }
    this.#disk.perform(operation, this.#path, checked, done, torn)
  }
}

function split(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.')
}

function parentOf(path: string): string {
  return split(path).slice(0, -1).join('/')
}

function diskError(code: string, operation: DiskOperation, path: string): Error {
  return Object.assign(new Error(`${code}: ${operation} '${path}'`), { code, syscall: operation, path })
}
