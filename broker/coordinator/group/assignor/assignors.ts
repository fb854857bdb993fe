/** The assignors that this coordinator knows, by name. */
import type { PartitionAssignor } from './partition-assignor.ts'
import { rangeAssignor } from './range-assignor.ts'
import { uniformAssignor } from './uniform-assignor.ts'

const ALL: ReadonlyMap<string, PartitionAssignor> = new Map([
  [uniformAssignor.name, uniformAssignor],
  [rangeAssignor.name, rangeAssignor],
])

/** Of the configured names those that are known, in order; the first is the default. */
export function configuredAssignors(names: readonly string[]): PartitionAssignor[] {
  return names.flatMap((name) => ALL.get(name) ?? [])
}
