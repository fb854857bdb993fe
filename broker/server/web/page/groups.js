/** `#/groups`: the groups that this broker coordinates. */
import { getGroups } from './api.js'
import { h, replace } from './dom.js'
import { formatCount } from './format.js'
import { listView, MAX_ROWS } from './list.js'
import { emptyState } from './parts.js'
import { routeTo } from './route.js'

/** @typedef {import('../api/groups.ts').GroupSummary} Group */

/** @param {import('./route.js').Route} route @returns {import('./parts.js').View} */
export function groupsView({ params }) {
  const elsewhere = h('p', { class: 'note' })
  /** @type {import('./list.js').ListOptions<Group>} */
  const options = {
    page: 'groups',
    title: 'Groups',
    noun: 'group',
    params,
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
    load: async (filter, signal) => {
      const { groups, total, otherBrokers } = await getGroups(MAX_ROWS, filter, signal)
      replace(
        elsewhere,
        otherBrokers.length > 0 && 'These are the groups that this broker coordinates. ',
        otherBrokers.length > 0 &&
          h('a', { href: '#/' }, `The pages of the others (${otherBrokers.join(', ')}) show theirs`),
      )
      return { rows: groups, total }
    },
    whenEmpty: () =>
      emptyState(
        'No groups yet',
        h('p', {}, 'A consumer with a group.id makes one when it subscribes or commits its first offset.'),
      ),
    after: elsewhere,
  }
  return listView(options)
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
