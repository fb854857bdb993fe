import type { Resource } from './resource.ts'

/**
 * Where one partition is and who leads it. Every patch tests the whole entry as it was read and adds 1 to
 * `partitionEpoch`: compare-and-swap per partition.
 */
export interface PartitionEntry {
  readonly topicId: string
  /** Broker ids in assignment order; the first is the preferred leader. */
  readonly replicas: readonly number[]
  /** The acknowledged epoch of `replicas[i]`; -1 while it is fenced or shutting down. Only the operator writes it. */
  readonly brokerEpochs: readonly number[]
  readonly addingReplicas?: readonly number[]
  readonly removingReplicas?: readonly number[]
  /** -1: nobody. */
  readonly leader: number
  readonly leaderEpoch: number
  readonly isr: readonly number[]
  /** Eligible leader replicas (KIP-966): left an ISR that became smaller than `minIsr`, and hold all that was committed. */
  readonly elr: readonly number[]
  /** The min.insync.replicas that leader and operator both use; only the operator changes it. */
  readonly minIsr: number
  /** The leader epoch that was granted by an unclean election and not yet confirmed (KIP-704). */
  readonly unclean?: number
  readonly partitionEpoch: number
}

export interface PartitionSliceSpec {
  /** Tested and raised by 1 by each patch that adds or removes entries, so that a late one can't overwrite a live entry. */
  readonly allocationEpoch: number
  /** Key: {@link partitionKey}. At most {@link MAX_ENTRIES_PER_SLICE}. */
  readonly entries: Readonly<Record<string, PartitionEntry>>
}

export type PartitionSlice = Resource<'PartitionSlice', PartitionSliceSpec, never>

export const MAX_ENTRIES_PER_SLICE = 64
export const NO_LEADER = -1
export const FENCED_EPOCH = -1

export function partitionKey(topicName: string, partition: number): string {
  return `${topicName}-${partition}`
}

/** The inverse of {@link partitionKey}; undefined for a key of another form. */
export function parsePartitionKey(key: string): { topicName: string; partition: number } | undefined {
  const dash = key.lastIndexOf('-')
  const digits = key.slice(dash + 1)
  if (dash <= 0 || !/^(0|[1-9]\d{0,8})$/.test(digits)) return undefined
  return { topicName: key.slice(0, dash), partition: Number(digits) }
}

/** JSON Pointer (RFC 6901) to an entry, for patches. */
export function entryPointer(key: string): string {
  return `/spec/entries/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}
