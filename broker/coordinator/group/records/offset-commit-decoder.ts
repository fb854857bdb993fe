/**
 * Reads offset commits as they are mostly written, at once and in place: they are nearly all that a coordinator loads, a
 * million of them at a start. What looks any different is left to the compiled codec, which knows all versions and says
 * what is wrong with bytes that are none.
 */
import type { RecordCursor } from '../../../protocol/records/record.ts'
import { isTextAt, TextCache } from '../../../protocol/wire/text-cache.ts'
import { ZERO_UUID } from '../../../protocol/wire/uuid.ts'
import type { GroupRecordOf } from './group-record.ts'

const TWO_POW_32 = 0x1_0000_0000
/** The number of the type, and the lengths of group and topic, each two bytes, and the partition. */
const MIN_KEY_BYTES = 10
/** The last version that isn't flexible, without the topic's id. */
const PLAIN_VERSION = 3
const FLEXIBLE_VERSION = 4
const UUID_BYTES = 16
/** One tagged field, of tag 0, of 16 bytes. */
const TOPIC_ID_HEADER_BYTES = 3

/** Longer strings are rare, and are not kept. */
const MAX_CACHED_BYTES = 64
const groups = new TextCache(8192)
const topics = new TextCache(2048)
let lastGroup = ''
let lastTopic = ''
const lastTopicIdBytes = Buffer.alloc(UUID_BYTES)
let lastTopicId = ZERO_UUID

/** The commit (not its removal) that the cursor stands at; undefined where the compiled codec has to decide. */
export function decodeOffsetCommit(cursor: RecordCursor): GroupRecordOf<'OffsetCommit'> | undefined {
  const { records, keyStart, keyLength, valueStart, valueLength } = cursor
  if (keyLength < MIN_KEY_BYTES || valueLength < 0) return undefined
  const keyEnd = keyStart + keyLength
  const groupStart = keyStart + 4
  const topicStart = groupStart + int16(records, keyStart + 2) + 2
  if (topicStart < groupStart + 2 || topicStart > keyEnd) return undefined
  const partitionStart = topicStart + int16(records, topicStart - 2)
  if (partitionStart < topicStart || partitionStart + 4 !== keyEnd) return undefined

  const valueEnd = valueStart + valueLength
  const version = int16(records, valueStart)
  let metadataStart = valueStart + 15
  let metadataLength = (records[metadataStart - 1] as number) - 1
  if (version === PLAIN_VERSION) {
    metadataLength = int16(records, metadataStart - 1)
    metadataStart++
  } else if (version !== FLEXIBLE_VERSION || metadataLength >= 0x7f) return undefined
  const timestampStart = metadataStart + metadataLength
  if (metadataLength < 0 || timestampStart + 8 > valueEnd) return undefined
  const tagsBytes = valueEnd - timestampStart - 8
  let topicId = ZERO_UUID
  if (version === FLEXIBLE_VERSION) {
    const tags = timestampStart + 8
    if (tagsBytes === TOPIC_ID_HEADER_BYTES + UUID_BYTES) {
      if (records[tags] !== 1 || records[tags + 1] !== 0 || records[tags + 2] !== UUID_BYTES) return undefined
      topicId = topicIdAt(records, tags + TOPIC_ID_HEADER_BYTES)
    } else if (tagsBytes !== 1 || records[tags] !== 0) return undefined
  } else if (tagsBytes !== 0) return undefined

  const offset = int64(records, valueStart + 2)
  const commitTimestamp = int64(records, timestampStart)
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(commitTimestamp)) return undefined
  lastGroup = text(groups, lastGroup, records, groupStart, topicStart - 2 - groupStart)
  lastTopic = text(topics, lastTopic, records, topicStart, partitionStart - topicStart)
  return {
    type: 'OffsetCommit',
    key: { group: lastGroup, topic: lastTopic, partition: int32(records, partitionStart) },
    value: {
      offset,
      leaderEpoch: int32(records, valueStart + 10),
      metadata: metadataLength === 0 ? '' : records.toString('utf8', metadataStart, timestampStart),
      commitTimestamp,
      expireTimestamp: -1,
      topicId,
    },
  }
}

/** The commits of one request stand together: the string of the record before is tried first. */
function text(cache: TextCache, last: string, buffer: Buffer, start: number, length: number): string {
  if (isTextAt(last, buffer, start, length)) return last
  if (length <= MAX_CACHED_BYTES) return cache.text(buffer, start, length)
  return buffer.toString('utf8', start, start + length)
}

function topicIdAt(buffer: Buffer, start: number): string {
  let difference = 0
  for (let i = 0; i < UUID_BYTES; i++) difference |= (buffer[start + i] as number) ^ (lastTopicIdBytes[i] as number)
  if (difference !== 0) {
    buffer.copy(lastTopicIdBytes, 0, start, start + UUID_BYTES)
    lastTopicId = lastTopicIdBytes.toString('base64url')
  }
  return lastTopicId
}

function int16(buffer: Buffer, position: number): number {
  return (((buffer[position] as number) << 24) >> 16) | (buffer[position + 1] as number)
}

function int32(buffer: Buffer, position: number): number {
  return (
    ((buffer[position] as number) << 24) |
    ((buffer[position + 1] as number) << 16) |
    ((buffer[position + 2] as number) << 8) |
    (buffer[position + 3] as number)
  )
}

function int64(buffer: Buffer, position: number): number {
  return int32(buffer, position) * TWO_POW_32 + (int32(buffer, position + 4) >>> 0)
}
