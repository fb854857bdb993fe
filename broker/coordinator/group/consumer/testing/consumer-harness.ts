/** Consumer and classic groups side by side, as a shard has them, on a clock that the test moves. */
import assert from 'node:assert/strict'
import type { Clock } from '../../../../../common/clock.ts'
import { KafkaError } from '../../../../protocol/error-codes.ts'
import type { JoinGroupRequest, JoinGroupResponseInput } from '../../../../protocol/messages/11-join-group.ts'
import type { LeaveGroupResponseInput } from '../../../../protocol/messages/13-leave-group.ts'
import type { SyncGroupResponseInput } from '../../../../protocol/messages/14-sync-group.ts'
import type {
  ConsumerGroupHeartbeatRequest,
  ConsumerGroupHeartbeatResponseInput,
} from '../../../../protocol/messages/68-consumer-group-heartbeat.ts'
import { ClassicGroupManager } from '../../classic/classic-group-manager.ts'
import type { GroupShardContext } from '../../group-shard-context.ts'
import type { GroupRecord } from '../../records/group-record.ts'
import { GroupHarness } from '../../testing/group-harness.ts'
import { ConsumerGroupManager } from '../consumer-group-manager.ts'
import { ConsumerGroup } from '../consumer-group.ts'

export const GROUP = 'g'
export const REBALANCE_MS = 60_000

type Answer = ConsumerGroupHeartbeatResponseInput
export type HeartbeatOptions = Partial<ConsumerGroupHeartbeatRequest> & { readonly apiVersion?: number }

/** What a request lay in is used again. */
function spoil(...buffers: Buffer[]): void {
  for (const buffer of buffers) buffer.fill(0xee)
}

export class ConsumerHarness {
  readonly base: GroupHarness
  context: GroupShardContext
  classic: ClassicGroupManager
  manager: ConsumerGroupManager

