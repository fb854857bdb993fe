/**
 * Hands out producer ids. Ids come in blocks, taken from the Cluster resource by compare-and-swap, so that no two
 * brokers, and no two incarnations of one, ever give the same id. A block starts above every id that any broker has
 * reported from its logs: even a counter restored from a backup can't give an id again that a log still knows.
 */
import type { Logger } from '../../common/logger.ts'
import type { ObjectRef } from '../../crds/resource.ts'
import { StoreError, type ResourceStore } from '../../crds/resource-store.ts'
import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'

const BLOCK_SIZE = 1000
const MAX_ATTEMPTS = 20

export class ProducerIdAllocator {
  readonly #store: ResourceStore
  readonly #cluster: ObjectRef
  readonly #highestKnownId: () => number
  readonly #logger: Logger
  #next = 0
  #end = 0
  #refill: Promise<void> | undefined

  /** `highestKnownId`: the highest producer id in any broker's logs, or -1. */
  constructor(store: ResourceStore, cluster: ObjectRef, highestKnownId: () => number, logger: Logger) {
    this.#store = store
    this.#cluster = cluster
    this.#highestKnownId = highestKnownId
    this.#logger = logger
  }

  /** Errors: KafkaError COORDINATOR_NOT_AVAILABLE (retriable) while no block can be had. */
  async next(): Promise<number> {
    while (this.#next >= this.#end) {
      this.#refill ??= this.#takeBlock().finally(() => (this.#refill = undefined))
      await this.#refill
    }
    return this.#next++
  }

  async #takeBlock(): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      try {
        const cluster = await this.#store.get('Cluster', this.#cluster)
        if (cluster === undefined) break
        const { nextProducerId } = cluster.spec
        const first = Math.max(nextProducerId, this.#highestKnownId() + 1)
        await this.#store.patch('Cluster', this.#cluster, [
          { op: 'test', path: '/spec/nextProducerId', value: nextProducerId },
          { op: 'replace', path: '/spec/nextProducerId', value: first + BLOCK_SIZE },
        ])
        this.#next = first
        this.#end = first + BLOCK_SIZE
        return
      } catch (error) {
        // Invalid: another broker was first. An unknown outcome costs at most a block of ids.
        if (!(error instanceof StoreError) || error.reason === 'NotFound') throw error
        if (error.reason === 'Unavailable') break
      }
    }
    this.#logger.warn({}, 'no block of producer ids could be taken from the metadata store')
    throw new KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, 'No producer id can be given at the moment')
  }
}
