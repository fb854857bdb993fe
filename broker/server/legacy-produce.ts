/**
 * Produce versions 0 to 2: they carry message formats 0 and 1, which Ottla does not take. They are advertised all the
 * same, since librdkafka concludes from a higher minimum that the broker knows no compression (KAFKA-18659), and
 * answered with UNSUPPORTED_FOR_MESSAGE_FORMAT for each partition.
 */
import { ApiKey } from '../protocol/api-keys.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { decodeMessage } from '../protocol/codec.ts'
import { encodeResponse, type RequestHeader } from '../protocol/frame.ts'
import { Reader } from '../protocol/wire/reader.ts'
import { array, int16, int32, int64, records, request, response, string } from '../protocol/schema.ts'

const legacyRequest = request(ApiKey.Produce, {
  name: 'ProduceRequest',
  versions: '0-2',
  fields: {
    acks: int16('0+'),
    timeoutMs: int32('0+'),
    topicData: array('0+', {
      name: string('0+'),
      partitionData: array('0+', { index: int32('0+'), records: records('0+', { nullable: true }) }),
    }),
  },
})

const legacyResponse = response(ApiKey.Produce, {
  name: 'ProduceResponse',
  versions: '0-2',
  fields: {
    responses: array('0+', {
      name: string('0+'),
      partitionResponses: array('0+', {
        index: int32('0+'),
        errorCode: int16('0+'),
        baseOffset: int64('0+'),
        logAppendTimeMs: int64('2+', { ignorable: true }),
      }),
    }),
    throttleTimeMs: int32('1+', { ignorable: true }),
  },
})

/** API key, version and correlation id; the client id follows. */
const FIXED_HEADER_BYTES = 8

/** Null when the client wants no response. Errors: ProtocolError. */
export function legacyProduceResponse(frame: Buffer, header: RequestHeader): Buffer[] | null {
  const reader = new Reader(frame, FIXED_HEADER_BYTES)
  reader.nullableString()
  const body = decodeMessage(legacyRequest, header.apiVersion, reader)
  if (body.acks === 0) return null
  return encodeResponse(legacyResponse, header.apiVersion, header.correlationId, {
    responses: body.topicData.map(({ name, partitionData }) => ({
      name,
      partitionResponses: partitionData.map(({ index }) => ({
        index,
        errorCode: ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        baseOffset: -1,
        logAppendTimeMs: -1,
      })),
    })),
  })
}
