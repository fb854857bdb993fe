/** The broker's JSON API. */

/** @typedef {Readonly<Record<string, string | number | undefined>>} Params */

const PAGE_SIZE = 1000

/** The broker answered that it can't, or did not answer at all. */
export class ApiFailure extends Error {
  /** @param {string} message a sentence @param {string} code `UNREACHABLE` where there was no answer */
  constructor(message, code) {
    super(message)
    this.code = code
  }
}

/** @param {AbortSignal} signal @returns {Promise<import('../api/overview.ts').OverviewView>} */
export function getOverview(signal) {
  return getJson(['overview'], {}, signal)
}

/**
 * @param {string} name
 * @param {{ fromPartition?: number }} params
 * @param {AbortSignal} signal
 * @returns {Promise<import('../api/topics.ts').TopicView>}
 */
export function getTopic(name, params, signal) {
  return getJson(['topics', name], params, signal)
}

/**
 * @param {string} topic
 * @param {Params} params `partition`, `offset`, `limit`, `maxBytes`
 * @param {AbortSignal} [signal]
 * @returns {Promise<import('../api/records.ts').RecordsView>}
 */
export function getRecords(topic, params, signal) {
  return getJson(['topics', topic, 'records'], params, signal)
}

/** @param {string} groupId @param {AbortSignal} signal @returns {Promise<import('../api/groups.ts').GroupDetails>} */
export function getGroup(groupId, signal) {
  return getJson(['groups', groupId], {}, signal)
}

/**
 * All topics that have `filter` in their name, up to `max`.
 *
 * @param {number} max
 * @param {string} filter
 * @param {AbortSignal} signal
 */
export async function getTopics(max, filter, signal) {
  /** @type {import('../api/topics.ts').TopicSummary[]} */
  const topics = []
  /** @type {string | undefined} */
  let after
  for (;;) {
    /** @type {import('../api/topics.ts').TopicsView} */
    const page = await getJson(
      ['topics'],
      { limit: PAGE_SIZE, filter: filter === '' ? undefined : filter, after },
      signal,
    )
    topics.push(...page.topics)
    const { total, monotonicMs } = page
    if (page.next === null || topics.length >= max) return { topics: topics.slice(0, max), total, monotonicMs }
    after = page.next
  }
}

/**
 * All groups that have `filter` in their name, up to `max`.
 *
 * @param {number} max
 * @param {string} filter
 * @param {AbortSignal} signal
 */
export async function getGroups(max, filter, signal) {
  /** @type {import('../api/groups.ts').GroupSummary[]} */
  const groups = []
  /** @type {string | undefined} */
  let after
  for (;;) {
    /** @type {import('../api/groups.ts').GroupsPage} */
    const page = await getJson(
      ['groups'],
      { limit: PAGE_SIZE, filter: filter === '' ? undefined : filter, after },
      signal,
    )
    groups.push(...page.groups)
    if (page.next === null || groups.length >= max) {
      return { groups: groups.slice(0, max), total: page.total, otherBrokers: page.otherBrokers }
    }
    after = page.next
  }
}

/**
 * @template Answer what the broker answers, by the types of its own API
 * @param {readonly string[]} path below /api/v1
 * @param {Params} params
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answer>}
 */
async function getJson(path, params, signal) {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) if (value !== undefined) query.set(name, String(value))
  const url = `/api/v1/${path.map(encodeURIComponent).join('/')}?${query.toString()}`
  let response
  let text
  try {
    response = await fetch(url, { ...(signal !== undefined && { signal }), cache: 'no-store' })
    text = await response.text()
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw new ApiFailure('The broker does not answer.', 'UNREACHABLE')
  }
  if (response.ok) {
    /** @type {Answer} */
    const answer = parse(text)
    return answer
  }
  const { code, message } = errorOf(text) ?? {}
  throw new ApiFailure(message ?? `The broker answered with status ${response.status}.`, code ?? 'UNKNOWN')
}

/** @param {string} text @returns {{ code: string, message: string } | undefined} undefined: not from the API */
function errorOf(text) {
  try {
    /** @type {{ error?: { code: string, message: string } }} */
    const { error } = parse(text)
    return error
  } catch {
    return undefined
  }
}

/** @template T @param {string} text @returns {T} */
function parse(text) {
  /** @type {(text: string) => T} */
  const json = JSON.parse
  return json(text)
}
