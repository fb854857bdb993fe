/** What a log is made of and what it needs from outside: shared by `UnifiedLog` and the modules that do parts of its work. */
import type { BlockPool } from '../../common/block-pool.ts'
import type { Clock } from '../../common/clock.ts'
import type { Logger } from '../../common/logger.ts'
import type { Random } from '../../common/random.ts'
import type { FilePool } from './file-pool.ts'
import type { IndexCache } from './index-cache.ts'
import type { RecordArena } from './record-arena.ts'
import type { TailCache } from './tail-cache.ts'
import type { LeaderEpochFileCache } from './leader-epoch-cache.ts'
import type { LogConfig } from './log-config.ts'
import type { LogSegments } from './log-segments.ts'
import type { ProducerStateManager } from './producer-state-manager.ts'

/** What a log asks of the keeper of its data dir. */
export interface LogHost {
  /** Makes the recovery points of all logs durable as they are now. */
  persistRecoveryPoints(): Promise<void>
  /** Makes the log start offsets of all logs durable as they are now. */
  persistLogStartOffsets(): Promise<void>
  /** A recovery point moved forward: its checkpoint is due, soon. */
  recoveryPointMoved(): void
}

/** What the parts of a log need from outside. */
export interface LogDependencies {
  readonly pool: FilePool
  readonly tailCache: TailCache
  readonly blocks: BlockPool
  readonly arena: RecordArena
  readonly indexCache: IndexCache
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** A checkpoint is made after so many bytes, to bound what a recovery reads. */
  readonly checkpointBytes: number
  /** A recovery writes a tail up to this again where it is, a longer one to a new file. */
  readonly rewriteInPlaceBytes: number
}

/** The files of a log, and what of them is in memory. */
export interface LogParts {
  readonly folder: string
  readonly segments: LogSegments
  readonly producers: ProducerStateManager
  readonly epochs: LeaderEpochFileCache
}

/** A log as the loader found it, or a new one. */
export interface LogState extends LogParts {
  readonly topicName: string
  readonly partitionIndex: number
  readonly topicId: string
  readonly config: LogConfig
  readonly logStartOffset: number
  readonly logEndOffset: number
  readonly highWatermark: number
  readonly recoveryPoint: number
  /** The log was compacted up to here; undefined: never. */
  readonly cleanerCheckpoint: number | undefined
  /** Whether all files are known to be in the folder durably. */
  readonly isFolderSynced: boolean
  readonly lostBelowRecoveryPoint: OffsetRange | undefined
}

/** Offsets from `startOffset` (inclusive) to `endOffset` (exclusive). */
export interface OffsetRange {
  readonly startOffset: number
  readonly endOffset: number
}
