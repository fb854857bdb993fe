/** `#/groups/ID`: one group: where it stands in each partition, and its members. */
import { getGroup } from './api.js'
import { h, replace, setText } from './dom.js'
import { formatCount, formatTime } from './format.js'
import { lagText, toneOfState } from './groups.js'
import { emptyState, facts } from './parts.js'
import { routeTo } from './route.js'
import { Table } from './table.js'

/** @typedef {import('../api/groups.ts').GroupDetails} Group */
/** @typedef {import('../api/groups.ts').GroupPartitionView} Partition */
/** @typedef {Group['members'][number]} Member */

/** @param {import('./route.js').Route} route @returns {import('./parts.js').View} */
export function groupView({ path }) {
  const groupId = path[1] ?? ''
  const numbers = facts(['State', 'Lag', 'Members', 'Partitions', 'Type', 'Protocol'])
  /** @type {Map<string, Member>} */
  let members = new Map()
  const clientOf = (/** @type {Partition} */ row) =>
    row.memberId === null ? '–' : (members.get(row.memberId)?.clientId ?? row.memberId)
  const offset = (/** @type {number | null} */ value) => (value === null ? '–' : formatCount(value))
  /** @type {Table<Partition>} */
  const partitions = new Table({
    caption: 'Partitions of the group',
    columns: [
      {
        id: 'topic',
        title: 'Topic',
        value: (row) => row.topicName,
        href: (row) => routeTo(['topics', row.topicName, 'records'], { partition: row.partition }),
      },
      { id: 'partition', title: 'Partition', value: (row) => row.partition, isNumeric: true },
      {
        id: 'committed',
        title: 'Committed',
        hint: 'Committed offset: the next one that the group reads after a restart',
        value: (row) => row.committedOffset ?? undefined,
        text: (row) => offset(row.committedOffset),
        tip: (row) => (row.commitTimestampMs === null ? '' : `committed at ${formatTime(row.commitTimestampMs)}`),
        isNumeric: true,
      },
      {
        id: 'end',
        title: 'Log end',
        hint: 'The offset after the last committed record of the partition',
        value: (row) => row.endOffset ?? undefined,
        text: (row) => offset(row.endOffset),
        isNumeric: true,
        isMinor: true,
      },
      {
        id: 'lag',
        title: 'Lag',
        value: (row) => row.lag ?? undefined,
        text: (row) => offset(row.lag),
        isNumeric: true,
      },
      { id: 'client', title: 'Client', value: clientOf, tip: (row) => row.memberId ?? '' },
      {
        id: 'metadata',
        title: 'Metadata',
        hint: 'What the consumer stored with its commit',
        value: (row) => row.metadata || '–',
        isMinor: true,
      },
    ],
    keyOf: (row) => `${row.topicName}-${row.partition}`,
    sort: { column: 'topic', isDescending: false },
  })
  /** @type {Table<Member>} */
  const memberTable = new Table({
    caption: 'Members of the group',
    columns: [
      { id: 'client', title: 'Client id', value: (row) => row.clientId || '–' },
      { id: 'host', title: 'Host', value: (row) => row.clientHost },
      { id: 'assignment', title: 'Assigned', value: assignmentText },
      { id: 'instance', title: 'Instance', value: (row) => row.groupInstanceId ?? '–', isMinor: true },
      { id: 'member', title: 'Member id', value: (row) => row.memberId, tone: () => 'mono', isMinor: true },
    ],
    keyOf: (row) => row.memberId,
    sort: { column: 'client', isDescending: false },
  })
  const noMembers = h('div')
  const noPartitions = h('div')
  const note = h('p', { class: 'note' })

  /** @param {Group} group */
  const draw = (group) => {
    members = new Map(group.members.map((member) => [member.memberId, member]))
    numbers.set('State', group.state, toneOfState(group.state))
    numbers.set('Lag', lagText(group))
    numbers.set('Members', formatCount(group.memberCount))
    numbers.set('Partitions', formatCount(group.partitionCount))
    numbers.set('Type', group.type)
    numbers.set('Protocol', group.protocolType || '–')
    partitions.update(group.partitions)
    partitions.element.hidden = group.partitions.length === 0
    memberTable.update(group.members)
    memberTable.element.hidden = group.members.length === 0
    replace(
      noPartitions,
      group.partitions.length === 0 &&
        emptyState('Nothing is assigned or committed', h('p', {}, 'So there is no lag.')),
    )
    replace(
      noMembers,
      group.members.length === 0 &&
        emptyState('No members', h('p', {}, 'Nobody consumes with this group now; its committed offsets are kept.')),
    )
    const left = group.partitionCount - group.partitions.length
    setText(note, left > 0 ? `${formatCount(left)} more partitions are not shown.` : '')
  }

  return {
    page: 'groups',
    title: groupId,
    parent: routeTo(['groups']),
    element: h(
      'section',
      {},
      h('p', { class: 'crumbs' }, h('a', { href: routeTo(['groups']) }, 'Groups')),
      h('div', { class: 'head' }, h('h1', { class: 'name' }, groupId)),
      numbers.element,
      h('h2', {}, 'Partitions'),
      partitions.element,
      noPartitions,
      note,
      h('h2', {}, 'Members'),
      memberTable.element,
      noMembers,
    ),
    refresh: async (signal) => draw(await getGroup(groupId, signal)),
  }
}

/** `numbers 0–2, 5; orders 1`. @param {Member} member */
function assignmentText({ assignment }) {
  if (assignment.length === 0) return '–'
  return assignment.map(({ topicName, partitions }) => `${topicName} ${ranges(partitions)}`).join('; ')
}

/** @param {readonly number[]} partitions */
function ranges(partitions) {
  /** @type {[number, number][]} */
  const found = []
  for (const partition of partitions.toSorted((a, b) => a - b)) {
    const last = found.at(-1)
    if (last !== undefined && last[1] === partition - 1) last[1] = partition
    else found.push([partition, partition])
  }
  return found.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(', ')
}
