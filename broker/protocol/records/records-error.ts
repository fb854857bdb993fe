/**
 * The error of everything that reads or checks records: bad bytes from a client, a peer or the disk. It carries the
 * Kafka error code that answers a request with such records, so that the server maps nothing.
 */

/** Kafka's error codes (protocol guide, "Error Codes") that records can cause. */
export const recordsErrorCodes = {
  CORRUPT_MESSAGE: 2,
  MESSAGE_TOO_LARGE: 10,
  INVALID_TIMESTAMP: 32,
  UNSUPPORTED_FOR_MESSAGE_FORMAT: 43,
  UNSUPPORTED_COMPRESSION_TYPE: 76,
  INVALID_RECORD: 87,
} as const

export type RecordsErrorName = keyof typeof recordsErrorCodes

/** One refused record of a batch (KIP-467): its index in the batch and a sentence that says why. */
export interface RecordError {
  readonly batchIndex: number
  readonly message: string
}

export class RecordsError extends Error {
  override readonly name = 'RecordsError'
  readonly errorName: RecordsErrorName
  /** The code for the partition's answer. */
  readonly errorCode: number
  /** For the `record_errors` of a Produce response; empty unless single records were refused. */
  readonly recordErrors: readonly RecordError[]

  constructor(
    errorName: RecordsErrorName,
    message: string,
    options?: { recordErrors?: readonly RecordError[]; cause?: unknown },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause })
    this.errorName = errorName
    this.errorCode = recordsErrorCodes[errorName]
    this.recordErrors = options?.recordErrors ?? []
  }
}
