/** `#/groups`: the groups that this broker coordinates. */
import { getGroups } from './api.js'
import { h, replace, setText } from './dom.js'
import { formatCount } from './format.js'
import { emptyState, filterBox, replaceAddress } from './parts.js'
import { routeTo } from './route.js'
import { Table } from './table.js'

/** @typedef {import('../api/groups.ts').GroupSummary} Group */

const MAX_GROUPS = 10_000

/** @param {import('./route.js').Route} route @returns {import('./parts.js').View} */
export function groupsView({ params }) {
  const state = {
    filter: params.get('filter') ?? '',
    sort: { column: params.get('sort') ?? 'group', isDescending: params.get('order') === 'desc' },
    loaded: 0,
    total: 0,
  }
  const remember = () => {
    const isDefault = state.sort.column === 'group' && !state.sort.isDescending
    replaceAddress(
      routeTo(['groups'], {
        filter: state.filter,
        ...(!isDefault && { sort: state.sort.column, order: state.sort.isDescending ? 'desc' : 'asc' }),
      }),
    )
  }
  /** @type {Table<Group>} */
  const table = new Table({
    caption: 'Groups',
    columns: [
      { id: 'group', title: 'Group', value: (row) => row.groupId, href: (row) => routeTo(['groups', row.groupId]) },
      { id: 'state', title: 'State', value: (row) => row.state, tone: (row) => toneOfState(row.state) },
      { id: 'type', title: 'Type', value: (row) => row.type, isMinor: true },
      { id: 'protocol', title: 'Protocol', value: (row) => row.protocolType || '–', isMinor: true },
      {
        id: 'members',
        title: 'Members',
        value: (row) => row.memberCount,
        text: (row) => formatCount(row.memberCount),
        isNumeric: true,
      },
      { id: 'topics', title: 'Topics', value: (row) => row.topicCount, isNumeric: true, isMinor: true },
      {
        id: 'lag',
        title: 'Lag',
        hint: 'Offsets between the committed ones and the ends of the partitions, in all',
        value: (row) => row.lag,
        text: lagText,
        tip: (row) =>
          row.unknownLagCount > 0 ? `without ${row.unknownLagCount} partitions that other brokers lead` : '',
        isNumeric: true,
      },
    ],
    keyOf: (row) => row.groupId,
    sort: state.sort,
    onSort: (sort) => {
      state.sort = sort
      remember()
    },
  })
  const count = h('span', { class: 'count' })
  const empty = h('div')
  const elsewhere = h('p', { class: 'note' })
  const filter = filterBox('Filter groups', state.filter, (value) => {
    state.filter = value
    remember()
    table.setFilter(value)
    drawCount()
  })
  table.setFilter(state.filter)

  const drawCount = () => {
    const { loaded, total } = state
    const shown = table.shownCount
    const all = total > loaded ? `the first ${formatCount(loaded)} of ${formatCount(total)}` : formatCount(total)
    setText(count, shown === loaded ? `${all} groups` : `${formatCount(shown)} of ${all}`)
    table.element.hidden = shown === 0
    if (total === 0) {
      replace(
        empty,
        emptyState(
          'No groups yet',
          h('p', {}, 'A consumer with a group.id makes one when it subscribes or commits its first offset.'),
        ),
      )
    } else if (shown === 0) {
      replace(
        empty,
        emptyState(`No group has “${state.filter.trim()}” in its name`, h('p', {}, 'Press Escape to see all again.')),
      )
    } else replace(empty)
  }

  return {
    page: 'groups',
    title: 'Groups',
    filter,
    element: h(
      'section',
      {},
      h('div', { class: 'head' }, h('h1', {}, 'Groups'), count, filter),
      table.element,
      empty,
      elsewhere,
    ),
    refresh: async (signal) => {
      const { groups, total, otherBrokers } = await getGroups(MAX_GROUPS, signal)
      state.loaded = groups.length
      state.total = total
      table.update(groups)
      drawCount()
      replace(
        elsewhere,
        otherBrokers.length > 0 && 'These are the groups that this broker coordinates. ',
        otherBrokers.length > 0 &&
          h('a', { href: '#/' }, `The pages of the others (${otherBrokers.join(', ')}) show theirs`),
      )
    },
    escape: () => {
      if (state.filter === '') return false
      filter.value = ''
      filter.dispatchEvent(new Event('input'))
      return true
    },
  }
}

/** @param {Group} group */
export function lagText({ lag, unknownLagCount, topicCount }) {
  if (topicCount === 0) return '–'
  return unknownLagCount > 0 ? `≥ ${formatCount(lag)}` : formatCount(lag)
}

/** @param {string} state */
export function toneOfState(state) {
  if (state === 'Stable') return 'good'
  return state === 'Empty' || state === 'Dead' ? 'quiet' : 'busy'
}
