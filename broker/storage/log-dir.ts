/**
 * The files of a data dir that belong to no single log, in Kafka's formats: lock, `meta.properties`, checkpoints of
 * offsets by partition, the clean-shutdown mark.
 *
 * Only one process has a data dir open; the kernel gives the lock back however that process ends.
 */
import { dirname } from 'node:path'
import type { Disk, DiskLock } from '../../common/disk.ts'
import { randomUuid, type Random } from '../../common/random.ts'

/** The data dir can't be used; the message is one sentence for the person who starts the broker. */
export class DataDirError extends Error {
  override readonly name = 'DataDirError'
}

const LOCK_FILE = '.lock'
const META_PROPERTIES = 'meta.properties'
/** Kafka's name, so that each understands the other's stop. */
const CLEAN_SHUTDOWN_FILE = '.kafka_cleanshutdown'

export const checkpointFiles = {
  recoveryPoint: 'recovery-point-offset-checkpoint',
  logStartOffset: 'log-start-offset-checkpoint',
  highWatermark: 'replication-offset-checkpoint',
  cleanerCheckpoint: 'cleaner-offset-checkpoint',
} as const

export interface DataDirIdentity {
  readonly clusterId: string
  readonly nodeId: number
}

/** Offsets by `topic-partition`. */
export type OffsetCheckpoint = Map<string, number>

export class LogDir {
  readonly folder: string
  /** UUID of this data dir, minted at its first use. */
  readonly directoryId: string
  /** The broker epoch of the clean-shutdown mark that was there; it is gone now. */
  readonly cleanShutdownEpoch: number | undefined
  readonly #disk: Disk
  readonly #lock: DiskLock

  private constructor(
    disk: Disk,
    folder: string,
    lock: DiskLock,
    directoryId: string,
    cleanShutdownEpoch: number | undefined,
  ) {
    this.#disk = disk
    this.folder = folder
    this.#lock = lock
    this.directoryId = directoryId
    this.cleanShutdownEpoch = cleanShutdownEpoch
  }

  /**
   * Makes the data dir if need be, takes its lock, checks whose it is, and removes the clean-shutdown mark durably.
   *
   * @throws {@link DataDirError}
   */
  static async open(disk: Disk, folder: string, identity: DataDirIdentity, random: Random): Promise<LogDir> {
    const lock = await lockFolder(disk, folder)
    try {
      const directoryId = await checkIdentity(disk, folder, identity, random)
      const cleanShutdownEpoch = await takeCleanMark(disk, folder)
      return new LogDir(disk, folder, lock, directoryId, cleanShutdownEpoch)
    } catch (error) {
      lock.release()
      throw asDataDirError(error, folder)
    }
  }

  /** A missing or unreadable checkpoint is empty: its values are lower bounds that others make good. */
  async readCheckpoint(file: string): Promise<OffsetCheckpoint> {
    const content = await this.#disk.readFile(`${this.folder}/${file}`)
    return content === undefined ? new Map<string, number>() : parseOffsetCheckpoint(content.toString('utf8'))
  }

  async writeCheckpoint(file: string, offsets: Iterable<readonly [string, number]>): Promise<void> {
    const lines: string[] = []
    for (const [key, offset] of offsets) {
      const dash = key.lastIndexOf('-')
      lines.push(`${key.slice(0, dash)} ${key.slice(dash + 1)} ${offset}\n`)
    }
    await this.#disk.replaceFile(`${this.folder}/${file}`, `0\n${lines.length}\n${lines.join('')}`)
  }

  /** States that everything is on disk; the last thing before {@link close}. */
  async writeCleanMark(brokerEpoch: number): Promise<void> {
    const content = JSON.stringify({ version: 0, brokerEpoch })
    await this.#disk.replaceFile(`${this.folder}/${CLEAN_SHUTDOWN_FILE}`, content)
  }

  /** Gives the lock back. */
  close(): void {
    this.#lock.release()
  }
}

/** `topic-3` as its parts; undefined for what is no folder of a partition. */
export function parseLogFolderName(name: string): { topicName: string; partitionIndex: number } | undefined {
  const match = /^([a-zA-Z0-9._-]{1,249})-(0|[1-9]\d{0,9})$/.exec(name)
  const [, topicName, partition] = match ?? []
  if (topicName === undefined || partition === undefined) return undefined
  const partitionIndex = Number(partition)
  return partitionIndex > 0x7fff_ffff ? undefined : { topicName, partitionIndex }
}

