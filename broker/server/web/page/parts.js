/** What several views are made of. */
import { h, setText } from './dom.js'

/**
 * What app.js shows. `refresh` loads and draws, and may throw ApiFailure.
 *
 * @typedef {object} View
 * @property {'overview' | 'topics' | 'groups'} page
 * @property {string} title
 * @property {HTMLElement} element
 * @property {(signal: AbortSignal) => Promise<void>} refresh
 * @property {HTMLInputElement} [filter] what `/` goes to
 * @property {() => boolean} [escape] closes something; false where there was nothing to close
 * @property {string} [parent] where Escape leads
 */

/**
 * Facts in a row: a name and a value each, whose text can be set later.
 *
 * @param {readonly string[]} names
 * @returns {{ element: HTMLElement, set: (name: string, text: string, tone?: string) => void }}
 */
export function facts(names) {
  /** @type {Map<string, HTMLElement>} */
  const values = new Map()
  const items = names.map((name) => {
    const value = h('dd', {}, '…')
    values.set(name, value)
    return h('div', {}, h('dt', {}, name), value)
  })
  return {
    element: h('dl', { class: 'facts' }, ...items),
    set(name, text, tone = '') {
      const value = values.get(name)
      if (value === undefined) return
      setText(value, text)
      value.className = tone
    },
  }
}

/**
 * What stands where a list would be.
 *
 * @param {string} title
 * @param {import('./dom.js').Child[]} advice
 */
export function emptyState(title, ...advice) {
  return h('div', { class: 'empty' }, h('p', { class: 'empty-title' }, title), ...advice)
}

/** @param {string} command */
export function commandLine(command) {
  return h('pre', { class: 'command' }, command)
}

/**
 * A filter box.
 *
 * @param {string} label
 * @param {string} value
 * @param {(value: string) => void} onInput
 */
export function filterBox(label, value, onInput) {
  const input = h('input', {
    type: 'search',
    placeholder: `${label}  ( / )`,
    'aria-label': label,
    autocomplete: 'off',
    spellcheck: 'false',
    input: () => onInput(input.value),
  })
  input.value = value
  return input
}

/** Changes the parameters of the address without leaving the view. @param {string} hash */
export function replaceAddress(hash) {
  history.replaceState(null, '', hash)
}
