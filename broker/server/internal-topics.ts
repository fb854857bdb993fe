/** The topics that the broker itself keeps its state in: which they are, how they are made, and that clients leave them alone. */
import type { BrokerConfig } from '../../crds/config/resolve.ts'
import { GROUP_METADATA_TOPIC, isInternalTopic } from '../../crds/topic.ts'
import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'
import type { BrokerContext } from './broker-context.ts'
import { MAX_REPLICAS, type TopicToCreate } from './topic-admin.ts'

/** How long a request waits for an internal topic that it is the first to need; its client asks again afterwards. */
const CREATION_WAIT_MS = 5000

/** Makes an internal topic if it isn't there. Errors: COORDINATOR_NOT_AVAILABLE while it can't be had. */
export async function ensureInternalTopic(broker: BrokerContext, name: string): Promise<void> {
  const { metadata, timers } = broker
  const isThere = (): boolean => metadata.topic(name) !== undefined
  if (isThere()) return
  const deadline = { timers, timeoutMs: CREATION_WAIT_MS }
  const topic = topicToCreate(broker, name)
  const [outcome] = await broker.topics.createTopics([topic], { timeoutMs: CREATION_WAIT_MS, isValidateOnly: false })
  // Another request may have been the first; then this one waits for it.
  if (outcome?.errorCode === ErrorCode.TOPIC_ALREADY_EXISTS) await metadata.waitFor(isThere, deadline)
  if (isThere()) return
  broker.logger.warn({ topic: name, reason: outcome?.errorMessage }, 'an internal topic could not be created')
  throw new KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
}

/** How a topic is made that a client asks for, or that the broker needs. */
export function topicToCreate({ config, metadata }: BrokerContext, name: string): TopicToCreate {
  const defaults = { name, partitions: -1, replicationFactor: -1, assignments: undefined, configs: {} }
  if (!isInternalTopic(name)) return defaults
  if (name !== GROUP_METADATA_TOPIC) return { ...defaults, configs: { 'cleanup.policy': 'compact' } }
  const aliveCount = metadata.brokers().filter(({ isFenced }) => !isFenced).length
  const wanted = config.get('offsets.topic.replication.factor')
  return {
    ...defaults,
    partitions: config.get('offsets.topic.num.partitions'),
    replicationFactor: Math.max(1, Math.min(wanted, aliveCount, MAX_REPLICAS)),
    configs: offsetsTopicConfig(config),
  }
}

function offsetsTopicConfig(config: BrokerConfig): Readonly<Record<string, string>> {
  return {
    'cleanup.policy': 'compact',
    'compression.type': 'producer',
    'segment.bytes': String(config.get('offsets.topic.segment.bytes')),
  }
}
