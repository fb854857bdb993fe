import { FENCED_EPOCH, NO_LEADER, type PartitionEntry } from '../../crds/partition-slice.ts'

/**
 * Who leads a partition. Pure. Every function returns the same object when there is nothing to change, and otherwise an
 * entry whose partitionEpoch is one higher than that of the one it was given.
 */

/** Whether a replica may lead: alive, acknowledged, and able to serve this entry. */
export type CanLead = (brokerId: number) => boolean

/**
 * Gives a partition whose leader can't lead another one: the first replica in assignment order that is in the ISR and can
 * lead, else one of the eligible leader replicas (KIP-966), else nobody, and then ISR and ELR stay as they are.
 */
export function electLeader(entry: PartitionEntry, canLead: CanLead): PartitionEntry {
  if (entry.leader !== NO_LEADER && isCandidate(entry, entry.leader, canLead)) return entry
  return replaceLeader(entry, canLead)
}

/** As {@link electLeader}, but the leader's present term ends in any case: the winner leads in a new epoch. */
export function replaceLeader(entry: PartitionEntry, canLead: CanLead): PartitionEntry {
  const candidates = entry.replicas.filter((brokerId) => isCandidate(entry, brokerId, canLead))
  const inSync = candidates.find((brokerId) => entry.isr.includes(brokerId))
  if (inSync !== undefined) return elected(shrunkToLiving(entry, inSync), inSync)
  const eligible = candidates.find((brokerId) => entry.elr.includes(brokerId))
  if (eligible !== undefined) {
    const others = [...entry.isr, ...entry.elr].filter((brokerId) => brokerId !== eligible)
    return elected(withMembers(entry, [eligible], others), eligible)
  }
  if (entry.leader === NO_LEADER) return entry
  return elected(entry, NO_LEADER)
}

/** Removes brokers from ISR and ELR whatever that leaves: their data is gone. Leader and epochs stay. */
export function withoutLostReplicas(entry: PartitionEntry, isLost: (brokerId: number) => boolean): PartitionEntry {
  const keep = (brokerId: number): boolean => !isLost(brokerId)
  return { ...entry, isr: entry.isr.filter(keep), elr: entry.elr.filter(keep) }
}

function isCandidate(entry: PartitionEntry, brokerId: number, canLead: CanLead): boolean {
  const epoch = entry.brokerEpochs[entry.replicas.indexOf(brokerId)] ?? FENCED_EPOCH
  return epoch !== FENCED_EPOCH && canLead(brokerId)
}

function elected(entry: PartitionEntry, leader: number): PartitionEntry {
  return { ...entry, leader, leaderEpoch: entry.leaderEpoch + 1, partitionEpoch: entry.partitionEpoch + 1 }
}

/** Fenced members leave the ISR in the patch that elects a living one. */
function shrunkToLiving(entry: PartitionEntry, leader: number): PartitionEntry {
  const isLiving = (brokerId: number): boolean =>
    brokerId === leader || (entry.brokerEpochs[entry.replicas.indexOf(brokerId)] ?? FENCED_EPOCH) !== FENCED_EPOCH
  const isr = entry.isr.filter(isLiving)
  if (isr.length === entry.isr.length) return entry
  const left = entry.isr.filter((brokerId) => !isLiving(brokerId))
  return withMembers(entry, isr, [...entry.elr, ...left])
}

/** Who left an ISR that is too small now holds all that was committed: committing stops below the minimum. */
function withMembers(entry: PartitionEntry, isr: readonly number[], leaving: readonly number[]): PartitionEntry {
  const isLargeEnough = isr.length >= Math.min(entry.minIsr, entry.replicas.length)
  const elr = isLargeEnough ? [] : entry.replicas.filter((id) => leaving.includes(id) && !isr.includes(id))
  return { ...entry, isr, elr }
}
