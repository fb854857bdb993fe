/**
 * The page: shows the view that the address names, refreshes it every few seconds while anybody can see it, and moves by
 * keys. One view at a time; what it still loads when another is opened is given up.
 */
import { ApiFailure } from './api.js'
import { byId, h, replace, setText } from './dom.js'
import { formatTime } from './format.js'
import { groupView } from './group.js'
import { groupsView } from './groups.js'
import { overviewView } from './overview.js'
import { emptyState } from './parts.js'
import { parseRoute } from './route.js'
import { topicView } from './topic.js'
import { topicsView } from './topics.js'

const REFRESH_MS = 5000
/** Rates need two looks: the second comes soon. */
const SECOND_LOOK_MS = 1200

const main = byId('main')
const alertLine = byId('alert')
const status = byId('status')
const help = /** @type {HTMLDialogElement} */ (byId('help'))

/** @type {import('./parts.js').View | undefined} */
let view
/** What is being loaded; a later refresh or view gives it up, so that answers never overtake each other. */
let loading = new AbortController()
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer
let looks = 0

/** @param {import('./route.js').Route} route */
function viewOf(route) {
  const [first, second] = route.path
  if (first === 'topics') return second === undefined ? topicsView(route) : topicView(route)
  if (first === 'groups') return second === undefined ? groupsView(route) : groupView(route)
  return overviewView()
}

function open() {
  loading.abort()
  looks = 0
  view = viewOf(parseRoute(location.hash))
  document.title = `${view.title} – Ottla`
  for (const link of document.querySelectorAll('header nav a')) {
    if (link instanceof HTMLElement && link.dataset['page'] === view.page) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  replace(main, view.element)
  main.focus({ preventScroll: true })
  scrollTo(0, 0)
  void refresh()
}

async function refresh() {
  clearTimeout(timer)
  loading.abort()
  loading = new AbortController()
  const { signal } = loading
  const shown = view
  if (shown === undefined || document.hidden) return
  try {
    await shown.refresh(signal)
    if (signal.aborted) return
    main.classList.remove('stale')
    alertLine.hidden = true
    setText(status, `Updated ${formatTime(Date.now()).slice(11, 19)}`)
  } catch (error) {
    if (signal.aborted) return
    if (!(error instanceof ApiFailure)) {
      setText(alertLine, 'The page failed to show this; the console of the browser says why.')
      alertLine.hidden = false
      throw error
    }
    if (error.code === 'NOT_FOUND') showMissing(error.message, shown.parent)
    else {
      setText(alertLine, `${error.message} Trying again every ${REFRESH_MS / 1000} seconds.`)
      alertLine.hidden = false
      main.classList.add('stale')
    }
  }
  clearTimeout(timer)
  timer = setTimeout(() => void refresh(), ++looks === 1 ? SECOND_LOOK_MS : REFRESH_MS)
}

/** @param {string} message @param {string | undefined} parent */
function showMissing(message, parent) {
  replace(
    main,
    emptyState(
      message,
      h('p', {}, 'It may have been deleted. ', h('a', { href: parent ?? '#/' }, 'Go to the list'), '.'),
    ),
  )
}

/** Moves the focus among the rows of the view. @param {number} step */
function moveInRows(step) {
  const rows = [...main.querySelectorAll('.row-link')].filter(
    (row) => row instanceof HTMLElement && row.offsetParent !== null,
  )
  const at = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement))
  const target = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + step, 0), rows.length - 1)]
  if (!(target instanceof HTMLElement)) return
  target.focus({ preventScroll: true })
  target.closest('tr')?.scrollIntoView({ block: 'nearest' })
}

function escape() {
  const active = document.activeElement
  if (view?.escape?.() === true) return
  if (active instanceof HTMLInputElement || active instanceof HTMLSelectElement) active.blur()
  else if (view?.parent !== undefined) location.hash = view.parent
}

/** @type {Readonly<Record<string, () => void>>} */
const keys = {
  '/': () => view?.filter?.focus(),
  j: () => moveInRows(1),
  ArrowDown: () => moveInRows(1),
  k: () => moveInRows(-1),
  ArrowUp: () => moveInRows(-1),
  r: () => void refresh(),
  1: () => (location.hash = '#/'),
  2: () => (location.hash = '#/topics'),
  3: () => (location.hash = '#/groups'),
  '?': () => help.showModal(),
}

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return
  if (event.key === 'Escape') {
    escape()
    return
  }
  const { target } = event
  if (target instanceof HTMLInputElement && target.type === 'search') {
    // From the filter into what it found.
    if (event.key !== 'ArrowDown' && event.key !== 'Enter') return
    event.preventDefault()
    moveInRows(1)
    return
  }
  if (target instanceof HTMLInputElement && target.type !== 'checkbox') return
  if (target instanceof HTMLSelectElement) return
  const action = keys[event.key]
  if (action === undefined) return
  event.preventDefault()
  action()
})

addEventListener('hashchange', open)
addEventListener('refresh-now', () => void refresh())
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    clearTimeout(timer)
    setText(status, 'Paused while hidden')
  } else void refresh()
})
byId('skip').addEventListener('click', (event) => {
  // Its address would be a view.
  event.preventDefault()
  main.focus()
})
byId('help-button').addEventListener('click', () => help.showModal())
open()
