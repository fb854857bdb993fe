/** What a request handler is: one object per API key, its version range beside it. */
import type { Decoded, Input, Message } from '../protocol/schema.ts'
import type { Releasable } from '../../common/block-pool.ts'
import type { ClientSignal } from '../replication/client-signal.ts'
import type { ErrorCode } from '../protocol/error-codes.ts'

/** What a handler knows of the request besides its body. */
export interface RequestContext {
  readonly apiVersion: number
  readonly correlationId: number
  readonly clientId: string | null
  /** Who the client is; without authentication everybody is ANONYMOUS. */
  readonly user: string
  /** Name of the listener that the request came through: it decides which endpoints Metadata answers. */
  readonly listener: string
  /** The client's address, for its quota and for log lines. */
  readonly remoteAddress: string
  /** Aborts when the connection is gone, so that parked work can be given up. */
  readonly signal: ClientSignal
  /** Closes the client's connection, with a log line that says why: for what no response can say. */
  readonly closeConnection: (reason: string) => void
  /** Keeps what the response refers to until it was sent, or can't be any more. */
  readonly releaseWhenSent: (held: readonly Releasable[]) => void
}

/** An API as the connection sees it: types erased, versions checked by the caller. */
export interface ApiHandler {
  readonly apiKey: number
  readonly name: string
  /** First and last version advertised in ApiVersions. */
  readonly minVersion: number
  readonly maxVersion: number
  readonly requestSchema: Message
  readonly responseSchema: Message
  /**
   * Whether the next request of the connection may start before this one's response is ready. The handler must have
   * done all that is ordered when it returns its promise.
   */
  readonly isPipelined: boolean
  /** Null: no response at all (Produce with acks=0). */
  /** Bytes and records in `request` are views of memory that is used again once the call returned: copy what is kept. */
  handle(request: unknown, context: RequestContext): unknown
  /** The response that says `error` for the whole request. */
  errorResponse(request: unknown, error: ErrorCode, message: string | null, context: RequestContext): unknown
}

export interface ApiDefinition<Request extends Message, Response extends Message> {
  readonly apiKey: number
  readonly name: string
  readonly versions: readonly [min: number, max: number]
  readonly request: Request
  readonly response: Response
  readonly isPipelined?: boolean
  readonly handle: (
    request: Decoded<Request>,
    context: RequestContext,
  ) => Input<Response> | null | Promise<Input<Response> | null>
  readonly errorResponse: (
    request: Decoded<Request>,
    error: ErrorCode,
    message: string | null,
    context: RequestContext,
  ) => Input<Response>
}

/** Checks a handler's types against its schemas and erases them. */
export function defineApi<Request extends Message, Response extends Message>(
  definition: ApiDefinition<Request, Response>,
): ApiHandler {
  const { apiKey, name, versions, request, response, isPipelined = false } = definition
  return {
    apiKey,
    name,
    minVersion: versions[0],
    maxVersion: versions[1],
    requestSchema: request,
    responseSchema: response,
    isPipelined,
    handle: (body, context) => definition.handle(body as Decoded<Request>, context),
    errorResponse: (body, error, message, context) =>
      definition.errorResponse(body as Decoded<Request>, error, message, context),
  }
}
