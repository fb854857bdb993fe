/**
 * The broker under test: one real process on 127.0.0.1 that the suites start, stop, and kill. The suites know nothing
 * else about it, so the same checks run against Apache Kafka, which is the specification, and against Ottla.
 */
import type { ExitStatus } from './process.ts'

export type BrokerKind = 'ottla' | 'kafka'

export interface BrokerOptions {
  /** All of the broker's files lie below this folder. */
  readonly folder: string
  /** Kafka's broker configuration, by its dotted keys. */
  readonly config?: Readonly<Record<string, string>>
}

export interface BrokerProcess {
  readonly kind: BrokerKind
  readonly host: string
  readonly port: number
  /** `host:port`. */
  readonly bootstrap: string
  /** The folder with the partition folders. */
  readonly dataFolder: string
  /** Throws when it does not run. */
  readonly pid: number
  /** Resolves when the process ends, however it ends. */
  readonly exit: Promise<ExitStatus>
  /**
   * Starts the process on the same port and files as before, and waits until it serves.
   * @returns milliseconds from the start of the process to its first full answer to a client
   */
  start(options?: StartOptions): Promise<number>
  /** Asks it to end (SIGTERM) and waits; throws unless it ended cleanly. */
  stop(): Promise<void>
  /** Kills it at once (SIGKILL) and waits. */
  kill(): Promise<void>
  /** The end of what it logged, for messages about failures. */
  logTail(): string
}

export interface StartOptions {
  /** Topics and how many of their partitions must have a leader before it counts as serving. */
  readonly leaders?: Readonly<Record<string, number>>
  readonly timeoutMs?: number
}

/** The kind that `OTTLA_E2E_TARGET` names; Ottla by default. */
export function chosenBrokerKind(): BrokerKind {
  const chosen = process.env['OTTLA_E2E_TARGET'] ?? 'ottla'
  if (chosen === 'ottla' || chosen === 'kafka') return chosen
  throw new Error(`OTTLA_E2E_TARGET is '${chosen}'; expected 'ottla' or 'kafka'`)
}
