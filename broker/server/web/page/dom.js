/**
 * Elements without innerHTML: text is always text, so that nothing that a record, topic or group brings can become markup
 * (the page's policy would refuse it, too).
 */

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Readonly<Record<string, string | number | boolean | undefined | ((event: any) => void)>>} Attributes */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes] functions are listeners (`click`, ...); `true` sets an attribute without value,
 *   `false` and undefined leave it out
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value))
  }
  element.append(...nodes(children))
  return element
}

/** Replaces what is in `parent`. @param {Element} parent @param {Child[]} children */
export function replace(parent, ...children) {
  parent.replaceChildren(...nodes(children))
}

/** Sets a text if it changed: what stays is not laid out again. @param {Node} node @param {string} text */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text
}

/** An element of index.html. @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`the page has no #${id}`)
  return element
}

/** @param {Child[]} children @returns {(Node | string)[]} */
function nodes(children) {
  return children.flatMap((child) => {
    if (child === null || child === undefined || child === false) return []
    return [typeof child === 'number' ? String(child) : child]
  })
}
