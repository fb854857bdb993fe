/** DescribeGroups, versions 0 to 6: the members of classic groups and what they own. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { describeGroupsRequest, describeGroupsResponse } from '../../protocol/messages/15-describe-groups.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import { ALL_GROUP_OPERATIONS, OPERATIONS_NOT_REQUESTED } from '../authorized-operations.ts'
import type { BrokerContext } from '../broker-context.ts'

const FIRST_VERSION_WITH_MESSAGE = 6

export function describeGroupsHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.DescribeGroups,
    name: 'DescribeGroups',
    versions: [0, 6],
    request: describeGroupsRequest,
    response: describeGroupsResponse,
    handle: async ({ groups, includeAuthorizedOperations }, { apiVersion }) => {
      const authorizedOperations = includeAuthorizedOperations ? ALL_GROUP_OPERATIONS : OPERATIONS_NOT_REQUESTED
      const described = await broker.groups.describeClassicGroups(groups, apiVersion)
      const isTold = apiVersion >= FIRST_VERSION_WITH_MESSAGE
      return {
        groups: described.map(({ errorMessage, ...group }) => ({
          ...group,
          authorizedOperations,
          ...(isTold && { errorMessage }),
        })),
      }
    },
    errorResponse: ({ groups }, errorCode) => ({ groups: groups.map((groupId) => ({ groupId, errorCode })) }),
  })
}
