/** What `ottla start` is told: flags, an optional YAML file, and the broker configs from both. Pure but for reading the file. */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { validateBrokerConfig } from '../crds/config/broker-configs.ts'
import { ConfigError } from '../crds/config/config-def.ts'
import type { LogLevel } from '../common/logger.ts'

export interface StartOptions {
  readonly host: string
  /** What clients are told to connect to. */
  readonly advertisedHost: string
  readonly port: number
  readonly httpPort: number
  readonly dataDir: string
  readonly brokers: number
  readonly logLevel: LogLevel
  /** Broker configs, checked: dotted key to text. */
  readonly config: Readonly<Record<string, string>>
}

/** A mistake of the user; the message is one sentence that says what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const START_USAGE = `Usage: ottla start [options]

Runs brokers, controllers and their metadata store in one process.

  --host ADDRESS       address to listen on (default 127.0.0.1)
  --advertised-host A  name or address that clients are told to connect to (default: that of --host)
  --port N             Kafka port of the first broker; more brokers take the following ports (default 9092)
  --http-port N        web port (health, metrics) of the first broker, likewise (default 8080)
  --data-dir FOLDER    where everything is kept (default ./data)
  --brokers N          how many brokers to run (default 1)
  --set KEY=VALUE      a broker config by Kafka's name, such as log.retention.hours=24; may be repeated
  --config FILE        YAML with the same names: host, advertisedHost, port, httpPort, dataDir, brokers, logLevel, and
                       config (a map)
  --log-level LEVEL    debug, info, warn or error (default info); logs go to standard error, a JSON object a line
  --help               this text
`

const FILE_SETTINGS = ['host', 'advertisedHost', 'port', 'httpPort', 'dataDir', 'brokers', 'logLevel'] as const
const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']
const MAX_PORT = 65535
const MAX_BROKERS = 100

type Settings = Partial<Record<(typeof FILE_SETTINGS)[number], string>>

/** Errors: {@link UsageError}. Undefined: help was asked for. */
export async function parseStartOptions(args: readonly string[]): Promise<StartOptions | undefined> {
  const values = parseFlags(args)
  if (values.help === true) return undefined
  const file: FileSettings =
    values.config === undefined ? { settings: {}, config: {} } : await readConfigFile(values.config)
  const flags: Settings = definedOnly({
    host: values.host,
    advertisedHost: values['advertised-host'],
    port: values.port,
    httpPort: values['http-port'],
    dataDir: values['data-dir'],
    brokers: values.brokers,
    logLevel: values['log-level'],
  })
  const settings = { ...file.settings, ...flags }
  const config = { ...file.config, ...parseSets(values.set ?? []) }
  try {
    validateBrokerConfig(config)
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { cause: error })
    throw error
  }
  const brokers = integer('brokers', settings.brokers ?? '1', 1, MAX_BROKERS)
  const logLevel = LOG_LEVELS.find((level) => level === (settings.logLevel ?? 'info'))
  if (logLevel === undefined) {
    throw new UsageError(`--log-level must be one of ${LOG_LEVELS.join(', ')}, not '${settings.logLevel ?? ''}'`)
  }
  const host = settings.host ?? '127.0.0.1'
  if (host === '') throw new UsageError('--host must not be empty')
  if (settings.dataDir === '') throw new UsageError('--data-dir must not be empty')
  return {
    host,
    advertisedHost: advertisedHostOf(settings.advertisedHost, host),
    port: integer('port', settings.port ?? '9092', 0, MAX_PORT - brokers + 1),
    httpPort: integer('http-port', settings.httpPort ?? '8080', 0, MAX_PORT - brokers + 1),
    dataDir: settings.dataDir ?? './data',
    brokers,
    logLevel,
    config,
  }
}

/** All addresses of a machine can be listened on, and none of these can be connected to. */
function advertisedHostOf(advertisedHost: string | undefined, host: string): string {
  if (advertisedHost === undefined && isWildcard(host)) {
    throw new UsageError(
      `clients can't connect to ${host}: say with --advertised-host which name or address of this machine they are to use`,
    )
  }
  const advertised = advertisedHost ?? host
  if (/^[\w.:%-]{1,253}$/.test(advertised) && !isWildcard(advertised)) return advertised
  throw new UsageError(`--advertised-host must be a name or an address to connect to, not '${advertised}'`)
}

function isWildcard(host: string): boolean {
  return /^(0+(\.0+){0,3}|[0:]*::[0:]*)$/.test(host)
}

interface Flags {
  readonly host?: string
  readonly 'advertised-host'?: string
  readonly port?: string
  readonly 'http-port'?: string
  readonly 'data-dir'?: string
  readonly brokers?: string
  readonly set?: string[]
  readonly config?: string
  readonly 'log-level'?: string
  readonly help?: boolean
}

function parseFlags(args: readonly string[]): Flags {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        host: { type: 'string' },
        'advertised-host': { type: 'string' },
        port: { type: 'string' },
        'http-port': { type: 'string' },
        'data-dir': { type: 'string' },
        brokers: { type: 'string' },
        set: { type: 'string', multiple: true },
        config: { type: 'string' },
        'log-level': { type: 'string' },
        help: { type: 'boolean' },
      },
      strict: true,
      allowPositionals: false,
    })
    return values
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    const firstSentence = error.message.split(/\. |\n/)[0] ?? error.message
    throw new UsageError(`${firstSentence} (see ottla start --help)`, { cause: error })
  }
}

function parseSets(sets: readonly string[]): Record<string, string> {
  const config: Record<string, string> = {}
  for (const set of sets) {
    const equals = set.indexOf('=')
    if (equals <= 0) throw new UsageError(`--set takes KEY=VALUE, not '${set}'`)
    config[set.slice(0, equals).trim()] = set.slice(equals + 1)
  }
  return config
}

interface FileSettings {
  readonly settings: Settings
  readonly config: Readonly<Record<string, string>>
}

async function readConfigFile(path: string): Promise<FileSettings> {
  // Loaded only when it is needed: it takes a good part of the time to start.
  const { parse: parseYaml } = await import('yaml')
  let parsed: unknown
  try {
    parsed = parseYaml(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
    throw new UsageError(`the config file ${path} can't be read: ${reason}`, { cause: error })
  }
  if (parsed === null) return { settings: {}, config: {} }
  if (!isMap(parsed)) throw new UsageError(`the config file ${path} must hold a map, such as 'port: 9092'`)
  const settings: Settings = {}
  let config: Record<string, string> = {}
  for (const [key, value] of Object.entries(parsed)) {
    const setting = FILE_SETTINGS.find((name) => name === key)
    if (key === 'config') config = scalarMap(path, value)
    else if (setting === undefined) {
      throw new UsageError(
        `the config file ${path} has an unknown key '${key}'; known are ${FILE_SETTINGS.join(', ')} and config`,
      )
    } else settings[setting] = scalar(path, key, value)
  }
  return { settings, config }
}

function scalarMap(path: string, value: unknown): Record<string, string> {
  if (!isMap(value)) throw new UsageError(`'config' in ${path} must be a map of broker configs`)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, scalar(path, key, item)]))
}

function scalar(path: string, key: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new UsageError(`'${key}' in ${path} must be a text, a number, true or false`)
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function definedOnly(values: Readonly<Record<keyof Settings, string | undefined>>): Settings {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

function integer(flag: string, text: string, min: number, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN
  if (!(value >= min && value <= max))
    throw new UsageError(`--${flag} must be a whole number from ${min} to ${max}, not '${text}'`)
  return value
}
