import { atLeast, closestName, ConfigError, parseConfig, type ConfigDef, type ParsedConfig } from './config-def.ts'
import type { BrokerConfig, ConfigSynonym, DescribedConfig } from './resolve.ts'

/** The configs of one consumer group (KIP-848), with the broker config that gives each its default and those that bound it. */
export interface GroupConfigDef extends ConfigDef {
  readonly defaultFrom: 'group.consumer.session.timeout.ms' | 'group.consumer.heartbeat.interval.ms'
  readonly min: 'group.consumer.min.session.timeout.ms' | 'group.consumer.min.heartbeat.interval.ms'
  readonly max: 'group.consumer.max.session.timeout.ms' | 'group.consumer.max.heartbeat.interval.ms'
}

export const GROUP_CONFIGS = {
  'consumer.heartbeat.interval.ms': {
    type: 'int',
    defaultValue: '5000',
    importance: 'medium',
    validator: atLeast(1),
    documentation: 'How often the members of the group are to send heartbeats.',
    defaultFrom: 'group.consumer.heartbeat.interval.ms',
    min: 'group.consumer.min.heartbeat.interval.ms',
    max: 'group.consumer.max.heartbeat.interval.ms',
  },
  'consumer.session.timeout.ms': {
    type: 'int',
    defaultValue: '45000',
    importance: 'medium',
    validator: atLeast(1),
    documentation: 'Without a heartbeat for this long a member leaves the group.',
    defaultFrom: 'group.consumer.session.timeout.ms',
    min: 'group.consumer.min.session.timeout.ms',
    max: 'group.consumer.max.session.timeout.ms',
  },
} as const satisfies Record<string, GroupConfigDef>

export type GroupConfigName = keyof typeof GROUP_CONFIGS

export function isGroupConfigName(name: string): name is GroupConfigName {
  return Object.hasOwn(GROUP_CONFIGS, name)
}

/** Parses one group config. Throws {@link ConfigError}, also for an unknown name. */
export function parseGroupConfig(name: string, text: string): ParsedConfig {
  if (!isGroupConfigName(name)) {
    const near = closestName(name, Object.keys(GROUP_CONFIGS))
    const hint = near === undefined ? '' : ` (did you mean ${near}?)`
    throw new ConfigError(name, `Unknown group config name: ${name}${hint}`)
  }
  return parseConfig(name, GROUP_CONFIGS[name], text)
}

/** The value in force of a group with the settings `config`, in milliseconds. */
export function groupConfigValue(
  name: GroupConfigName,
  config: Readonly<Record<string, string>>,
  broker: BrokerConfig,
): number {
  const own = config[name]
  return own === undefined ? broker.get(GROUP_CONFIGS[name].defaultFrom) : Number(parseGroupConfig(name, own).value)
}

/** As DescribeConfigs of a group with the settings `config`: all configs, or the known ones of `names`. */
export function describeGroupConfigs(
  config: Readonly<Record<string, string>>,
  broker: BrokerConfig,
  names: readonly string[] = Object.keys(GROUP_CONFIGS),
): DescribedConfig[] {
  return [...names]
    .sort()
    .filter(isGroupConfigName)
    .map((name) => {
      const { type, importance, documentation, defaultFrom } = GROUP_CONFIGS[name]
      const value = String(groupConfigValue(name, config, broker))
      const synonyms: ConfigSynonym[] = broker.describe([defaultFrom]).flatMap((each) => each.synonyms)
      if (config[name] !== undefined) synonyms.unshift({ name, value, source: 'GROUP_CONFIG' })
      const source = synonyms[0]?.source ?? 'DEFAULT_CONFIG'
      return {
        name,
        value,
        source,
        isDefault: source === 'DEFAULT_CONFIG',
        isReadOnly: false,
        isSensitive: false,
        type,
        importance,
        documentation,
        synonyms,
      }
    })
}

/** Checks a group's configs, each against the broker's bounds and both against each other. Throws {@link ConfigError}. */
export function validateGroupConfig(config: Readonly<Record<string, string>>, broker: BrokerConfig): void {
  for (const [name, text] of Object.entries(config)) {
    const value = Number(parseGroupConfig(name, text).value)
    if (!isGroupConfigName(name)) continue
    const { min, max } = GROUP_CONFIGS[name]
    if (value < broker.get(min)) throw new ConfigError(name, `${name} must be greater than or equal to ${min}`)
    if (value > broker.get(max)) throw new ConfigError(name, `${name} must be less than or equal to ${max}`)
  }
  const sessionTimeoutMs = groupConfigValue('consumer.session.timeout.ms', config, broker)
  if (sessionTimeoutMs <= groupConfigValue('consumer.heartbeat.interval.ms', config, broker)) {
    throw new ConfigError(
      'consumer.session.timeout.ms',
      'consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms',
    )
  }
}
