/** `#/topics`: all topics. */
import { getOverview, getTopics } from './api.js'
import { formatBytes, formatCount } from './format.js'
import { listView, MAX_ROWS } from './list.js'
import { byteRate, noTopicsYet } from './overview.js'
import { Rates } from './rates.js'
import { routeTo } from './route.js'

/** @typedef {import('../api/topics.ts').TopicSummary} Topic */

/** @param {import('./route.js').Route} route @returns {import('./parts.js').View} */
export function topicsView({ params }) {
  const rates = new Rates()
  /** @type {import('./list.js').ListOptions<Topic>} */
  const options = {
    page: 'topics',
    title: 'Topics',
    noun: 'topic',
    params,
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
    load: async (filter, signal) => {
      const { topics, total, monotonicMs } = await getTopics(MAX_ROWS, filter, signal)
      rates.add(
        monotonicMs,
        topics.map((topic) => [topic.name, { in: topic.bytesIn, out: topic.bytesOut }]),
      )
      return { rows: topics, total }
    },
    whenEmpty: async (signal) => noTopicsYet(await getOverview(signal)),
  }
  return listView(options)
}

/** A dash where other brokers lead all partitions. @param {Topic} topic @param {string} text */
function known(topic, text) {
  return topic.ledHereCount === 0 ? '–' : text
}
