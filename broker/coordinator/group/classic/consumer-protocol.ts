/**
 * What members of the classic protocol with the protocol type `consumer` put into JoinGroup metadata and SyncGroup assignments,
 * as far as the coordinator looks at it. In a classic group the broker carries these bytes and does not depend on them; a
 * consumer group that has such members reads and writes them. Source: Kafka's ConsumerProtocol, versions 0 to 3; newer ones
 * begin alike.
 */
import { ProtocolError } from '../../../protocol/wire/errors.ts'
import { Reader } from '../../../protocol/wire/reader.ts'
import { Writer } from '../../../protocol/wire/writer.ts'

export const CONSUMER_PROTOCOL_TYPE = 'consumer'

const FIRST_VERSION_WITH_OWNED_PARTITIONS = 1
const FIRST_VERSION_WITH_GENERATION = 2
const FIRST_VERSION_WITH_RACK = 3
const LAST_VERSION = 3

export interface TopicPartitions {
  readonly topicName: string
  readonly partitions: readonly number[]
}

export interface ClassicSubscription {
  readonly version: number
  readonly topicNames: readonly string[]
  /** What the member owns while it joins: nothing, unless it rebalances cooperatively. */
  readonly owned: readonly TopicPartitions[]
  readonly rackId: string | null
}

/** The subscribed topics, whatever follows them; undefined for bytes that are no subscription. */
export function subscribedTopics(metadata: Buffer): string[] | undefined {
  return parsed(metadata, readTopicNames)
}

/** A whole subscription; undefined for bytes that are none. */
export function parseSubscription(metadata: Buffer): ClassicSubscription | undefined {
  return parsed(metadata, (reader, version) => {
    const topicNames = readTopicNames(reader)
    reader.nullableBytes()
    // Some clients tell a version and leave out what it brought.
    const has = (firstVersion: number): boolean => version >= firstVersion && reader.remaining > 0
    const owned = has(FIRST_VERSION_WITH_OWNED_PARTITIONS) ? readPartitions(reader) : []
    if (has(FIRST_VERSION_WITH_GENERATION)) reader.int32()
    const rackId = has(FIRST_VERSION_WITH_RACK) ? reader.nullableString() : null
    return { version: Math.min(version, LAST_VERSION), topicNames, owned, rackId: rackId === '' ? null : rackId }
  })
}

/** The assigned partitions; undefined for bytes that are no assignment. Empty bytes are an empty assignment. */
export function assignedPartitions(assignment: Buffer): TopicPartitions[] | undefined {
  return assignment.length === 0 ? [] : parsed(assignment, readPartitions)
}

/** An assignment in the version of the member's subscription. */
export function encodeAssignment(version: number, topics: readonly TopicPartitions[]): Buffer {
  const writer = new Writer()
  writer.int16(version)
  writer.arrayLength(topics.length)
  for (const { topicName, partitions } of topics) {
    writer.string(topicName)
    writer.arrayLength(partitions.length)
    for (const partition of partitions) writer.int32(partition)
  }
  writer.nullableBytes(null)
  return Buffer.concat(writer.finish())
}

function readTopicNames(reader: Reader): string[] {
  const topicNames: string[] = []
  for (let left = reader.arrayLength(2); left > 0; left--) topicNames.push(reader.string())
  return topicNames
}

function readPartitions(reader: Reader): TopicPartitions[] {
  const topics: TopicPartitions[] = []
  for (let left = reader.arrayLength(6); left > 0; left--) {
    const topicName = reader.string()
    const partitions: number[] = []
    for (let more = reader.arrayLength(4); more > 0; more--) partitions.push(reader.int32())
    topics.push({ topicName, partitions })
  }
  return topics
}

function parsed<T>(bytes: Buffer, read: (reader: Reader, version: number) => T): T | undefined {
  try {
    const reader = new Reader(bytes)
    const version = reader.int16()
    return version < 0 ? undefined : read(reader, version)
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}
