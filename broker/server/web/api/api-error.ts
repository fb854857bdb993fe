/** A request of the JSON API that can't be answered; the message is a sentence for people. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** For programs: `NOT_FOUND`, `INVALID_ARGUMENT`, ... */
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export function notFound(message: string): ApiError {
  return new ApiError(404, 'NOT_FOUND', message)
}

export function invalidArgument(message: string): ApiError {
  return new ApiError(400, 'INVALID_ARGUMENT', message)
}
