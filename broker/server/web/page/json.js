/**
 * JSON for reading: indented and in pieces that can be coloured. Nothing is parsed and printed again, so numbers beyond
 * 2^53, the order of keys and double keys stay what they are. Pure.
 */

/** @typedef {{ kind: 'key' | 'string' | 'number' | 'word' | 'punctuation' | 'space', text: string }} JsonToken */

const TOKEN = /\s+|"(?:[^"\\]|\\.)*"?|-?\d[\d.eE+-]*|[{}[\],:]|[^\s"{}[\],:]+/gs
const INDENT = '  '
/** Deeper than anybody reads; without a limit, a megabyte of brackets would become gigabytes of spaces. */
const MAX_INDENTED = 50

/**
 * The text as indented tokens, or undefined where it is no JSON object or array.
 *
 * @param {string} text
 * @param {boolean} isCut only the beginning is there: then it need not end well
 * @returns {JsonToken[] | undefined}
 */
export function jsonTokens(text, isCut) {
  if (!/^\s*[{[]/.test(text)) return undefined
  if (!isCut) {
    try {
      JSON.parse(text)
    } catch {
      return undefined
    }
  }
  const raw = (text.match(TOKEN) ?? []).filter((token) => !/^\s/.test(token))
  /** @type {JsonToken[]} */
  const tokens = []
  let depth = 0
  const newLine = () => tokens.push({ kind: 'space', text: `\n${INDENT.repeat(Math.min(depth, MAX_INDENTED))}` })
  for (const [i, token] of raw.entries()) {
    const next = raw[i + 1]
    if (token === '{' || token === '[') {
      tokens.push({ kind: 'punctuation', text: token })
      depth++
      if (next !== '}' && next !== ']') newLine()
    } else if (token === '}' || token === ']') {
      depth = Math.max(0, depth - 1)
      const isEmpty = raw[i - 1] === '{' || raw[i - 1] === '['
      if (!isEmpty) newLine()
      tokens.push({ kind: 'punctuation', text: token })
    } else if (token === ',') {
      tokens.push({ kind: 'punctuation', text: token })
      newLine()
    } else if (token === ':') {
      tokens.push({ kind: 'punctuation', text: ':' }, { kind: 'space', text: ' ' })
    } else tokens.push({ kind: kindOf(token, next), text: token })
  }
  return tokens
}

/** @param {string} token @param {string | undefined} next @returns {JsonToken['kind']} */
function kindOf(token, next) {
  if (token.startsWith('"')) return next === ':' ? 'key' : 'string'
  return /^-?\d/.test(token) ? 'number' : 'word'
}
