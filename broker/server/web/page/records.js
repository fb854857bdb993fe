/** The newest records of a topic, or those from an offset on. Contents are hostile: they are only ever text. */
import { ApiFailure, getRecords } from './api.js'
import { h, replace } from './dom.js'
import { formatBytes, formatCount, formatTime, formatUtc, hexDump, oneLine } from './format.js'
import { jsonTokens } from './json.js'
import { emptyState, replaceAddress } from './parts.js'
import { routeTo } from './route.js'

/** @typedef {import('../read-records.ts').RecordView} RecordView */
/** @typedef {import('../bytes-view.ts').BytesView} Bytes */

const PREVIEW_LENGTH = 160
const WHOLE_VALUE_BYTES = 1024 * 1024
/** Longer JSON is shown without colours: each piece is an element. */
const MAX_COLOURED_LENGTH = 100_000
const COLUMNS = ['Offset', 'Partition', 'Time', 'Key', 'Value', 'Headers', 'Size']
/** Where the minor columns are hidden (style.css): a cell over more columns than there are would make new ones. */
const narrow = matchMedia('(max-width: 48rem)')
const MAJOR_COLUMNS = ['Offset', 'Key', 'Value']
const LIMITS = [20, 50, 100, 500]

/** @param {string} topicName @param {URLSearchParams} params @returns {import('./topic.js').Panel} */
export function recordsPanel(topicName, params) {
  /** @type {Map<string, RecordRow>} */
  let rows = new Map()
  let hasLoaded = false
  const body = h('tbody')
  const table = h(
    'table',
    { class: 'records' },
    h('caption', { class: 'hidden' }, 'Records'),
    h('thead', {}, h('tr', {}, ...COLUMNS.map((title) => h('th', { scope: 'col', class: columnClass(title) }, title)))),
    body,
  )
  const wrapper = h('div', { class: 'table', hidden: true }, table)
  const notes = h('ul', { class: 'notes' })
  const empty = h('div')
  const partition = numberBox('Partition', 'all', params.get('partition'))
  const offset = numberBox('From offset', 'newest', params.get('offset'))
  const limit = h('select', {}, ...LIMITS.map((count) => h('option', { value: count }, count)))
  limit.value = LIMITS.some((count) => String(count) === params.get('limit')) ? (params.get('limit') ?? '50') : '50'
  const live = h('input', { type: 'checkbox' })
  live.checked = params.get('live') !== 'off'
  const paused = h('span', { class: 'count' })

  const controls = h(
    'form',
    {
      class: 'controls',
      submit: (/** @type {Event} */ event) => {
        event.preventDefault()
        reload()
      },
    },
    h('label', {}, 'Partition ', partition),
    h('label', {}, 'From offset ', offset),
    h('label', {}, 'Show ', limit),
    h('button', { type: 'submit' }, 'Read'),
    h('label', { class: 'check' }, live, ' Live'),
    paused,
  )

  const reload = () => {
    hasLoaded = false
    rows = new Map()
    replace(body)
    replaceAddress(
      routeTo(['topics', topicName, 'records'], {
        partition: partition.value,
        offset: offset.value,
        limit: limit.value === '50' ? undefined : limit.value,
        live: live.checked ? undefined : 'off',
      }),
    )
    dispatchEvent(new Event('refresh-now'))
  }
  narrow.addEventListener('change', () => {
    for (const cell of body.querySelectorAll('td[colspan]')) cell.setAttribute('colspan', String(detailSpan()))
  })
  limit.addEventListener('change', reload)
  live.addEventListener('change', reload)

  const openRows = () => [...rows.values()].filter(({ isOpen }) => isOpen)

  /** @param {readonly RecordView[]} records @param {readonly string[]} said */
  const draw = (records, said) => {
    /** @type {typeof rows} */
    const next = new Map()
    let position = body.firstElementChild
    for (const record of records) {
      const key = `${record.partition}-${record.offset}-${record.timestampMs}`
      const row = rows.get(key) ?? new RecordRow(topicName, record)
      next.set(key, row)
      for (const element of row.elements) {
        if (element === position) position = position.nextElementSibling
        else body.insertBefore(element, position)
      }
    }
    while (position !== null) {
      const after = position.nextElementSibling
      position.remove()
      position = after
    }
    rows = next
    wrapper.hidden = records.length === 0
    replace(notes, ...said.map((note) => h('li', {}, note)))
    replace(empty, records.length === 0 && said.length === 0 && noRecords(partition.value, offset.value))
  }

  return {
    element: h('div', {}, controls, notes, wrapper, empty),
    refresh: async (_topic, signal) => {
      const isReading = openRows().length > 0
      replace(paused, live.checked && isReading && hasLoaded && 'Paused while a record is open')
      if (hasLoaded && (!live.checked || isReading)) return
      try {
        const { records, notes: said } = await getRecords(
          topicName,
          {
            limit: limit.value,
            ...(partition.value !== '' && { partition: partition.value }),
            ...(offset.value !== '' && { offset: offset.value }),
          },
          signal,
        )
        hasLoaded = true
        draw(records, said)
      } catch (error) {
        if (!(error instanceof ApiFailure) || error.code === 'UNREACHABLE') throw error
        hasLoaded = error.code !== 'BUSY'
        draw([], [error.message])
      }
    },
    escape: () => {
      const open = openRows()
      for (const row of open) row.close()
      return open.length > 0
    },
  }
}

