/**
 * GET /api/v1/topics/{name}/records: the newest records of a topic, or of one partition from an offset on.
 *
 * Bounded: a few requests read at a time and a few more wait; each reads so many partitions and bytes; the answer is cut
 * to a size, so that a value that is larger must be asked for by itself.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readNewestRecords, readRecordsFrom, type RecordView } from '../read-records.ts'
import type { ApiSources } from '../web-sources.ts'
import { ApiError, invalidArgument } from './api-error.ts'
import { integerParam } from './query.ts'
import { findTopic } from './topics.ts'

export interface RecordsView {
  /** The newest first; in offset order where an offset was asked for. */
  readonly records: readonly RecordView[]
  /** What is not shown and why, as sentences. */
  readonly notes: readonly string[]
}

const DEFAULT_RECORDS = 50
const MAX_RECORDS = 500
const DEFAULT_VALUE_BYTES = 4096
const MAX_VALUE_BYTES = 1024 * 1024
/** Keys and values in one answer, before they become JSON. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024
const MAX_READ_BYTES = 16 * 1024 * 1024
const MIN_READ_BYTES_OF_PARTITION = 256 * 1024
/** Decompression runs on the event loop: this much takes some 50 ms. */
const MAX_DECOMPRESSED_BYTES = 16 * 1024 * 1024
const MAX_DECOMPRESSED_BYTES_IN_ALL = 64 * 1024 * 1024
const MAX_NOTES = 10
const MAX_PARTITIONS = 64
const MAX_READING = 2
const MAX_WAITING = 16

/** Lets a few in at a time, and turns away who would wait too long. */
export class ReadGate {
  readonly #waiting: (() => void)[] = []
  #reading = 0

  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.#reading >= MAX_READING) {
      if (this.#waiting.length >= MAX_WAITING) {
        throw new ApiError(503, 'BUSY', 'Too many requests for records at once. Try again in a moment.')
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else this.#reading++
    try {
      return await read()
    } finally {
      // Who waits takes over this place.
      const next = this.#waiting.shift()
      if (next === undefined) this.#reading--
      else next()
    }
  }
}

export async function readRecords(
  sources: ApiSources,
  gate: ReadGate,
  topicName: string,
  query: URLSearchParams,
): Promise<RecordsView> {
  if (!sources.broker.configs.current.get('ottla.web.records.enable')) {
    throw new ApiError(
      403,
      'RECORDS_DISABLED',
      'Showing records is switched off on this broker (ottla.web.records.enable=false).',
    )
  }
  const topic = findTopic(sources, topicName)
  const partition = integerParam(query, 'partition', [0, 2 ** 31 - 1], undefined)
  const offset = integerParam(query, 'offset', [0, Number.MAX_SAFE_INTEGER], undefined)
  const maxRecords = integerParam(query, 'limit', [1, MAX_RECORDS], DEFAULT_RECORDS)
  const wantedValueBytes = integerParam(query, 'maxBytes', [1, MAX_VALUE_BYTES], DEFAULT_VALUE_BYTES)
  const maxValueBytes = Math.min(wantedValueBytes, Math.max(1024, Math.floor(MAX_ANSWER_BYTES / maxRecords)))
  const limits = {
    maxRecords,
    maxBytes: MAX_READ_BYTES,
    maxDecompressedBytes: MAX_DECOMPRESSED_BYTES,
    decompression: { leftBytes: MAX_DECOMPRESSED_BYTES_IN_ALL },
    maxValueBytes,
  }
  if (partition !== undefined && !topic.partitions.has(partition)) {
    throw invalidArgument(`Topic '${topicName}' has no partition ${partition}.`)
  }
  if (offset !== undefined && partition === undefined) {
    throw invalidArgument('An offset needs a partition: add partition=N.')
  }
  return gate.run(async () => {
    if (partition === undefined) {
      return withFewNotes(await newestOfTopic(sources, topicName, [...topic.partitions.keys()], limits))
    }
    const replica = sources.broker.replicas.partition(topicName, partition)
    if (replica?.isLeader !== true) {
      const leader = topic.partitions.get(partition)?.leader ?? -1
      return { records: [], notes: [elsewhere(`Partition ${partition}`, leader)] }
    }
    if (offset !== undefined) return withFewNotes(await readRecordsFrom(replica.log, partition, offset, limits))
    const { records, notes } = await readNewestRecords(replica.log, partition, limits)
    return withFewNotes({ records: records.toReversed(), notes })
  })
}

function withFewNotes({ records, notes }: RecordsView): RecordsView {
  if (notes.length <= MAX_NOTES) return { records, notes }
  return { records, notes: [...notes.slice(0, MAX_NOTES), `And ${notes.length - MAX_NOTES} more like these.`] }
}

type Limits = Parameters<typeof readNewestRecords>[2]

async function newestOfTopic(
  sources: ApiSources,
  topicName: string,
  indexes: readonly number[],
  limits: Limits,
): Promise<RecordsView> {
  const notes: string[] = []
  const led = indexes
    .toSorted((a, b) => a - b)
    .flatMap((index) => {
      const replica = sources.broker.replicas.partition(topicName, index)
      return replica?.isLeader === true ? [replica] : []
    })
  if (led.length < indexes.length) notes.push(elsewhere(`${indexes.length - led.length} of the partitions`, undefined))
  const filled = led.filter(({ log }) => log.highWatermark > log.logStartOffset)
  const chosen = filled.slice(0, MAX_PARTITIONS)
  if (chosen.length < filled.length) {
    const last = chosen.at(-1)?.partition ?? 0
    notes.push(`Only partitions up to ${last} were read: choose a partition to see the records of the others.`)
  }
  const maxBytes = Math.max(MIN_READ_BYTES_OF_PARTITION, Math.floor(limits.maxBytes / Math.max(1, chosen.length)))
  let newest: RecordView[] = []
  let hasLeftOut = false
  for (const { log, partition } of chosen) {
    const found = await readNewestRecords(log, partition, { ...limits, maxBytes })
    notes.push(...found.notes)
    hasLeftOut ||= found.notes.length > 0
    newest = [...newest, ...found.records].sort(newestFirst).slice(0, limits.maxRecords)
    await nextTurn()
  }
  if (hasLeftOut && chosen.length > 1) notes.unshift('Choose a partition to have more of it read.')
  return { records: newest, notes }
}

function newestFirst(a: RecordView, b: RecordView): number {
  return b.timestampMs - a.timestampMs || a.partition - b.partition || b.offset - a.offset
}

function elsewhere(what: string, leader: number | undefined): string {
  if (leader === -1) return `${what} has no leader at the moment, so nothing can be read.`
  const where = leader === undefined ? 'other brokers' : `broker ${leader}`
  return `${what} can be read on the page of ${where}, which leads there.`
}
