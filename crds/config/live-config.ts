import type { Logger } from '../../common/logger.ts'
import { brokerConfigDef, isBrokerConfigName, parseBrokerConfig, type BrokerConfigName } from './broker-configs.ts'
import { ConfigError } from './config-def.ts'
import { BrokerConfig, type BrokerConfigLayers } from './resolve.ts'

/**
 * A broker's configs while they change: the static layer it was started with, and the dynamic layers that the metadata
 * store holds (KIP-226).
 *
 * Who reads a config each time it is needed takes `current`; who keeps something made from configs subscribes. A
 * {@link BrokerConfig} itself never changes, so what was read from one fits together.
 */
type DynamicLayers = Pick<BrokerConfigLayers, 'dynamicBroker' | 'dynamicDefault'>

export class LiveConfig {
  readonly #logger: Logger
  readonly #listeners = new Set<(current: BrokerConfig, previous: BrokerConfig) => void>()
  #current: BrokerConfig
  /** The dynamic layers as they were given. */
  #dynamic: Required<DynamicLayers>

  constructor(initial: BrokerConfig, logger: Logger) {
    this.#current = initial
    this.#dynamic = { dynamicBroker: {}, dynamicDefault: {}, ...initial.layers }
    this.#logger = logger
  }

  /** The configs in force now. */
  get current(): BrokerConfig {
    return this.#current
  }

  /** Calls `listener` after each change; returns what ends that. */
  subscribe(listener: (current: BrokerConfig, previous: BrokerConfig) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Takes the dynamic layers as the store holds them now. What can't be in force there (unknown, of another version,
   * only for the start, or with a broken value) is left out with a warning, so that one wrong entry breaks nothing else.
   */
  update({ dynamicBroker = {}, dynamicDefault = {} }: DynamicLayers): void {
    const previous = this.#current
    const known = this.#dynamic
    if (sameTexts(known.dynamicBroker, dynamicBroker) && sameTexts(known.dynamicDefault, dynamicDefault)) return
    this.#dynamic = { dynamicBroker, dynamicDefault }
    this.#current = new BrokerConfig({
      ...previous.layers,
      dynamicBroker: this.#usable(dynamicBroker, false),
      dynamicDefault: this.#usable(dynamicDefault, true),
    })
    for (const listener of this.#listeners) listener(this.#current, previous)
  }

  #usable(layer: Readonly<Record<string, string>>, isForAll: boolean): Readonly<Record<string, string>> {
    const usable: Record<string, string> = {}
    for (const [name, text] of Object.entries(layer)) {
      try {
        parseBrokerConfig(name, text)
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        this.#logger.warn({ config: name, reason: error.message }, 'a dynamic config is ignored')
        continue
      }
      const reason = isBrokerConfigName(name) ? refusalOf(name, isForAll) : undefined
      if (reason === undefined) usable[name] = text
      else this.#logger.warn({ config: name, reason }, 'a dynamic config is ignored')
    }
    return usable
  }
}

function refusalOf(name: BrokerConfigName, isForAll: boolean): string | undefined {
  const { update, isOfWholeCluster = false } = brokerConfigDef(name)
  if (update === 'read-only') return 'it can only be set at the start'
  return !isForAll && isOfWholeCluster ? 'it can only be set for all brokers' : undefined
}

function sameTexts(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}
