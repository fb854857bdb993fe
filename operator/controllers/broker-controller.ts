import { invariant } from '../../common/invariant.ts'
import type { Logger } from '../../common/logger.ts'
import { brokerObjectName, type Broker } from '../../crds/broker.ts'
import { ConfigError } from '../../crds/config/config-def.ts'
import type { LiveConfig } from '../../crds/config/live-config.ts'
import {
  FENCED_EPOCH,
  parsePartitionKey,
  type PartitionEntry,
  type PartitionSlice,
} from '../../crds/partition-slice.ts'
import { refOf } from '../../crds/resource.ts'
import type { PatchOperation, ResourceStore } from '../../crds/resource-store.ts'
import { topicNameOf } from '../../crds/topic.ts'
import { acknowledgeReplica, type Incarnation } from '../planner/acknowledgement.ts'
import { BrokerFacts } from './broker-facts.ts'
import { outcomeOf, SliceEdits } from './slice-edits.ts'
import { SliceView } from './slice-view.ts'
import type { Outcome } from './work-queue.ts'

/**
 * Acknowledges the incarnations of brokers, one broker at a time.
 *
 *  1. Read consistently: the broker, all brokers, all slices. The new epoch is higher than every one in them.
 *  2. Give each entry that lists the broker the new epoch, with what a restart means for ISR and leader, in one patch per
 *     slice that tests the whole entries as they were read; re-read and re-decide until a consistent read shows no entry
 *     without the epoch.
 *  3. Record the directory in `Broker.spec`, then the acknowledgement in `Broker.status`, testing the whole
 *     object as it was read.
 * A crash between them is repaired by doing all of it again with a higher epoch. Entries that get another epoch later (they
 * were born while the acknowledgement was under way) are mended in the same way under the epoch that was acknowledged.
 *
 * A broker counts as alive from its acknowledgement on.
 */
export interface BrokerControllerOptions {
  readonly store: ResourceStore
  readonly namespace: string
  readonly logger: Logger
  readonly config: LiveConfig
}

const MAX_ROUNDS = 20

export class BrokerController {
  readonly #options: BrokerControllerOptions

  constructor(options: BrokerControllerOptions) {
    this.#options = options
  }

  /** Looks at some brokers, by id as text, one after the other. */
  async process(keys: readonly string[]): Promise<ReadonlyMap<string, Outcome>> {
    const outcomes = new Map<string, Outcome>()
    for (const key of keys) outcomes.set(key, await this.#reconcile(Number(key)))
    return outcomes
  }

  /** Whether a broker's incarnation is acknowledged in all entries that list it, by what watches have shown. */
  isSettled(brokerId: number, brokers: BrokerFacts, view: SliceView): boolean {
    const broker = brokers.get(brokerId)
    if (broker?.status?.incarnation === undefined) return true
    const brokerEpoch = brokers.epoch(brokerId)
    if (brokerEpoch === FENCED_EPOCH) return false
    const incarnation = { brokerId, brokerEpoch, isDataLost: false, isTailLost: false }
    return decide([...view.slices()], () => incarnation, brokers, brokerEpoch).isEmpty
  }

  async #reconcile(brokerId: number): Promise<Outcome> {
    const { store, namespace } = this.#options
    const broker = await store.get('Broker', { namespace, name: brokerObjectName(brokerId) })
    if (broker?.status?.incarnation === undefined) return 'done'
    const brokers = new BrokerFacts(await store.list('Broker'))
    const acknowledged = brokers.epoch(brokerId)
    if (acknowledged !== FENCED_EPOCH) {
      const incarnation = { brokerId, brokerEpoch: acknowledged, isDataLost: false, isTailLost: false }
      return await this.#settleEntries(() => incarnation, brokers, acknowledged)
    }
    return await this.#acknowledge(broker, brokers)
  }

