/** Checks of replicas that a client assigns by hand, with Kafka's sentences. Pure. */

/** What is wrong with the replicas of one partition, or undefined. `expectedCount` undefined: any number. */
export function replicasProblem(
  replicas: readonly number[],
  knownBrokers: ReadonlySet<number>,
  expectedCount?: number,
): string | undefined {
  const assignment = 'The manual partition assignment includes'
  if (replicas.length === 0) return `${assignment} an empty replica list.`
  const repeated = replicas.find((id, i) => replicas.indexOf(id) !== i)
  if (repeated !== undefined) return `${assignment} the broker ${repeated} more than once.`
  const unknown = replicas.find((id) => !knownBrokers.has(id))
  if (unknown !== undefined) return `${assignment} broker ${unknown}, but no such broker is registered.`
  if (expectedCount === undefined || replicas.length === expectedCount) return undefined
  return `${assignment} a partition with ${replicas.length} replica(s), but this is not consistent with previous partitions, which have ${expectedCount} replica(s).`
}
