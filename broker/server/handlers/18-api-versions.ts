/** ApiVersions, versions 0 to 4: exactly what works here (KIP-35, KIP-511). */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  apiVersionsRequest,
  apiVersionsResponse,
  type ApiVersionsResponseInput,
} from '../../protocol/messages/18-api-versions.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'

/** KIP-511: letters, digits, dots and dashes, with a letter or digit at both ends. */
const SOFTWARE_NAME = /^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$/

/** `handlers`: all of the broker, this one included; called at each request. */
export function apiVersionsHandler(handlers: () => readonly ApiHandler[]): ApiHandler {
  const answer = (errorCode: ErrorCode): ApiVersionsResponseInput => ({
    errorCode,
    apiKeys: handlers().map(({ apiKey, minVersion, maxVersion }) => ({ apiKey, minVersion, maxVersion })),
  })
  return defineApi({
    apiKey: ApiKey.ApiVersions,
    name: 'ApiVersions',
    versions: [0, 4],
    request: apiVersionsRequest,
    response: apiVersionsResponse,
    handle: (request, { apiVersion }) => {
      const isNamed =
        SOFTWARE_NAME.test(request.clientSoftwareName) && SOFTWARE_NAME.test(request.clientSoftwareVersion)
      return answer(apiVersion >= 3 && !isNamed ? ErrorCode.INVALID_REQUEST : ErrorCode.NONE)
    },
    errorResponse: (_request, error) => answer(error),
  })
}
