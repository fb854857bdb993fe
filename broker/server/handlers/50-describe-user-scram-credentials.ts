/** DescribeUserScramCredentials, version 0 (KIP-554). No user has credentials, since nobody authenticates yet; Kafka's tools ask all the same. */
import { ApiKey } from '../../protocol/api-keys.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import {
  describeUserScramCredentialsRequest,
  describeUserScramCredentialsResponse,
} from '../../protocol/messages/50-describe-user-scram-credentials.ts'
import { defineApi, type ApiHandler } from '../api-handler.ts'
import { duplicatesOf } from '../duplicates.ts'

export function describeUserScramCredentialsHandler(): ApiHandler {
  return defineApi({
    apiKey: ApiKey.DescribeUserScramCredentials,
    name: 'DescribeUserScramCredentials',
    versions: [0, 0],
    request: describeUserScramCredentialsRequest,
    response: describeUserScramCredentialsResponse,
    handle: ({ users }) => {
      const names = (users ?? []).map(({ name }) => name)
      const duplicates = duplicatesOf(names)
      return {
        errorMessage: null,
        results: [...new Set(names)].map((user) =>
          duplicates.has(user)
            ? {
                user,
                errorCode: ErrorCode.DUPLICATE_RESOURCE,
                errorMessage: `Cannot describe SCRAM credentials for the same user twice in a single request: ${user}`,
              }
            : {
                user,
                errorCode: ErrorCode.RESOURCE_NOT_FOUND,
                errorMessage: `Attempt to describe a user credential that does not exist: ${user}`,
              },
        ),
      }
    },
    errorResponse: (_request, errorCode, errorMessage) => ({ errorCode, errorMessage }),
  })
}
