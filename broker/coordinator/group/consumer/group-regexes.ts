/**
 * Keeps what the regular expressions of consumer groups match up to date: at once for a new one, for changed topics at the
 * next heartbeat of the group, and for all topics now and then, in case something was missed.
 *
 * Matching all topics is done in slices between which other work runs. While one is under way for a group, what changes
 * meanwhile stays noted and is looked at after it.
 */
import { KafkaError } from '../../../protocol/error-codes.ts'
import { noRecords, type CoordinatorResult } from '../../runtime/coordinator-shard.ts'
import type { GroupShardContext } from '../group-shard-context.ts'
import type { GroupRecord } from '../records/group-record.ts'
import { ConsumerGroup } from './consumer-group.ts'
import { GroupChange } from './group-change.ts'
import { RegexResolution, TopicRegexes, type TopicMatcher } from './topic-regex.ts'

const MATCHES_NOTHING: TopicMatcher = { matches: () => false }
/** With so many changed names, all are looked at. */
const MAX_CHANGED_NAMES = 1000

interface Running {
  readonly resolution: RegexResolution
  /** It is of all that the group wanted when it began. */
  readonly isComplete: boolean
}

export class GroupRegexes {
  readonly #context: GroupShardContext
  readonly #regexes = new TopicRegexes()
  readonly #running = new Map<string, Running>()

  constructor(context: GroupShardContext) {
    this.#context = context
  }

  /** Throws INVALID_REGULAR_EXPRESSION. */
  validate(regex: string): void {
    this.#regexes.compile(regex)
  }

  onTopicsChanged(group: ConsumerGroup, topicNames: ReadonlySet<string>): void {
    if (!group.hasRegexes) return
    for (const name of topicNames) group.changedTopicNames.add(name)
    if (group.changedTopicNames.size > MAX_CHANGED_NAMES) {
      group.changedTopicNames.clear()
      group.regexesResolvedAtMs = undefined
    }
  }

  /** Whether nothing can have changed, without a look at the members: for heartbeats that change no subscription. */
  isFresh(group: ConsumerGroup): boolean {
    if (!group.hasRegexes) return true
    return group.isResolved && group.changedTopicNames.size === 0 && !this.#isDue(group)
  }

  /**
   * Adds to the change what is known to match now. Returns whether members subscribe to other topics by it. What takes
   * longer comes by an operation of its own.
   */
  refresh(change: GroupChange): boolean {
    const { group } = change
    const wanted = change.wantedRegexes()
    if (wanted.size === 0 || this.#running.has(group.groupId)) return false
    const hasChanged = this.#matchChangedNames(change, wanted)
    const isComplete = this.#isDue(group)
    const regexes = isComplete ? [...wanted] : [...wanted].filter((regex) => change.resolvedTopics(regex) === undefined)
    if (regexes.length === 0) return hasChanged
    const matchers = new Map(regexes.map((regex) => [regex, this.#matcherOf(regex)]))
    const { clock, topics } = this.#context
    const running = { resolution: new RegexResolution(clock, matchers, topics.topicNames()), isComplete }
    if (running.resolution.runSlice()) return this.#finish(change, running) || hasChanged
    this.#running.set(group.groupId, running)
    this.#continueSoon(group.groupId, running)
    return hasChanged
  }

  #isDue({ regexesResolvedAtMs }: ConsumerGroup): boolean {
    if (regexesResolvedAtMs === undefined) return true
    const { clock, config } = this.#context
    return clock.monotonicMs() - regexesResolvedAtMs >= config().consumerRegexRefreshIntervalMs
  }

  #matchChangedNames(change: GroupChange, wanted: Iterable<string>): boolean {
    const { changedTopicNames } = change.group
    if (changedTopicNames.size === 0) return false
    const { topics, clock } = this.#context
    let hasChanged = false
    for (const regex of wanted) {
      const known = change.resolvedTopics(regex)
      if (known === undefined) continue
      const matcher = this.#matcherOf(regex)
      const matched = new Set(known)
      for (const name of changedTopicNames) {
        if (topics.topic(name) !== undefined && matcher.matches(name)) matched.add(name)
        else matched.delete(name)
      }
      if (change.putResolved(regex, matched, clock.wallMs())) hasChanged = true
    }
    // Only now: what is not written is looked for again.
    if (!hasChanged) changedTopicNames.clear()
    return hasChanged
  }

  #continueSoon(groupId: string, running: Running): void {
    this.#context.timer.schedule(`consumer regex ${groupId}`, 0, () => this.#continue(groupId, running))
  }

  #continue(groupId: string, running: Running): CoordinatorResult<GroupRecord, unknown> {
    const group = this.#context.groups.get(groupId)
    if (!(group instanceof ConsumerGroup)) {
      this.#running.delete(groupId)
      return noRecords(undefined)
    }
    if (!running.resolution.runSlice()) {
      this.#continueSoon(groupId, running)
      return noRecords(undefined)
    }
    this.#running.delete(groupId)
    const change = new GroupChange(group, this.#context.topics)
    if (this.#finish(change, running)) change.refreshMetadata(true)
    return { records: change.records, reply: undefined }
  }

  #finish(change: GroupChange, { resolution, isComplete }: Running): boolean {
    const { clock } = this.#context
    const wanted = change.wantedRegexes()
    let hasChanged = false
    for (const [regex, topicNames] of resolution.matched) {
      if (wanted.has(regex) && change.putResolved(regex, topicNames, clock.wallMs())) hasChanged = true
    }
    if (isComplete && !hasChanged) change.group.regexesResolvedAtMs = clock.monotonicMs()
    return hasChanged
  }

  /** A record may hold one that this program takes for invalid: it matches nothing then. */
  #matcherOf(regex: string): TopicMatcher {
    try {
      return this.#regexes.compile(regex)
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      this.#context.logger.warn(
        { err: error },
        'a stored regular expression of topics is not valid and matches nothing',
      )
      return MATCHES_NOTHING
    }
  }
}
