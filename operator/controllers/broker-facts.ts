import type { Broker } from '../../crds/broker.ts'
import { FENCED_EPOCH } from '../../crds/partition-slice.ts'
import type { PlacementBroker } from '../planner/placement.ts'

/** What placement and election need to know of the brokers, from one consistent read of them. */
export class BrokerFacts {
  readonly #brokers: ReadonlyMap<number, Broker>

  constructor(brokers: readonly Broker[]) {
    this.#brokers = new Map(brokers.map((broker) => [broker.spec.brokerId, broker]))
  }

  get(brokerId: number): Broker | undefined {
    return this.#brokers.get(brokerId)
  }

  /** The epoch under which a broker's present incarnation was acknowledged; -1 while it was not. */
  epoch(brokerId: number): number {
    const status = this.#brokers.get(brokerId)?.status
    const acknowledged = status?.acknowledged
    return acknowledged !== undefined && acknowledged.incarnation === status?.incarnation
      ? acknowledged.brokerEpoch
      : FENCED_EPOCH
  }

  /** May the broker lead the entry `key`: acknowledged, and it has not said that it can't serve it. */
  canLead(brokerId: number, key: string): boolean {
    return this.epoch(brokerId) !== FENCED_EPOCH && !this.isOffline(brokerId, key)
  }

  isOffline(brokerId: number, key: string): boolean {
    return this.#brokers.get(brokerId)?.status?.offline?.includes(key) ?? false
  }

  placement(): PlacementBroker[] {
    return [...this.#brokers.values()].map(({ spec, status }) => ({
      brokerId: spec.brokerId,
      rack: status?.rack,
      isUsable: this.epoch(spec.brokerId) !== FENCED_EPOCH && spec.cordoned !== true && spec.drain !== true,
    }))
  }

  /** Changes whenever the answer of {@link placement} does. */
  fingerprint(): string {
    return JSON.stringify(this.placement())
  }

  /** The highest epoch that any broker was ever acknowledged with. */
  highestEpoch(): number {
    return Math.max(
      FENCED_EPOCH,
      ...[...this.#brokers.values()].map(({ status }) => status?.acknowledged?.brokerEpoch ?? -1),
    )
  }
}
