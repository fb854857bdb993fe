import type { PartitionEntry } from '../../crds/partition-slice.ts'
import { electLeader, replaceLeader, withoutLostReplicas, type CanLead } from './election.ts'

/**
 * What the acknowledgement of a broker's new incarnation means for one entry. Pure.
 *
 * An incarnation is acknowledged entry by entry: from then on the entry carries its epoch, an ISR change that was in
 * flight for the old one fails its test, and no incarnation leads an epoch that was granted to an earlier one.
 */
export interface Incarnation {
  readonly brokerId: number
  readonly brokerEpoch: number
  /** The directory is not the one that was recorded: whatever the broker held is gone. */
  readonly isDataLost: boolean
  /** Records that counted may be missing: an unclean stop of a topic whose appends count before they are fsynced. */
  readonly isTailLost: boolean
}

/**
 * The entry after the acknowledgement; the same object when it carries the incarnation's epoch already and its leader
 * can lead.
 */
export function acknowledgeReplica(entry: PartitionEntry, incarnation: Incarnation, canLead: CanLead): PartitionEntry {
  const { brokerId, brokerEpoch } = incarnation
  const index = entry.replicas.indexOf(brokerId)
  if (index < 0 || entry.brokerEpochs[index] === brokerEpoch) return electLeader(entry, canLead)
  let next: PartitionEntry = { ...entry, brokerEpochs: entry.brokerEpochs.with(index, brokerEpoch) }
  if (incarnation.isDataLost || (incarnation.isTailLost && isAnotherCopy(entry, brokerId))) {
    next = withoutLostReplicas(next, (id) => id === brokerId)
  }
  next = next.leader === brokerId ? replaceLeader(next, canLead) : electLeader(next, canLead)
  return { ...next, partitionEpoch: entry.partitionEpoch + 1 }
}

/** With a single replica nobody can hold more than what the broker found again. */
function isAnotherCopy(entry: PartitionEntry, brokerId: number): boolean {
  return entry.replicas.some((id) => id !== brokerId)
}
