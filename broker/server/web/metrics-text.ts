/**
 * /metrics: everything a scrape gets, in chunks. Numbers are taken at the call, in one turn of the event loop; the text is
 * made while it is sent, a little at a time, so that a scrape of 10,000 partitions delays no client.
 */
import type { Registry } from 'prom-client'
import { createBrokerMetrics } from '../broker-metrics.ts'
import { groupMetrics } from '../group-metrics.ts'
import { partitionMetrics } from '../partition-metrics.ts'
import { quotaMetrics } from '../quota/quota-metrics.ts'
import type { WebSources } from './web-sources.ts'

export class MetricsText {
  readonly #registry: Registry
  readonly #sources: WebSources

  constructor(sources: WebSources) {
    this.#sources = sources
    this.#registry = createBrokerMetrics(sources)
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  async chunks(): Promise<Iterable<string>> {
    const { broker, brokerId, groups } = this.#sources
    const { metadata, replicas, configs } = broker
    const maxSeries = configs.current.get('ottla.metrics.group.series.max')
    const byPartition = partitionMetrics({ brokerId, metadata, replicas })
    const byGroup = groupMetrics({ groups, metadata, replicas, maxSeries })
    const ofBroker = `${await this.#registry.metrics()}\n`
    return concat(ofBroker, byPartition, byGroup, quotaMetrics(broker.quotas))
  }
}

function* concat(first: string, ...others: readonly Iterable<string>[]): Generator<string, void> {
  yield first
  for (const other of others) yield* other
}
