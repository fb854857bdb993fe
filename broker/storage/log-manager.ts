import type { LogConfig } from './log-config.ts'
import type { UnifiedLog } from './unified-log.ts'

export interface LogManager {
  /** UUID of this data dir, minted at its first use. */
  readonly directoryId: string
  /** The broker epoch that the clean-shutdown mark held, if the last stop was clean. */
  readonly cleanShutdownEpoch: number | undefined
  readonly isOffline: boolean
  readonly isBelowFloor: boolean
  /** The largest producer id in any log. */
  readonly highestProducerId: number

  open(): Promise<void>
  logs(): Iterable<UnifiedLog>
  getLog(topicName: string, partitionIndex: number): UnifiedLog | undefined
  /** Returns the log, made durably if it isn't there; fails when it is there under another topic id. */
  createLog(topicName: string, partitionIndex: number, topicId: string, config: LogConfig): Promise<UnifiedLog>
  deleteLog(topicName: string, partitionIndex: number): Promise<void>
  setAside(topicName: string, partitionIndex: number): Promise<void>
  close(options: { brokerEpoch: number }): Promise<void>
}
