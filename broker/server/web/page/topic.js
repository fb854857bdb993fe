/** `#/topics/NAME`: one topic: its newest records, its partitions, its configuration. */
import { getTopic } from './api.js'
import { h, replace, setText } from './dom.js'
import { formatBytes, formatCount } from './format.js'
import { byteRate } from './overview.js'
import { emptyState, facts } from './parts.js'
import { Rates } from './rates.js'
import { recordsPanel } from './records.js'
import { routeTo } from './route.js'
import { Table } from './table.js'

/** @typedef {import('../api/topics.ts').TopicView} Topic */
/** @typedef {import('../api/topics.ts').PartitionView} Partition */
/** @typedef {import('../api/topics.ts').ConfigView} Config */
/**
 * One tab.
 *
 * @typedef {object} Panel
 * @property {HTMLElement} element
 * @property {(topic: Topic, signal: AbortSignal) => Promise<void> | void} refresh
 * @property {() => boolean} [escape]
 * @property {HTMLInputElement} [filter]
 */

const TABS = /** @type {const} */ ([
  ['records', 'Records'],
  ['partitions', 'Partitions'],
  ['configs', 'Configuration'],
])

/** @param {import('./route.js').Route} route @returns {import('./parts.js').View} */
export function topicView({ path, params }) {
  const name = path[1] ?? ''
  const [tab] = TABS.find(([id]) => id === path[2]) ?? ['records']
  const panel = panelOf(tab, name, params)
  const numbers = facts(['Partitions', 'Records', 'Size', 'In', 'Out'])
  const rates = new Rates()
  const tag = h('span', { class: 'tag', hidden: true }, 'internal')
  const topicId = h('span', { class: 'count mono' })
  const tabs = TABS.map(([id, title]) =>
    h('a', { href: routeTo(['topics', name, id]), 'aria-current': id === tab ? 'page' : undefined }, title),
  )

  /** @param {Topic} topic */
  const draw = (topic) => {
    rates.add(topic.monotonicMs, [['topic', { in: topic.bytesIn, out: topic.bytesOut }]])
    tag.hidden = !topic.isInternal
    const isBad = topic.offlineCount > 0 || topic.underReplicatedCount > 0
    const partitions = [formatCount(topic.partitionCount)]
    if (topic.offlineCount > 0) partitions.push(`${topic.offlineCount} offline`)
    if (topic.underReplicatedCount > 0) partitions.push(`${topic.underReplicatedCount} under-replicated`)
    numbers.set('Partitions', partitions.join(', '), isBad ? 'bad' : '')
    numbers.set('Records', formatCount(topic.records))
    numbers.set('Size', formatBytes(topic.sizeBytes))
    numbers.set('In', byteRate(rates.perSecond('topic', 'in')))
    numbers.set('Out', byteRate(rates.perSecond('topic', 'out')))
    setText(topicId, `id ${topic.topicId}`)
  }

  return {
    page: 'topics',
    title: name,
    parent: routeTo(['topics']),
    ...(panel.filter !== undefined && { filter: panel.filter }),
    ...(panel.escape !== undefined && { escape: panel.escape }),
    element: h(
      'section',
      {},
      h('p', { class: 'crumbs' }, h('a', { href: routeTo(['topics']) }, 'Topics')),
      h('div', { class: 'head' }, h('h1', { class: 'name' }, name), tag, topicId),
      numbers.element,
      h('nav', { class: 'tabs', 'aria-label': 'Parts of the topic' }, ...tabs),
      panel.element,
    ),
    refresh: async (signal) => {
      const topic = await getTopic(name, {}, signal)
      draw(topic)
      await panel.refresh(topic, signal)
    },
  }
}

/** @param {(typeof TABS)[number][0]} tab @param {string} name @param {URLSearchParams} params @returns {Panel} */
function panelOf(tab, name, params) {
  switch (tab) {
    case 'records':
      return recordsPanel(name, params)
    case 'partitions':
      return partitionsPanel(name)
    case 'configs':
      return configsPanel()
  }
}

