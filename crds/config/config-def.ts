/**
 * Kafka's config definitions as data: types, validators, parsing and the canonical text of a value. Pure.
 *
 * A value exists in two forms: the text that a user wrote or that a client is shown, and the parsed value that the code
 * uses. Error sentences have Kafka's form, since tools and people match on them.
 */
export interface ConfigTypes {
  boolean: boolean
  int: number
  short: number
  /** Values beyond 2^53 lose their last digits here; the canonical text keeps them. */
  long: number
  double: number
  string: string
  list: readonly string[]
  class: string
  password: string
}
export type ConfigType = keyof ConfigTypes
export type ConfigValue = boolean | number | string | readonly string[]
export type Importance = 'high' | 'medium' | 'low'

export interface ConfigDef {
  readonly type: ConfigType
  /** Canonical text; null: no value unless one is set. */
  readonly defaultValue: string | null
  readonly importance: Importance
  readonly documentation: string
  readonly validator?: Validator
}

/** What is wrong with a parsed value, as the end of a sentence; undefined when nothing is. */
export type Validator = (value: ConfigValue, name: string) => string | undefined

export interface ParsedConfig {
  readonly value: ConfigValue
  /** What DescribeConfigs shows: trimmed, numbers without leading zeros or plus, lists without spaces. */
  readonly text: string
}

/** A config value or name that can't be accepted; the message is meant for the user. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly configName: string

  constructor(configName: string, message: string) {
    super(message)
    this.configName = configName
  }
}

/** Parses and checks one value. Throws {@link ConfigError}. */
export function parseConfig(name: string, def: ConfigDef, text: string): ParsedConfig {
  const parsed = parseType(name, def.type, text)
  const problem = def.validator?.(parsed.value, name)
  if (problem !== undefined) throw invalid(name, shown(parsed.value), problem)
  return parsed
}

/** The sentence of a {@link ConfigError} about a value. */
export function invalid(name: string, value: string, problem: string): ConfigError {
  return new ConfigError(name, `Invalid value ${value} for configuration ${name}: ${problem}`)
}

const INTEGER_RANGES = {
  short: [-(2n ** 15n), 2n ** 15n - 1n],
  int: [-(2n ** 31n), 2n ** 31n - 1n],
  long: [-(2n ** 63n), 2n ** 63n - 1n],
} as const

function parseType(name: string, type: ConfigType, text: string): ParsedConfig {
  const trimmed = text.trim()
  switch (type) {
    case 'boolean': {
      const lower = trimmed.toLowerCase()
      if (lower !== 'true' && lower !== 'false') {
        throw invalid(name, text, 'Expected value to be either true or false')
      }
      return { value: lower === 'true', text: lower }
    }
    case 'short':
    case 'int':
    case 'long': {
      const [min, max] = INTEGER_RANGES[type]
      // The length bound keeps a hostile value from costing a big conversion.
      const integer = /^[+-]?\d{1,40}$/.test(trimmed) ? BigInt(trimmed.replace(/^\+/, '')) : undefined
      if (integer === undefined || integer < min || integer > max) {
        throw invalid(name, text, `Not a number of type ${type.toUpperCase()}`)
      }
      return { value: Number(integer), text: String(integer) }
    }
    case 'double': {
      const number = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(trimmed) ? Number(trimmed) : Number.NaN
      if (!Number.isFinite(number)) throw invalid(name, text, 'Not a number of type DOUBLE')
      return { value: number, text: doubleText(number) }
    }
    case 'list': {
      const items = trimmed === '' ? [] : trimmed.split(',').map((item) => item.trim())
      if (items.includes('')) throw new ConfigError(name, `Configuration '${name}' values must not be empty.`)
      return { value: items, text: items.join(',') }
    }
    case 'string':
    case 'class':
      return { value: trimmed, text: trimmed }
    case 'password':
      return { value: text, text }
  }
}

/** As Java prints a double: `0.5`, `1.0`, `2.5E7`. */
function doubleText(number: number): string {
  const size = Math.abs(number)
  if (number === 0 || (size >= 1e-3 && size < 1e7)) return withPoint(String(number))
  const [mantissa = '', exponent] = number.toExponential().split('e')
  return `${withPoint(mantissa)}E${Number(exponent)}`
}

function withPoint(text: string): string {
  return text.includes('.') ? text : `${text}.0`
}

function shown(value: ConfigValue): string {
  return typeof value === 'object' ? `[${value.join(', ')}]` : String(value)
}

/** A number of at least `min`. */
export function atLeast(min: number): Validator {
  return (value) => (Number(value) < min ? `Value must be at least ${min}` : undefined)
}

export function between(min: number, max: number): Validator {
  return (value) => {
    if (Number(value) < min) return `Value must be at least ${min}`
    return Number(value) > max ? `Value must be no more than ${max}` : undefined
  }
}

export function betweenOr(min: number, max: number, other: number): Validator {
  return (value) =>
    value === other || (Number(value) >= min && Number(value) <= max)
      ? undefined
      : `Value must be between ${min} and ${max} or equal to ${other}`
}

export function oneOf(...allowed: readonly string[]): Validator {
  return (value) => (allowed.includes(String(value)) ? undefined : `String must be one of: ${allowed.join(', ')}`)
}

/** Every item of a list is one of `allowed`; the list may be empty. */
export function listOf(...allowed: readonly string[]): Validator {
  return (value, name) => {
    const wrong = typeof value === 'object' ? value.find((item) => !allowed.includes(item)) : undefined
    if (wrong === undefined) return undefined
    throw invalid(name, wrong, `String must be one of: ${allowed.join(', ')}`)
  }
}

/** `*`, or a list of `partition:broker`. */
export const throttledReplicas: Validator = (value, name) => {
  const items = typeof value === 'object' ? value : []
  if (items.length === 1 && items[0] === '*') return undefined
  return items.every((item) => /^\d+:\d+$/.test(item))
    ? undefined
    : `${name} must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...`
}

/** Of `names` the one that `name` is most likely a misspelling of; undefined when none is near. */
export function closestName(name: string, names: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Math.min(4, Math.ceil(name.length / 3)) + 1
  for (const candidate of names) {
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue
    const distance = editDistance(name.toLowerCase(), candidate)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 0; i < a.length; i++) {
    const current = [i + 1]
    for (let j = 0; j < b.length; j++) {
      const substitution = (previous[j] ?? 0) + (a[i] === b[j] ? 0 : 1)
      current.push(Math.min((previous[j + 1] ?? 0) + 1, (current[j] ?? 0) + 1, substitution))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}
