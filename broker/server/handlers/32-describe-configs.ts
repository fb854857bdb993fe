/** DescribeConfigs, versions 1 to 4, of topics, brokers and groups: values, where each comes from, synonyms and documentation (KIP-226, KIP-569). */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  describeConfigsRequest,
  describeConfigsResponse,
  type DescribeConfigsRequest,
  type DescribeConfigsResponseInput,
} from '../../protocol/messages/32-describe-configs.ts'
import { topicNameProblem } from '../../../crds/topic.ts'
import { describeGroupConfigs } from '../../../crds/config/group-configs.ts'
import { CONFIG_SOURCE_CODES, CONFIG_TYPE_CODES, type DescribedConfig } from '../../../crds/config/resolve.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { ConfigResourceType, parseBrokerId } from '../config-resources.ts'

type Wanted = DescribeConfigsRequest['resources'][number]
type Result = NonNullable<DescribeConfigsResponseInput['results']>[number]

export function describeConfigsHandler(broker: BrokerContext): ApiHandler {
  const describe = (wanted: Wanted): DescribedConfig[] | { errorCode: number; errorMessage: string } => {
    const { resourceType, resourceName, configurationKeys } = wanted
    // An empty list asks for everything, as null does.
    const keys =
      configurationKeys === null || configurationKeys.length === 0 ? undefined : [...new Set(configurationKeys)]
    if (resourceType === ConfigResourceType.Topic) {
      const problem = topicNameProblem(resourceName)
      if (problem !== undefined) {
        return { errorCode: ErrorCode.INVALID_TOPIC_EXCEPTION, errorMessage: `Topic name is invalid: ${problem}` }
      }
      if (broker.metadata.topic(resourceName) === undefined) {
        return {
          errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
          errorMessage: 'This server does not host this topic-partition.',
        }
      }
      return broker.config.describeTopic(broker.metadata.topicConfig(resourceName), keys)
    }
    if (resourceType === ConfigResourceType.Broker) {
      // The default of all brokers.
      if (resourceName === '') return broker.config.describeDefaults(keys)
      const brokerId = parseBrokerId(resourceName)
      if (brokerId !== broker.brokerId) {
        return {
          errorCode: ErrorCode.INVALID_REQUEST,
          errorMessage: `Unexpected broker id, expected ${broker.brokerId} or empty string, but received ${resourceName}`,
        }
      }
      return broker.config.describe(keys)
    }
    if (resourceType === ConfigResourceType.Group) {
      if (resourceName === '') {
        return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage: 'Group name must not be empty' }
      }
      return describeGroupConfigs(broker.metadata.groupConfig(resourceName), broker.config, keys)
    }
    // As for a subscription that was never set: clients send no metrics to this broker.
    if (resourceType === ConfigResourceType.ClientMetrics && resourceName !== '') return []
    if (resourceType === ConfigResourceType.BrokerLogger) {
      const errorMessage = 'The level of the log is set at the start, with --log-level; it is no config.'
      return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage }
    }
    return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage: `Unsupported resource type: ${resourceType}` }
  }

  const answer = (wanted: Wanted, request: DescribeConfigsRequest): Result => {
    const { resourceType, resourceName } = wanted
    const described = describe(wanted)
    if (!Array.isArray(described)) return { resourceType, resourceName, ...described }
    return {
      resourceType,
      resourceName,
      errorCode: ErrorCode.NONE,
      configs: described.map((config) => ({
        name: config.name,
        value: config.value,
        readOnly: config.isReadOnly,
        configSource: CONFIG_SOURCE_CODES[config.source],
        isSensitive: config.isSensitive,
        synonyms: request.includeSynonyms
          ? config.synonyms.map(({ name, value, source }) => ({ name, value, source: CONFIG_SOURCE_CODES[source] }))
          : [],
        configType: CONFIG_TYPE_CODES[config.type],
        documentation: request.includeDocumentation ? config.documentation : null,
      })),
    }
  }

  return defineApi({
    apiKey: ApiKey.DescribeConfigs,
    name: 'DescribeConfigs',
    versions: [1, 4],
    request: describeConfigsRequest,
    response: describeConfigsResponse,
    handle: (request) => ({ results: distinct(request.resources).map((wanted) => answer(wanted, request)) }),
    errorResponse: (request, errorCode, errorMessage) => ({
      results: request.resources.map(({ resourceType, resourceName }) => ({
        resourceType,
        resourceName,
        errorCode,
        errorMessage,
      })),
    }),
  })
}

/** Each resource once: a request that names one many times would get a response without bounds. */
function distinct(resources: readonly Wanted[]): readonly Wanted[] {
  if (resources.length < 2) return resources
  return [...new Map(resources.map((wanted) => [`${wanted.resourceType} ${wanted.resourceName}`, wanted])).values()]
}
