/** Query parameters of the JSON API, and lists that are told page by page. */
import { invalidArgument } from './api-error.ts'

/** An integer parameter, or `fallback` where it is absent. Throws ApiError for anything else than an integer in the range. */
export function integerParam<Fallback>(
  query: URLSearchParams,
  name: string,
  [min, max]: readonly [min: number, max: number],
  fallback: Fallback,
): number | Fallback {
  const text = query.get(name)
  if (text === null || text === '') return fallback
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : NaN
  if (!(value >= min && value <= max)) {
    throw invalidArgument(`${name} must be an integer from ${min} to ${max}, not '${text.slice(0, 100)}'`)
  }
  return value
}

export interface NamePage {
  /** How many names match, on all pages. */
  readonly total: number
  readonly names: readonly string[]
  /** To be given as `after` for the next page; null on the last one. */
  readonly next: string | null
}

export const DEFAULT_PAGE_SIZE = 500
export const MAX_PAGE_SIZE = 1000

/**
 * The page of names that the query asks for: `filter` (a part of the name, whatever its case), `after` (the last name of
 * the page before) and `limit`.
 */
export function namePage(names: Iterable<string>, query: URLSearchParams): NamePage {
  const limit = integerParam(query, 'limit', [1, MAX_PAGE_SIZE], DEFAULT_PAGE_SIZE)
  const filter = (query.get('filter') ?? '').toLowerCase()
  const matching = [...names].filter((name) => filter === '' || name.toLowerCase().includes(filter)).sort()
  const after = query.get('after')
  const start = after === null ? 0 : firstAfter(matching, after)
  const page = matching.slice(start, start + limit)
  return { total: matching.length, names: page, next: start + limit < matching.length ? (page.at(-1) ?? null) : null }
}

function firstAfter(sorted: readonly string[], name: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? '') <= name) low = middle + 1
    else high = middle
  }
  return low
}
