/** What a partition's refusal means to a client of the coordinator that stands on it, as Kafka maps it. */
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'

export function coordinatorError(errorCode: number, message: string | null): KafkaError {
  return new KafkaError(coordinatorErrorCode(errorCode), message === null || message === '' ? undefined : message)
}

function coordinatorErrorCode(errorCode: number): ErrorCode {
  switch (errorCode) {
    case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
    case ErrorCode.NOT_ENOUGH_REPLICAS:
    case ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case ErrorCode.REQUEST_TIMED_OUT:
      return ErrorCode.COORDINATOR_NOT_AVAILABLE
    case ErrorCode.NOT_LEADER_OR_FOLLOWER:
    case ErrorCode.KAFKA_STORAGE_ERROR:
      return ErrorCode.NOT_COORDINATOR
    default:
      return ErrorCode.UNKNOWN_SERVER_ERROR
  }
}
