import type { ConfigTypes, ConfigType, Importance, ParsedConfig } from './config-def.ts'
import {
  BROKER_CONFIGS,
  brokerConfigDef,
  isBrokerConfigName,
  parseBrokerConfig,
  type BrokerConfigName,
  type BrokerConfigValue,
} from './broker-configs.ts'
import {
  defaultTopicConfig,
  isTopicConfigName,
  parseTopicConfig,
  TOPIC_CONFIGS,
  topicConfigDef,
  validateTopicConfig,
  type Synonym,
  type TopicConfigName,
} from './topic-configs.ts'

/**
 * Which value a config has, and why: the layers from a topic's own setting down to the built-in default, as DescribeConfigs
 * reports them. Pure; values that are stored are assumed to have been validated when they were set.
 */
export type ConfigSource =
  | 'DYNAMIC_TOPIC_CONFIG'
  | 'DYNAMIC_BROKER_CONFIG'
  | 'DYNAMIC_DEFAULT_BROKER_CONFIG'
  | 'STATIC_BROKER_CONFIG'
  | 'DEFAULT_CONFIG'
  | 'GROUP_CONFIG'

/** The broker's own layers, the strongest first. Each: dotted key to text. */
export interface BrokerConfigLayers {
  /** Set for this broker alone while it runs. */
  readonly dynamicBroker?: Readonly<Record<string, string>>
  /** Set for all brokers while they run: the Cluster's config. */
  readonly dynamicDefault?: Readonly<Record<string, string>>
  /** From the command line or the config file. */
  readonly staticBroker?: Readonly<Record<string, string>>
}

export interface ConfigSynonym {
  readonly name: string
  /** null: hidden, since it is sensitive. */
  readonly value: string | null
  readonly source: ConfigSource
}

export interface DescribedConfig {
  readonly name: string
  /** null: there is none, or it is sensitive. */
  readonly value: string | null
  readonly source: ConfigSource
  readonly isDefault: boolean
  readonly isReadOnly: boolean
  readonly isSensitive: boolean
  readonly type: ConfigType
  readonly importance: Importance
  readonly documentation: string
  /** In the order in which they are looked at; the first one with a value is the one in force. */
  readonly synonyms: readonly ConfigSynonym[]
}

/** The config type codes of DescribeConfigs responses (version 3 and later). */
export const CONFIG_TYPE_CODES: Readonly<Record<ConfigType, number>> = {
  boolean: 1,
  string: 2,
  int: 3,
  short: 4,
  long: 5,
  double: 6,
  list: 7,
  class: 8,
  password: 9,
}

/** The config source codes of DescribeConfigs responses. */
export const CONFIG_SOURCE_CODES: Readonly<Record<ConfigSource, number>> = {
  DYNAMIC_TOPIC_CONFIG: 1,
  DYNAMIC_BROKER_CONFIG: 2,
  DYNAMIC_DEFAULT_BROKER_CONFIG: 3,
  STATIC_BROKER_CONFIG: 4,
  DEFAULT_CONFIG: 5,
  GROUP_CONFIG: 8,
}

const LAYERS = [
  ['dynamicBroker', 'DYNAMIC_BROKER_CONFIG'],
  ['dynamicDefault', 'DYNAMIC_DEFAULT_BROKER_CONFIG'],
  ['staticBroker', 'STATIC_BROKER_CONFIG'],
] as const

type TopicConfigValue<K extends TopicConfigName> = ConfigTypes[(typeof TOPIC_CONFIGS)[K]['type']]

/** A broker's configs in force. Immutable: build another one when a layer changes. */
export class BrokerConfig {
  readonly layers: BrokerConfigLayers
  readonly #parsed = new Map<string, ParsedConfig>()
  readonly #topicDefaults = new Map<string, ParsedConfig>()

  constructor(layers: BrokerConfigLayers = {}) {
    this.layers = layers
  }

  /** The value in force; null where the config has no default and none is set. */
  get<K extends BrokerConfigName>(name: K): BrokerConfigValue<K> {
    const text = this.#inForce(name)?.value ?? null
    if (text === null) return null as BrokerConfigValue<K>
    let parsed = this.#parsed.get(name)
    if (parsed === undefined) {
      parsed = parseBrokerConfig(name, text)
      this.#parsed.set(name, parsed)
    }
    return parsed.value as BrokerConfigValue<K>
  }

  /** What a topic has that doesn't set the config itself. */
  topicDefault(name: TopicConfigName): ParsedConfig {
    let parsed = this.#topicDefaults.get(name)
    if (parsed === undefined) {
      const found = this.#topicSynonyms(name)[0]
      parsed = found === undefined ? defaultTopicConfig(name) : parseTopicConfig(name, found.value ?? '')
      this.#topicDefaults.set(name, parsed)
    }
    return parsed
  }

  /** The effective configs of a topic with the settings `config`. */
  topic(config: Readonly<Record<string, string>>): TopicConfig {
    return new TopicConfig(this, config)
  }

  /** Checks what a topic wants to set, against this broker's defaults. Throws `ConfigError`. */
  validateTopic(config: Readonly<Record<string, string>>): void {
    validateTopicConfig(config, (name) => this.topicDefault(name))
  }

