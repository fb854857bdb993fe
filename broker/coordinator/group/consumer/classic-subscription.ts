/**
 * The bytes that members of the classic protocol exchange (JoinGroup's metadata and SyncGroup's assignment of the protocol
 * type `consumer`), as far as a consumer group that has such members needs them. Source: Kafka's ConsumerProtocol, versions
 * 0 to 3; newer ones begin alike.
 */
import { ProtocolError } from '../../../protocol/wire/errors.ts'
import { Reader } from '../../../protocol/wire/reader.ts'
import { Writer } from '../../../protocol/wire/writer.ts'
import type { TopicPartitions } from '../classic/consumer-protocol.ts'

const FIRST_VERSION_WITH_OWNED_PARTITIONS = 1
const FIRST_VERSION_WITH_GENERATION = 2
const FIRST_VERSION_WITH_RACK = 3
const LAST_VERSION = 3

export interface ClassicSubscription {
  readonly version: number
  readonly topicNames: readonly string[]
  /** What the member owns while it joins: nothing, unless it rebalances cooperatively. */
  readonly owned: readonly TopicPartitions[]
  readonly rackId: string | null
}

/** Undefined for bytes that are no subscription. */
export function parseSubscription(metadata: Buffer): ClassicSubscription | undefined {
  try {
    const reader = new Reader(metadata)
    const version = reader.int16()
    if (version < 0) return undefined
    const topicNames: string[] = []
    for (let left = reader.arrayLength(2); left > 0; left--) topicNames.push(reader.string())
    reader.nullableBytes()
    // Some clients tell a version and leave out what it brought.
    const has = (firstVersion: number): boolean => version >= firstVersion && reader.remaining > 0
    const owned = has(FIRST_VERSION_WITH_OWNED_PARTITIONS) ? readPartitions(reader) : []
    if (has(FIRST_VERSION_WITH_GENERATION)) reader.int32()
    const rackId = has(FIRST_VERSION_WITH_RACK) ? reader.nullableString() : null
    return { version: Math.min(version, LAST_VERSION), topicNames, owned, rackId: rackId === '' ? null : rackId }
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
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
