/** `#/topics`: all topics. */
import { getOverview, getTopics } from './api.js'
import { h, replace, setText } from './dom.js'
import { formatBytes, formatCount } from './format.js'
import { byteRate, noTopicsYet } from './overview.js'
import { emptyState, filterBox, replaceAddress } from './parts.js'
import { Rates } from './rates.js'
import { routeTo } from './route.js'
import { Table } from './table.js'

/** @typedef {import('../api/topics.ts').TopicSummary} Topic */

const MAX_TOPICS = 10_000

/** @param {import('./route.js').Route} route @returns {import('./parts.js').View} */
export function topicsView({ params }) {
  const rates = new Rates()
  const state = {
    filter: params.get('filter') ?? '',
    sort: { column: params.get('sort') ?? 'name', isDescending: params.get('order') === 'desc' },
    /** @type {Topic[]} */
    topics: [],
    total: 0,
  }
  const remember = () => {
    const isDefault = state.sort.column === 'name' && !state.sort.isDescending
    replaceAddress(
      routeTo(['topics'], {
        filter: state.filter,
        ...(!isDefault && { sort: state.sort.column, order: state.sort.isDescending ? 'desc' : 'asc' }),
      }),
    )
  }
  /** @type {Table<Topic>} */
  const table = new Table({
    caption: 'Topics',
    columns: [
      {
        id: 'name',
        title: 'Topic',
        value: (row) => row.name,
        href: (row) => routeTo(['topics', row.name]),
        tone: (row) => (row.isInternal ? 'internal' : row.offlineCount > 0 ? 'bad' : ''),
        tip: (row) => (row.offlineCount > 0 ? `${row.offlineCount} partitions without a leader` : ''),
      },
      { id: 'partitions', title: 'Partitions', value: (row) => row.partitionCount, isNumeric: true },
      {
        id: 'records',
        title: 'Records',
        hint: 'Offsets between start and end; after compaction fewer records',
        value: (row) => row.records,
        text: (row) => known(row, formatCount(row.records)),
        isNumeric: true,
      },
      {
        id: 'size',
        title: 'Size',
        value: (row) => row.sizeBytes,
        text: (row) => known(row, formatBytes(row.sizeBytes)),
        isNumeric: true,
      },
      {
        id: 'in',
        title: 'In',
        hint: 'Bytes a second from producers, over the last seconds',
        value: (row) => rates.perSecond(row.name, 'in'),
        text: (row) => known(row, byteRate(rates.perSecond(row.name, 'in'))),
        isNumeric: true,
        isMinor: true,
      },
      {
        id: 'out',
        title: 'Out',
        hint: 'Bytes a second to consumers, over the last seconds',
        value: (row) => rates.perSecond(row.name, 'out'),
        text: (row) => known(row, byteRate(rates.perSecond(row.name, 'out'))),
        isNumeric: true,
        isMinor: true,
      },
    ],
    keyOf: (row) => row.topicId,
    sort: state.sort,
    onSort: (sort) => {
      state.sort = sort
      remember()
    },
  })
  const count = h('span', { class: 'count' })
  const empty = h('div')
  const filter = filterBox('Filter topics', state.filter, (value) => {
    state.filter = value
    remember()
    table.setFilter(value)
    drawCount()
  })
  table.setFilter(state.filter)

  const drawCount = () => {
    const { topics, total } = state
    const shown = table.shownCount
    const all =
      total > topics.length ? `the first ${formatCount(topics.length)} of ${formatCount(total)}` : formatCount(total)
    setText(count, shown === topics.length ? `${all} topics` : `${formatCount(shown)} of ${all}`)
    table.element.hidden = shown === 0
    if (shown > 0 || total === 0) return
    replace(
      empty,
      emptyState(`No topic has “${state.filter.trim()}” in its name`, h('p', {}, 'Press Escape to see all again.')),
    )
  }

  return {
    page: 'topics',
    title: 'Topics',
    filter,
    element: h('section', {}, h('div', { class: 'head' }, h('h1', {}, 'Topics'), count, filter), table.element, empty),
    refresh: async (signal) => {
      const { topics, total, monotonicMs } = await getTopics(MAX_TOPICS, signal)
      rates.add(
        monotonicMs,
        topics.map((topic) => [topic.name, { in: topic.bytesIn, out: topic.bytesOut }]),
      )
      state.topics = topics
      state.total = total
      table.update(topics)
      replace(empty, total === 0 && noTopicsYet(await getOverview(signal)))
      drawCount()
    },
    escape: () => {
      if (state.filter === '') return false
      filter.value = ''
      filter.dispatchEvent(new Event('input'))
      replace(empty)
      return true
    },
  }
}

/** A dash where other brokers lead all partitions. @param {Topic} topic @param {string} text */
function known(topic, text) {
  return topic.ledHereCount === 0 ? '–' : text
}
