/** The timers of the members of consumer groups. What becomes of a member whose time is over is the caller's business. */
import type { CoordinatorResult } from '../../runtime/coordinator-shard.ts'
import type { GroupShardContext } from '../group-shard-context.ts'
import type { GroupRecord } from '../records/group-record.ts'

/**
 * - session: heard nothing of it;
 * - rebalance: it does not give up partitions;
 * - join, sync: a classic member does not join again, or does not fetch its assignment.
 */
const KINDS = ['session', 'rebalance', 'join', 'sync'] as const
export type MemberTimerKind = (typeof KINDS)[number]

export type ExpireMember = (
  groupId: string,
  memberId: string,
  kind: MemberTimerKind,
) => CoordinatorResult<GroupRecord, unknown>

export class MemberTimers {
  readonly #timer: GroupShardContext['timer']
  readonly #expire: ExpireMember

  constructor(timer: GroupShardContext['timer'], expire: ExpireMember) {
    this.#timer = timer
    this.#expire = expire
  }

  start(kind: MemberTimerKind, groupId: string, memberId: string, timeoutMs: number): void {
    this.#timer.schedule(keyOf(kind, groupId, memberId), timeoutMs, () => this.#expire(groupId, memberId, kind))
  }

  startUnlessRunning(kind: MemberTimerKind, groupId: string, memberId: string, timeoutMs: number): void {
    if (!this.#timer.isScheduled(keyOf(kind, groupId, memberId))) this.start(kind, groupId, memberId, timeoutMs)
  }

  stop(kind: MemberTimerKind, groupId: string, memberId: string): void {
    this.#timer.cancel(keyOf(kind, groupId, memberId))
  }

  stopAll(groupId: string, memberId: string): void {
    for (const kind of KINDS) this.stop(kind, groupId, memberId)
  }
}

function keyOf(kind: MemberTimerKind, groupId: string, memberId: string): string {
  return `consumer ${kind} ${groupId.length} ${groupId} ${memberId}`
}