/** Lines of `topic partition offset` after a version and a count; what is malformed makes the whole empty. */
export function parseOffsetCheckpoint(content: string): OffsetCheckpoint {
  const lines = content.split('\n')
  const offsets: OffsetCheckpoint = new Map<string, number>()
  if (lines[0] !== '0' || Number(lines[1]) !== lines.length - 3) return offsets
  for (const line of lines.slice(2, -1)) {
    const [topicName, partition, offset, ...rest] = line.split(' ')
    const value = Number(offset)
    if (topicName === undefined || partition === undefined || rest.length > 0 || !Number.isSafeInteger(value)) {
      return new Map<string, number>()
    }
    offsets.set(`${topicName}-${partition}`, value)
  }
  return offsets
}

async function lockFolder(disk: Disk, folder: string): Promise<DiskLock> {
  let lock: DiskLock | undefined
  try {
    await disk.makeFolder(folder)
    lock = await disk.lock(`${folder}/${LOCK_FILE}`)
  } catch (error) {
    throw asDataDirError(error, folder)
  }
  if (lock === undefined) {
    throw new DataDirError(
      `the data dir ${folder} is in use by another process; stop that one, or choose another data dir`,
    )
  }
  return lock
}

async function checkIdentity(
  disk: Disk,
  folder: string,
  { clusterId, nodeId }: DataDirIdentity,
  random: Random,
): Promise<string> {
  const path = `${folder}/${META_PROPERTIES}`
  const content = await disk.readFile(path)
  const properties = content === undefined ? undefined : parseProperties(content.toString('utf8'))
  if (properties !== undefined) {
    const version = properties.get('version')
    if (version !== '1') {
      throw new DataDirError(`${path} has version ${version ?? '(none)'}, but only version 1 is known`)
    }
    expectSame(path, 'cluster.id', properties.get('cluster.id'), clusterId)
    expectSame(path, 'node.id', properties.get('node.id'), String(nodeId))
    const directoryId = properties.get('directory.id')
    if (directoryId !== undefined) return directoryId
  }
  const directoryId = randomUuid(random)
  await disk.replaceFile(path, `version=1\ncluster.id=${clusterId}\nnode.id=${nodeId}\ndirectory.id=${directoryId}\n`)
  // The folder itself may be new.
  await disk.syncFolder(dirname(folder))
  return directoryId
}

function expectSame(path: string, key: string, found: string | undefined, expected: string): void {
  if (found === expected) return
  throw new DataDirError(
    `the data dir belongs to ${key} ${found ?? '(none)'} as ${path} says, but this broker has ${key} ${expected}`,
  )
}

function parseProperties(content: string): Map<string, string> {
  const properties = new Map<string, string>()
  for (const line of content.split('\n')) {
    const separator = line.indexOf('=')
    if (line.startsWith('#') || separator < 0) continue
    properties.set(line.slice(0, separator).trim(), line.slice(separator + 1).trim())
  }
  return properties
}

async function takeCleanMark(disk: Disk, folder: string): Promise<number | undefined> {
  const path = `${folder}/${CLEAN_SHUTDOWN_FILE}`
  const content = await disk.readFile(path)
  if (content === undefined) return undefined
  await disk.remove(path)
  await disk.syncFolder(folder)
  try {
    const mark: unknown = JSON.parse(content.toString('utf8'))
    if (typeof mark === 'object' && mark !== null && 'brokerEpoch' in mark && typeof mark.brokerEpoch === 'number') {
      return mark.brokerEpoch
    }
  } catch {
    // A mark that can't be read proves nothing: the stop counts as unclean.
  }
  return undefined
}

function asDataDirError(error: unknown, folder: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const reasons: Record<string, string> = {
    EACCES: 'may not be written by this user',
    EPERM: 'may not be written by this user',
    EROFS: 'is on a read-only file system',
    ENOTDIR: 'is no folder',
    EEXIST: 'is no folder',
    ENOSPC: 'has no space left',
  }
  const reason = typeof code === 'string' ? reasons[code] : undefined
  if (reason !== undefined) return new DataDirError(`the data dir ${folder} ${reason}`, { cause: error })
  // SQLite, which keeps the lock, has its own words for a file that it can't write.
  if (error instanceof Error && /unable to open database file|readonly database/.test(error.message)) {
    return new DataDirError(`the data dir ${folder} may not be written by this user`, { cause: error })
  }
  return error
}