/** @param {string} name @returns {Panel} */
function partitionsPanel(name) {
  const offset = (/** @type {number | null} */ value) => (value === null ? '–' : formatCount(value))
  /** @type {Table<Partition>} */
  const table = new Table({
    caption: 'Partitions',
    columns: [
      {
        id: 'partition',
        title: 'Partition',
        value: (row) => row.partition,
        href: (row) => routeTo(['topics', name, 'records'], { partition: row.partition }),
      },
      {
        id: 'leader',
        title: 'Leader',
        value: (row) => row.leader,
        text: (row) => (row.leader < 0 ? 'none' : String(row.leader)),
        tone: (row) => (row.leader < 0 ? 'bad' : ''),
        tip: (row) => `leader epoch ${row.leaderEpoch}`,
        isNumeric: true,
      },
      {
        id: 'replicas',
        title: 'Replicas',
        hint: 'Brokers in the order of assignment',
        value: (row) => row.replicas.join(', '),
        isMinor: true,
      },
      {
        id: 'isr',
        title: 'In sync',
        hint: 'Replicas in the ISR',
        value: (row) => row.isr.join(', '),
        tone: (row) => (row.isr.length < row.replicas.length ? 'bad' : ''),
      },
      {
        id: 'start',
        title: 'Start',
        hint: 'Log start offset',
        value: (row) => row.logStartOffset ?? undefined,
        text: (row) => offset(row.logStartOffset),
        isNumeric: true,
      },
      {
        id: 'end',
        title: 'End',
        hint: 'High watermark: the offset after the last committed record',
        value: (row) => row.highWatermark ?? undefined,
        text: (row) => offset(row.highWatermark),
        tip: (row) => (row.logEndOffset === null ? '' : `log end offset ${formatCount(row.logEndOffset)}`),
        isNumeric: true,
      },
      {
        id: 'records',
        title: 'Records',
        hint: 'Offsets between start and end; after compaction fewer records',
        value: (row) => (row.highWatermark ?? 0) - (row.logStartOffset ?? 0),
        text: (row) => (row.highWatermark === null ? '–' : formatCount(row.highWatermark - (row.logStartOffset ?? 0))),
        isNumeric: true,
      },
      {
        id: 'size',
        title: 'Size',
        value: (row) => row.sizeBytes ?? undefined,
        text: (row) => (row.sizeBytes === null ? '–' : formatBytes(row.sizeBytes)),
        isNumeric: true,
      },
      {
        id: 'segments',
        title: 'Segments',
        value: (row) => row.segmentCount ?? undefined,
        text: (row) => offset(row.segmentCount),
        isNumeric: true,
        isMinor: true,
      },
    ],
    keyOf: (row) => String(row.partition),
    sort: { column: 'partition', isDescending: false },
  })
  const note = h('p', { class: 'note' })
  return {
    element: h('div', {}, table.element, note),
    refresh: async (topic, signal) => {
      const partitions = [...topic.partitions]
      for (let next = topic.nextPartition; next !== null;) {
        const more = await getTopic(name, { fromPartition: next }, signal)
        partitions.push(...more.partitions)
        next = more.nextPartition
      }
      table.update(partitions)
      const isElsewhere = topic.ledHereCount < topic.partitionCount
      setText(note, isElsewhere ? 'Offsets and sizes are shown for the partitions that this broker leads.' : '')
    },
  }
}

/** @returns {Panel} */
function configsPanel() {
  /** @type {Readonly<Record<string, string>>} */
  const sources = {
    DYNAMIC_TOPIC_CONFIG: 'this topic',
    DYNAMIC_BROKER_CONFIG: 'this broker, while it runs',
    DYNAMIC_DEFAULT_BROKER_CONFIG: 'all brokers, while they run',
    STATIC_BROKER_CONFIG: "the broker's start",
  }
  /** @type {Table<Config>} */
  const table = new Table({
    caption: 'Configs that differ from the defaults',
    columns: [
      { id: 'name', title: 'Config', value: (row) => row.name },
      { id: 'value', title: 'Value', value: (row) => row.value ?? '', tone: () => 'mono' },
      { id: 'source', title: 'Set for', value: (row) => sources[row.source] ?? row.source },
    ],
    keyOf: (row) => row.name,
    sort: { column: 'name', isDescending: false },
  })
  const empty = h('div')
  return {
    element: h('div', {}, h('p', { class: 'note' }, 'What differs from the defaults.'), table.element, empty),
    refresh: ({ configs, name }) => {
      table.update(configs)
      table.element.hidden = configs.length === 0
      replace(
        empty,
        configs.length === 0 &&
          emptyState(
            'All configs have their defaults',
            h('p', {}, 'Kafka’s tools change them, for example:'),
            h(
              'pre',
              { class: 'command' },
              `kafka-configs --bootstrap-server … --alter --topic ${name} --add-config retention.ms=86400000`,
            ),
          ),
      )
    },
  }
}
