/**
 * A list of everything of a kind, with a filter and an order that stand in the address. Filtered here as long as all of it
 * is loaded; by the broker where there is more.
 */
import { h, replace, setText } from './dom.js'
import { formatCount } from './format.js'
import { emptyState, filterBox, replaceAddress } from './parts.js'
import { routeTo } from './route.js'
import { Table } from './table.js'

/** More is not loaded at once. */
export const MAX_ROWS = 10_000
/** After the last key, before the broker is asked. */
const TYPING_MS = 250

/**
 * @template Row
 * @typedef {object} ListOptions
 * @property {'topics' | 'groups'} page also the address
 * @property {string} title
 * @property {string} noun of one of them
 * @property {URLSearchParams} params of the address
 * @property {readonly import('./table.js').Column<Row>[]} columns the first one holds the name
 * @property {(row: Row) => string} keyOf
 * @property {(filter: string, signal: AbortSignal) => Promise<{ rows: Row[], total: number }>} load up to
 *   {@link MAX_ROWS}; `total` is how many the filter lets pass
 * @property {(signal: AbortSignal) => Promise<Node> | Node} whenEmpty what is shown where there is nothing at all
 * @property {Node} [after] shown below
 */

/** @template Row @param {ListOptions<Row>} options @returns {import('./parts.js').View} */
export function listView({ page, title, noun, params, columns, keyOf, load, whenEmpty, after }) {
  const [first] = columns
  const firstColumn = first?.id ?? ''
  let filterText = params.get('filter') ?? ''
  let sort = { column: params.get('sort') ?? firstColumn, isDescending: params.get('order') === 'desc' }
  let loaded = 0
  let total = 0
  /** There is more than is loaded, so the broker filters. */
  let isPartial = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing

  const remember = () => {
    const isDefault = sort.column === firstColumn && !sort.isDescending
    const order = isDefault ? {} : { sort: sort.column, order: sort.isDescending ? 'desc' : 'asc' }
    replaceAddress(routeTo([page], { filter: filterText, ...order }))
  }
  const table = new Table({
    caption: title,
    columns,
    keyOf,
    sort,
    onSort: (changed) => {
      sort = changed
      remember()
    },
  })
  const count = h('span', { class: 'count' })
  const empty = h('div')
  const filter = filterBox(`Filter ${page}`, filterText, (value) => {
    filterText = value
    remember()
    table.setFilter(value)
    drawCount()
    if (!isPartial) return
    clearTimeout(typing)
    typing = setTimeout(() => dispatchEvent(new Event('refresh-now')), TYPING_MS)
  })
  table.setFilter(filterText)

  const drawCount = () => {
    const shown = table.shownCount
    const nouns = `${noun}${total === 1 ? '' : 's'}`
    const all = total > loaded ? `the first ${formatCount(loaded)} of ${formatCount(total)}` : formatCount(total)
    setText(count, shown === loaded ? `${all} ${nouns}` : `${formatCount(shown)} of ${all}`)
    table.element.hidden = shown === 0
    const isFilteredOut = shown === 0 && filterText.trim() !== ''
    const advice = h('p', {}, 'Press Escape to see all again.')
    if (isFilteredOut) replace(empty, emptyState(`No ${noun} has “${filterText.trim()}” in its name`, advice))
    else if (shown > 0) replace(empty)
  }

  return {
    page,
    title,
    filter,
    element: h(
      'section',
      {},
      h('div', { class: 'head' }, h('h1', {}, title), count, filter),
      table.element,
      empty,
      after,
    ),
    refresh: async (signal) => {
      const asked = isPartial ? filterText.trim() : ''
      let found = await load(asked, signal)
      if (asked === '') isPartial = found.total > found.rows.length
      if (isPartial && asked !== filterText.trim()) found = await load(filterText.trim(), signal)
      loaded = found.rows.length
      total = found.total
      table.update(found.rows)
      drawCount()
      if (total === 0 && filterText.trim() === '') replace(empty, await whenEmpty(signal))
    },
    escape: () => {
      if (filterText === '') return false
      filter.value = ''
      filter.dispatchEvent(new Event('input'))
      return true
    },
  }
}