class RecordRow {
  isOpen = false
  #topicName
  #record
  #button
  #detail = h('tr', { class: 'detail', hidden: true })

  /** @param {string} topicName @param {RecordView} record */
  constructor(topicName, record) {
    this.#topicName = topicName
    this.#record = record
    const { partition, offset, timestampMs, key, value, headers, hasMoreHeaders, sizeBytes } = record
    this.#button = h(
      'button',
      { type: 'button', class: 'row-link', 'aria-expanded': 'false', click: () => this.#toggle() },
      formatCount(offset),
    )
    const summary = h(
      'tr',
      {
        class: 'record',
        click: (/** @type {MouseEvent} */ event) => {
          const isButton = event.target instanceof Element && event.target.closest('button') !== null
          if (!isButton && getSelection()?.isCollapsed !== false) this.#toggle()
        },
      },
      h('th', { scope: 'row', class: columnClass('Offset') }, this.#button),
      h('td', { class: columnClass('Partition') }, partition),
      h('td', { class: columnClass('Time') }, h('time', { title: formatUtc(timestampMs) }, formatTime(timestampMs))),
      h('td', { class: 'preview key' }, preview(key)),
      h('td', { class: 'preview' }, preview(value)),
      h('td', { class: columnClass('Headers') }, `${headers.length}${hasMoreHeaders ? '+' : ''}`),
      h('td', { class: columnClass('Size') }, formatBytes(sizeBytes)),
    )
    this.elements = [summary, this.#detail]
  }

  close() {
    if (this.isOpen) this.#toggle()
  }

  #toggle() {
    this.isOpen = !this.isOpen
    this.#button.setAttribute('aria-expanded', String(this.isOpen))
    this.#detail.hidden = !this.isOpen
    if (this.isOpen && this.#detail.childElementCount === 0) this.#fill(this.#record)
    if (!this.isOpen) this.#button.focus({ preventScroll: true })
  }

  /** @param {RecordView} record */
  #fill(record) {
    const { partition, offset, timestampMs, timestampType, compression, sizeBytes, key, value, headers } = record
    const about = [
      `partition ${partition}, offset ${offset}`,
      `${formatTime(timestampMs)} (${timestampType}${timestampMs < 0 ? '' : `, ${timestampMs}`})`,
      formatBytes(sizeBytes),
      compression === 'none' ? 'not compressed' : compression,
    ]
    const canShowMore = [key, value].some((part) => part?.isCut === true && part.type === 'text')
    const more = h('button', { type: 'button', click: () => void this.#loadWhole(more) }, 'Show up to 1 MiB')
    replace(
      this.#detail,
      h(
        'td',
        { colspan: detailSpan() },
        h('p', { class: 'about' }, about.join(' · ')),
        headers.length > 0 && part('Headers', headerList(record)),
        part('Key', content(key)),
        part('Value', content(value)),
        canShowMore && more,
      ),
    )
  }

  /** @param {HTMLButtonElement} button */
  async #loadWhole(button) {
    const { partition, offset } = this.#record
    button.disabled = true
    try {
      const { records } = await getRecords(this.#topicName, {
        partition,
        offset,
        limit: 1,
        maxBytes: WHOLE_VALUE_BYTES,
      })
      const [found] = records
      if (found?.offset === offset) this.#fill(found)
      else button.replaceWith(h('p', { class: 'note' }, 'The record is not there any more.'))
    } catch (error) {
      button.replaceWith(h('p', { class: 'note' }, error instanceof Error ? error.message : String(error)))
    }
  }
}

function detailSpan() {
  return narrow.matches ? MAJOR_COLUMNS.length : COLUMNS.length
}

/** @param {string} title @param {Node} shown */
function part(title, shown) {
  return h('section', { class: 'part' }, h('h3', {}, title), shown)
}

/** A key or value as a whole. @param {Bytes | null} bytes */
function content(bytes) {
  if (bytes === null) return h('p', { class: 'none' }, 'null')
  if (bytes.sizeBytes === 0) return h('p', { class: 'none' }, 'empty')
  const shown = bytes.type === 'binary' ? h('pre', { class: 'hex' }, hexDump(bytes.shown)) : text(bytes)
  if (!bytes.isCut) return shown
  const shownBytes = bytes.type === 'binary' ? bytes.shown.length / 2 : new TextEncoder().encode(bytes.shown).length
  const note = `Cut: the first ${formatBytes(shownBytes)} of ${formatBytes(bytes.sizeBytes)}.`
  return h('div', {}, shown, h('p', { class: 'note' }, note))
}

/** @param {Bytes} bytes */
function text({ shown, isCut }) {
  const tokens = jsonTokens(shown, isCut)
  if (tokens === undefined) return h('pre', {}, shown)
  if (shown.length > MAX_COLOURED_LENGTH) return h('pre', {}, tokens.map((token) => token.text).join(''))
  return h(
    'pre',
    { class: 'json' },
    ...tokens.map(({ kind, text: piece }) => (kind === 'space' ? piece : h('span', { class: kind }, piece))),
  )
}

/** A key or value in one line. @param {Bytes | null} bytes */
function preview(bytes) {
  if (bytes === null) return h('span', { class: 'none' }, 'null')
  if (bytes.sizeBytes === 0) return h('span', { class: 'none' }, 'empty')
  if (bytes.type === 'text') return h('span', { class: 'mono' }, oneLine(bytes.shown, PREVIEW_LENGTH))
  const hex = bytes.shown.slice(0, 48).replace(/../g, '$& ').trimEnd()
  return h('span', { class: 'mono binary' }, bytes.sizeBytes > 24 ? `${hex} …` : hex)
}

/** @param {RecordView} record */
function headerList({ headers, hasMoreHeaders }) {
  const list = h(
    'dl',
    { class: 'headers' },
    ...headers.map(({ key, value }) => h('div', {}, h('dt', {}, key), h('dd', {}, content(value)))),
  )
  return h('div', {}, list, hasMoreHeaders && h('p', { class: 'note' }, `Only the first ${headers.length} are shown.`))
}

/** @param {string} partition @param {string} offset */
function noRecords(partition, offset) {
  const where = partition === '' ? 'in this topic' : `in partition ${partition}`
  return offset === ''
    ? emptyState(`No records ${where}`, h('p', {}, 'They appear here as soon as something is produced.'))
    : emptyState(`No records ${where} from offset ${offset} on`, h('p', {}, 'Empty the offset to see the newest ones.'))
}

/** @param {string} label @param {string} placeholder @param {string | null} value */
function numberBox(label, placeholder, value) {
  const input = h('input', { type: 'number', min: 0, step: 1, placeholder, 'aria-label': label, class: 'small' })
  input.value = value ?? ''
  return input
}

/** @param {string} title */
function columnClass(title) {
  switch (title) {
    case 'Offset':
      return 'number'
    case 'Partition':
    case 'Headers':
    case 'Size':
      return 'number minor'
    case 'Time':
      return 'time minor'
    default:
      return ''
  }
}
