/** The committed offsets of one shard, by group, topic and partition. */

export interface CommittedOffset {
  readonly offset: number
  /** Of the last consumed record; -1 where the client did not tell. */
  readonly leaderEpoch: number
  readonly metadata: string
  /** Milliseconds since 1970. */
  readonly commitTimestampMs: number
  /** When the client wanted it to expire (OffsetCommit up to version 4); -1: as the broker does. */
  readonly expireTimestampMs: number
  /** Of the topic at the time of the commit; the zero uuid where it is not known. */
  readonly topicId: string
}

export type TopicOffsets = ReadonlyMap<number, CommittedOffset>

const NONE: ReadonlyMap<string, TopicOffsets> = new Map()

export class GroupOffsets {
  readonly #groups = new Map<string, Map<string, Map<number, CommittedOffset>>>()
  #count = 0

  /** Offsets in all. */
  get count(): number {
    return this.#count
  }

  groupIds(): Iterable<string> {
    return this.#groups.keys()
  }

  /** A group's offsets by topic; empty for an unknown group. */
  of(groupId: string): ReadonlyMap<string, TopicOffsets> {
    return this.#groups.get(groupId) ?? NONE
  }

  has(groupId: string): boolean {
    return this.#groups.has(groupId)
  }

  get(groupId: string, topicName: string, partition: number): CommittedOffset | undefined {
    return this.#groups.get(groupId)?.get(topicName)?.get(partition)
  }

  put(groupId: string, topicName: string, partition: number, offset: CommittedOffset): void {
    let topics = this.#groups.get(groupId)
    if (topics === undefined) this.#groups.set(groupId, (topics = new Map<string, Map<number, CommittedOffset>>()))
    let partitions = topics.get(topicName)
    if (partitions === undefined) topics.set(topicName, (partitions = new Map<number, CommittedOffset>()))
    if (!partitions.has(partition)) this.#count++
    partitions.set(partition, offset)
  }

  remove(groupId: string, topicName: string, partition: number): void {
    const topics = this.#groups.get(groupId)
    const partitions = topics?.get(topicName)
    if (topics === undefined || partitions === undefined || !partitions.delete(partition)) return
    this.#count--
    if (partitions.size > 0) return
    topics.delete(topicName)
    if (topics.size === 0) this.#groups.delete(groupId)
  }
}
