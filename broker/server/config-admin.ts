/**
 * Configs as Kafka's admin clients change them: of topics, of this broker, of all brokers (the empty broker name), and of
 * consumer groups. What is asked for is checked as Kafka checks it, written to the store, and answered once this broker
 * has seen it (KIP-226).
 */
import type { Timers } from '../../common/timers.ts'
import { brokerObjectName } from '../../crds/broker.ts'
import { brokerConfigDef, isBrokerConfigName, validateBrokerConfig } from '../../crds/config/broker-configs.ts'
import { ConfigError } from '../../crds/config/config-def.ts'
import { validateGroupConfig } from '../../crds/config/group-configs.ts'
import type { LiveConfig } from '../../crds/config/live-config.ts'
import { groupConfigObjectName } from '../../crds/group-config.ts'
import { LOCAL_NAMESPACE, type ObjectRef } from '../../crds/resource.ts'
import type { Kind, Kinds, ResourceStore } from '../../crds/resource-store.ts'
import type { MetadataCache } from '../metadata/metadata-cache.ts'
import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'
import { outcomeOf, VISIBLE_TIMEOUT_MS, type AdminOutcome } from './admin-outcome.ts'
import type { Settings, SettingsChange } from './config-changes.ts'
import { ConfigResourceType, parseBrokerId } from './config-resources.ts'
import { CreationLimit } from './creation-limit.ts'
import { duplicatesOf } from './duplicates.ts'
import { againOnRaces } from './store-races.ts'
import type { TopicAdmin } from './topic-admin.ts'

export interface ConfigAdminDependencies {
  readonly brokerId: number
  readonly store: ResourceStore
  /** The Cluster resource: it holds what is set for all brokers. */
  readonly cluster: ObjectRef
  readonly metadata: MetadataCache
  readonly configs: LiveConfig
  readonly topics: TopicAdmin
  readonly timers: Timers
}

export interface ConfigResource {
  readonly resourceType: number
  readonly resourceName: string
}

/** Far more than anybody configures. */
const MAX_CONFIGURED_GROUPS = 10_000
/** Of a group that has configs of its own. */
const MAX_GROUP_ID_LENGTH = 1000

export class ConfigAdmin {
  readonly #dependencies: ConfigAdminDependencies
  readonly #groupLimit = new CreationLimit(MAX_CONFIGURED_GROUPS, 'groups that have configs of their own')

  constructor(dependencies: ConfigAdminDependencies) {
    this.#dependencies = dependencies
  }

  /** Changes each resource by what `changeOf` makes of it; one outcome a resource, in order. */
  async alter<R extends ConfigResource>(
    resources: readonly R[],
    isValidateOnly: boolean,
    changeOf: (resource: R) => SettingsChange,
  ): Promise<(AdminOutcome & ConfigResource)[]> {
    const keyOf = ({ resourceType, resourceName }: ConfigResource): string => `${resourceType} ${resourceName}`
    const duplicates = duplicatesOf(resources.map(keyOf))
    return Promise.all(
      resources.map(async (resource) => {
        const { resourceType, resourceName } = resource
        const outcome = duplicates.has(keyOf(resource))
          ? { errorCode: ErrorCode.INVALID_REQUEST, errorMessage: 'Each resource must appear at most once.' }
          : await this.#alterOne(resource, changeOf(resource), isValidateOnly)
        return { resourceType, resourceName, ...outcome }
      }),
    )
  }

