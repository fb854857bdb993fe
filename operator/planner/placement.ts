/**
 * Where new partitions go. Pure and deterministic: the same input gives the same plan. Only partitions that have no
 * replicas yet are placed, so that planning a plan changes nothing.
 *
 * Leaders (the first replica of each partition) and replicas are spread evenly, first over the topic's own partitions,
 * then over the whole cluster, and the replicas of a partition over as many racks as there are.
 */
export interface PlacementBroker {
  readonly brokerId: number
  readonly rack: string | undefined
  /** Takes new replicas: acknowledged, neither cordoned nor drained. */
  readonly isUsable: boolean
}

/** Counts per broker id; updated by what is planned, so that the plans of one pass see each other. */
export interface PlacementLoad {
  readonly leaders: Map<number, number>
  readonly replicas: Map<number, number>
}

export interface PlacementRequest {
  /** The indexes that have no replicas yet. */
  readonly missing: readonly number[]
  /** The replicas of the topic's other partitions. */
  readonly placed: readonly (readonly number[])[]
  readonly replicas: number
  /** Explicit replicas by partition index. */
  readonly assignments?: readonly (readonly number[])[]
}

export type Placement =
  | { readonly isPlaced: true; readonly replicas: ReadonlyMap<number, readonly number[]> }
  | {
      readonly isPlaced: false
      readonly reason: 'NoBrokers' | 'InvalidReplicationFactor' | 'InvalidAssignment'
      readonly message: string
    }

/** Plans replicas for each missing partition, or says why it can't; `load` changes only with a plan. */
export function placePartitions(
  brokers: readonly PlacementBroker[],
  load: PlacementLoad,
  request: PlacementRequest,
): Placement {
  const explicit = new Map<number, readonly number[]>()
  for (const partition of request.missing) {
    const replicas = request.assignments?.[partition]
    if (replicas === undefined) continue
    const problem = assignmentProblem(brokers, replicas)
    if (problem !== undefined) {
      return { isPlaced: false, reason: 'InvalidAssignment', message: `partition ${partition}: ${problem}` }
    }
    explicit.set(partition, replicas)
  }
  const usable = brokers.filter((broker) => broker.isUsable).sort((a, b) => a.brokerId - b.brokerId)
  if (explicit.size < request.missing.length) {
    if (usable.length === 0) {
      return { isPlaced: false, reason: 'NoBrokers', message: 'no broker takes new replicas; waiting for one' }
    }
    if (request.replicas > usable.length) {
      return {
        isPlaced: false,
        reason: 'InvalidReplicationFactor',
        message: `replication factor ${request.replicas} is larger than the number of available brokers, ${usable.length}`,
      }
    }
  }
  const topic = loadOf(request.placed)
  const replicas = new Map<number, readonly number[]>()
  for (const partition of [...request.missing].sort((a, b) => a - b)) {
    const chosen = explicit.get(partition) ?? choose(usable, request.replicas, topic, load)
    replicas.set(partition, chosen)
    for (const counts of [topic, load]) addLoad(counts, chosen)
  }
  return { isPlaced: true, replicas }
}

export function loadOf(assignments: Iterable<readonly number[]>): PlacementLoad {
  const load: PlacementLoad = { leaders: new Map(), replicas: new Map() }
  for (const replicas of assignments) addLoad(load, replicas)
  return load
}

function addLoad(load: PlacementLoad, replicas: readonly number[]): void {
  replicas.forEach((brokerId, index) => {
    load.replicas.set(brokerId, count(load.replicas, brokerId) + 1)
    if (index === 0) load.leaders.set(brokerId, count(load.leaders, brokerId) + 1)
  })
}

function assignmentProblem(brokers: readonly PlacementBroker[], replicas: readonly number[]): string | undefined {
  if (replicas.length === 0) return 'an assignment needs at least one broker'
  if (new Set(replicas).size !== replicas.length) return `the assignment [${replicas.join(', ')}] names a broker twice`
  const unknown = replicas.find((brokerId) => !brokers.some((broker) => broker.brokerId === brokerId))
  return unknown === undefined ? undefined : `broker ${unknown} is not registered`
}

function choose(
  usable: readonly PlacementBroker[],
  replicas: number,
  topic: PlacementLoad,
  cluster: PlacementLoad,
): number[] {
  const chosen: PlacementBroker[] = []
  while (chosen.length < replicas) {
    const cost = (broker: PlacementBroker): number[] =>
      chosen.length === 0
        ? [
            count(topic.leaders, broker.brokerId),
            count(cluster.leaders, broker.brokerId),
            count(topic.replicas, broker.brokerId),
            count(cluster.replicas, broker.brokerId),
          ]
        : [
            chosen.filter((other) => other.rack === broker.rack).length,
            count(topic.replicas, broker.brokerId),
            count(cluster.replicas, broker.brokerId),
          ]
    let best: { broker: PlacementBroker; cost: number[] } | undefined
    for (const broker of usable) {
      if (chosen.includes(broker)) continue
      const candidate = { broker, cost: cost(broker) }
      if (best === undefined || isLess(candidate.cost, best.cost)) best = candidate
    }
    // There are at least `replicas` usable brokers, so one was left.
    if (best === undefined) break
    chosen.push(best.broker)
  }
  return chosen.map((broker) => broker.brokerId)
}

function isLess(a: readonly number[], b: readonly number[]): boolean {
  const index = a.findIndex((value, at) => value !== b[at])
  return index >= 0 && (a[index] ?? 0) < (b[index] ?? 0)
}

function count(counts: ReadonlyMap<number, number>, brokerId: number): number {
  return counts.get(brokerId) ?? 0
}
