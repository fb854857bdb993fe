/** ConsumerGroupDescribe, versions 0 and 1: the members of groups of the consumer protocol (KIP-848) and what they own. */
import { ApiKey } from '../../protocol/api-keys.ts'
import {
  consumerGroupDescribeRequest,
  consumerGroupDescribeResponse,
} from '../../protocol/messages/69-consumer-group-describe.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import { ALL_GROUP_OPERATIONS, OPERATIONS_NOT_REQUESTED } from '../authorized-operations.ts'
import type { BrokerContext } from '../broker-context.ts'

export function consumerGroupDescribeHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.ConsumerGroupDescribe,
    name: 'ConsumerGroupDescribe',
    versions: [0, 1],
    request: consumerGroupDescribeRequest,
    response: consumerGroupDescribeResponse,
    handle: async ({ groupIds, includeAuthorizedOperations }) => {
      const authorizedOperations = includeAuthorizedOperations ? ALL_GROUP_OPERATIONS : OPERATIONS_NOT_REQUESTED
      const described = await broker.groups.describeConsumerGroups(groupIds)
      return { groups: described.map((group) => ({ ...group, authorizedOperations })) }
    },
    errorResponse: ({ groupIds }, errorCode, errorMessage) => ({
      groups: groupIds.map((groupId) => ({ groupId, errorCode, errorMessage })),
    }),
  })
}