  constructor(configs: Readonly<Record<string, string>> = {}) {
    this.base = new GroupHarness((record) => this.#replay(record), configs)
    this.context = this.base.context
    this.classic = new ClassicGroupManager(this.context)
    this.manager = new ConsumerGroupManager(this.context, this.classic)
    this.#load()
  }

  get topics(): GroupHarness['topics'] {
    return this.base.topics
  }

  group(groupId = GROUP): ConsumerGroup {
    const group = this.context.groups.get(groupId)
    assert.ok(group instanceof ConsumerGroup)
    return group
  }

  /** Another coordinator takes over, with what compaction has left of the log; with another clock, if there is one. */
  reload(clock: Clock = this.base.context.clock): void {
    for (const key of this.base.timerKeys()) this.context.timer.cancel(key)
    this.context = { ...this.base.context, clock, groups: new Map() }
    this.classic = new ClassicGroupManager(this.context)
    this.manager = new ConsumerGroupManager(this.context, this.classic)
    for (const record of this.base.compacted()) this.#replay(record)
    this.#load()
  }

  changeTopics(...names: string[]): void {
    this.manager.onTopicsChanged(new Set(names))
  }

  heartbeat(options: HeartbeatOptions = {}): Answer {
    const { apiVersion = 1, ...request } = options
    return this.base.run(
      this.manager.heartbeat(
        {
          groupId: GROUP,
          memberId: '',
          memberEpoch: 0,
          instanceId: null,
          rackId: null,
          rebalanceTimeoutMs: -1,
          subscribedTopicNames: null,
          subscribedTopicRegex: null,
          serverAssignor: null,
          topicPartitions: null,
          ...request,
        },
        { clientId: 'client', clientHost: '/127.0.0.1', apiVersion },
      ),
    )
  }

  /** A first heartbeat, or another one that says all. */
  join(memberId: string, topicNames: readonly string[], options: HeartbeatOptions = {}): Answer {
    return this.heartbeat({
      memberId,
      rebalanceTimeoutMs: REBALANCE_MS,
      subscribedTopicNames: [...topicNames],
      topicPartitions: [],
      ...options,
    })
  }

  leave(memberId: string, options: HeartbeatOptions = {}): Answer {
    return this.heartbeat({ memberId, memberEpoch: -1, ...options })
  }

  /** The code of the error that `action` ends with. */
  errorOf(action: () => unknown): number {
    try {
      action()
    } catch (error) {
      assert.ok(error instanceof KafkaError)
      return error.code
    }
    return 0
  }

  /** A JoinGroup; its answer, if there is one yet. */
  classicJoin(
    memberId: string,
    metadata: Buffer,
    options: Partial<JoinGroupRequest> & { readonly apiVersion?: number } = {},
  ): JoinGroupResponseInput[] {
    const { apiVersion = 9, ...more } = options
    const copy = Buffer.from(metadata)
    const answers: JoinGroupResponseInput[] = []
    const request: JoinGroupRequest = {
      groupId: GROUP,
      memberId,
      groupInstanceId: null,
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: REBALANCE_MS,
      protocolType: 'consumer',
      protocols: [{ name: 'range', metadata: copy }],
      reason: null,
      ...more,
    }
    const client = { clientId: 'classic', clientHost: '/127.0.0.2', apiVersion }
    const respond = (answer: JoinGroupResponseInput): void => void answers.push(answer)
    const isConsumer = this.context.groups.get(request.groupId)?.type === 'consumer'
    const result = isConsumer
      ? this.manager.classicJoin(request, client, respond)
      : this.classic.join(request, client, respond)
    spoil(copy)
    this.base.run(result)
    return answers
  }

  classicSync(
    memberId: string,
    generationId: number,
    assignments: { memberId: string; assignment: Buffer }[] = [],
  ): SyncGroupResponseInput[] {
    const answers: SyncGroupResponseInput[] = []
    const request = {
      groupId: GROUP,
      memberId,
      generationId,
      groupInstanceId: null,
      protocolType: 'consumer',
      protocolName: 'range',
      assignments,
    }
    const client = { clientId: 'classic', clientHost: '/127.0.0.2', apiVersion: 5 }
    const isConsumer = this.context.groups.get(GROUP)?.type === 'consumer'
    const respond = (answer: SyncGroupResponseInput): void => void answers.push(answer)
    this.base.run(
      isConsumer ? this.manager.classicSync(request, client, respond) : this.classic.sync(request, client, respond),
    )
    return answers
  }

  classicHeartbeat(memberId: string, generationId: number): number {
    const request = { groupId: GROUP, memberId, generationId, groupInstanceId: null }
    const client = { clientId: 'classic', clientHost: '/127.0.0.2', apiVersion: 4 }
    const isConsumer = this.context.groups.get(GROUP)?.type === 'consumer'
    return (
      this.base.run(
        isConsumer ? this.manager.classicHeartbeat(request, client) : this.classic.heartbeat(request, client),
      ).errorCode ?? 0
    )
  }

  classicLeave(...members: { memberId: string; groupInstanceId?: string }[]): LeaveGroupResponseInput {
    const request = {
      groupId: GROUP,
      memberId: '',
      members: members.map((member) => ({ groupInstanceId: null, reason: null, ...member })),
    }
    const client = { clientId: 'classic', clientHost: '/127.0.0.2', apiVersion: 5 }
    return this.base.run(this.manager.classicLeave(request, client))
  }

  #replay(record: GroupRecord): void {
    if (record.type === 'GroupMetadata') this.classic.replay(record)
    else if (record.type !== 'OffsetCommit') this.manager.replay(record)
  }

  #load(): void {
    this.classic.onLoaded()
    this.manager.onLoaded()
  }
}

/** A subscription of the consumer protocol, version 1, as a classic member sends it. */
export function subscription(
  topicNames: readonly string[],
  owned: readonly { readonly topicName: string; readonly partitions: readonly number[] }[] = [],
): Buffer {
  return Buffer.concat([
    int16(1),
    int32(topicNames.length),
    ...topicNames.map(text),
    int32(-1),
    int32(owned.length),
    ...owned.flatMap(({ topicName, partitions }) => [
      text(topicName),
      int32(partitions.length),
      ...partitions.map(int32),
    ]),
  ])
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function text(value: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)])
}
