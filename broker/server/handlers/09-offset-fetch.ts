/** OffsetFetch, versions 1 to 9: the committed offsets of one group, from version 8 on of several (KIP-709). */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import {
  offsetFetchRequest,
  offsetFetchResponse,
  type OffsetFetchRequest,
  type OffsetFetchResponseInput,
} from '../../protocol/messages/09-offset-fetch.ts'
import type { OffsetFetchGroup, OffsetFetchGroupResponse } from '../../coordinator/group/offsets/offset-manager.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'

const FIRST_BATCHED_VERSION = 8
/** Before it, an error stands at each partition. */
const FIRST_VERSION_WITH_ERROR_CODE = 2

export function offsetFetchHandler(broker: BrokerContext): ApiHandler {
  return defineApi({
    apiKey: ApiKey.OffsetFetch,
    name: 'OffsetFetch',
    versions: [1, 9],
    request: offsetFetchRequest,
    response: offsetFetchResponse,
    isPipelined: true,
    handle: async (request, { apiVersion }) => {
      const groups = groupsOf(request, apiVersion)
      const fetched = await Promise.all(
        groups.map(async (group) => {
          try {
            return await broker.groups.fetchOffsets(group)
          } catch (error) {
            if (error instanceof KafkaError) return failed(group, error.code)
            throw error
          }
        }),
      )
      return answer(fetched, apiVersion)
    },
    errorResponse: (request, errorCode, _message, { apiVersion }) =>
      answer(
        groupsOf(request, apiVersion).map((group) => failed(group, errorCode)),
        apiVersion,
      ),
  })
}

function groupsOf(request: OffsetFetchRequest, apiVersion: number): readonly OffsetFetchGroup[] {
  if (apiVersion >= FIRST_BATCHED_VERSION) return request.groups
  const topics = request.topics?.map((topic) => ({ ...topic, topicId: '' })) ?? null
  return [{ groupId: request.groupId, memberId: null, memberEpoch: -1, topics }]
}

function failed({ groupId, topics }: OffsetFetchGroup, errorCode: number): OffsetFetchGroupResponse {
  return {
    groupId,
    errorCode,
    topics: (topics ?? []).map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map((partitionIndex) => ({
        partitionIndex,
        committedOffset: -1,
        metadata: '',
        errorCode,
      })),
    })),
  }
}

function answer(groups: readonly OffsetFetchGroupResponse[], apiVersion: number): OffsetFetchResponseInput {
  if (apiVersion >= FIRST_BATCHED_VERSION) {
    return {
      groups: groups.map((group) => (group.errorCode === ErrorCode.NONE ? group : { ...group, topics: [] })),
    }
  }
  const [group] = groups
  const errorCode = group?.errorCode ?? ErrorCode.NONE
  // From version 2 on, the error of the whole is said once.
  const topics = errorCode !== ErrorCode.NONE && apiVersion >= FIRST_VERSION_WITH_ERROR_CODE ? [] : group?.topics
  return { topics, errorCode }
}
