/**
 * From a frame to its response: header, handler look-up, version check, decoding, handling, encoding, and the one place
 * where an unforeseen error becomes an error code and a log line.
 */
import type { Releasable } from '../../common/block-pool.ts'
import type { Clock } from '../../common/clock.ts'
import { InvariantError } from '../../common/invariant.ts'
import type { Logger } from '../../common/logger.ts'
import { ApiKey } from '../protocol/api-keys.ts'
import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'
import { decodeRequest, decodeRequestHeader, encodeResponse, type RequestHeader } from '../protocol/frame.ts'
import { apiVersionsResponse } from '../protocol/messages/18-api-versions.ts'
import { EncodeError, ProtocolError } from '../protocol/wire/errors.ts'
import type { ClientSignal } from '../replication/client-signal.ts'
import type { ApiHandler, RequestContext } from './api-handler.ts'
import { legacyProduceResponse } from './legacy-produce.ts'
import type { RequestMetrics, RequestTimes } from './request-metrics.ts'

/**
 * Takes the response's buffers (null where the request has no response) and what they lie in, to be released
 * once they were sent. Called once, maybe before `process` returns.
 */
export type Respond = (buffers: readonly Uint8Array[] | null, held: readonly Releasable[]) => void

/** A request that is being handled, or the reason for which the connection has to be closed. */
export type ProcessOutcome = { readonly isPipelined: boolean } | string

export interface ConnectionInfo extends ClientSignal {
  readonly remoteAddress: string
  /** Closes the connection with one log line. */
  fail(reason: string): void
}

const NOTHING_HELD: readonly Releasable[] = []
const SEQUENTIAL = { isPipelined: false }
const PIPELINED = { isPipelined: true }

export class RequestProcessor {
  readonly #handlers = new Map<number, ApiHandler>()
  readonly #metrics: RequestMetrics
  readonly #clock: Clock
  readonly #logger: Logger

  constructor(handlers: readonly ApiHandler[], metrics: RequestMetrics, clock: Clock, logger: Logger) {
    for (const handler of handlers) this.#handlers.set(handler.apiKey, handler)
    this.#metrics = metrics
    this.#clock = clock
    this.#logger = logger
  }

  process(frame: Buffer, connection: ConnectionInfo, listener: string, respond: Respond): ProcessOutcome {
    const startMs = this.#clock.monotonicMs()
    let header: RequestHeader
    let body: unknown
    let handler: ApiHandler | undefined
    try {
      header = decodeRequestHeader(frame)
      handler = this.#handlers.get(header.apiKey)
      if (handler === undefined) return `unknown or unsupported API key ${header.apiKey}`
      if (header.apiVersion < handler.minVersion || header.apiVersion > handler.maxVersion) {
        return this.#unsupportedVersion(header, handler, respond)
      }
      if (header.apiKey === ApiKey.Produce && header.apiVersion < handler.requestSchema.versions.first) {
        respond(legacyProduceResponse(frame, header), NOTHING_HELD)
        return SEQUENTIAL
      }
      body = decodeRequest(handler.requestSchema, frame, header)
    } catch (error) {
      if (error instanceof ProtocolError) return `malformed request: ${error.message}`
      // A name that is no UTF-8 becomes longer when it is said again.
      if (error instanceof EncodeError) return `no response could be made: ${error.message}`
      throw error
    }
    const held: Releasable[] = []
    const context: RequestContext = {
      apiVersion: header.apiVersion,
      correlationId: header.correlationId,
      clientId: header.clientId,
      listener,
      remoteAddress: connection.remoteAddress,
      signal: connection,
      closeConnection: (reason) => connection.fail(reason),
      releaseWhenSent: (more) => held.push(...more),
    }
    this.#handle(handler, body, context, connection, startMs, (buffers) => respond(buffers, held))
    return handler.isPipelined ? PIPELINED : SEQUENTIAL
  }

  #handle(
    handler: ApiHandler,
    body: unknown,
    context: RequestContext,
    connection: ConnectionInfo,
    startMs: number,
    respond: (buffers: readonly Uint8Array[] | null) => void,
  ): void {
    const times = this.#metrics.of(handler.name)
    const finish = (response: unknown): void => {
      const buffers =
        response === null
          ? null
          : encodeResponse(handler.responseSchema, context.apiVersion, context.correlationId, response as object)
      times.count++
      times.total.record(this.#clock.monotonicMs() - startMs)
      respond(buffers)
    }
    const fail = (error: unknown): void => {
      // What can't even be said as an error response ends the connection, so that the client does not wait for ever.
      try {
        finish(this.#errorResponse(handler, body, context, error, times))
      } catch (encodingError) {
        if (encodingError instanceof InvariantError) throw encodingError
        if (!(encodingError instanceof EncodeError)) this.#logUnforeseen(handler, context, encodingError)
        connection.fail(`no response to ${handler.name} could be made: ${String(encodingError)}`)
        respond(null)
        return
      }
      if (!(error instanceof KafkaError)) this.#logUnforeseen(handler, context, error)
    }
    let result: unknown
    try {
      result = handler.handle(body, context)
    } catch (error) {
      fail(error)
      return
    }
    times.local.record(this.#clock.monotonicMs() - startMs)
    if (!(result instanceof Promise)) {
      this.#finishOrFail(finish, fail, result)
      return
    }
    result.then((response: unknown) => this.#finishOrFail(finish, fail, response), fail)
  }

  #finishOrFail(finish: (response: unknown) => void, fail: (error: unknown) => void, response: unknown): void {
    try {
      finish(response)
    } catch (error) {
      fail(error)
    }
  }

  #errorResponse(
    handler: ApiHandler,
    body: unknown,
    context: RequestContext,
    error: unknown,
    times: RequestTimes,
  ): unknown {
    if (error instanceof InvariantError) throw error
    times.errorCount++
    if (error instanceof KafkaError) return handler.errorResponse(body, error.code, error.message, context)
    return handler.errorResponse(body, ErrorCode.UNKNOWN_SERVER_ERROR, null, context)
  }

  #logUnforeseen(handler: ApiHandler, context: RequestContext, error: unknown): void {
    this.#logger.error({ api: handler.name, version: context.apiVersion, err: error }, 'a request failed unexpectedly')
  }

  /** ApiVersions answers in version 0 what it does support (KIP-511); any other request can't be answered in a form the client knows. */
  #unsupportedVersion(header: RequestHeader, handler: ApiHandler, respond: Respond): ProcessOutcome {
    if (header.apiKey !== ApiKey.ApiVersions) {
      return `${handler.name} version ${header.apiVersion}, where ${handler.minVersion} to ${handler.maxVersion} are supported`
    }
    const response = {
      errorCode: ErrorCode.UNSUPPORTED_VERSION,
      apiKeys: [...this.#handlers.values()].map(({ apiKey, minVersion, maxVersion }) => ({
        apiKey,
        minVersion,
        maxVersion,
      })),
    }
    respond(encodeResponse(apiVersionsResponse, 0, header.correlationId, response), NOTHING_HELD)
    return SEQUENTIAL
  }
}
