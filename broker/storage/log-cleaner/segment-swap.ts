/**
 * How a cleaned segment takes the place of those that it was made from, such that a crash at any point leaves either all of
 * the old ones or the new one, by Kafka's file suffixes:
 *
 * 1. The new files are written and synced as `.cleaned`. A start removes what has that suffix.
 * 2. They are renamed to `.swap`, the `.log` last, and the folder is synced. From here on the new segment counts: a start
 *    that finds a `.log.swap` does the rest. (Index files with that suffix and no such log are leftovers of this step.)
 * 3. The old files go, but for the `.log` of the same base offset; the new index files get their names; the folder is
 *    synced. Only then, since a power loss must not bring an old segment back beside the new one,
 * 4. the `.log.swap` is renamed over the old `.log`, and the folder is synced.
 */
import type { Disk } from '../../../common/disk.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { segmentFileName, segmentSuffixes } from '../log-segment.ts'
import { scanSegment } from '../segment-scan.ts'

export const CLEANED_SUFFIX = '.cleaned'
export const SWAP_SUFFIX = '.swap'

const indexSuffixes = ['.index', '.timeindex', '.txnindex'] as const
/** `X.log` and its indexes, as they are called while a swap is under way. */
const PASSING_NAME = /^(\d{20})\.(?:log|index|timeindex|txnindex)\.(?:cleaned|swap)$/
const SWAP_LOG_NAME = /^(\d{20})\.log\.swap$/

/** Step 2 up to the last rename, which decides. Until then, nothing has changed. */
export async function prepareSwap(disk: Disk, folder: string, baseOffset: number): Promise<void> {
  for (const suffix of indexSuffixes) {
    const path = `${folder}/${segmentFileName(baseOffset, suffix)}`
    if ((await disk.stat(path + CLEANED_SUFFIX)) === undefined) continue
    await disk.rename(path + CLEANED_SUFFIX, path + SWAP_SUFFIX)
  }
}

/** The end of step 2. */
export async function decideSwap(disk: Disk, folder: string, baseOffset: number): Promise<void> {
  const path = `${folder}/${segmentFileName(baseOffset, '.log')}`
  await disk.rename(path + CLEANED_SUFFIX, path + SWAP_SUFFIX)
  await disk.syncFolder(folder)
}

/** Steps 3 and 4; it may have been done in part before. `replaced`: base offsets of the old segments. */
export async function finishSwap(
  disk: Disk,
  folder: string,
  baseOffset: number,
  replaced: readonly number[],
): Promise<void> {
  for (const old of replaced) {
    const suffixes = old === baseOffset ? indexSuffixes : segmentSuffixes
    for (const suffix of suffixes) await disk.remove(`${folder}/${segmentFileName(old, suffix)}`)
  }
  for (const suffix of indexSuffixes) {
    const path = `${folder}/${segmentFileName(baseOffset, suffix)}`
    if ((await disk.stat(path + SWAP_SUFFIX)) !== undefined) await disk.rename(path + SWAP_SUFFIX, path)
  }
  await disk.syncFolder(folder)
  const path = `${folder}/${segmentFileName(baseOffset, '.log')}`
  await disk.rename(path + SWAP_SUFFIX, path)
  await disk.syncFolder(folder)
}

/** Removes what a cleaning that was given up before the decision has written. */
export async function discardCleaned(disk: Disk, folder: string, baseOffset: number): Promise<void> {
  for (const suffix of segmentSuffixes) {
    const path = `${folder}/${segmentFileName(baseOffset, suffix)}`
    await disk.remove(path + CLEANED_SUFFIX)
    await disk.remove(path + SWAP_SUFFIX)
  }
}

/** At a start: ends what a crash interrupted. Returns whether any file was changed. `names`: the files of the folder. */
export async function recoverSwaps(disk: Disk, folder: string, names: Iterable<string>): Promise<boolean> {
  const files = [...names]
  const passing = files.filter((name) => PASSING_NAME.test(name))
  if (passing.length === 0) return false
  const baseOffsets = files.filter((name) => /^\d{20}\.log$/.test(name)).map((name) => Number(name.slice(0, 20)))
  const swaps = passing.filter((name) => SWAP_LOG_NAME.test(name)).map((name) => Number(name.slice(0, 20)))
  for (const name of passing) {
    const isSwap = name.endsWith(SWAP_SUFFIX) && swaps.includes(Number(name.slice(0, 20)))
    if (!isSwap) await disk.remove(`${folder}/${name}`)
  }
  // One at most: a swap ends before the next begins. Files that Kafka left may be more.
  for (const baseOffset of swaps) {
    const endOffset = await endOffsetOf(
      disk,
      `${folder}/${segmentFileName(baseOffset, '.log')}${SWAP_SUFFIX}`,
      baseOffset,
    )
    const replaced = baseOffsets.filter((each) => each >= baseOffset && each < endOffset)
    await finishSwap(disk, folder, baseOffset, replaced.includes(baseOffset) ? replaced : [baseOffset, ...replaced])
  }
  await disk.syncFolder(folder)
  return true
}

/** The offset after the last batch of a segment file. Old segments that start later are left: their records are good ones. */
async function endOffsetOf(disk: Disk, path: string, baseOffset: number): Promise<number> {
  const file = await disk.open(path, 'read')
  let endOffset = baseOffset
  try {
    await scanSegment(file, {
      fromPosition: 0,
      endPosition: await file.size(),
      verifyCrc: false,
      visit: (buffer, position) => {
        endOffset = recordBatch.nextOffset(buffer, position)
        return true
      },
    })
  } finally {
    await file.close()
  }
  return endOffset
}
