/** `#/`: the broker and its cluster at a glance. */
import { getOverview } from './api.js'
import { h, replace } from './dom.js'
import { formatByteRate, formatBytes, formatCount, formatDuration } from './format.js'
import { commandLine, emptyState, facts } from './parts.js'
import { Rates } from './rates.js'
import { Table } from './table.js'

/** @typedef {import('../api/overview.ts').OverviewView} Overview */
/** @typedef {import('../api/overview.ts').BrokerView} Broker */

/** @returns {import('./parts.js').View} */
export function overviewView() {
  const health = h('p', { class: 'health' }, '…')
  const numbers = facts(['Topics', 'Partitions', 'Groups', 'Data', 'In', 'Out', 'Records in', 'Uptime'])
  const identity = facts(['Broker', 'Cluster id', 'Version'])
  const rates = new Rates()
  /** @type {Table<Broker>} */
  const brokers = new Table({
    caption: 'Brokers of the cluster',
    columns: [
      { id: 'broker', title: 'Broker', value: (row) => row.brokerId, href: (row) => row.webUrl ?? '#/' },
      {
        id: 'state',
        title: 'State',
        value: (row) => (row.isAlive ? 'alive' : 'fenced'),
        tone: (row) => (row.isAlive ? 'good' : 'bad'),
      },
      { id: 'endpoints', title: 'Listens on', value: (row) => row.endpoints.join(', ') },
      { id: 'rack', title: 'Rack', value: (row) => row.rack ?? '–', isMinor: true },
    ],
    keyOf: (row) => String(row.brokerId),
    sort: { column: 'broker', isDescending: false },
  })
  const start = h('div')
  const element = h(
    'section',
    {},
    h('h1', {}, 'Overview'),
    health,
    numbers.element,
    start,
    h('h2', {}, 'Brokers'),
    brokers.element,
    h('h2', {}, 'This broker'),
    identity.element,
    h(
      'p',
      { class: 'note' },
      'For programs: ',
      h('a', { href: '/metrics' }, '/metrics'),
      ' (Prometheus), ',
      h('a', { href: '/api/v1/overview' }, '/api/v1'),
      ' (JSON), ',
      h('a', { href: '/readyz' }, '/readyz'),
      '.',
    ),
  )

  /** @param {Overview} now */
  const draw = (now) => {
    rates.add(now.monotonicMs, [['broker', { in: now.bytesIn, out: now.bytesOut, records: now.recordsIn }]])
    const rate = (/** @type {string} */ name) => rates.perSecond('broker', name)
    const problem = problemOf(now)
    health.className = `health ${problem === undefined ? 'good' : 'bad'}`
    replace(health, problem ?? 'Healthy: every partition has a leader and all its replicas.')
    numbers.set('Topics', formatCount(now.topicCount))
    numbers.set('Partitions', formatCount(now.partitionCount))
    numbers.set('Groups', formatCount(now.groupCount))
    numbers.set('Data', formatBytes(now.sizeBytes))
    numbers.set('In', byteRate(rate('in')))
    numbers.set('Out', byteRate(rate('out')))
    numbers.set('Records in', recordRate(rate('records')))
    numbers.set('Uptime', formatDuration(now.uptimeMs))
    identity.set('Broker', String(now.brokerId))
    identity.set('Cluster id', now.clusterId)
    identity.set('Version', now.version)
    brokers.update(now.brokers)
    replace(start, now.topicCount === 0 && noTopicsYet(now))
  }

  return {
    page: 'overview',
    title: 'Overview',
    element,
    refresh: async (signal) => draw(await getOverview(signal)),
  }
}

/** @param {Overview} now */
export function noTopicsYet(now) {
  const endpoint = now.brokers.find(({ brokerId }) => brokerId === now.brokerId)?.endpoints[0] ?? '127.0.0.1:9092'
  return emptyState(
    'No topics yet',
    h('p', {}, 'Produce something with any Kafka client, and its topic appears here. For example:'),
    commandLine(`seq 1 1000 | kcat -b ${endpoint} -t numbers -P`),
  )
}

/** @param {number | undefined} bytes a second */
export function byteRate(bytes) {
  return bytes === undefined ? '…' : formatByteRate(bytes)
}

/** @param {number | undefined} records a second */
export function recordRate(records) {
  if (records === undefined) return '…'
  return records === 0 ? '0' : `${formatCount(records < 10 ? Number(records.toFixed(1)) : Math.round(records))}/s`
}

/** @param {Overview} now */
function problemOf(now) {
  if (!now.isReady) return `Not ready: ${now.notReadyReason ?? 'unknown'}.`
  const problems = []
  const offline = now.offlinePartitionCount
  if (offline > 0)
    problems.push(`${formatCount(offline)} ${offline === 1 ? 'partition has' : 'partitions have'} no leader`)
  const under = now.underReplicatedPartitionCount
  if (under > 0)
    problems.push(`${formatCount(under)} ${under === 1 ? 'partition is' : 'partitions are'} under-replicated`)
  const fenced = now.brokers.filter(({ isAlive }) => !isAlive)
  if (fenced.length > 0) problems.push(`broker ${fenced.map(({ brokerId }) => brokerId).join(', ')} is not there`)
  if (problems.length === 0) return undefined
  const sentence = problems.join(', ')
  return `${sentence[0]?.toUpperCase() ?? ''}${sentence.slice(1)}.`
}
