/** The broker's JSON API. */

/** The broker answered that it can't, or did not answer at all. */
export class ApiFailure extends Error {
  /** @param {string} message a sentence @param {string} code `UNREACHABLE` where there was no answer */
  constructor(message, code) {
    super(message)
    this.code = code
  }
}

/**
 * @param {readonly string[]} path below /api/v1
 * @param {Record<string, string | number | undefined>} params
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function getJson(path, params = {}, signal) {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) if (value !== undefined) query.set(name, String(value))
  const url = `/api/v1/${path.map(encodeURIComponent).join('/')}?${query.toString()}`
  let response
  let body
  try {
    response = await fetch(url, { ...(signal !== undefined && { signal }), cache: 'no-store' })
    body = await response.json()
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw new ApiFailure('The broker does not answer.', 'UNREACHABLE')
  }
  if (!response.ok) {
    throw new ApiFailure(
      body?.error?.message ?? `The broker answered with status ${response.status}.`,
      body?.error?.code ?? 'UNKNOWN',
    )
  }
  return body
}

/**
 * All pages of a list, up to `maxItems`.
 *
 * @param {'topics' | 'groups'} list
 * @param {number} maxItems
 * @param {AbortSignal} signal
 * @returns {Promise<{ items: any[], total: number, monotonicMs: number }>}
 */
export async function getList(list, maxItems, signal) {
  /** @type {any[]} */
  const items = []
  let after
  for (;;) {
    const page = await getJson([list], { limit: 1000, after }, signal)
    items.push(...page[list])
    if (page.next === null || items.length >= maxItems) {
      return { items: items.slice(0, maxItems), total: page.total, monotonicMs: page.monotonicMs ?? 0 }
    }
    after = page.next
  }
}
