/** What the parts of the group coordinator's state machine share. One per shard. */
import type { Clock } from '../../../common/clock.ts'
import type { Logger } from '../../../common/logger.ts'
import type { Random } from '../../../common/random.ts'
import type { CoordinatorTimer } from '../runtime/coordinator-shard.ts'
import type { Group } from './group.ts'
import type { GroupCoordinatorConfig } from './group-coordinator-config.ts'
import type { GroupRecord } from './records/group-record.ts'

/** A topic as group members see it. */
export interface TopicDescription {
  readonly topicId: string
  readonly partitionCount: number
}

/** The topics of the cluster, as they are now. */
export interface TopicDirectory {
  topic(name: string): TopicDescription | undefined
  topicNameById(topicId: string): string | undefined
  /** Whether its deletion was seen. That a topic is absent proves nothing: what we know of topics may be late. */
  wasDeleted(topicId: string): boolean
  topicNames(): Iterable<string>
}

export interface GroupShardContext {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly timer: CoordinatorTimer<GroupRecord>
  readonly topics: TopicDirectory
  /** As of now: values may change while the broker runs. */
  readonly config: () => GroupCoordinatorConfig
  /** What was set for one group (KIP-848 group configs): dotted key to text. */
  readonly groupConfig: (groupId: string) => Readonly<Record<string, string>>
  /** All groups of the shard, of both protocols. An entry is replaced when a group migrates. */
  readonly groups: Map<string, Group>
}
