/** IncrementalAlterConfigs, versions 0 and 1 (KIP-339): sets, removes, and adds to or takes from lists. Topics only, so far. */
import { ApiKey } from '../../protocol/api-keys.ts'
import {
  incrementalAlterConfigsRequest,
  incrementalAlterConfigsResponse,
  type IncrementalAlterConfigsRequest,
} from '../../protocol/messages/44-incremental-alter-configs.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import { isTopicConfigName, topicConfigDef } from '../../../crds/config/topic-configs.ts'
import type { BrokerConfig } from '../../../crds/config/resolve.ts'
import { alterResources } from '../alter-configs.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

const SET = 0
const DELETE = 1
const APPEND = 2
const SUBTRACT = 3

type Change = IncrementalAlterConfigsRequest['resources'][number]['configs'][number]

export function incrementalAlterConfigsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.IncrementalAlterConfigs,
    name: 'IncrementalAlterConfigs',
    versions: [0, 1],
    request: incrementalAlterConfigsRequest,
    response: incrementalAlterConfigsResponse,
    handle: async (request) => ({
      responses: await alterResources(broker.topics, request.resources, request.validateOnly, ({ configs }) => {
        return (current) => applyChanges(broker.config, current, configs)
      }),
    }),
    errorResponse: (request, errorCode, errorMessage) => ({
      responses: request.resources.map(({ resourceType, resourceName }) => ({
        resourceType,
        resourceName,
        errorCode,
        errorMessage,
      })),
    }),
  })
}

function applyChanges(
  brokerConfig: BrokerConfig,
  current: Readonly<Record<string, string>>,
  changes: readonly Change[],
): Record<string, string> {
  const next = new Map(Object.entries(current))
  const seen = new Set<string>()
  for (const { name, configOperation, value } of changes) {
    if (seen.has(name)) throw new KafkaError(ErrorCode.INVALID_REQUEST, `Error due to duplicate config keys: ${name}`)
    seen.add(name)
    if (configOperation === DELETE) {
      next.delete(name)
      continue
    }
    if (value === null) throw new KafkaError(ErrorCode.INVALID_REQUEST, `Null value not supported for : ${name}`)
    if (configOperation === SET) next.set(name, value)
    else if (configOperation === APPEND || configOperation === SUBTRACT) {
      next.set(name, changedList(brokerConfig, next.get(name), name, value, configOperation === APPEND))
    } else throw new KafkaError(ErrorCode.INVALID_REQUEST, `Unknown config operation ${configOperation} for ${name}`)
  }
  return Object.fromEntries(next)
}

function changedList(
  brokerConfig: BrokerConfig,
  own: string | undefined,
  name: string,
  value: string,
  isAppend: boolean,
): string {
  if (!isTopicConfigName(name) || topicConfigDef(name).type !== 'list') {
    throw new KafkaError(
      ErrorCode.INVALID_CONFIG,
      `Can't ${isAppend ? 'APPEND to' : 'SUBTRACT from'} key ${name} because its type is not LIST.`,
    )
  }
  const split = (text: string): string[] =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
  const items = split(own ?? brokerConfig.topicDefault(name).text)
  const changed = split(value)
  const next = isAppend
    ? [...items, ...changed.filter((item) => !items.includes(item))]
    : items.filter((item) => !changed.includes(item))
  return next.join(',')
}
