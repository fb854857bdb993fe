/**
 * How AlterConfigs (all configs of a resource replaced) and IncrementalAlterConfigs (KIP-339) change what a resource has
 * set: pure functions of the request and the settings before.
 */
import { brokerConfigDef, isBrokerConfigName } from '../../crds/config/broker-configs.ts'
import type { BrokerConfig } from '../../crds/config/resolve.ts'
import { isTopicConfigName, topicConfigDef } from '../../crds/config/topic-configs.ts'
import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'
import { ConfigResourceType } from './config-resources.ts'

/** A resource's own settings: dotted key to value as text. */
export type Settings = Readonly<Record<string, string>>

/** What the settings become. Throws `KafkaError`. */
export type SettingsChange = (current: Settings) => Settings

interface ConfigValue {
  readonly name: string
  readonly value: string | null
}

interface ConfigOperation extends ConfigValue {
  readonly configOperation: number
}

const SET = 0
const DELETE = 1
const APPEND = 2
const SUBTRACT = 3

/** AlterConfigs: what is not mentioned is set no more. */
export function replacement(configs: readonly ConfigValue[]): SettingsChange {
  return () => {
    checkMentions(configs, () => true)
    return Object.fromEntries(configs.map(({ name, value }) => [name, value ?? '']))
  }
}

/** IncrementalAlterConfigs: only what is mentioned changes. */
export function increment(
  resourceType: number,
  configs: readonly ConfigOperation[],
  brokerConfig: BrokerConfig,
): SettingsChange {
  return (current) => {
    checkMentions(configs, ({ configOperation }) => configOperation !== DELETE)
    const next = new Map(Object.entries(current))
    for (const { name, configOperation, value } of configs) {
      switch (configOperation) {
        case SET:
          next.set(name, value ?? '')
          break
        case DELETE:
          next.delete(name)
          break
        case APPEND:
        case SUBTRACT: {
          const before = next.get(name) ?? defaultList(resourceType, name, configOperation === APPEND, brokerConfig)
          next.set(name, changedList(before, value ?? '', configOperation === APPEND))
          break
        }
        default:
          throw new KafkaError(ErrorCode.INVALID_REQUEST, `Unknown operations type ${configOperation}`)
      }
    }
    return Object.fromEntries(next)
  }
}

function checkMentions<C extends ConfigValue>(configs: readonly C[], needsValue: (config: C) => boolean): void {
  if (new Set(configs.map(({ name }) => name)).size < configs.length) {
    throw new KafkaError(ErrorCode.INVALID_REQUEST, 'Error due to duplicate config keys')
  }
  const missing = configs.filter((config) => config.value === null && needsValue(config)).map(({ name }) => name)
  if (missing.length === 0) return
  throw new KafkaError(ErrorCode.INVALID_REQUEST, `Null value not supported for : ${missing.join(', ')}`)
}

/** What a list begins with that the resource does not set itself. */
function defaultList(resourceType: number, name: string, isAppend: boolean, brokerConfig: BrokerConfig): string {
  if (resourceType === ConfigResourceType.Topic && isTopicConfigName(name) && topicConfigDef(name).type === 'list') {
    return brokerConfig.topicDefault(name).text
  }
  if (resourceType === ConfigResourceType.Broker && isBrokerConfigName(name) && brokerConfigDef(name).type === 'list') {
    return brokerConfigDef(name).defaultValue ?? ''
  }
  throw new KafkaError(
    ErrorCode.INVALID_CONFIG,
    `Can't ${isAppend ? 'APPEND' : 'SUBTRACT'} to key ${name} because its type is not LIST.`,
  )
}

function changedList(before: string, value: string, isAppend: boolean): string {
  const items = split(before)
  const changed = split(value)
  const next = isAppend
    ? [...items, ...changed.filter((item) => !items.includes(item))]
    : items.filter((item) => !changed.includes(item))
  return next.join(',')
}

function split(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
