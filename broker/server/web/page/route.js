/** Addresses within the page: `#/topics/numbers/records?partition=2`. Pure. */

/** @typedef {{ path: string[], params: URLSearchParams }} Route */

/** @param {string} hash @returns {Route} */
export function parseRoute(hash) {
  const text = hash.replace(/^#\/?/, '')
  const question = text.indexOf('?')
  const path = question < 0 ? text : text.slice(0, question)
  const query = question < 0 ? '' : text.slice(question + 1)
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decode),
    params: new URLSearchParams(query),
  }
}

/**
 * @param {readonly string[]} path
 * @param {Record<string, string | number | undefined>} [params] empty and undefined ones are left out
 */
export function routeTo(path, params = {}) {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
