/**
 * FindCoordinator, versions 0 to 6: who coordinates a group. The first request makes the topic of the groups. Transactions
 * and share groups are not supported yet, and say so: clients that retry would do it for ever.
 */
import { GROUP_METADATA_TOPIC } from '../../../crds/topic.ts'
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import {
  findCoordinatorRequest,
  findCoordinatorResponse,
  type FindCoordinatorRequest,
  type FindCoordinatorResponseInput,
} from '../../protocol/messages/10-find-coordinator.ts'
import { defineApi, type ApiHandler, type RequestContext } from '../api-handler.ts'
import type { BrokerContext } from '../broker-context.ts'
import { ensureInternalTopic } from '../internal-topics.ts'

const FIRST_BATCHED_VERSION = 4
const GROUP = 0
const TRANSACTION = 1
const SHARE = 2

type Coordinator = NonNullable<FindCoordinatorResponseInput['coordinators']>[number]

export function findCoordinatorHandler(broker: BrokerContext): ApiHandler {
  const handle = async (
    request: FindCoordinatorRequest,
    context: RequestContext,
  ): Promise<FindCoordinatorResponseInput> => {
    checkKeyType(request.keyType)
    await ensureInternalTopic(broker, GROUP_METADATA_TOPIC)
    return answer(request, context, (groupId) => coordinatorOf(broker, groupId, context.listener))
  }

  return defineApi({
    apiKey: ApiKey.FindCoordinator,
    name: 'FindCoordinator',
    versions: [0, 6],
    request: findCoordinatorRequest,
    response: findCoordinatorResponse,
    handle,
    errorResponse: (request, errorCode, errorMessage, context) =>
      answer(request, context, () => nowhere(errorCode, errorMessage)),
  })
}

function checkKeyType(keyType: number): void {
  if (keyType === GROUP) return
  if (keyType === TRANSACTION)
    throw new KafkaError(ErrorCode.UNSUPPORTED_VERSION, 'Transactions are not supported by this broker')
  if (keyType === SHARE)
    throw new KafkaError(ErrorCode.UNSUPPORTED_VERSION, 'Share groups are not supported by this broker')
  throw new KafkaError(ErrorCode.INVALID_REQUEST, `Unknown coordinator key type ${keyType}`)
}

function coordinatorOf(broker: BrokerContext, groupId: string, listener: string): Coordinator {
  const nodeId = broker.groups.coordinatorOf(groupId)
  const node = broker.metadata.aliveBrokers(listener).find(({ brokerId }) => brokerId === nodeId)
  if (node === undefined) return nowhere(ErrorCode.COORDINATOR_NOT_AVAILABLE, 'The coordinator is not available.')
  return { errorCode: ErrorCode.NONE, errorMessage: null, nodeId: node.brokerId, ...node.endpoint }
}

function nowhere(errorCode: number, errorMessage: string | null): Coordinator {
  return { errorCode, errorMessage, nodeId: -1, host: '', port: -1 }
}

function answer(
  { key, coordinatorKeys }: FindCoordinatorRequest,
  { apiVersion }: RequestContext,
  coordinatorOfKey: (key: string) => Coordinator,
): FindCoordinatorResponseInput {
  if (apiVersion < FIRST_BATCHED_VERSION) return coordinatorOfKey(key)
  return { coordinators: coordinatorKeys.map((one) => ({ ...coordinatorOfKey(one), key: one })) }
}