  /** As DescribeConfigs of a broker: all known configs, or the known ones of `names`. */
  describe(names?: readonly string[]): DescribedConfig[] {
    return [...(names ?? Object.keys(BROKER_CONFIGS))]
      .sort()
      .filter(isBrokerConfigName)
      .map((name) => {
        const def = brokerConfigDef(name)
        const isSensitive = def.type === 'password'
        const synonyms = this.#synonyms([{ name }])
        return described(name, def, isSensitive, def.update === 'read-only', synonyms, undefined)
      })
  }

  /** As DescribeConfigs of the default of all brokers: only what is set there. */
  describeDefaults(names?: readonly string[]): DescribedConfig[] {
    const layer = this.layers.dynamicDefault ?? {}
    const wanted = names?.filter((name) => Object.hasOwn(layer, name)) ?? Object.keys(layer)
    return new BrokerConfig({ dynamicDefault: layer }).describe(wanted).map((config) => ({
      ...config,
      synonyms: config.synonyms.filter(({ source }) => source === 'DYNAMIC_DEFAULT_BROKER_CONFIG'),
    }))
  }

  /** As DescribeConfigs of a topic with the settings `config`: all configs, or the known ones of `names`. */
  describeTopic(config: Readonly<Record<string, string>>, names?: readonly string[]): DescribedConfig[] {
    return [...(names ?? Object.keys(TOPIC_CONFIGS))]
      .sort()
      .filter(isTopicConfigName)
      .map((name) => {
        const own = config[name]
        const synonyms: ConfigSynonym[] = [...this.#synonyms(topicConfigDef(name).synonyms)]
        let value = this.topicDefault(name).text
        if (own !== undefined) {
          value = parseTopicConfig(name, own).text
          synonyms.unshift({ name, value, source: 'DYNAMIC_TOPIC_CONFIG' })
        }
        return described(name, topicConfigDef(name), false, false, synonyms, value)
      })
  }

  #inForce(name: BrokerConfigName): ConfigSynonym | undefined {
    return this.#synonyms([{ name }])[0]
  }

  /** The values of some configs that stand for the same thing, strongest first, as they are written. */
  #synonyms(synonyms: readonly Synonym[]): ConfigSynonym[] {
    return this.#layered(synonyms).map(({ synonym, value, source }) => ({ name: synonym.name, value, source }))
  }

  /** As {@link #synonyms}, in the topic config's unit. */
  #topicSynonyms(name: TopicConfigName): ConfigSynonym[] {
    return this.#layered(topicConfigDef(name).synonyms).map(({ synonym, value, source }) => {
      if (synonym.factor === undefined) return { name: synonym.name, value, source }
      // Hours and minutes below zero all mean "no limit", as -1 does in milliseconds.
      const converted = Number(value) < 0 ? '-1' : String(BigInt(value) * BigInt(synonym.factor))
      return { name: synonym.name, value: converted, source }
    })
  }

  #layered(synonyms: readonly Synonym[]): { synonym: Synonym; value: string; source: ConfigSource }[] {
    const found: { synonym: Synonym; value: string; source: ConfigSource }[] = []
    const add = (synonym: Synonym, text: string | null | undefined, source: ConfigSource): void => {
      if (text === null || text === undefined) return
      found.push({ synonym, value: parseBrokerConfig(synonym.name, text).text, source })
    }
    for (const [layer, source] of LAYERS) {
      for (const synonym of synonyms) add(synonym, this.layers[layer]?.[synonym.name], source)
    }
    for (const synonym of synonyms) {
      if (isBrokerConfigName(synonym.name)) {
        add(synonym, brokerConfigDef(synonym.name).defaultValue, 'DEFAULT_CONFIG')
      }
    }
    return found
  }
}

/** A topic's configs in force. Immutable. */
export class TopicConfig {
  readonly #broker: BrokerConfig
  readonly #own: Readonly<Record<string, string>>
  readonly #parsed = new Map<string, ParsedConfig>()

  constructor(broker: BrokerConfig, own: Readonly<Record<string, string>>) {
    this.#broker = broker
    this.#own = own
  }

  get<K extends TopicConfigName>(name: K): TopicConfigValue<K> {
    return this.parsed(name).value as TopicConfigValue<K>
  }

  /** The canonical text in force; for code that decodes configs by itself. Throws for a name that is no topic config. */
  text(name: string): string {
    if (!isTopicConfigName(name)) throw new TypeError(`${name} is no topic config`)
    return this.parsed(name).text
  }

  parsed(name: TopicConfigName): ParsedConfig {
    const own = this.#own[name]
    if (own === undefined) return this.#broker.topicDefault(name)
    let parsed = this.#parsed.get(name)
    if (parsed === undefined) {
      parsed = parseTopicConfig(name, own)
      this.#parsed.set(name, parsed)
    }
    return parsed
  }
}

function described(
  name: string,
  def: { readonly type: ConfigType; readonly importance: Importance; readonly documentation: string },
  isSensitive: boolean,
  isReadOnly: boolean,
  synonyms: readonly ConfigSynonym[],
  value: string | undefined,
): DescribedConfig {
  const source = synonyms[0]?.source ?? 'DEFAULT_CONFIG'
  return {
    name,
    value: isSensitive ? null : (value ?? synonyms[0]?.value ?? null),
    source,
    isDefault: source === 'DEFAULT_CONFIG',
    isReadOnly,
    isSensitive,
    type: def.type,
    importance: def.importance,
    documentation: def.documentation,
    synonyms: isSensitive ? synonyms.map((synonym) => ({ ...synonym, value: null })) : synonyms,
  }
}
