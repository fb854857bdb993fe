/** What request handlers work with. One object per broker, made by the broker's composition. */
import type { Clock } from '../../common/clock.ts'
import type { Logger } from '../../common/logger.ts'
import type { Timers } from '../../common/timers.ts'
import type { LiveConfig } from '../../crds/config/live-config.ts'
import type { BrokerConfig } from '../../crds/config/resolve.ts'
import type { ResourceStore } from '../../crds/resource-store.ts'
import type { GroupCoordinator } from '../coordinator/group/group-coordinator.ts'
import type { MetadataCache } from '../metadata/metadata-cache.ts'
import type { ProducerIdAllocator } from '../metadata/producer-id-allocator.ts'
import type { ReplicaManager } from '../replication/replica-manager.ts'
import type { ConfigAdmin } from './config-admin.ts'
import type { FetchSessionCache } from './fetch-session.ts'
import type { ClientQuotas } from './quota/client-quotas.ts'
import type { QuotaAdmin } from './quota/quota-admin.ts'
import type { TopicAdmin } from './topic-admin.ts'

/** The broker's data dir, as clients may see it. */
export interface LogDirView {
  readonly path: string
  readonly isOffline: () => boolean
  /** Of the volume that holds it. */
  readonly space: () => Promise<{ readonly freeBytes: number; readonly totalBytes: number }>
}

export interface BrokerContext {
  readonly brokerId: number
  readonly clusterId: string
  /** The configs in force when it is read: read it each time, keep none. */
  readonly config: BrokerConfig
  /** For who keeps what was made from configs, and has to hear of changes. */
  readonly configs: LiveConfig
  readonly metadata: MetadataCache
  readonly replicas: ReplicaManager
  readonly groups: GroupCoordinator
  readonly store: ResourceStore
  readonly topics: TopicAdmin
  readonly configAdmin: ConfigAdmin
  readonly quotaAdmin: QuotaAdmin
  readonly quotas: ClientQuotas
  readonly producerIds: ProducerIdAllocator
  readonly fetchSessions: FetchSessionCache
  readonly logDir: LogDirView
  /** False while the data dir's free space is below the floor: producers are refused, everything else goes on. */
  readonly hasSpaceForProducers: () => boolean
  readonly clock: Clock
  readonly timers: Timers
  readonly logger: Logger
}
