/**
 * How the group coordinator's records are written: the key begins with the number of the record's type, the value with its
 * version, each an int16, as Kafka writes them.
 */
import { decodeMessage, encodeMessage } from '../../../protocol/codec.ts'
import type { Message } from '../../../protocol/schema.ts'
import { Reader } from '../../../protocol/wire/reader.ts'
import { ZERO_UUID } from '../../../protocol/wire/uuid.ts'
import { Writer } from '../../../protocol/wire/writer.ts'
import type { RecordSerde } from '../../runtime/coordinator-shard.ts'
import { GROUP_RECORD_TYPES, type GroupRecord, type GroupRecordType } from './group-record.ts'
import { decodeOffsetCommit } from './offset-commit-decoder.ts'

/** Keys of commits as Kafka wrote them before version 0.9: the same fields. */
const LEGACY_OFFSET_COMMIT_ID = 0
/** The only version that says when the commit expires, as clients older than KIP-211 want it; without the topic's id. */
const OFFSET_COMMIT_WITH_EXPIRY = 1
/** The last version without the topic's id, which older programs read. */
const OFFSET_COMMIT_WITHOUT_TOPIC_ID = 3

/** Their values have fields of bytes. */
const TYPES_WITH_BYTES: ReadonlySet<GroupRecordType> = new Set(['GroupMetadata', 'ConsumerGroupMemberMetadata'])

const typesById = new Map<number, GroupRecordType>([[LEGACY_OFFSET_COMMIT_ID, 'OffsetCommit']])
for (const [type, { id }] of Object.entries(GROUP_RECORD_TYPES)) typesById.set(id, type as GroupRecordType)

export const groupRecordSerde: RecordSerde<GroupRecord> = {
  encode(record) {
    const { id, key, value } = GROUP_RECORD_TYPES[record.type]
    return {
      key: encoded(id, key, 0, record.key),
      value: record.value === null ? null : encodedValue(value, valueVersionOf(record), record.value),
    }
  },

  decode(cursor) {
    if (cursor.keyLength < 0) return undefined
    const { records, keyStart, valueStart } = cursor
    const keyReader = new Reader(records, keyStart, keyStart + cursor.keyLength)
    const type = typesById.get(keyReader.int16())
    if (type === undefined) return undefined
    if (type === 'OffsetCommit') {
      const commit = decodeOffsetCommit(cursor)
      if (commit !== undefined) return commit
    }
    const { key, value } = GROUP_RECORD_TYPES[type]
    const decodedKey = decodeMessage(key as Message, 0, keyReader)
    if (cursor.valueLength < 0) return { type, key: decodedKey, value: null } as GroupRecord
    // Decoded bytes are views, and these are kept.
    const reader = TYPES_WITH_BYTES.has(type)
      ? new Reader(Buffer.from(records.subarray(valueStart, valueStart + cursor.valueLength)))
      : new Reader(records, valueStart, valueStart + cursor.valueLength)
    return { type, key: decodedKey, value: decodedValue(value, reader) } as GroupRecord
  },
}

function valueVersionOf(record: GroupRecord): number {
  if (record.type === 'OffsetCommit' && record.value !== null) {
    if (record.value.expireTimestamp >= 0) return OFFSET_COMMIT_WITH_EXPIRY
    if (record.value.topicId === ZERO_UUID) return OFFSET_COMMIT_WITHOUT_TOPIC_ID
  }
  return GROUP_RECORD_TYPES[record.type].valueVersion
}

function encodedValue(schema: Message, version: number, value: object): Buffer {
  return encoded(version, schema, version, value)
}

function encoded(prefix: number, schema: Message, version: number, value: object): Buffer {
  const writer = new Writer()
  writer.int16(prefix)
  encodeMessage(schema, version, writer, value)
  return Buffer.concat(writer.finish())
}

/** A value of a version that a newer program wrote is an error: what it says can't be known. */
function decodedValue(schema: Message, reader: Reader): object {
  const version = reader.int16()
  const { first, last } = schema.versions
  if (version < first || version > last) throw new RangeError(`${schema.name} of unknown version ${version}`)
  return decodeMessage(schema, version, reader)
}
