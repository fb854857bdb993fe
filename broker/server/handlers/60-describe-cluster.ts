/** DescribeCluster, versions 0 to 2: brokers, fenced ones too when asked for (KIP-700, KIP-919, KIP-1073). */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import { describeClusterRequest, describeClusterResponse } from '../../protocol/messages/60-describe-cluster.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import { ALL_CLUSTER_OPERATIONS, OPERATIONS_NOT_REQUESTED } from '../authorized-operations.ts'
import type { BrokerContext } from '../broker-context.ts'

const BROKERS = 1
const CONTROLLERS = 2

export function describeClusterHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.DescribeCluster,
    name: 'DescribeCluster',
    versions: [0, 2],
    request: describeClusterRequest,
    response: describeClusterResponse,
    handle: (request, { listener, apiVersion }) => {
      if (apiVersion >= 1 && request.endpointType !== BROKERS) {
        return request.endpointType === CONTROLLERS
          ? {
              errorCode: ErrorCode.MISMATCHED_ENDPOINT_TYPE,
              errorMessage:
                'The request was sent to an endpoint of the wrong type: brokers have no controller endpoints',
            }
          : {
              errorCode: ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
              errorMessage: `Unsupported endpoint type ${request.endpointType}`,
            }
      }
      const brokers = []
      for (const { brokerId, endpoints, rack, isFenced } of broker.metadata.brokers()) {
        const endpoint = endpoints[listener]
        if (endpoint === undefined || (isFenced && !request.includeFencedBrokers)) continue
        brokers.push({ brokerId, host: endpoint.host, port: endpoint.port, rack: rack ?? null, isFenced })
      }
      return {
        clusterId: broker.clusterId,
        controllerId: broker.brokerId,
        brokers,
        ...(apiVersion >= 1 && { endpointType: BROKERS }),
        clusterAuthorizedOperations: request.includeClusterAuthorizedOperations
          ? ALL_CLUSTER_OPERATIONS
          : OPERATIONS_NOT_REQUESTED,
      }
    },
    errorResponse: (_request, errorCode, errorMessage) => ({ errorCode, errorMessage }),
  })
}
