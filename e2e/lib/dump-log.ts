/**
 * Kafka's DumpLogSegments as the judge of files on disk: it decodes every record of every log, checks every index
 * against its log, and reads producer snapshots. Anything it complains of is an error here.
 */
import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

import type { KafkaTools } from '../kafka/tools.ts'

/** A complaint of the tool, in its own words, or a batch or record that it says is not valid. */
const complaint =
  /mismatch|^Found |Non-consecutive|is followed by|Index offset: |isvalid: false|isValid: false|out of order|corrupt|Exception|Could not|invalid bytes|Timestamp /i

/** Lines of a log's dump that describe a batch, with the codec of its records. */
const batchLine = /^baseOffset: .* compresscodec: (\w+)/

export interface DumpedFiles {
  /** How many files of each kind were judged, by their ending. */
  readonly counts: ReadonlyMap<string, number>
  /** How many batches each partition folder holds, by codec. */
  readonly codecs: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** Lines that show a defect, with the file they are about. */
  readonly complaints: readonly string[]
}

/** Judges all files of a log below `dataFolder`, except in Kafka's own metadata log. */
export async function dumpLogFiles(tools: KafkaTools, dataFolder: string): Promise<DumpedFiles> {
  const files = logFiles(dataFolder)
  const counts = new Map<string, number>()
  for (const file of files) {
    const ending = file.slice(file.lastIndexOf('.'))
    counts.set(ending, (counts.get(ending) ?? 0) + 1)
  }
  const codecs = new Map<string, Map<string, number>>()
  const complaints: string[] = []
  const indexes = files.filter((file) => file.endsWith('.index'))
  const passes: [files: readonly string[], flags: readonly string[]][] = [
    [files, ['--deep-iteration', '--print-data-log']],
    [indexes, ['--index-sanity-check']],
    [files.filter((file) => /\.(index|timeindex)$/.test(file)), ['--verify-index-only']],
  ]
  for (const [chosen, flags] of passes) {
    for (const some of inChunks(chosen, 200)) {
      for (const { file, lines } of await dumpFiles(tools, some, flags, complaints)) {
        for (const line of lines) {
          const codec = batchLine.exec(line)?.[1]
          if (codec !== undefined && file.endsWith('.log')) countBatch(codecs, basename(dirname(file)), codec)
          if (isComplaint(line)) complaints.push(`${file}: ${line.slice(0, 300)}`)
        }
        if (
          flags.includes('--index-sanity-check') &&
          !lines.some((line) => /passed sanity check|is empty/.test(line))
        ) {
          complaints.push(`${file}: did not pass the sanity check`)
        }
      }
    }
  }
  return { counts, codecs, complaints }
}

/** What the tool prints about each file. It ends at the first file that it can't read, so then the others are tried apart. */
async function dumpFiles(
  tools: KafkaTools,
  files: readonly string[],
  flags: readonly string[],
  complaints: string[],
): Promise<{ file: string; lines: string[] }[]> {
  if (files.length === 0) return []
  const result = await tools.run('kafka-dump-log', [...flags, '--files', files.join(',')], { timeoutMs: 600_000 })
  if (result.status !== 0 && files.length > 1) {
    const half = Math.ceil(files.length / 2)
    return [
      ...(await dumpFiles(tools, files.slice(0, half), flags, complaints)),
      ...(await dumpFiles(tools, files.slice(half), flags, complaints)),
    ]
  }
  if (result.status !== 0 || /Exception|ERROR/.test(result.stderr)) {
    complaints.push(`${files.join()}: ${flags.join(' ')} ended with ${result.status}: ${result.stderr.slice(0, 400)}`)
  }
  const dumped: { file: string; lines: string[] }[] = []
  for (const line of result.stdout.split('\n')) {
    if (line.startsWith('Dumping ')) dumped.push({ file: line.slice('Dumping '.length), lines: [] })
    else dumped.at(-1)?.lines.push(line)
  }
  return dumped
}

/** Records are printed with their payload: only what stands before it is the tool's own word. */
function isComplaint(line: string): boolean {
  if (line.startsWith('| offset: ')) return /isValid: false/.test(line.split(' key: ')[0] ?? '')
  if (line.startsWith('baseOffset: ')) return /isvalid: false/.test(line)
  return complaint.test(line)
}

function countBatch(codecs: Map<string, Map<string, number>>, partition: string, codec: string): void {
  let counts = codecs.get(partition)
  if (counts === undefined) {
    counts = new Map<string, number>()
    codecs.set(partition, counts)
  }
  counts.set(codec, (counts.get(codec) ?? 0) + 1)
}

function logFiles(folder: string): string[] {
  const found: string[] = []
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      // Folders of deleted topics wait for removal in whatever state a kill left them.
      if (/^__cluster_metadata-|-(delete|stray)$/.test(entry.name)) continue
      found.push(...logFiles(path))
    } else if (/\.(log|index|timeindex|txnindex|snapshot)$/.test(entry.name) && /^\d{20}\./.test(entry.name)) {
      // The tool can't map an empty file.
      if (statSync(path).size > 0) found.push(path)
    }
  }
  return found.sort()
}

function* inChunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}