  async #alterOne(resource: ConfigResource, change: SettingsChange, isValidateOnly: boolean): Promise<AdminOutcome> {
    const { resourceType, resourceName } = resource
    if (resourceType === ConfigResourceType.Topic && resourceName !== '') {
      return this.#dependencies.topics.alterConfigs(resourceName, change, isValidateOnly)
    }
    return outcomeOf(async () => {
      switch (resourceType) {
        case ConfigResourceType.Topic:
          throw invalidRequest('Default topic resources are not allowed.')
        case ConfigResourceType.Broker:
          await this.#alterBrokers(resourceName, change, isValidateOnly)
          return
        case ConfigResourceType.Group:
          await this.#alterGroup(resourceName, change, isValidateOnly)
          return
        case ConfigResourceType.BrokerLogger:
          throw invalidRequest('Log levels cannot be changed while the broker runs; start it with another --log-level.')
        case ConfigResourceType.ClientMetrics:
          throw invalidRequest('Client metrics are not supported: no client sends any to this broker.')
        default:
          throw invalidRequest(`Unknown resource type ${resourceType}`)
      }
    })
  }

  /** `name`: this broker's id, or empty for what all brokers have by default. */
  async #alterBrokers(name: string, change: SettingsChange, isValidateOnly: boolean): Promise<void> {
    const { brokerId, metadata, cluster } = this.#dependencies
    if (name === '') {
      const changed = await this.#change('Cluster', cluster, isValidateOnly, change, (config) => {
        this.#validateBrokerConfig(config, true)
      })
      await this.#whenSeen(() => metadata.cluster, changed)
      return
    }
    this.#checkBrokerId(name)
    const broker = { namespace: LOCAL_NAMESPACE, name: brokerObjectName(brokerId) }
    const changed = await this.#change('Broker', broker, isValidateOnly, change, (config) => {
      this.#validateBrokerConfig(config, false)
    })
    await this.#whenSeen(() => metadata.brokerResource(brokerId), changed)
  }

  #checkBrokerId(name: string): void {
    const { brokerId } = this.#dependencies
    if (!/^-?\d{1,10}$/.test(name)) throw invalidRequest(`Node id must be an integer, but it is: ${name}`)
    if (parseBrokerId(name) === brokerId) return
    throw invalidRequest(`Unexpected broker id, expected ${brokerId}, but received ${name}`)
  }

  /** Kafka answers INVALID_REQUEST to what is wrong with broker configs, where it answers INVALID_CONFIG for topics. */
  #validateBrokerConfig(config: Settings, isForAll: boolean): void {
    const { layers } = this.#dependencies.configs.current
    const names = Object.keys(config).filter(isBrokerConfigName)
    const fixed = names.filter((name) => brokerConfigDef(name).update === 'read-only')
    if (fixed.length > 0) throw invalidRequest(`Cannot update these configs dynamically: [${fixed.join(', ')}]`)
    const shared = names.find((name) => !isForAll && brokerConfigDef(name).isOfWholeCluster === true)
    if (shared !== undefined) {
      throw new KafkaError(
        ErrorCode.INVALID_CONFIG,
        `Broker-level ${shared} cannot be altered: it is one for the whole cluster. Set the default of all brokers.`,
      )
    }
    try {
      const own = isForAll ? { ...config, ...layers.dynamicBroker } : { ...layers.dynamicDefault, ...config }
      // Alone first, so that a value is told that a stronger layer hides.
      validateBrokerConfig({ ...layers.staticBroker, ...config })
      validateBrokerConfig({ ...layers.staticBroker, ...own })
    } catch (error) {
      if (error instanceof ConfigError) throw invalidRequest(error.message)
      throw error
    }
    const single = names.filter((name) => isForAll && brokerConfigDef(name).update === 'per-broker')
    if (single.length === 0) return
    throw invalidRequest(
      `Cannot update these configs at default cluster level, broker id must be specified: [${single.join(', ')}]`,
    )
  }

  /** Patches an object's `spec.config`, again if it changed meanwhile; undefined when nothing was written. */
  async #change<K extends 'Cluster' | 'Broker' | 'GroupConfig'>(
    kind: K,
    ref: ObjectRef,
    isValidateOnly: boolean,
    change: SettingsChange,
    validate: (config: Settings) => void,
  ): Promise<Kinds[K] | undefined> {
    const { store } = this.#dependencies
    return againOnRaces(async () => {
      const object = await store.get(kind, ref)
      if (object === undefined) throw new Error(`there is no ${kind} ${ref.name}`)
      const before: Settings | undefined = object.spec.config
      const config = change(before ?? {})
      validate(config)
      if (isValidateOnly || sameSettings(before ?? {}, config)) return undefined
      return store.patch(kind, ref, [
        // Where nothing was set yet, there is nothing smaller to test than the whole.
        before === undefined
          ? { op: 'test', path: '/spec', value: object.spec }
          : { op: 'test', path: '/spec/config', value: before },
        { op: 'add', path: '/spec/config', value: config },
      ])
    })
  }

  async #alterGroup(groupId: string, change: SettingsChange, isValidateOnly: boolean): Promise<void> {
    if (groupId === '') throw invalidRequest('Default group resources are not allowed.')
    if (groupId.length > MAX_GROUP_ID_LENGTH) {
      throw invalidRequest(`Only groups with ids of at most ${MAX_GROUP_ID_LENGTH} characters can have configs.`)
    }
    const { store, metadata, configs, timers } = this.#dependencies
    const ref = { namespace: LOCAL_NAMESPACE, name: groupConfigObjectName(groupId) }
    const validate = (config: Settings): void => validateGroupConfig(config, configs.current)
    let giveBack: (() => void) | undefined
    const write = async (): Promise<Settings | undefined> => {
      const object = await store.get('GroupConfig', ref)
      const before = object?.spec.config ?? {}
      const config = change(before)
      validate(config)
      if (isValidateOnly || sameSettings(before, config)) return undefined
      if (Object.keys(config).length === 0) {
        if (object !== undefined) {
          await store.delete('GroupConfig', ref, { resourceVersion: object.metadata.resourceVersion })
        }
      } else if (object === undefined) {
        giveBack ??= this.#groupLimit.take(metadata.configuredGroupCount)
        await store.create({ kind: 'GroupConfig', metadata: ref, spec: { groupId, config } })
      } else {
        await store.patch('GroupConfig', ref, [
          { op: 'test', path: '/spec/config', value: before },
          { op: 'replace', path: '/spec/config', value: config },
        ])
      }
      return config
    }
    try {
      const settled = await againOnRaces(write)
      if (settled === undefined) return
      await metadata.waitFor(() => sameSettings(metadata.groupConfig(groupId), settled), {
        timers,
        timeoutMs: VISIBLE_TIMEOUT_MS,
      })
    } finally {
      giveBack?.()
    }
  }

  /** So that a client that describes the resource next, on this broker, sees what it changed. */
  async #whenSeen<K extends Kind>(known: () => Kinds[K] | undefined, changed: Kinds[K] | undefined): Promise<void> {
    if (changed === undefined) return
    const { metadata, timers } = this.#dependencies
    await metadata.waitFor(() => (known()?.metadata.generation ?? 0) >= changed.metadata.generation, {
      timers,
      timeoutMs: VISIBLE_TIMEOUT_MS,
    })
  }
}

function invalidRequest(message: string): KafkaError {
  return new KafkaError(ErrorCode.INVALID_REQUEST, message)
}

function sameSettings(a: Settings, b: Settings): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}