  async #acknowledge(broker: Broker, brokers: BrokerFacts): Promise<Outcome> {
    const { store, logger } = this.#options
    const { brokerId } = broker.spec
    const slices = await store.list('PartitionSlice')
    const brokerEpoch = Math.max(brokers.highestEpoch(), highestEpochIn(slices)) + 1
    const isDataLost = isDirectoryLost(broker, slices)
    const isUnclean = broker.status?.cleanShutdownEpoch !== broker.status?.acknowledged?.brokerEpoch
    const relaxed = isUnclean ? await this.#topicsWithRelaxedFlush() : new Set<string>()
    const incarnationFor = (key: string): Incarnation => ({
      brokerId,
      brokerEpoch,
      isDataLost,
      isTailLost: relaxed.has(parsePartitionKey(key)?.topicName ?? ''),
    })
    if (isDataLost) {
      logger.error(
        { brokerId, recorded: broker.spec.directoryId, found: broker.status?.directoryId },
        'a broker came back with another directory: what it held is lost, and it leads nothing that it held before',
      )
    }
    const outcome = await this.#settleEntries(incarnationFor, brokers, brokerEpoch)
    if (outcome !== 'done') return outcome
    return await this.#conclude(broker, brokerEpoch, isUnclean)
  }

  /** Step 2: patches until a consistent read shows nothing left to do. */
  async #settleEntries(
    incarnationFor: (key: string) => Incarnation,
    brokers: BrokerFacts,
    brokerEpoch: number,
  ): Promise<Outcome> {
    const { store, namespace } = this.#options
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const slices = await store.list('PartitionSlice')
      const edits = decide(slices, incarnationFor, brokers, brokerEpoch)
      if (edits.isEmpty) return 'done'
      const outcomes = await edits.apply(store, namespace, SliceView.of(slices))
      if ([...outcomes.values()].includes('retry')) return 'retry'
    }
    return 'retry'
  }

  /** Step 3. */
  async #conclude(broker: Broker, brokerEpoch: number, isUnclean: boolean): Promise<Outcome> {
    const { store, logger } = this.#options
    const { status } = broker
    invariant(status?.incarnation !== undefined, 'a broker without an incarnation is not acknowledged')
    const { incarnation, directoryId } = status
    let current = broker
    try {
      if (directoryId !== undefined && directoryId !== broker.spec.directoryId) {
        const operation = { op: 'add', path: '/spec/directoryId', value: directoryId } as const
        current = await store.patch('Broker', refOf(broker), [versionTest(current), operation])
      }
      const acknowledgement = { op: 'add', path: '/status/acknowledged', value: { incarnation, brokerEpoch } } as const
      await store.patch('Broker', refOf(broker), [versionTest(current), acknowledgement], { subresource: 'status' })
    } catch (error) {
      return outcomeOf(error)
    }
    logger.info({ brokerId: broker.spec.brokerId, brokerEpoch, isUnclean }, 'broker acknowledged')
    return 'done'
  }

  /** Topics whose appends count before they are fsynced, so that an unclean stop may have lost some. */
  async #topicsWithRelaxedFlush(): Promise<ReadonlySet<string>> {
    const { store, config } = this.#options
    const relaxed = new Set<string>()
    for (const topic of await store.list('Topic')) {
      try {
        if (config.current.topic(topic.spec.config).get('flush.messages') !== 1) relaxed.add(topicNameOf(topic))
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        // Brokers run such a topic with what they knew before; nothing is known of its flushing.
        relaxed.add(topicNameOf(topic))
      }
    }
    return relaxed
  }
}

/** The changes that the entries listing a broker need. */
function decide(
  slices: readonly PartitionSlice[],
  incarnationFor: (key: string) => Incarnation,
  brokers: BrokerFacts,
  brokerEpoch: number,
): SliceEdits {
  const edits = new SliceEdits()
  for (const slice of slices) {
    for (const [key, entry] of Object.entries(slice.spec.entries)) {
      const incarnation = incarnationFor(key)
      const { brokerId } = incarnation
      if (!entry.replicas.includes(brokerId)) continue
      const canLead = (id: number): boolean =>
        id === brokerId ? brokerEpoch !== FENCED_EPOCH && !brokers.isOffline(id, key) : brokers.canLead(id, key)
      const to = acknowledgeReplica(entry, incarnation, canLead)
      if (to !== entry) edits.of(slice.metadata.name).changes.set(key, { from: entry, to })
    }
  }
  return edits
}

function highestEpochIn(slices: readonly PartitionSlice[]): number {
  let highest = FENCED_EPOCH
  for (const { spec } of slices) {
    for (const entry of Object.values(spec.entries)) {
      for (const epoch of entry.brokerEpochs) highest = Math.max(highest, epoch)
    }
  }
  return highest
}

/**
 * The whole object as it was read: the incarnation alone would let an acknowledgement whose outcome was unknown land after
 * the one that followed it, and take the epoch back.
 */
function versionTest(broker: Broker): PatchOperation {
  return { op: 'test', path: '/metadata/resourceVersion', value: broker.metadata.resourceVersion }
}

/** An unknown directory of a broker that holds something is a lost one: its Broker object was made anew. */
function isDirectoryLost(broker: Broker, slices: readonly PartitionSlice[]): boolean {
  const { brokerId, directoryId } = broker.spec
  if (directoryId !== undefined) return directoryId !== broker.status?.directoryId
  const holds = (entry: PartitionEntry): boolean => entry.isr.includes(brokerId) || entry.elr.includes(brokerId)
  return slices.some(({ spec }) => Object.values(spec.entries).some(holds))
}
