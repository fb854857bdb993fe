/** What became of one change that an admin client asked for: an error code and a message, never an exception. */
import { ConfigError } from '../../crds/config/config-def.ts'
import { MAX_TOPIC_NAME_LENGTH } from '../../crds/topic.ts'
import { StoreError } from '../../crds/resource-store.ts'
import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'

export interface AdminOutcome {
  readonly errorCode: number
  readonly errorMessage: string | null
}

export const SUCCESS: AdminOutcome = { errorCode: ErrorCode.NONE, errorMessage: null }

/** How long a change that is done waits until this broker has seen it, so that a client reads what it wrote. */
export const VISIBLE_TIMEOUT_MS = 5000

const MAX_MESSAGE_CHARS = 1000

const STORE_ERRORS: Readonly<Record<StoreError['reason'], ErrorCode>> = {
  AlreadyExists: ErrorCode.TOPIC_ALREADY_EXISTS,
  NotFound: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  Conflict: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  Invalid: ErrorCode.INVALID_REQUEST,
  Unavailable: ErrorCode.REQUEST_TIMED_OUT,
  UnknownOutcome: ErrorCode.REQUEST_TIMED_OUT,
}

/** Runs a change; errors that nobody foresaw go on as exceptions. */
export async function outcomeOf(action: () => Promise<void>): Promise<AdminOutcome> {
  try {
    await action()
    return SUCCESS
  } catch (error) {
    return failureOutcome(error)
  }
}

/** The outcome that says a foreseen error; throws any other. */
export function failureOutcome(error: unknown): AdminOutcome {
  if (error instanceof KafkaError) return { errorCode: error.code, errorMessage: shortened(error.message) }
  if (error instanceof ConfigError) {
    return { errorCode: ErrorCode.INVALID_CONFIG, errorMessage: shortened(error.message) }
  }
  if (error instanceof StoreError) {
    return { errorCode: STORE_ERRORS[error.reason], errorMessage: shortened(error.message) }
  }
  throw error
}

/** A topic's name for a message that is said once a partition: no request is to get an answer many times its size. */
export function nameToSay(topicName: string): string {
  return topicName.length <= MAX_TOPIC_NAME_LENGTH ? topicName : `${topicName.slice(0, 20)}...`
}

/** Messages repeat names and values that clients sent, which may be longer than a response can carry. */
function shortened(message: string): string {
  return message.length <= MAX_MESSAGE_CHARS ? message : `${message.slice(0, MAX_MESSAGE_CHARS)}...`
}
