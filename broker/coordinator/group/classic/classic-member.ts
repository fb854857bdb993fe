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

/** What a member says for a protocol; empty if it does not support it. */
export function metadataFor(
  { protocols }: { readonly protocols: readonly ClassicProtocol[] },
  protocolName: string | null,
): Buffer {
  return protocols.find(({ name }) => name === protocolName)?.metadata ?? NO_ASSIGNMENT
}

/** The protocol that all members support and most prefer, given what each supports, best first; undefined without one. */
export function electProtocol(supported: readonly (readonly ClassicProtocol[])[]): string | undefined {
  const counts = new Map<string, number>()
  for (const protocols of supported) for (const { name } of protocols) counts.set(name, (counts.get(name) ?? 0) + 1)
  const votes = new Map<string, number>()
  for (const protocols of supported) {
    const preferred = protocols.find(({ name }) => counts.get(name) === supported.length)
    if (preferred === undefined) return undefined
    votes.set(preferred.name, (votes.get(preferred.name) ?? 0) + 1)
  }
  let selected: string | undefined
  let most = 0
  for (const [name, count] of votes) {
    if (count <= most) continue
    selected = name
    most = count
  }
  return selected
}

/** Whether the member's protocols are the given ones, in their order, with the same metadata. */
export function hasSameProtocols(member: ClassicMember, protocols: readonly ClassicProtocol[]): boolean {
  if (member.protocols.length !== protocols.length) return false
  return member.protocols.every(({ name, metadata }, i) => {
    const other = protocols[i]
    return other !== undefined && other.name === name && other.metadata.equals(metadata)
  })
}
