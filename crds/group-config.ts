import { createHash } from 'node:crypto'
import type { Resource } from './resource.ts'

/** What users configured for one consumer group (KIP-848); the group itself need not exist. */
export interface GroupConfigSpec {
  /** Immutable. */
  readonly groupId: string
  /** Kafka group configs, verbatim: dotted key to value as text. Only what the user set. */
  readonly config: Readonly<Record<string, string>>
}

export type GroupConfig = Resource<'GroupConfig', GroupConfigSpec, never>

/** The object name for a group: a pure function of its id, which may hold any character. */
export function groupConfigObjectName(groupId: string): string {
  return `group-${createHash('sha256').update(groupId).digest('hex').slice(0, 32)}`
}
