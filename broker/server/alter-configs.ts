/** What AlterConfigs and IncrementalAlterConfigs share: which resources can be altered, and one answer for each. */
import { ErrorCode } from '../protocol/error-codes.ts'
import { ConfigResourceType } from './config-resources.ts'
import type { AdminOutcome, TopicAdmin } from './topic-admin.ts'

interface Resource {
  readonly resourceType: number
  readonly resourceName: string
}

type Change = (current: Readonly<Record<string, string>>) => Readonly<Record<string, string>>

/** `changeOf`: what a resource's own configs become, given what they are; may throw KafkaError or ConfigError. */
export async function alterResources<R extends Resource>(
  topics: TopicAdmin,
  resources: readonly R[],
  isValidateOnly: boolean,
  changeOf: (resource: R) => Change,
): Promise<(AdminOutcome & Resource)[]> {
  const keyOf = ({ resourceType, resourceName }: Resource): string => `${resourceType} ${resourceName}`
  const counts = new Map<string, number>()
  for (const resource of resources) counts.set(keyOf(resource), (counts.get(keyOf(resource)) ?? 0) + 1)
  return Promise.all(
    resources.map(async (resource) => {
      const { resourceType, resourceName } = resource
      if ((counts.get(keyOf(resource)) ?? 0) > 1) {
        return {
          resourceType,
          resourceName,
          errorCode: ErrorCode.INVALID_REQUEST,
          errorMessage: 'Each resource must appear at most once.',
        }
      }
      if (resourceType === ConfigResourceType.Topic) {
        return {
          resourceType,
          resourceName,
          ...(await topics.alterConfigs(resourceName, changeOf(resource), isValidateOnly)),
        }
      }
      const errorMessage =
        resourceType === ConfigResourceType.Broker
          ? 'Broker configs cannot be changed while brokers run yet; set them at the start.'
          : `Unsupported resource type: ${resourceType}`
      return { resourceType, resourceName, errorCode: ErrorCode.INVALID_REQUEST, errorMessage }
    }),
  )
}
