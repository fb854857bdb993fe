/**
 * The messages that this broker knows, by API key. Which versions of them a server offers is not decided here.
 */
import type { Message } from './schema.ts'
import { produceRequest, produceResponse } from './messages/00-produce.ts'
import { fetchRequest, fetchResponse } from './messages/01-fetch.ts'
import { listOffsetsRequest, listOffsetsResponse } from './messages/02-list-offsets.ts'
import { metadataRequest, metadataResponse } from './messages/03-metadata.ts'
import { offsetCommitRequest, offsetCommitResponse } from './messages/08-offset-commit.ts'
import { offsetFetchRequest, offsetFetchResponse } from './messages/09-offset-fetch.ts'
import { findCoordinatorRequest, findCoordinatorResponse } from './messages/10-find-coordinator.ts'
import { joinGroupRequest, joinGroupResponse } from './messages/11-join-group.ts'
import { heartbeatRequest, heartbeatResponse } from './messages/12-heartbeat.ts'
import { leaveGroupRequest, leaveGroupResponse } from './messages/13-leave-group.ts'
import { syncGroupRequest, syncGroupResponse } from './messages/14-sync-group.ts'
import { describeGroupsRequest, describeGroupsResponse } from './messages/15-describe-groups.ts'
import { listGroupsRequest, listGroupsResponse } from './messages/16-list-groups.ts'
import { apiVersionsRequest, apiVersionsResponse } from './messages/18-api-versions.ts'
import { createTopicsRequest, createTopicsResponse } from './messages/19-create-topics.ts'
import { deleteTopicsRequest, deleteTopicsResponse } from './messages/20-delete-topics.ts'
import { deleteRecordsRequest, deleteRecordsResponse } from './messages/21-delete-records.ts'
import { initProducerIdRequest, initProducerIdResponse } from './messages/22-init-producer-id.ts'
import { offsetForLeaderEpochRequest, offsetForLeaderEpochResponse } from './messages/23-offset-for-leader-epoch.ts'
import { describeConfigsRequest, describeConfigsResponse } from './messages/32-describe-configs.ts'
import { alterConfigsRequest, alterConfigsResponse } from './messages/33-alter-configs.ts'
import { describeLogDirsRequest, describeLogDirsResponse } from './messages/35-describe-log-dirs.ts'
import { createPartitionsRequest, createPartitionsResponse } from './messages/37-create-partitions.ts'
import { deleteGroupsRequest, deleteGroupsResponse } from './messages/42-delete-groups.ts'
import { electLeadersRequest, electLeadersResponse } from './messages/43-elect-leaders.ts'
import {
  incrementalAlterConfigsRequest,
  incrementalAlterConfigsResponse,
} from './messages/44-incremental-alter-configs.ts'
import {
  alterPartitionReassignmentsRequest,
  alterPartitionReassignmentsResponse,
} from './messages/45-alter-partition-reassignments.ts'
import {
  listPartitionReassignmentsRequest,
  listPartitionReassignmentsResponse,
} from './messages/46-list-partition-reassignments.ts'
import { offsetDeleteRequest, offsetDeleteResponse } from './messages/47-offset-delete.ts'
import { describeClientQuotasRequest, describeClientQuotasResponse } from './messages/48-describe-client-quotas.ts'
import { alterClientQuotasRequest, alterClientQuotasResponse } from './messages/49-alter-client-quotas.ts'
import {
  describeUserScramCredentialsRequest,
  describeUserScramCredentialsResponse,
} from './messages/50-describe-user-scram-credentials.ts'
import { describeClusterRequest, describeClusterResponse } from './messages/60-describe-cluster.ts'
import { describeProducersRequest, describeProducersResponse } from './messages/61-describe-producers.ts'
import {
  consumerGroupHeartbeatRequest,
  consumerGroupHeartbeatResponse,
} from './messages/68-consumer-group-heartbeat.ts'
import { consumerGroupDescribeRequest, consumerGroupDescribeResponse } from './messages/69-consumer-group-describe.ts'
import { listConfigResourcesRequest, listConfigResourcesResponse } from './messages/74-list-config-resources.ts'
import {
  describeTopicPartitionsRequest,
  describeTopicPartitionsResponse,
} from './messages/75-describe-topic-partitions.ts'

/** The request and the response of one API. */
export interface ApiMessages {
  readonly request: Message
  readonly response: Message
}

const apis: ReadonlyMap<number, ApiMessages> = new Map(
  [
    { request: produceRequest, response: produceResponse },
    { request: fetchRequest, response: fetchResponse },
    { request: listOffsetsRequest, response: listOffsetsResponse },
    { request: metadataRequest, response: metadataResponse },
    { request: offsetCommitRequest, response: offsetCommitResponse },
    { request: offsetFetchRequest, response: offsetFetchResponse },
    { request: findCoordinatorRequest, response: findCoordinatorResponse },
    { request: joinGroupRequest, response: joinGroupResponse },
    { request: heartbeatRequest, response: heartbeatResponse },
    { request: leaveGroupRequest, response: leaveGroupResponse },
    { request: syncGroupRequest, response: syncGroupResponse },
    { request: describeGroupsRequest, response: describeGroupsResponse },
    { request: listGroupsRequest, response: listGroupsResponse },
    { request: apiVersionsRequest, response: apiVersionsResponse },
    { request: createTopicsRequest, response: createTopicsResponse },
    { request: deleteTopicsRequest, response: deleteTopicsResponse },
    { request: deleteRecordsRequest, response: deleteRecordsResponse },
    { request: initProducerIdRequest, response: initProducerIdResponse },
    { request: offsetForLeaderEpochRequest, response: offsetForLeaderEpochResponse },
    { request: describeConfigsRequest, response: describeConfigsResponse },
    { request: alterConfigsRequest, response: alterConfigsResponse },
    { request: describeLogDirsRequest, response: describeLogDirsResponse },
    { request: createPartitionsRequest, response: createPartitionsResponse },
    { request: deleteGroupsRequest, response: deleteGroupsResponse },
    { request: electLeadersRequest, response: electLeadersResponse },
    { request: incrementalAlterConfigsRequest, response: incrementalAlterConfigsResponse },
    { request: alterPartitionReassignmentsRequest, response: alterPartitionReassignmentsResponse },
    { request: listPartitionReassignmentsRequest, response: listPartitionReassignmentsResponse },
    { request: offsetDeleteRequest, response: offsetDeleteResponse },
    { request: describeClientQuotasRequest, response: describeClientQuotasResponse },
    { request: alterClientQuotasRequest, response: alterClientQuotasResponse },
    { request: describeUserScramCredentialsRequest, response: describeUserScramCredentialsResponse },
    { request: describeClusterRequest, response: describeClusterResponse },
    { request: describeProducersRequest, response: describeProducersResponse },
    { request: consumerGroupHeartbeatRequest, response: consumerGroupHeartbeatResponse },
    { request: consumerGroupDescribeRequest, response: consumerGroupDescribeResponse },
    { request: listConfigResourcesRequest, response: listConfigResourcesResponse },
    { request: describeTopicPartitionsRequest, response: describeTopicPartitionsResponse },
  ].map((api) => [api.request.apiKey, api]),
)

/** All known APIs, in the order of their keys. */
export const allApiMessages: readonly ApiMessages[] = [...apis.values()]

/** The messages of an API, or undefined if its key is unknown here. */
export function apiMessages(apiKey: number): ApiMessages | undefined {
  return apis.get(apiKey)
}
