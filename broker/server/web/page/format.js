/** How the page writes numbers, times and bytes. Pure. */

const counts = new Intl.NumberFormat('en')
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** `1234567` -> `1,234,567`. @param {number} value */
export function formatCount(value) {
  return counts.format(value)
}

/** `1536` -> `1.5 KiB`. @param {number} bytes */
export function formatBytes(bytes) {
  let value = bytes
  let unit = 0
  // 1023.95 KiB would be rounded to "1024 KiB".
  while (value >= 1023.95 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1
  return `${counts.format(Number(value.toFixed(digits)))} ${UNITS[unit]}`
}

/** Bytes a second. @param {number} bytes */
export function formatByteRate(bytes) {
  return bytes === 0 ? '0' : `${formatBytes(bytes < 10 ? Math.ceil(bytes) : Math.round(bytes))}/s`
}

/** `93784000` -> `1 d 2 h`: the two largest units. @param {number} ms */
export function formatDuration(ms) {
  const seconds = Math.floor(ms / 1000)
  /** @type {[number, string][]} */
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ]
  const first = parts.findIndex(([value]) => value > 0)
  if (first < 0) return '0 s'
  return parts
    .slice(first, first + 2)
    .filter(([value], i) => i === 0 || value > 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(' ')
}

/** Local time with milliseconds, `2026-12-01 07:05:09.120`; a dash for none. @param {number | null} ms */
export function formatTime(ms) {
  if (ms === null || ms < 0) return '–'
  const date = new Date(ms)
  if (Number.isNaN(date.getTime())) return String(ms)
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  return `${day} ${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** The same in UTC, for tooltips. @param {number | null} ms */
export function formatUtc(ms) {
  if (ms === null || ms < 0) return ''
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/** One line for a table. @param {string} text @param {number} maxLength */
export function oneLine(text, maxLength) {
  const line = text.slice(0, maxLength * 2).replace(/\s+/g, ' ')
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line
}

/** `48656c6c6f` -> lines of 16 bytes: offset, hex, and what is ASCII of it. @param {string} hex */
export function hexDump(hex) {
  const lines = []
  for (let start = 0; start < hex.length; start += 32) {
    const bytes = hex.slice(start, start + 32).match(/../g) ?? []
    const half = (/** @type {number} */ from) =>
      bytes
        .slice(from, from + 8)
        .join(' ')
        .padEnd(23)
    const ascii = bytes.map((byte) => {
      const code = parseInt(byte, 16)
      return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '.'
    })
    lines.push(`${(start / 2).toString(16).padStart(8, '0')}  ${half(0)}  ${half(8)}  ${ascii.join('')}`)
  }
  return lines.join('\n')
}
