/**
 * DescribeCluster (API key 60): the brokers of the cluster, without any topics (KIP-700).
 */
import { array, bool, int16, int32, int8, request, response, string, type Decoded, type Input } from '../schema.ts'

export const describeClusterRequest = request(60, {
  name: 'DescribeClusterRequest',
  versions: '0-2',
  flexible: '0+',
  fields: {
    includeClusterAuthorizedOperations: bool('0+'),
    endpointType: int8('1+', { default: 1, about: '1: brokers; 2: controllers.' }),
    includeFencedBrokers: bool('2+'),
  },
})
export type DescribeClusterRequest = Decoded<typeof describeClusterRequest>
export type DescribeClusterRequestInput = Input<typeof describeClusterRequest>

export const describeClusterResponse = response(60, {
  name: 'DescribeClusterResponse',
  versions: '0-2',
  flexible: '0+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: true, default: null }),
    endpointType: int8('1+', { default: 1, about: '1: brokers; 2: controllers.' }),
    clusterId: string('0+'),
    controllerId: int32('0+', { default: -1 }),
    brokers: array('0+', {
      brokerId: int32('0+'),
      host: string('0+'),
      port: int32('0+'),
      rack: string('0+', { nullable: true, default: null }),
      isFenced: bool('2+'),
    }),
    clusterAuthorizedOperations: int32('0+', {
      default: -2147483648,
      about: 'A bit per operation that the client may perform; the lowest int32 if it did not ask.',
    }),
  },
})
export type DescribeClusterResponse = Decoded<typeof describeClusterResponse>
export type DescribeClusterResponseInput = Input<typeof describeClusterResponse>
