/** The configs of the group coordinator, read once from the broker's. */
import type { BrokerConfig } from '../../../crds/config/resolve.ts'

export type MigrationPolicy = 'bidirectional' | 'upgrade' | 'downgrade' | 'disabled'

export interface GroupCoordinatorConfig {
  readonly minSessionTimeoutMs: number
  readonly maxSessionTimeoutMs: number
  readonly initialRebalanceDelayMs: number
  readonly maxSize: number
  readonly offsetMetadataMaxBytes: number
  readonly offsetsRetentionMs: number
  readonly offsetsRetentionCheckIntervalMs: number
  readonly offsetsCommitTimeoutMs: number
  readonly consumerSessionTimeoutMs: number
  readonly consumerMinSessionTimeoutMs: number
  readonly consumerMaxSessionTimeoutMs: number
  readonly consumerHeartbeatIntervalMs: number
  readonly consumerMinHeartbeatIntervalMs: number
  readonly consumerMaxHeartbeatIntervalMs: number
  readonly consumerMaxSize: number
  /** The first one is the default. */
  readonly consumerAssignors: readonly string[]
  readonly consumerMigrationPolicy: MigrationPolicy
  readonly consumerRegexRefreshIntervalMs: number
}

const MINUTE_MS = 60_000

export function groupCoordinatorConfigOf(config: BrokerConfig): GroupCoordinatorConfig {
  return {
    minSessionTimeoutMs: config.get('group.min.session.timeout.ms'),
    maxSessionTimeoutMs: config.get('group.max.session.timeout.ms'),
    initialRebalanceDelayMs: config.get('group.initial.rebalance.delay.ms'),
    maxSize: config.get('group.max.size'),
    offsetMetadataMaxBytes: config.get('offset.metadata.max.bytes'),
    offsetsRetentionMs: config.get('offsets.retention.minutes') * MINUTE_MS,
    offsetsRetentionCheckIntervalMs: config.get('offsets.retention.check.interval.ms'),
    offsetsCommitTimeoutMs: config.get('offsets.commit.timeout.ms'),
    consumerSessionTimeoutMs: config.get('group.consumer.session.timeout.ms'),
    consumerMinSessionTimeoutMs: config.get('group.consumer.min.session.timeout.ms'),
    consumerMaxSessionTimeoutMs: config.get('group.consumer.max.session.timeout.ms'),
    consumerHeartbeatIntervalMs: config.get('group.consumer.heartbeat.interval.ms'),
    consumerMinHeartbeatIntervalMs: config.get('group.consumer.min.heartbeat.interval.ms'),
    consumerMaxHeartbeatIntervalMs: config.get('group.consumer.max.heartbeat.interval.ms'),
    consumerMaxSize: config.get('group.consumer.max.size'),
    consumerAssignors: config.get('group.consumer.assignors'),
    consumerMigrationPolicy: config.get('group.consumer.migration.policy') as MigrationPolicy,
    consumerRegexRefreshIntervalMs: config.get('group.consumer.regex.refresh.interval.ms'),
  }
}
