import { KafkaBroker } from '../kafka/kafka-broker.ts'
import type { KafkaTools } from '../kafka/tools.ts'
import type { BrokerKind, BrokerOptions, BrokerProcess } from './broker.ts'
import { freePort } from './net.ts'
import { OttlaBroker } from './ottla-broker.ts'

/** A broker of the given kind on free ports, not yet started. */
export async function createBroker(
  kind: BrokerKind,
  tools: KafkaTools,
  options: BrokerOptions,
): Promise<BrokerProcess> {
  const port = await freePort(2)
  return kind === 'kafka' ? new KafkaBroker(tools, options, port) : new OttlaBroker(options, port, port + 1)
}
