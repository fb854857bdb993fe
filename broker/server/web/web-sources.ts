import type { Clock } from '../../../common/clock.ts'
import type { Logger } from '../../../common/logger.ts'
import type { GroupViews } from '../../coordinator/group/group-view.ts'
import type { Broker } from '../broker.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { SocketServer } from '../socket-server.ts'

/** What the web port shows: one broker, as it is at the moment of a request. */
export interface WebSources {
  readonly brokerId: number
  readonly clusterId: string
  readonly version: string
  /** Names and addresses under which the web port can be reached, as far as the broker was told. */
  readonly hosts: readonly string[]
  readonly broker: Broker
  readonly groups: GroupViews
  readonly server: SocketServer
  readonly memory: MemoryBudget
  readonly listener: string
  readonly clock: Clock
  readonly logger: Logger
  /** Nothing is known of topics yet. */
  readonly isStarting: () => boolean
  /** Undefined: ready. Else why not. */
  readonly notReadyReason: () => string | undefined
}

/** The part that the JSON API reads. */
export type ApiSources = Omit<WebSources, 'hosts' | 'server' | 'memory' | 'listener'>
