import { crc32c } from '@node-rs/crc32'
import type { Disk, DiskFile } from '../../common/disk.ts'
import type { Logger } from '../../common/logger.ts'

/**
 * The durable form of the local store: a snapshot and the batches of changes that followed it.
 *
 * Files: `snapshot-N` holds a whole state; `journal-N` holds the batches after snapshot N, or, while snapshot N is still
 * being written, after `journal-(N-1)`. A batch is one frame; one batch is written and synced at a time, so after a crash
 * only the last frame of the last journal can be torn. Frame: magic (0xFF never occurs in JSON), payload length, CRC-32C
 * of all that follows, sequence (8 bytes), JSON. Sequences have no gaps, which shows a missing file.
 *
 * Recovery trusts no byte that a crash left unsynced: an open that found batches first writes a new snapshot of what it
 * read, durably, and only then answers. A generation is removed only after the next one is durable.
 */
const MAGIC = 0xff4f5431
const HEADER_BYTES = 20
const MAX_PAYLOAD_BYTES = 256 * 1024 * 1024
const OBJECTS_PER_FRAME = 200

/** The files can't be read; the message names the file and says what is wrong. Nothing was changed. */
export class JournalCorruptError extends Error {
  override readonly name = 'JournalCorruptError'
}

export interface Recovered {
  /** The objects of the snapshot, as JSON parsed them. */
  readonly objects: readonly unknown[]
  /** The records of the batches after it, in order. */
  readonly records: readonly unknown[]
  /** The counter that the snapshot carries. */
  readonly counter: number
}

/** What a snapshot is made of; read lazily while it is written, so it must not change. */
export interface SnapshotState {
  readonly counter: number
  readonly objects: readonly object[]
}

export class Journal {
  readonly #disk: Disk
  readonly #folder: string
  readonly #logger: Logger
  readonly #rotateBytes: number
  #generation = 0
  #sequence = 0
  #file: DiskFile | undefined
  #position = 0
  #rotateAt = 0
  #snapshotting: Promise<void> | undefined
  /** Nothing followed the snapshot that was read, so it can stay. */
  #isFresh = false

  constructor(options: { disk: Disk; folder: string; logger: Logger; rotateBytes: number }) {
    this.#disk = options.disk
    this.#folder = options.folder
    this.#logger = options.logger
    this.#rotateBytes = options.rotateBytes
  }

