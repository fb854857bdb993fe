/**
 * Makes, changes and deletes topics while the broker is being killed, and remembers what was acknowledged: an
 * acknowledged change must be there after every restart, and a deleted topic must never come back.
 */
import { type Random, randomInt } from '../../common/random.ts'
import { ClientError, type DescribedConfig, type DescribedTopic, type InteropClient } from '../interop/client.ts'
import { sleep } from '../lib/wait.ts'

interface KnownTopic {
  partitions: number
  retentionMs: string
  readonly topicId: string
}

const maxTopics = 12

/** How soon after its acknowledgement a new topic must be described. */
const visibleWithinMs = 10_000

export class TopicChurn {
  readonly violations: string[] = []
  readonly counts = { created: 0, deleted: 0, altered: 0, grown: 0, uncertain: 0, checks: 0 }
  readonly #client: InteropClient
  readonly #random: Random
  readonly #topics = new Map<string, KnownTopic>()
  readonly #deleted = new Set<string>()
  #nextNumber = 1
  #isStopping = false
  #restarts = 0
  #loop: Promise<void> | undefined

  constructor(client: InteropClient, random: Random) {
    this.#client = client
    this.#random = random
  }

  get deletedTopics(): ReadonlySet<string> {
    return this.#deleted
  }

  start(): void {
    this.#loop = this.#run().catch((error: unknown) => {
      if (!this.#isStopping) this.violations.push(`changing topics could not go on: ${String(error)}`)
    })
  }

  /** Ends without comparing anything, when the run has failed otherwise. */
  abandon(): void {
    this.#isStopping = true
  }

  /** Tells that the broker has started anew, so that everything is compared soon. */
  noteRestart(): void {
    this.#restarts += 1
  }

  /** Ends after the change under way, and compares for the last time. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#loop
    await this.#check()
  }

  async #run(): Promise<void> {
    let checkedRestarts = 0
    while (!this.#isStopping) {
      if (this.#restarts !== checkedRestarts) {
        checkedRestarts = this.#restarts
        await this.#check()
      }
      await this.#changeSomething()
      await sleep(randomInt(this.#random, 0, 150))
    }
  }

  async #changeSomething(): Promise<void> {
    const names = [...this.#topics.keys()]
    const name = names[randomInt(this.#random, 0, names.length - 1)]
    const dice = this.#random.next()
    if (name === undefined || (dice < 0.4 && names.length < maxTopics)) return this.#create()
    if (dice < 0.65 || names.length >= maxTopics) return this.#delete(name)
    if (dice < 0.85) return this.#alter(name)
    return this.#grow(name)
  }

  async #create(): Promise<void> {
    const topic = `churn-${this.#nextNumber++}`
    const partitions = randomInt(this.#random, 1, 3)
    const retentionMs = this.#nextRetentionMs()
    const request = { topic, partitions, replicationFactor: 1, config: { 'retention.ms': retentionMs } }
    // The client tries again after a lost connection, and may so meet the topic that its first try made.
    if (!(await this.#attempt(topic, 'createTopic', request, 'TOPIC_ALREADY_EXISTS'))) return
    const described = await this.#describe(topic)
    if (described === undefined) return
    this.#topics.set(topic, { partitions, retentionMs, topicId: described.topicId ?? '' })
    this.counts.created += 1
  }

  async #delete(topic: string): Promise<void> {
    const known = this.#topics.get(topic)
    this.#topics.delete(topic)
    if (!(await this.#attempt(topic, 'deleteTopic', { topic }, 'UNKNOWN_TOPIC_OR_PARTITION'))) return
    if (known !== undefined) this.#deleted.add(topic)
    this.counts.deleted += 1
  }

  async #alter(topic: string): Promise<void> {
    const value = this.#nextRetentionMs()
    if (!(await this.#attempt(topic, 'alterConfig', { topic, key: 'retention.ms', value }))) return
    const known = this.#topics.get(topic)
    if (known !== undefined) known.retentionMs = value
    this.counts.altered += 1
  }

  async #grow(topic: string): Promise<void> {
    const known = this.#topics.get(topic)
    if (known === undefined) return
    const count = known.partitions + 1
    if (!(await this.#attempt(topic, 'createPartitions', { topic, count }, 'INVALID_PARTITIONS'))) return
    known.partitions = count
    this.counts.grown += 1
  }

  /** Whether the change was acknowledged, at once or by the answer that a second try of the client gets. */
  async #attempt(topic: string, operation: string, request: object, repeated?: string): Promise<boolean> {
    try {
      await this.#client.call(operation, request)
      return true
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      if (error.kafka === repeated) return true
      if (!retriable.has(error.kafka)) this.violations.push(`${operation} of ${topic} failed: ${error.message}`)
      // Nobody knows whether the change was made.
      this.#topics.delete(topic)
      this.counts.uncertain += 1
      return false
    }
  }

  async #describe(topic: string): Promise<DescribedTopic | undefined> {
    const endMs = performance.now() + visibleWithinMs
    for (;;) {
      try {
        return await this.#client.call<DescribedTopic>('describeTopic', { topic })
      } catch (error) {
        if (!(error instanceof ClientError)) throw error
        if (error.kafka !== 'UNKNOWN_TOPIC_OR_PARTITION' || performance.now() > endMs) {
          this.#noteMissing(topic, error)
          return undefined
        }
      }
      await sleep(50)
    }
  }

  #noteMissing(topic: string, error: ClientError): void {
    if (!retriable.has(error.kafka)) this.violations.push(`${topic} was acknowledged, but: ${error.message}`)
    this.counts.uncertain += 1
  }

  async #check(): Promise<void> {
    const listed = new Set(await this.#client.call<string[]>('listTopics', {}))
    for (const topic of this.#deleted) {
      if (listed.has(topic)) this.violations.push(`deleted topic ${topic} is back`)
    }
    for (const [topic, known] of this.#topics) {
      if (!listed.has(topic)) {
        this.violations.push(`acknowledged topic ${topic} is gone`)
        continue
      }
      const described = await this.#describe(topic)
      if (described === undefined) continue
      if (described.topicId !== known.topicId)
        this.violations.push(`${topic} has another id: ${described.topicId}, was ${known.topicId}`)
      if (described.partitions.length !== known.partitions) {
        this.violations.push(
          `${topic} has ${described.partitions.length} partitions, ${known.partitions} were acknowledged`,
        )
      }
      const configs = await this.#client.call<Record<string, DescribedConfig>>('describeConfig', { topic })
      const value = configs['retention.ms']?.value
      if (value !== known.retentionMs)
        this.violations.push(`${topic} has retention.ms ${value}, ${known.retentionMs} was acknowledged`)
    }
    this.counts.checks += 1
  }

  #nextRetentionMs(): string {
    return String(randomInt(this.#random, 86_400_000, 864_000_000))
  }
}

/** What a client may say of a broker that was away for too long. */
const retriable: ReadonlySet<string> = new Set([
  'REQUEST_TIMED_OUT',
  'NETWORK_EXCEPTION',
  'UNKNOWN_TOPIC_OR_PARTITION_AFTER_TIMEOUT',
])
