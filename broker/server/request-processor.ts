/**
 * From a frame to its response: header, handler look-up, version check, decoding, handling, encoding, and the one place
 * where an unforeseen error becomes an error code and a log line, and where clients over their quota are throttled.
 */
import type { Releasable } from '../../common/block-pool.ts'
import type { Clock } from '../../common/clock.ts'
import { InvariantError } from '../../common/invariant.ts'
import type { Logger } from '../../common/logger.ts'
import { ApiKey } from '../protocol/api-keys.ts'
import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'
import { decodeRequest, decodeRequestHeader, encodeResponse, type RequestHeader } from '../protocol/frame.ts'
import { apiVersionsResponse } from '../protocol/messages/18-api-versions.ts'
import { includes } from '../protocol/schema.ts'
import { EncodeError, ProtocolError } from '../protocol/wire/errors.ts'
import type { ClientSignal } from '../replication/client-signal.ts'
import type { ApiHandler, RequestContext } from './api-handler.ts'
import { legacyProduceResponse } from './legacy-produce.ts'
import type { ClientQuotas } from './quota/client-quotas.ts'
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
  /** Takes no further request for that time. */
  throttle(timeMs: number): void
}

/** What is known of a request when it comes, and once its handler has first let go of it. */
interface Arrival {
  readonly startMs: number
  readonly bytes: number
  /** 0 while its handler runs. */
  busyMs: number
}

const NOTHING_HELD: readonly Releasable[] = []
const SEQUENTIAL = { isPipelined: false }
const PIPELINED = { isPipelined: true }
/** Kafka's name of who has not said who it is. */
const ANONYMOUS = 'ANONYMOUS'

export class RequestProcessor {
  readonly #handlers = new Map<number, ApiHandler>()
  readonly #metrics: RequestMetrics
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #quotas: ClientQuotas | undefined

  constructor(
    handlers: readonly ApiHandler[],
    metrics: RequestMetrics,
    clock: Clock,
    logger: Logger,
    quotas?: ClientQuotas,
  ) {
    for (const handler of handlers) this.#handlers.set(handler.apiKey, handler)
    this.#metrics = metrics
    this.#clock = clock
    this.#logger = logger
    this.#quotas = quotas
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
      user: ANONYMOUS,
      listener,
      remoteAddress: connection.remoteAddress,
      signal: connection,
      closeConnection: (reason) => connection.fail(reason),
      releaseWhenSent: (more) => held.push(...more),
    }
    const arrival = { startMs, bytes: frame.length, busyMs: 0 }
    this.#handle(handler, body, context, connection, arrival, (buffers) => respond(buffers, held))
    return handler.isPipelined ? PIPELINED : SEQUENTIAL
  }

  #handle(
    handler: ApiHandler,
    body: unknown,
    context: RequestContext,
    connection: ConnectionInfo,
    arrival: Arrival,
    respond: (buffers: readonly Uint8Array[] | null) => void,
  ): void {
    const { startMs } = arrival
    const times = this.#metrics.of(handler.name)
    const finish = (response: unknown): void => {
      const told =
        this.#quotas?.isActive === true ? this.#throttled(handler, context, connection, arrival, response) : response
      const buffers =
        told === null
          ? null
          : encodeResponse(handler.responseSchema, context.apiVersion, context.correlationId, told as object)
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
    arrival.busyMs = this.#clock.monotonicMs() - startMs
    times.local.record(arrival.busyMs)
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

  /**
   * Charges a request to its client's quotas. Over one of them, the response says for how long the client is throttled,
   * and its connection is not read for that time (KIP-219). A handler may have found a reason of its own.
   */
  #throttled(
    handler: ApiHandler,
    context: RequestContext,
    connection: ConnectionInfo,
    { startMs, bytes, busyMs }: Arrival,
    response: unknown,
  ): unknown {
    const quotas = this.#quotas
    if (quotas === undefined) return response
    const isUnanswered = response === null
    let throttleTimeMs = isUnanswered ? 0 : ((response as { throttleTimeMs?: number }).throttleTimeMs ?? 0)
    if (handler.apiKey === ApiKey.Produce)
      throttleTimeMs = Math.max(throttleTimeMs, quotas.chargeProduce(context, bytes))
    // A producer that takes no answers can't be told to wait for the time of its requests.
    if (!isUnanswered) {
      const handlerMs = busyMs === 0 ? this.#clock.monotonicMs() - startMs : busyMs
      throttleTimeMs = Math.max(throttleTimeMs, quotas.chargeRequest(context, handlerMs))
    }
    if (throttleTimeMs === 0) return response
    connection.throttle(throttleTimeMs)
    const field = handler.responseSchema.fields['throttleTimeMs']
    if (isUnanswered || field === undefined || !includes(field.versions, context.apiVersion)) return response
    return { ...(response as object), throttleTimeMs }
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
