/**
 * The bit fields of operations that a client may do (KIP-430). There are no ACLs yet: everybody may do everything, and
 * the sets are those that Kafka gives without an authorizer.
 */
const READ = 3
const WRITE = 4
const CREATE = 5
const DELETE = 6
const ALTER = 7
const DESCRIBE = 8
const CLUSTER_ACTION = 9
const DESCRIBE_CONFIGS = 10
const ALTER_CONFIGS = 11
const IDEMPOTENT_WRITE = 12

const bits = (...operations: number[]): number => operations.reduce((set, operation) => set | (1 << operation), 0)

export const ALL_TOPIC_OPERATIONS = bits(READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
export const ALL_CLUSTER_OPERATIONS = bits(
  CREATE,
  ALTER,
  DESCRIBE,
  CLUSTER_ACTION,
  DESCRIBE_CONFIGS,
  ALTER_CONFIGS,
  IDEMPOTENT_WRITE,
)
export const ALL_GROUP_OPERATIONS = bits(READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
/** The client did not ask. */
export const OPERATIONS_NOT_REQUESTED = -2147483648
