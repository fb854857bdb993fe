/**
 * Regular expressions of topic names, as clients give them (KIP-848): in RE2's syntax, matched against whole names.
 *
 * They come from outside, so what they may cost is bounded: RE2 matches in time linear in the name, the pattern and the
 * program that it compiles to have a largest size, and matching many names is done in slices.
 */
import { RE2JS, RE2JSException } from 're2js'
import type { Clock } from '../../../../common/clock.ts'
import { ErrorCode, KafkaError } from '../../../protocol/error-codes.ts'

/** A list of more than a hundred names of topics is within it. */
const MAX_PATTERN_LENGTH = 4096
/** In instructions. The longest pattern without repetition is within it; the longest name then takes 0.2 s at the very worst. */
const MAX_PROGRAM_SIZE = 5000
/** Compiling takes milliseconds, and groups of one application have the same patterns. */
const MAX_CACHED_PATTERNS = 64
const SLICE_MS = 5
/** How many names are matched between two looks at the clock: about 10 us for a usual pattern. */
const NAMES_PER_LOOK = 8

export interface TopicMatcher {
  matches(topicName: string): boolean
}

export class TopicRegexes {
  /** The one that was used last stands last. */
  readonly #compiled = new Map<string, TopicMatcher>()

  /** Throws INVALID_REGULAR_EXPRESSION. */
  compile(pattern: string): TopicMatcher {
    const known = this.#compiled.get(pattern)
    if (known !== undefined) {
      this.#compiled.delete(pattern)
      this.#compiled.set(pattern, known)
      return known
    }
    const matcher = compile(pattern)
    this.#compiled.set(pattern, matcher)
    if (this.#compiled.size > MAX_CACHED_PATTERNS) {
      for (const oldest of this.#compiled.keys()) {
        this.#compiled.delete(oldest)
        break
      }
    }
    return matcher
  }
}

/** Finds out which topics some patterns match, a slice of time at a time. */
export class RegexResolution {
  readonly #clock: Clock
  readonly #topicNames: Iterator<string>
  readonly #patterns: readonly { readonly matcher: TopicMatcher; readonly topicNames: Set<string> }[]
  /** What each pattern matches, so far. */
  readonly matched: ReadonlyMap<string, ReadonlySet<string>>

  /** `topicNames` is not read any more after the constructor has returned. */
  constructor(clock: Clock, matchers: ReadonlyMap<string, TopicMatcher>, topicNames: Iterable<string>) {
    this.#clock = clock
    this.#topicNames = [...topicNames].values()
    const patterns = [...matchers].map(([regex, matcher]) => ({ regex, matcher, topicNames: new Set<string>() }))
    this.#patterns = patterns
    this.matched = new Map(patterns.map(({ regex, topicNames: names }) => [regex, names]))
  }

  /** Matches names for a few milliseconds. Returns whether all is done. */
  runSlice(): boolean {
    const endMs = this.#clock.monotonicMs() + SLICE_MS
    do {
      for (let i = 0; i < NAMES_PER_LOOK; i++) {
        const next = this.#topicNames.next()
        if (next.done === true) return true
        for (const { matcher, topicNames } of this.#patterns) {
          if (matcher.matches(next.value)) topicNames.add(next.value)
        }
      }
    } while (this.#clock.monotonicMs() < endMs)
    return false
  }
}

function compile(pattern: string): TopicMatcher {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw invalid(pattern, `it is longer than ${MAX_PATTERN_LENGTH} characters`)
  }
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(pattern)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    throw invalid(pattern, error.message, error)
  }
  if (compiled.programSize() > MAX_PROGRAM_SIZE) throw invalid(pattern, 'it is too complex; repeat less')
  return { matches: (topicName) => compiled.testExact(topicName) }
}

function invalid(pattern: string, why: string, cause?: Error): KafkaError {
  const shown = pattern.length > 200 ? `${pattern.slice(0, 200)}...` : pattern
  return new KafkaError(
    ErrorCode.INVALID_REGULAR_EXPRESSION,
    `SubscribedTopicRegex \`${shown}\` is not a valid regular expression: ${why}.`,
    { cause },
  )
}
