/** All APIs of a broker: what is listed here is what ApiVersions advertises. */
import type { ApiHandler } from './api-handler.ts'
import type { BrokerContext } from './broker-context.ts'
import { produceHandler } from './handlers/00-produce.ts'
import { fetchHandler } from './handlers/01-fetch.ts'
import { listOffsetsHandler } from './handlers/02-list-offsets.ts'
import { metadataHandler } from './handlers/03-metadata.ts'
import { offsetCommitHandler } from './handlers/08-offset-commit.ts'
import { offsetFetchHandler } from './handlers/09-offset-fetch.ts'
import { findCoordinatorHandler } from './handlers/10-find-coordinator.ts'
import { joinGroupHandler } from './handlers/11-join-group.ts'
import { heartbeatHandler } from './handlers/12-heartbeat.ts'
import { leaveGroupHandler } from './handlers/13-leave-group.ts'
import { syncGroupHandler } from './handlers/14-sync-group.ts'
import { describeGroupsHandler } from './handlers/15-describe-groups.ts'
import { listGroupsHandler } from './handlers/16-list-groups.ts'
import { apiVersionsHandler } from './handlers/18-api-versions.ts'
import { createTopicsHandler } from './handlers/19-create-topics.ts'
import { deleteTopicsHandler } from './handlers/20-delete-topics.ts'
import { deleteRecordsHandler } from './handlers/21-delete-records.ts'
import { initProducerIdHandler } from './handlers/22-init-producer-id.ts'
import { offsetForLeaderEpochHandler } from './handlers/23-offset-for-leader-epoch.ts'
import { describeConfigsHandler } from './handlers/32-describe-configs.ts'
import { alterConfigsHandler } from './handlers/33-alter-configs.ts'
import { describeLogDirsHandler } from './handlers/35-describe-log-dirs.ts'
import { createPartitionsHandler } from './handlers/37-create-partitions.ts'
import { deleteGroupsHandler } from './handlers/42-delete-groups.ts'
import { electLeadersHandler } from './handlers/43-elect-leaders.ts'
import { incrementalAlterConfigsHandler } from './handlers/44-incremental-alter-configs.ts'
import { alterPartitionReassignmentsHandler } from './handlers/45-alter-partition-reassignments.ts'
import { listPartitionReassignmentsHandler } from './handlers/46-list-partition-reassignments.ts'
import { offsetDeleteHandler } from './handlers/47-offset-delete.ts'
import { describeClientQuotasHandler } from './handlers/48-describe-client-quotas.ts'
import { alterClientQuotasHandler } from './handlers/49-alter-client-quotas.ts'
import { describeUserScramCredentialsHandler } from './handlers/50-describe-user-scram-credentials.ts'
import { describeClusterHandler } from './handlers/60-describe-cluster.ts'
import { describeProducersHandler } from './handlers/61-describe-producers.ts'
import { consumerGroupHeartbeatHandler } from './handlers/68-consumer-group-heartbeat.ts'
import { consumerGroupDescribeHandler } from './handlers/69-consumer-group-describe.ts'
import { listConfigResourcesHandler } from './handlers/74-list-config-resources.ts'
import { describeTopicPartitionsHandler } from './handlers/75-describe-topic-partitions.ts'

export function createHandlers(broker: BrokerContext): readonly ApiHandler[] {
  const handlers: readonly ApiHandler[] = [
    produceHandler(broker),
    fetchHandler(broker),
    listOffsetsHandler(broker),
    metadataHandler(broker),
    offsetCommitHandler(broker),
    offsetFetchHandler(broker),
    findCoordinatorHandler(broker),
    joinGroupHandler(broker),
    heartbeatHandler(broker),
    leaveGroupHandler(broker),
    syncGroupHandler(broker),
    describeGroupsHandler(broker),
    listGroupsHandler(broker),
    apiVersionsHandler(() => handlers),
    createTopicsHandler(broker),
    deleteTopicsHandler(broker),
    deleteRecordsHandler(broker),
    initProducerIdHandler(broker),
    offsetForLeaderEpochHandler(broker),
    describeConfigsHandler(broker),
    alterConfigsHandler(broker),
    describeLogDirsHandler(broker),
    createPartitionsHandler(broker),
    deleteGroupsHandler(broker),
    electLeadersHandler(broker),
    incrementalAlterConfigsHandler(broker),
    alterPartitionReassignmentsHandler(broker),
    listPartitionReassignmentsHandler(broker),
    offsetDeleteHandler(broker),
    describeClientQuotasHandler(broker),
    alterClientQuotasHandler(broker),
    describeUserScramCredentialsHandler(),
    describeClusterHandler(broker),
    describeProducersHandler(broker),
    consumerGroupHeartbeatHandler(broker),
    consumerGroupDescribeHandler(broker),
    listConfigResourcesHandler(broker),
    describeTopicPartitionsHandler(broker),
  ]
  return handlers
}
