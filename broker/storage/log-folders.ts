/**
 * The folders of the logs in a data dir: how they are made, and what they are called on the way.
 *
 * `<topic>-<partition>` is a log. A name with a topic id and a suffix is one that is being made (`-new`), deleted
 * (`-delete`), or was set aside until a person decides (`-stray`).
 */
import type { Disk } from '../../common/disk.ts'
import { datasync, writeFully } from './disk-calls.ts'
import { formatPartitionMetadata, PARTITION_METADATA } from './log-loader.ts'
import { segmentFileName } from './log-segment.ts'

export type FolderSuffix = '-new' | '-delete' | '-stray'

/** A file name has at most 255 bytes; the topic id and the suffix need 30. */
const MAX_FOLDER_STEM = 200

/** Unique for a topic id; the topic's name is cut so that the file system takes it. `key`: `topic-partition`. */
export function passingFolderName(key: string, topicId: string, suffix: FolderSuffix): string {
  const dash = key.lastIndexOf('-')
  const stem = key.slice(0, dash).slice(0, MAX_FOLDER_STEM)
  return `${stem}${key.slice(dash)}.${topicId}${suffix}`
}

/** The suffix of a folder that got its name by {@link passingFolderName}. */
export function folderSuffixOf(name: string): FolderSuffix | undefined {
  const match = /-\d+\.[A-Za-z0-9_-]{22}(-new|-delete|-stray)$/.exec(name)
  return match?.[1] as FolderSuffix | undefined
}

/**
 * Makes the folder of an empty log that starts at 0: under another name, renamed when it is whole. The rename is durable
 * once the caller has synced the data dir. Returns the path.
 */
export async function makeLogFolder(disk: Disk, dataDir: string, key: string, topicId: string): Promise<string> {
  const unfinished = `${dataDir}/${passingFolderName(key, topicId, '-new')}`
  await disk.removeFolder(unfinished)
  await disk.makeFolder(unfinished)
  const metadata = await disk.open(`${unfinished}/${PARTITION_METADATA}`, 'create')
  await writeFully(metadata, [Buffer.from(formatPartitionMetadata(topicId))], 0)
  await datasync(metadata)
  await metadata.close()
  await (await disk.open(`${unfinished}/${segmentFileName(0, '.log')}`, 'create')).close()
  await disk.syncFolder(unfinished)
  const folder = `${dataDir}/${key}`
  await disk.rename(unfinished, folder)
  return folder
}
