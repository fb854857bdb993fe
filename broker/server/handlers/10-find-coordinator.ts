/**
 * FindCoordinator, versions 0 to 6. There are no coordinators yet: groups get COORDINATOR_NOT_AVAILABLE, which clients
 * retry; transactions get UNSUPPORTED_VERSION, which ends the client's attempt with a clear message.
 */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  findCoordinatorRequest,
  findCoordinatorResponse,
  type FindCoordinatorRequest,
  type FindCoordinatorResponseInput,
} from '../../protocol/messages/10-find-coordinator.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'

const FIRST_BATCHED_VERSION = 4
const GROUP = 0
const TRANSACTION = 1

export function findCoordinatorHandler(): ApiHandler {
  return defineApi({
    apiKey: ApiKey.FindCoordinator,
    name: 'FindCoordinator',
    versions: [0, 6],
    request: findCoordinatorRequest,
    response: findCoordinatorResponse,
    handle: (request, { apiVersion }) => answer(request, apiVersion, ...absence(request.keyType)),
    errorResponse: (request, error, message, { apiVersion }) => answer(request, apiVersion, error, message),
  })
}

function absence(keyType: number): [code: ErrorCode, message: string] {
  if (keyType === GROUP) return [ErrorCode.COORDINATOR_NOT_AVAILABLE, 'This broker has no group coordinator yet']
  if (keyType === TRANSACTION) return [ErrorCode.UNSUPPORTED_VERSION, 'Transactions are not supported by this broker']
  return [ErrorCode.INVALID_REQUEST, `Unknown coordinator key type ${keyType}`]
}

function answer(
  request: FindCoordinatorRequest,
  apiVersion: number,
  errorCode: ErrorCode,
  errorMessage: string | null,
): FindCoordinatorResponseInput {
  const nowhere = { errorCode, errorMessage, nodeId: -1, host: '', port: -1 }
  if (apiVersion < FIRST_BATCHED_VERSION) return nowhere
  return { coordinators: request.coordinatorKeys.map((key) => ({ key, ...nowhere })) }
}
