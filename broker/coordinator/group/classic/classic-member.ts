/** A member of a classic group. */
import type { JoinGroupResponseInput } from '../../../protocol/messages/11-join-group.ts'
import type { SyncGroupResponseInput } from '../../../protocol/messages/14-sync-group.ts'

export interface ClassicProtocol {
  readonly name: string
  readonly metadata: Buffer
}

export type JoinResponder = (response: JoinGroupResponseInput) => void
export type SyncResponder = (response: SyncGroupResponseInput) => void

export interface ClassicMember {
  readonly memberId: string
  readonly groupInstanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  readonly protocolType: string
  rebalanceTimeoutMs: number
  sessionTimeoutMs: number
  /** Best first. */
  protocols: readonly ClassicProtocol[]
  assignment: Buffer
  /** Set while a JoinGroup of the member waits for the rebalance. */
  join: JoinResponder | undefined
  /** Set while a SyncGroup of the member waits for the leader's. */
  sync: SyncResponder | undefined
  /** It has not been answered a first join yet. */
  isNew: boolean
}

export const NO_ASSIGNMENT = Buffer.alloc(0)

export function metadataFor(member: ClassicMember, protocolName: string | null): Buffer {
  return member.protocols.find(({ name }) => name === protocolName)?.metadata ?? NO_ASSIGNMENT
}

/** Whether the member's protocols are the given ones, in their order, with the same metadata. */
export function hasSameProtocols(member: ClassicMember, protocols: readonly ClassicProtocol[]): boolean {
  if (member.protocols.length !== protocols.length) return false
  return member.protocols.every(({ name, metadata }, i) => {
    const other = protocols[i]
    return other !== undefined && other.name === name && other.metadata.equals(metadata)
  })
}
