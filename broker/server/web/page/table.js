/**
 * A table of rows that have keys: sorts by column, filters, and keeps its rows (and the focus in them) when new data
 * come. Rows beyond the first few hundred are made when they are scrolled to, so that thousands cost nothing at first.
 */
import { h, replace, setText } from './dom.js'

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} id
 * @property {string} title
 * @property {string} [hint] a longer title
 * @property {(row: Row) => string | number | undefined} value what it is sorted by
 * @property {(row: Row) => string} [text] what is shown; default: the value
 * @property {(row: Row) => string} [href] makes the cell a link
 * @property {(row: Row) => string} [tip] tooltip
 * @property {(row: Row) => string} [tone] a class of the cell
 * @property {boolean} [isNumeric]
 * @property {boolean} [isMinor] hidden where there is little room
 */

const STEP = 200

/** @template Row */
export class Table {
  /** @type {HTMLElement} */
  element
  #columns
  #keyOf
  #onSort
  /** @type {Row[]} */
  #rows = []
  /** @type {Row[]} */
  #shown = []
  #limit = STEP
  /** @type {Map<string, { row: HTMLTableRowElement, cells: HTMLElement[] }>} */
  #known = new Map()
  #body = h('tbody')
  #sentinel = h('div', { class: 'sentinel' })
  /** @type {Map<string, HTMLTableCellElement>} */
  #heads = new Map()
  #sort
  #filter = ''

  /**
   * @param {object} options
   * @param {string} options.caption
   * @param {readonly Column<Row>[]} options.columns
   * @param {(row: Row) => string} options.keyOf
   * @param {{ column: string, isDescending: boolean }} options.sort
   * @param {(sort: { column: string, isDescending: boolean }) => void} [options.onSort]
   */
  constructor({ caption, columns, keyOf, sort, onSort }) {
    this.#columns = columns
    this.#keyOf = keyOf
    this.#sort = columns.some(({ id }) => id === sort.column)
      ? sort
      : { column: columns[0]?.id ?? '', isDescending: false }
    this.#onSort = onSort
    const heads = columns.map((column) => {
      const head = h(
        'th',
        { scope: 'col', class: classOf(column), title: column.hint },
        h('button', { type: 'button', click: () => this.#sortBy(column) }, column.title),
      )
      this.#heads.set(column.id, head)
      return head
    })
    const table = h(
      'table',
      {},
      h('caption', { class: 'hidden' }, caption),
      h('thead', {}, h('tr', {}, ...heads)),
      this.#body,
    )
    this.element = h('div', { class: 'table' }, table, this.#sentinel)
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting) || this.#limit >= this.#shown.length) return
        this.#limit += STEP
        this.#draw()
        // Told anew where it is now: who scrolls on at once would else leave it in view, which is no change to tell.
        observer.unobserve(this.#sentinel)
        observer.observe(this.#sentinel)
      },
      { rootMargin: '600px' },
    )
    observer.observe(this.#sentinel)
    this.#markSort()
  }

  /** How many rows pass the filter. */
  get shownCount() {
    return this.#shown.length
  }

  /** @param {readonly Row[]} rows */
  update(rows) {
    this.#rows = [...rows]
    this.#arrange()
  }

  /** Shows rows whose first column has this in it. @param {string} filter */
  setFilter(filter) {
    this.#filter = filter.trim().toLowerCase()
    this.#limit = STEP
    this.#arrange()
  }

  /** @param {Column<Row>} column */
  #sortBy(column) {
    const { column: current, isDescending } = this.#sort
    // Numbers are looked at for the largest.
    const first = column.isNumeric === true
    this.#sort = { column: column.id, isDescending: current === column.id ? !isDescending : first }
    this.#markSort()
    this.#onSort?.(this.#sort)
    this.#arrange()
  }

  #markSort() {
    for (const [id, head] of this.#heads) {
      if (id === this.#sort.column) head.setAttribute('aria-sort', this.#sort.isDescending ? 'descending' : 'ascending')
      else head.removeAttribute('aria-sort')
    }
  }

  #arrange() {
    const [name] = this.#columns
    const { column: id, isDescending } = this.#sort
    const column = this.#columns.find((each) => each.id === id)
    if (name === undefined || column === undefined) return
    const matching =
      this.#filter === ''
        ? this.#rows
        : this.#rows.filter((row) =>
            String(name.value(row) ?? '')
              .toLowerCase()
              .includes(this.#filter),
          )
    const sign = isDescending ? -1 : 1
    this.#shown = matching.toSorted(
      (a, b) => sign * compare(column.value(a), column.value(b)) || compare(name.value(a), name.value(b)),
    )
    this.#draw()
  }

  #draw() {
    const rows = this.#shown.slice(0, this.#limit)
    /** @type {Map<string, { row: HTMLTableRowElement, cells: HTMLElement[] }>} */
    const known = new Map()
    const focused = document.activeElement
    let position = this.#body.firstElementChild
    for (const row of rows) {
      const key = this.#keyOf(row)
      const drawn = this.#known.get(key) ?? this.#makeRow()
      known.set(key, drawn)
      this.#fill(drawn.cells, row)
      // A row that stays where it is is not moved, so that it keeps the focus.
      if (drawn.row === position) position = position.nextElementSibling
      else this.#body.insertBefore(drawn.row, position)
    }
    while (position !== null) {
      const next = position.nextElementSibling
      position.remove()
      position = next
    }
    this.#known = known
    // What moves loses it.
    if (focused instanceof HTMLElement && focused !== document.activeElement && this.#body.contains(focused)) {
      focused.focus({ preventScroll: true })
    }
  }

  #makeRow() {
    const cells = this.#columns.map((column, i) => {
      const attributes = { class: classOf(column) }
      return i === 0 ? h('th', { scope: 'row', ...attributes }) : h('td', attributes)
    })
    /** @param {MouseEvent} event */
    const open = (event) => {
      if (event.target instanceof Element && event.target.closest('a, button') !== null) return
      if (getSelection()?.isCollapsed === false) return
      cells[0]?.querySelector('a')?.click()
    }
    const row = h('tr', { click: open }, ...cells)
    return { row, cells }
  }

  /** @param {HTMLElement[]} cells @param {Row} row */
  #fill(cells, row) {
    for (const [i, column] of this.#columns.entries()) {
      const cell = cells[i]
      if (cell === undefined) continue
      const text = column.text?.(row) ?? String(column.value(row) ?? '–')
      if (column.href === undefined) setText(cell, text)
      else {
        let link = cell.querySelector('a')
        if (link === null) replace(cell, (link = h('a', { class: 'row-link' })))
        link.href = column.href(row)
        setText(link, text)
      }
      if (column.tip !== undefined) cell.title = column.tip(row)
      if (column.tone !== undefined) cell.className = `${classOf(column)} ${column.tone(row)}`
    }
  }
}

/** @param {Column<any>} column */
function classOf({ isNumeric, isMinor }) {
  return `${isNumeric === true ? 'number' : ''} ${isMinor === true ? 'minor' : ''}`.trim()
}

/** @param {string | number | undefined} a @param {string | number | undefined} b */
function compare(a, b) {
  if (a === b) return 0
  if (a === undefined) return -1
  if (b === undefined) return 1
  return a < b ? -1 : 1
}
