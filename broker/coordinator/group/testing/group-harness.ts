/**
 * A shard's surroundings for tests of its state machine: a clock that the test moves, timers, topics, and the runtime's
 * order of things: an operation's records are replayed, then it is settled, then the reply goes out.
 */
import { silentLogger } from '../../../../common/logger.ts'
import { SeededRandom } from '../../../../common/random.ts'
import { BrokerConfig } from '../../../../crds/config/resolve.ts'
import { ErrorCode } from '../../../protocol/error-codes.ts'
import type { CoordinatorResult, CoordinatorTimer } from '../../runtime/coordinator-shard.ts'
import { groupCoordinatorConfigOf, type GroupCoordinatorConfig } from '../group-coordinator-config.ts'
import type { GroupShardContext, TopicDescription, TopicDirectory } from '../group-shard-context.ts'
import type { GroupRecord } from '../records/group-record.ts'

export class FakeTopics implements TopicDirectory {
  readonly #topics = new Map<string, TopicDescription>()
  readonly #deleted = new Set<string>()
  #created = 0

  /** Makes a topic with a new id, or grows the one that is there. Returns its id. */
  put(name: string, partitionCount: number): string {
    const topicId = this.#topics.get(name)?.topicId ?? Buffer.alloc(16, ++this.#created).toString('base64url')
    this.#topics.set(name, { topicId, partitionCount })
    return topicId
  }

  delete(name: string): void {
    const topic = this.#topics.get(name)
    if (topic !== undefined) this.#deleted.add(topic.topicId)
    this.#topics.delete(name)
  }

  /** It is no longer known, though nobody saw it deleted. */
  lose(name: string): void {
    this.#topics.delete(name)
  }

  topic(name: string): TopicDescription | undefined {
    return this.#topics.get(name)
  }

  topicNameById(topicId: string): string | undefined {
    for (const [name, topic] of this.#topics) if (topic.topicId === topicId) return name
    return undefined
  }

  topicNames(): Iterable<string> {
    return this.#topics.keys()
  }

  wasDeleted(topicId: string): boolean {
    return this.#deleted.has(topicId)
  }
}

interface Scheduled {
  readonly dueMs: number
  readonly operation: () => CoordinatorResult<GroupRecord, unknown>
}

export class GroupHarness {
  readonly topics = new FakeTopics()
  readonly context: GroupShardContext
  /** All records in the order in which they were appended. */
  readonly log: GroupRecord[] = []
  /** What `run` settles with from now on; not NONE: records are lost, as by an append that was not committed. */
  settleWith: number = ErrorCode.NONE
  config: GroupCoordinatorConfig
  groupConfig: Readonly<Record<string, string>> = {}
  #nowMs = 1_000_000
  readonly #timers = new Map<string, Scheduled>()
  readonly #replay: (record: GroupRecord) => void

  /** `replay` is called with each record of an operation. `configs`: Kafka's keys. */
  constructor(replay: (record: GroupRecord) => void, configs: Readonly<Record<string, string>> = {}) {
    this.#replay = replay
    this.config = groupCoordinatorConfigOf(new BrokerConfig({ staticBroker: configs }))
    const timer: CoordinatorTimer<GroupRecord> = {
      schedule: (key, delayMs, operation) => void this.#timers.set(key, { dueMs: this.#nowMs + delayMs, operation }),
      cancel: (key) => void this.#timers.delete(key),
      isScheduled: (key) => this.#timers.has(key),
    }
    this.context = {
      clock: { wallMs: () => this.#nowMs, monotonicMs: () => this.#nowMs },
      random: new SeededRandom(7),
      logger: silentLogger,
      timer,
      topics: this.topics,
      config: () => this.config,
      groupConfig: () => this.groupConfig,
      groups: new Map(),
    }
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** Keys of timers that are set. */
  timerKeys(): string[] {
    return [...this.#timers.keys()].sort()
  }

  /** Does with an operation's result what the runtime does; returns the reply. */
  run<Reply>({ records, reply, whenSettled }: CoordinatorResult<GroupRecord, Reply>): Reply {
    for (const record of records) {
      this.log.push(record)
      this.#replay(record)
    }
    whenSettled?.(this.settleWith)
    return reply
  }

  /** Moves time on, and runs what falls due on the way, in order. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms
    for (;;) {
      let next: [key: string, timer: Scheduled] | undefined
      for (const entry of this.#timers) if (next === undefined || entry[1].dueMs < next[1].dueMs) next = entry
      if (next === undefined || next[1].dueMs > endMs) break
      const [key, { dueMs, operation }] = next
      this.#nowMs = Math.max(this.#nowMs, dueMs)
      this.#timers.delete(key)
      this.run(operation())
    }
    this.#nowMs = endMs
  }

  /** What compaction keeps of the log: the newest record of each key, tombstones left out. */
  compacted(): GroupRecord[] {
    const newest = new Map<string, GroupRecord>()
    for (const record of this.log) {
      const key = `${record.type} ${JSON.stringify(record.key)}`
      newest.delete(key)
      if (record.value !== null) newest.set(key, record)
    }
    return [...newest.values()]
  }
}
