/**
 * What members of the consumer protocol put into JoinGroup metadata and SyncGroup assignments, as far as the coordinator
 * looks at it: the broker carries these bytes and does not depend on them. Versions 0 to 3 begin alike.
 */
import { ProtocolError } from '../../../protocol/wire/errors.ts'
import { Reader } from '../../../protocol/wire/reader.ts'

export const CONSUMER_PROTOCOL_TYPE = 'consumer'

export interface TopicPartitions {
  readonly topicName: string
  readonly partitions: readonly number[]
}

/** The subscribed topics; undefined for bytes that are no subscription. */
export function subscribedTopics(metadata: Buffer): string[] | undefined {
  return parsed(metadata, (reader) => {
    const topics: string[] = []
    for (let left = reader.arrayLength(2); left > 0; left--) topics.push(reader.string())
    return topics
  })
}

/** The assigned partitions; undefined for bytes that are no assignment. Empty bytes are an empty assignment. */
export function assignedPartitions(assignment: Buffer): TopicPartitions[] | undefined {
  if (assignment.length === 0) return []
  return parsed(assignment, (reader) => {
    const topics: TopicPartitions[] = []
    for (let left = reader.arrayLength(6); left > 0; left--) {
      const topicName = reader.string()
      const partitions: number[] = []
      for (let more = reader.arrayLength(4); more > 0; more--) partitions.push(reader.int32())
      topics.push({ topicName, partitions })
    }
    return topics
  })
}

function parsed<T>(bytes: Buffer, read: (reader: Reader) => T): T | undefined {
  try {
    const reader = new Reader(bytes)
    if (reader.int16() < 0) return undefined
    return read(reader)
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}