  /** Reads everything that is durable. Then call {@link start}. Throws {@link JournalCorruptError}. */
  async recover(): Promise<Recovered> {
    const files = await this.#listFiles()
    const snapshot = files.snapshots.at(-1)
    if (snapshot === undefined) {
      const journal = files.journals[0]
      if (journal !== undefined) {
        throw new JournalCorruptError(`${this.#path(`journal-${journal}`)} has no snapshot to start from`)
      }
      return { objects: [], records: [], counter: 0 }
    }
    const { objects, counter } = await this.#readSnapshot(snapshot)
    const journals: { path: string; bytes: Buffer }[] = []
    for (const generation of files.journals.filter((each) => each >= snapshot)) {
      const path = this.#path(`journal-${generation}`)
      journals.push({ path, bytes: (await this.#disk.readFile(path)) ?? Buffer.alloc(0) })
    }
    const records: unknown[] = []
    journals.forEach(({ path, bytes }, index) => {
      // A journal that was created for nothing may follow the one that was written last.
      const isLast = journals.slice(index + 1).every((later) => later.bytes.length === 0)
      this.#readJournal(path, bytes, isLast, records)
    })
    this.#generation = Math.max(snapshot, ...files.journals)
    this.#isFresh = records.length === 0 && this.#generation === snapshot
    return { objects, records, counter }
  }

  /** Makes `state`, which is what was recovered, the new generation, and gets ready for {@link append}. */
  async start(state: SnapshotState): Promise<void> {
    const { snapshots } = await this.#listFiles()
    if (!this.#isFresh) {
      if (snapshots.length > 0) this.#generation++
      await this.#writeSnapshot(this.#generation, this.#sequence, state)
    }
    this.#file = await this.#createJournal(this.#generation)
    this.#rotateAt = this.#rotateBytes
    await this.#removeOlder(this.#generation)
  }

  /** Writes one batch and syncs it; `records` are JSON texts. One call at a time. Rejects with the disk's error. */
  async append(records: readonly string[]): Promise<void> {
    const file = this.#file
    if (file === undefined) throw new Error('the journal is not open')
    const frame = encodeFrame(this.#sequence + 1, `[${records.join(',')}]`)
    await writeAt(file, frame, this.#position)
    await datasync(file)
    this.#sequence++
    this.#position += frame.length
  }

  get wantsRotation(): boolean {
    return this.#position >= this.#rotateAt && this.#snapshotting === undefined
  }

  /**
   * Starts a new journal file and writes the snapshot that goes before it in the background. Call between two appends,
   * with the state after the last one. A failure leaves the old generation in place: only the journal is longer.
   */
  async rotate(state: SnapshotState): Promise<void> {
    const generation = this.#generation + 1
    const previous = this.#file
    try {
      this.#file = await this.#createJournal(generation)
    } catch (error) {
      this.#rotateAt = this.#position + this.#rotateBytes
      this.#logger.error({ error, generation }, "can't start a new metadata journal; the old one is kept")
      return
    }
    this.#generation = generation
    this.#position = 0
    this.#rotateAt = this.#rotateBytes
    // Every byte of it is synced, so nothing can be lost by a failing close.
    await previous?.close().catch((error: unknown) => {
      this.#logger.warn({ error }, "can't close the previous metadata journal")
    })
    this.#snapshotting = this.#snapshot(generation, this.#sequence, state).finally(() => {
      this.#snapshotting = undefined
    })
  }

  async close(): Promise<void> {
    await this.#snapshotting
    await this.#file?.close()
    this.#file = undefined
  }

  async #snapshot(generation: number, sequence: number, state: SnapshotState): Promise<void> {
    try {
      await this.#writeSnapshot(generation, sequence, state)
      await this.#removeOlder(generation)
    } catch (error) {
      this.#logger.error({ error, generation }, "can't write a metadata snapshot; the journal is kept")
    }
  }

  async #createJournal(generation: number): Promise<DiskFile> {
    const path = this.#path(`journal-${generation}`)
    await this.#disk.remove(path)
    const file = await this.#disk.open(path, 'create')
    try {
      await this.#disk.syncFolder(this.#folder)
    } catch (error) {
      await file.close()
      throw error
    }
    return file
  }

  async #writeSnapshot(generation: number, sequence: number, state: SnapshotState): Promise<void> {
    const path = this.#path(`snapshot-${generation}`)
    const temporary = `${path}.tmp`
    await this.#disk.remove(temporary)
    const file = await this.#disk.open(temporary, 'create')
    try {
      const head = { format: 'ottla-store', version: 1, counter: state.counter, objects: state.objects.length }
      let position = 0
      // One frame at a time, so that a big state does not hold up the event loop.
      for (let start = -1; start < state.objects.length; start += start < 0 ? 1 : OBJECTS_PER_FRAME) {
        const content = start < 0 ? head : state.objects.slice(start, start + OBJECTS_PER_FRAME)
        const frame = encodeFrame(sequence, JSON.stringify(content))
        await writeAt(file, frame, position)
        position += frame.length
      }
      await datasync(file)
    } finally {
      await file.close()
    }
    await this.#disk.rename(temporary, path)
    await this.#disk.syncFolder(this.#folder)
  }

  async #readSnapshot(generation: number): Promise<{ objects: unknown[]; counter: number }> {
    const path = this.#path(`snapshot-${generation}`)
    const bytes = (await this.#disk.readFile(path)) ?? Buffer.alloc(0)
    const first = decodeFrame(bytes, 0)
    const head = first === undefined ? undefined : snapshotHead(JSON.parse(first.json))
    if (first === undefined || head === undefined) throw new JournalCorruptError(`${path} has no valid head`)
    if (head.version !== 1) {
      throw new JournalCorruptError(`${path} has format version ${head.version}; this program reads version 1`)
    }
    const objects: unknown[] = []
    let position = first.end
    while (objects.length < head.objects) {
      const frame = decodeFrame(bytes, position)
      const items: unknown = frame === undefined ? undefined : JSON.parse(frame.json)
      if (frame === undefined || !Array.isArray(items)) {
        throw new JournalCorruptError(`${path} is damaged at byte ${position}`)
      }
      for (const item of items) objects.push(item)
      position = frame.end
    }
    this.#sequence = first.sequence
    return { objects, counter: head.counter }
  }

