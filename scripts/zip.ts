/**
 * Reads the entries of a zip archive (a jar, for example) that is in memory. Of the format, just what such archives use:
 * stored and deflated entries, no encryption, no zip64. The archive has to be a trusted one.
 */
import { inflateRawSync } from 'node:zlib'

const END_OF_DIRECTORY = 0x06054b50
const DIRECTORY_ENTRY = 0x02014b50
const END_OF_DIRECTORY_BYTES = 22
const STORED = 0
const DEFLATED = 8

/** The contents of the entries whose names `isWanted` accepts, by name. Throws an Error if the archive isn't valid. */
export function readZipEntries(archive: Buffer, isWanted: (name: string) => boolean): Map<string, Buffer> {
  const end = endOfDirectory(archive)
  const entries = new Map<string, Buffer>()
  let position = archive.readUInt32LE(end + 16)
  for (let count = archive.readUInt16LE(end + 10); count > 0; count--) {
    if (archive.readUInt32LE(position) !== DIRECTORY_ENTRY)
      throw new Error(`no zip directory entry at byte ${position}`)
    const nameBytes = archive.readUInt16LE(position + 28)
    const nameEnd = position + 46 + nameBytes
    const name = archive.toString('utf8', position + 46, nameEnd)
    if (isWanted(name)) entries.set(name, content(archive, position, name))
    position = nameEnd + archive.readUInt16LE(position + 30) + archive.readUInt16LE(position + 32)
  }
  return entries
}

function content(archive: Buffer, entry: number, name: string): Buffer {
  const method = archive.readUInt16LE(entry + 10)
  const compressedBytes = archive.readUInt32LE(entry + 20)
  const header = archive.readUInt32LE(entry + 42)
  // The lengths in the local header count here; its extra field may differ from that of the directory.
  const start = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28)
  const compressed = archive.subarray(start, start + compressedBytes)
  if (method === STORED) return compressed
  if (method === DEFLATED) return inflateRawSync(compressed)
  throw new Error(`zip entry ${name} has the unsupported compression method ${method}`)
}

/** The record at the end of the archive, before a comment of up to 64 KiB. */
function endOfDirectory(archive: Buffer): number {
  const lowest = Math.max(0, archive.length - END_OF_DIRECTORY_BYTES - 0xffff)
  for (let position = archive.length - END_OF_DIRECTORY_BYTES; position >= lowest; position--) {
    if (archive.readUInt32LE(position) === END_OF_DIRECTORY) return position
  }
  throw new Error('no zip archive: it has no end of directory record')
}
