/** What a JoinGroup request says, in all its versions: for classic groups, and for classic members of consumer groups. */
import { randomUuid, type Random } from '../../../../common/random.ts'
import type { JoinGroupRequest } from '../../../protocol/messages/11-join-group.ts'
import type { GroupCoordinatorConfig } from '../group-coordinator-config.ts'
import type { GroupClient } from '../group.ts'
import type { ClassicProtocol } from './classic-member.ts'

const FIRST_VERSION_WITH_KNOWN_MEMBER_ID = 4
const FIRST_VERSION_WITH_NULL_PROTOCOL_NAME = 7

/** Whether a first join gets a member id, and joins again with it (KIP-394). */
export function needsKnownMemberId(apiVersion: number): boolean {
  return apiVersion >= FIRST_VERSION_WITH_KNOWN_MEMBER_ID
}

/** What stands for the protocol in an answer that has none. */
export function noProtocolName(apiVersion: number): string | null {
  return apiVersion >= FIRST_VERSION_WITH_NULL_PROTOCOL_NAME ? null : ''
}

export function hasAllowedSessionTimeout(
  { sessionTimeoutMs }: JoinGroupRequest,
  { minSessionTimeoutMs, maxSessionTimeoutMs }: GroupCoordinatorConfig,
): boolean {
  return sessionTimeoutMs >= minSessionTimeoutMs && sessionTimeoutMs <= maxSessionTimeoutMs
}

/** Version 0 has one timeout for both. */
export function rebalanceTimeoutOf({ rebalanceTimeoutMs, sessionTimeoutMs }: JoinGroupRequest): number {
  return rebalanceTimeoutMs < 0 ? sessionTimeoutMs : rebalanceTimeoutMs
}

/** An id for a member that brings none. */
export function newMemberId({ groupInstanceId }: JoinGroupRequest, { clientId }: GroupClient, random: Random): string {
  return `${groupInstanceId ?? clientId}-${randomUuid(random)}`
}

/** The protocols of a request, each once, in memory of their own. */
export function ownProtocols({ protocols }: JoinGroupRequest): readonly ClassicProtocol[] {
  const own = new Map<string, ClassicProtocol>()
  for (const { name, metadata } of protocols)
    if (!own.has(name)) own.set(name, { name, metadata: Buffer.from(metadata) })
  return [...own.values()]
}