  #readJournal(path: string, bytes: Buffer, isLast: boolean, records: unknown[]): void {
    let position = 0
    for (;;) {
      const frame = decodeFrame(bytes, position)
      if (frame === undefined) break
      if (frame.sequence !== this.#sequence + 1) {
        throw new JournalCorruptError(
          `${path} has batch ${frame.sequence} at byte ${position} where ${this.#sequence + 1} must be: a file is missing or was restored`,
        )
      }
      const batch: unknown = JSON.parse(frame.json)
      if (!Array.isArray(batch)) throw new JournalCorruptError(`${path} has no batch at byte ${position}`)
      for (const record of batch) records.push(record)
      this.#sequence = frame.sequence
      position = frame.end
    }
    if (position === bytes.length) return
    // Batches are written one at a time: only what nothing follows can be the remains of an interrupted write.
    if (!isLast || hasLaterFrame(bytes, position, this.#sequence)) {
      throw new JournalCorruptError(
        `${path} is damaged at byte ${position}, and acknowledged changes follow: restore the file from a backup`,
      )
    }
    const ignoredBytes = bytes.length - position
    this.#logger.warn(
      { path, position, ignoredBytes },
      'an interrupted write at the end of the metadata journal is ignored',
    )
  }

  async #removeOlder(generation: number): Promise<void> {
    const files = await this.#listFiles()
    for (const each of files.unfinished) await this.#disk.remove(this.#path(each))
    for (const each of files.journals) if (each < generation) await this.#disk.remove(this.#path(`journal-${each}`))
    for (const each of files.snapshots) if (each < generation) await this.#disk.remove(this.#path(`snapshot-${each}`))
    await this.#disk.syncFolder(this.#folder)
  }

  async #listFiles(): Promise<{ snapshots: number[]; journals: number[]; unfinished: string[] }> {
    const names = (await this.#disk.list(this.#folder)).map((entry) => entry.name)
    const generations = (kind: string): number[] =>
      names
        .flatMap((name) => (new RegExp(`^${kind}-(\\d{1,15})$`).exec(name) ?? []).slice(1))
        .map(Number)
        .sort((a, b) => a - b)
    const unfinished = names.filter((name) => /^snapshot-\d+\.tmp$/.test(name))
    return { snapshots: generations('snapshot'), journals: generations('journal'), unfinished }
  }

  #path(name: string): string {
    return `${this.#folder}/${name}`
  }
}

function encodeFrame(sequence: number, json: string): Buffer {
  const length = Buffer.byteLength(json)
  if (length > MAX_PAYLOAD_BYTES) throw new RangeError(`a frame of ${length} bytes is too long`)
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length)
  frame.writeUInt32BE(MAGIC, 0)
  frame.writeUInt32BE(length, 4)
  frame.writeBigUInt64BE(BigInt(sequence), 12)
  frame.write(json, HEADER_BYTES)
  frame.writeUInt32BE(crc32c(frame.subarray(12)), 8)
  return frame
}

/** The frame at `position`, or undefined where there is no whole and sound one. */
function decodeFrame(bytes: Buffer, position: number): { sequence: number; json: string; end: number } | undefined {
  if (bytes.length - position < HEADER_BYTES || bytes.readUInt32BE(position) !== MAGIC) return undefined
  const end = position + HEADER_BYTES + bytes.readUInt32BE(position + 4)
  if (end > bytes.length || crc32c(bytes.subarray(position + 12, end)) !== bytes.readUInt32BE(position + 8)) {
    return undefined
  }
  const sequence = Number(bytes.readBigUInt64BE(position + 12))
  return { sequence, json: bytes.toString('utf8', position + HEADER_BYTES, end), end }
}

const MAGIC_BYTES = Buffer.from([0xff, 0x4f, 0x54, 0x31])

function hasLaterFrame(bytes: Buffer, from: number, sequence: number): boolean {
  for (let at = bytes.indexOf(MAGIC_BYTES, from + 1); at >= 0; at = bytes.indexOf(MAGIC_BYTES, at + 1)) {
    const frame = decodeFrame(bytes, at)
    if (frame !== undefined && frame.sequence > sequence) return true
  }
  return false
}

function snapshotHead(value: unknown): { version: number; counter: number; objects: number } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { format, version, counter, objects } = value as Record<string, unknown>
  if (format !== 'ottla-store' || typeof version !== 'number') return undefined
  if (typeof counter !== 'number' || typeof objects !== 'number') return undefined
  return { version, counter, objects }
}

function writeAt(file: DiskFile, bytes: Buffer, position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    file.writev([bytes], position, (error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}

function datasync(file: DiskFile): Promise<void> {
  return new Promise((resolve, reject) => {
    file.datasync((error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}
