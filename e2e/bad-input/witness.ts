/**
 * A well-behaved client that produces and consumes while the broker is under attack: nothing that it was told is stored
 * may be missing, and it may not wait long.
 */
import { fetchRequest, fetchResponse } from '../../broker/protocol/messages/01-fetch.ts'
import { produceRequest, produceResponse } from '../../broker/protocol/messages/00-produce.ts'
import { encodeBatch } from '../../broker/protocol/records/encode-batch.ts'
import * as recordBatch from '../../broker/protocol/records/record-batch.ts'
import { decodeRecords } from '../../broker/protocol/records/record.ts'
import { sleep } from '../lib/wait.ts'
import { RawClient } from './raw-client.ts'

const TOPIC = 'witness'
const PAUSE_MS = 5
const VALUE_BYTES = 200

export class Witness {
  readonly #producer: RawClient
  readonly #consumer: RawClient
  #isStopping = false
  /** A record may still be acknowledged after the stop. */
  #isProducing = true
  #acknowledged = 0
  #consumed = 0
  #worstMs = 0
  #waitsSinceMs: number | undefined
  readonly #running: Promise<unknown>
  #failure: Error | undefined

  private constructor(producer: RawClient, consumer: RawClient) {
    this.#producer = producer
    this.#consumer = consumer
    const producing = this.#guard(() => this.#produce()).finally(() => (this.#isProducing = false))
    this.#running = Promise.all([producing, this.#guard(() => this.#consume())])
  }

  /** The topic must exist. */
  static async start(port: number): Promise<Witness> {
    return new Witness(await RawClient.connect(port), await RawClient.connect(port))
  }

  static get topic(): string {
    return TOPIC
  }

  get acknowledged(): number {
    return this.#acknowledged
  }

  /** Throws what went wrong so far; else the longest time that one produce took since the last call. */
  takeWorstMs(): number {
    if (this.#failure !== undefined) throw this.#failure
    const waits = this.#waitsSinceMs === undefined ? 0 : performance.now() - this.#waitsSinceMs
    const worst = Math.max(this.#worstMs, waits)
    this.#worstMs = 0
    return worst
  }

  /** Ends when all that was acknowledged was consumed, each record once and in order; throws otherwise. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
    await Promise.all([this.#producer.close(), this.#consumer.close()])
    if (this.#failure !== undefined) throw this.#failure
    if (this.#consumed < this.#acknowledged) {
      throw new Error(`${this.#acknowledged} records were acknowledged, ${this.#consumed} were read`)
    }
  }

  async #guard(action: () => Promise<void>): Promise<void> {
    try {
      await action()
    } catch (error) {
      this.#isStopping = true
      this.#failure ??= new Error('the well-behaved client was disturbed', { cause: error })
    }
  }

  async #produce(): Promise<void> {
    while (!this.#isStopping) {
      const value = `${this.#acknowledged}:`.padEnd(VALUE_BYTES, 'x')
      const records = encodeBatch({ records: [{ key: null, value, timestamp: Date.now() }] })
      this.#waitsSinceMs = performance.now()
      const { responses } = await this.#producer.call([produceRequest, produceResponse], 9, {
        acks: -1,
        timeoutMs: 30_000,
        topicData: [{ name: TOPIC, partitionData: [{ index: 0, records }] }],
      })
      this.#worstMs = Math.max(this.#worstMs, performance.now() - this.#waitsSinceMs)
      this.#waitsSinceMs = undefined
      const result = responses[0]?.partitionResponses[0]
      if (result?.errorCode !== 0 || result.baseOffset !== this.#acknowledged) {
        throw new Error(`record ${this.#acknowledged} got ${JSON.stringify(result)}`)
      }
      this.#acknowledged++
      await sleep(PAUSE_MS)
    }
  }

  async #consume(): Promise<void> {
    while (this.#isProducing || this.#consumed < this.#acknowledged) {
      const { responses } = await this.#consumer.call([fetchRequest, fetchResponse], 12, {
        maxWaitMs: 100,
        minBytes: 1,
        maxBytes: 1_000_000,
        sessionEpoch: -1,
        topics: [
          {
            topic: TOPIC,
            partitions: [{ partition: 0, fetchOffset: this.#consumed, partitionMaxBytes: 1_000_000 }],
          },
        ],
      })
      const result = responses[0]?.partitions[0]
      if (result?.errorCode !== 0) throw new Error(`a fetch at ${this.#consumed} got ${JSON.stringify(result)}`)
      this.#check(result.records ?? Buffer.alloc(0))
    }
  }

  #check(records: Buffer): void {
    for (const position of recordBatch.batchPositions(records)) {
      if (!recordBatch.isValid(records, position)) throw new Error(`a wrong CRC at offset ${this.#consumed}`)
      for (const { offset, value } of decodeRecords(records, position)) {
        if (offset < this.#consumed) continue
        const expected = `${this.#consumed}:`.padEnd(VALUE_BYTES, 'x')
        if (offset !== this.#consumed || value?.toString() !== expected) {
          throw new Error(`offset ${offset} has ${value?.toString() ?? 'null'}, where ${this.#consumed} was expected`)
        }
        this.#consumed++
      }
    }
  }
}
