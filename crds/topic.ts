import { createHash } from 'node:crypto'
import type { Condition, Resource } from './resource.ts'

/** What the user wants of a topic. Written with kubectl, or by a broker for a Kafka admin client. */
export interface TopicSpec {
  /** The Kafka topic name; default `metadata.name`; immutable. */
  readonly topicName?: string
  /** Only grows. */
  readonly partitions: number
  readonly replicas: number
  /** Kafka topic configs, verbatim: dotted key to value as text. Only what the user set; defaults are never written here. */
  readonly config: Readonly<Record<string, string>>
  readonly deletionPolicy?: 'Delete' | 'Retain'
  /** Explicit replicas by partition index (CreateTopics and CreatePartitions with assignments); partitions beyond it are placed by the planner. */
  readonly assignments?: readonly (readonly number[])[]
}

export interface TopicStatus {
  /** Kafka's topic id (base64url). Minted once by the operator; entries that exist under the topic's name are adopted first. */
  readonly topicId?: string
  readonly observedGeneration?: number
  readonly conditions?: readonly Condition[]
  /** Which slice holds which partitions; recorded before entries are added. Guides only the operator: brokers obey slices alone. */
  readonly slices?: Readonly<Record<string, readonly number[]>>
  readonly summary?: { readonly partitions: number; readonly offline: number; readonly underReplicated: number }
}

export type Topic = Resource<'Topic', TopicSpec, TopicStatus>

/** Holds a deleted Topic until the operator has removed its entries and the brokers its data. */
export const TOPIC_FINALIZER = 'ottla.dev/topic-data'
export const INTERNAL_LABEL = 'ottla.dev/internal'

/** Where the group coordinators keep their state, in Kafka's format. */
export const GROUP_METADATA_TOPIC = '__consumer_offsets'
const INTERNAL_TOPICS: ReadonlySet<string> = new Set([GROUP_METADATA_TOPIC, '__transaction_state'])

/** Topics that belong to the brokers: clients may read them, and don't write to them. */
export function isInternalTopic(topicName: string): boolean {
  return INTERNAL_TOPICS.has(topicName)
}

export const MAX_TOPIC_NAME_LENGTH = 249
const LEGAL_TOPIC_NAME = /^[a-zA-Z0-9._-]+$/

/** Why `name` is no legal Kafka topic name, or undefined when it is one. */
export function topicNameProblem(name: string): string | undefined {
  if (name === '') return 'the empty string is not allowed'
  if (name === '.' || name === '..') return `'.' or '..' is not allowed`
  if (name.length > MAX_TOPIC_NAME_LENGTH) {
    return `the length of '${name}' is longer than the max allowed length ${MAX_TOPIC_NAME_LENGTH}`
  }
  if (!LEGAL_TOPIC_NAME.test(name)) {
    return `'${name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'`
  }
  return undefined
}

export function topicNameOf(topic: Topic): string {
  return topic.spec.topicName ?? topic.metadata.name
}

const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

/**
 * The object name for a Kafka topic: the name itself where it is a valid object name, else a sanitised one with a hash
 * of the real name. A pure function, so that a topic name can't belong to two objects of one namespace.
 */
export function topicObjectName(topicName: string): string {
  if (
    OBJECT_NAME.test(topicName) &&
    !topicName.includes('..') &&
    !/\.-|-\./.test(topicName) &&
    topicName.length <= 253
  ) {
    return topicName
  }
  const hash = createHash('sha256').update(topicName).digest('hex').slice(0, 12)
  const readable = topicName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 200)
    .replace(/^-+|-+$/g, '')
  return readable === '' ? `topic-${hash}` : `${readable}-${hash}`
}
