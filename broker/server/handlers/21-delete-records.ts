/** DeleteRecords, versions 0 to 2 (KIP-107). */
import { partitionKey } from '../../../crds/partition-slice.ts'
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import { deleteRecordsRequest, deleteRecordsResponse } from '../../protocol/messages/21-delete-records.ts'
import { deleteRecordsOnLeader, failedDeletion, type DeleteRecordsResult } from '../../replication/delete-records.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

/** What the disk gets at least: Kafka's timeout is for other replicas, and a client may not want to wait for these. */
const MIN_WAIT_MS = 1000

export function deleteRecordsHandler(broker: BrokerContext): ApiHandler {
  const deleteOne = async (topic: string, partition: number, offset: number): Promise<DeleteRecordsResult> => {
    const found = broker.replicas.findLeader(topic, partition, -1)
    if (typeof found === 'number') return failedDeletion(found)
    try {
      return await deleteRecordsOnLeader(found, offset)
    } catch (error) {
      broker.logger.error({ partition: found.key, offset, err: error }, 'records could not be deleted')
      return failedDeletion(ErrorCode.KAFKA_STORAGE_ERROR)
    }
  }

  const within = async (timeoutMs: number, deletion: Promise<DeleteRecordsResult>): Promise<DeleteRecordsResult> => {
    const late = Promise.withResolvers<DeleteRecordsResult>()
    const timer = broker.timers.schedule(timeoutMs, () => late.resolve(failedDeletion(ErrorCode.REQUEST_TIMED_OUT)))
    try {
      return await Promise.race([deletion, late.promise])
    } finally {
      timer.cancel()
    }
  }

  return defineApi({
    apiKey: ApiKey.DeleteRecords,
    name: 'DeleteRecords',
    versions: [0, 2],
    request: deleteRecordsRequest,
    response: deleteRecordsResponse,
    handle: async ({ topics, timeoutMs }) => {
      // Of a partition that is named more than once the last mention counts, as in Kafka.
      const deletions = new Map<string, { name: string; partitionIndex: number; offset: number }>()
      for (const { name, partitions } of topics) {
        for (const { partitionIndex, offset } of partitions) {
          deletions.set(partitionKey(name, partitionIndex), { name, partitionIndex, offset })
        }
      }
      const waitMs = Math.max(MIN_WAIT_MS, timeoutMs)
      const results = await Promise.all(
        [...deletions.values()].map(async ({ name, partitionIndex, offset }) => ({
          name,
          partition: { partitionIndex, ...(await within(waitMs, deleteOne(name, partitionIndex, offset))) },
        })),
      )
      const byTopic = Map.groupBy(results, ({ name }) => name)
      return {
        topics: [...byTopic].map(([name, ofTopic]) => ({
          name,
          partitions: ofTopic.map(({ partition }) => partition),
        })),
      }
    },
    errorResponse: ({ topics }, errorCode) => ({
      topics: topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, lowWatermark: -1, errorCode })),
      })),
    }),
  })
}
