/**
 * Requests and responses with their headers, for both sides of a connection.
 *
 * A frame here is what follows the four bytes of its length: what is decoded is given without them, what is encoded has
 * them. The header of a request is flexible where its body is; so is that of a response, but for ApiVersions, whose
 * response any client must be able to read.
 */
import { ApiKey } from './api-keys.ts'
import { decodeMessage, encodeMessage } from './codec.ts'
import { apiMessages } from './registry.ts'
import { includes, type DecodedFields, type Fields, type InputFields, type Message } from './schema.ts'
import { ProtocolError } from './wire/errors.ts'
import { Reader } from './wire/reader.ts'
import { Writer } from './wire/writer.ts'

export interface RequestHeader {
  readonly apiKey: number
  readonly apiVersion: number
  readonly correlationId: number
  readonly clientId: string | null
  /** Where the body begins in the frame; undefined if the API or the version is unknown, so that it can't be decoded. */
  readonly bodyOffset: number | undefined
}

/**
 * Decodes the header of a request. Of an API or version that `registry.ts` doesn't know, only the header is of use: the
 * caller answers UNSUPPORTED_VERSION (or closes the connection), for which it needs no body. Throws a
 * {@link ProtocolError} if the frame is shorter than a header.
 */
export function decodeRequestHeader(frame: Buffer): RequestHeader {
  const reader = new Reader(frame)
  const apiKey = reader.int16()
  const apiVersion = reader.int16()
  const correlationId = reader.int32()
  const request = apiMessages(apiKey)?.request
  if (request === undefined || !includes(request.versions, apiVersion)) {
    return { apiKey, apiVersion, correlationId, clientId: lenientClientId(reader), bodyOffset: undefined }
  }
  const clientId = reader.nullableString()
  if (isFlexible(request, apiVersion)) reader.skipTaggedFields()
  return { apiKey, apiVersion, correlationId, clientId, bodyOffset: reader.position }
}

/**
 * Decodes the body of a request, in the version that its header names. Bytes and records are views of the frame. Bytes
 * after the body are ignored, as Kafka does. Throws a {@link ProtocolError} if the body isn't valid.
 */
export function decodeRequest<F extends Fields>(
  request: Message<F>,
  frame: Buffer,
  header: RequestHeader,
): DecodedFields<F> {
  if (header.bodyOffset === undefined || header.apiKey !== request.apiKey) {
    throw new ProtocolError(`${request.name} can't be decoded from API key ${header.apiKey} v${header.apiVersion}`)
  }
  return decodeMessage(request, header.apiVersion, new Reader(frame, header.bodyOffset))
}

/**
 * Encodes a response with its header and length. Large byte fields stand in the list as they were given, so they must not
 * change until it is sent. Throws an {@link EncodeError} if the version can't carry the body.
 */
export function encodeResponse<F extends Fields>(
  response: Message<F>,
  version: number,
  correlationId: number,
  body: InputFields<F>,
): Buffer[] {
  const writer = new Writer()
  writer.int32(0)
  writer.int32(correlationId)
  if (hasFlexibleResponseHeader(response, version)) writer.uvarint(0)
  encodeMessage(response, version, writer, body)
  return writer.finishFrame()
}

/** Encodes a request with its header and length; otherwise as {@link encodeResponse}. */
export function encodeRequest<F extends Fields>(
  request: Message<F>,
  version: number,
  correlationId: number,
  clientId: string | null,
  body: InputFields<F>,
): Buffer[] {
  const writer = new Writer()
  writer.int32(0)
  writer.int16(request.apiKey)
  writer.int16(version)
  writer.int32(correlationId)
  writer.nullableString(clientId)
  if (isFlexible(request, version)) writer.uvarint(0)
  encodeMessage(request, version, writer, body)
  return writer.finishFrame()
}

/** The correlation id of a response: it says which request, and so which API and version, the frame answers. */
export function responseCorrelationId(frame: Buffer): number {
  return new Reader(frame).int32()
}

/** Decodes the body of a response to a request of the given version; otherwise as {@link decodeRequest}. */
export function decodeResponse<F extends Fields>(
  response: Message<F>,
  version: number,
  frame: Buffer,
): DecodedFields<F> {
  const reader = new Reader(frame)
  reader.int32()
  if (hasFlexibleResponseHeader(response, version)) reader.skipTaggedFields()
  return decodeMessage(response, version, reader)
}

function isFlexible(message: Message, version: number): boolean {
  return includes(message.flexibleVersions, version)
}

function hasFlexibleResponseHeader(response: Message, version: number): boolean {
  return response.apiKey !== ApiKey.ApiVersions && isFlexible(response, version)
}

/** The client id is worth logging, but nothing in an unknown request has to be as expected. */
function lenientClientId(reader: Reader): string | null {
  try {
    return reader.nullableString()
  } catch (error) {
    if (error instanceof ProtocolError) return null
    throw error
  }
}
