/**
 * One Kafka client of another maker, as the suite sees it: a program that writes, reads and administers as it is told.
 *
 * The programs in `clients/` (and `kafka/java/ClientWorker.java`) live as long as the suite. Each answers one JSON
 * request a line, `{ id, op, ... }`, with one JSON line, `{ id, ok }` or `{ id, error: { kafka, message } }`, where
 * `kafka` is the name of Kafka's error code. Keys, values and header values are base64, or null, or (to write large
 * ones) `{ file }`; what is read back and larger than 64 KiB is a SHA-256 digest instead.
 */
import { LongProcess } from '../lib/process.ts'

export type Codec = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'

export const allCodecs: readonly Codec[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

/** Bytes as base64; a file for large ones; null. */
export type JsonBytes = string | null | { readonly file: string }

export interface WriteRecord {
  readonly key: JsonBytes
  readonly value: JsonBytes
  readonly headers: readonly (readonly [string, string | null])[]
  /** Milliseconds since the epoch; the client's own clock when absent. */
  readonly timestamp?: number
}

export interface ReadRecord {
  readonly offset: number
  readonly timestamp: number
  /** Only from clients that tell it. */
  readonly timestampType?: string
  readonly key: string | null
  readonly value: string | null
  readonly headers: readonly (readonly [string, string | null])[]
  /** Instead of `headers` from a client that only prints them. */
  readonly headersText?: string
}

export interface WriteRequest {
  readonly topic: string
  readonly partition: number
  readonly codec: Codec
  readonly records: readonly WriteRecord[]
  readonly idempotent?: boolean
  readonly acks?: 'all' | '1' | '0'
  /** Whether the client may ask the broker to create the topic. */
  readonly autoCreate?: boolean
}

export interface ReadRequest {
  readonly topic: string
  readonly partition: number
  /** The first offset. */
  readonly offset: number
  /** Reading ends after so many records, or when time is up. */
  readonly count: number
  readonly timeoutMs?: number
}

export interface CreateTopicRequest {
  readonly topic: string
  readonly partitions?: number
  readonly replicationFactor?: number
  readonly config?: Readonly<Record<string, string>>
  /** Broker ids of each partition's replicas. */
  readonly assignments?: readonly (readonly number[])[]
  readonly validateOnly?: boolean
}

export interface DescribedTopic {
  readonly topicId?: string
  readonly partitions: readonly {
    readonly partition: number
    readonly leader: number
    readonly replicas: readonly number[]
  }[]
}

export interface DescribedConfig {
  readonly value: string | null
  readonly source: string
  readonly readOnly?: boolean
  readonly documented?: boolean
  readonly synonyms?: readonly string[]
}

/** What a client can't express, so that no test asks it to. */
export interface ClientTraits {
  readonly name: string
  /** Can write a header whose value is null. */
  readonly nullHeaderValues: boolean
  /** Tells a null header value from an empty one when reading. */
  readonly readsNullHeaderValues: boolean
  /** Can write a key of no bytes. */
  readonly emptyKeys: boolean
  /** Can write a value, and a header's value, of no bytes. */
  readonly emptyValues: boolean
  readonly idempotence: boolean
  readonly admin: boolean
  readonly manualAssignments: boolean
  readonly validateOnly: boolean
  readonly configs: boolean
  /** `maxTimestamp` as well as a time can be looked up. */
  readonly maxTimestamp: boolean
}

/** librdkafka shortens some of Kafka's error names. */
const librdkafkaNames: Readonly<Record<string, string>> = {
  UNKNOWN_TOPIC_OR_PART: 'UNKNOWN_TOPIC_OR_PARTITION',
  _UNKNOWN_PARTITION: 'UNKNOWN_TOPIC_OR_PARTITION',
  TOPIC_EXCEPTION: 'INVALID_TOPIC_EXCEPTION',
  MSG_SIZE_TOO_LARGE: 'MESSAGE_TOO_LARGE',
}

/** The broker's refusal, as the client understood it. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  /** The name of Kafka's error code. */
  readonly kafka: string

  constructor(client: string, operation: string, kafka: string, message: string) {
    super(`${client} ${operation}: ${kafka}: ${message}`)
    this.kafka = librdkafkaNames[kafka] ?? kafka
  }
}

export interface InteropClient {
  readonly traits: ClientTraits
  /** @returns the offset of each record */
  write(request: WriteRequest): Promise<number[]>
  read(request: ReadRequest): Promise<ReadRecord[]>
  /** Any other operation of the worker programs. Throws a {@link ClientError} when the broker refuses. */
  call<T = unknown>(operation: string, request: object): Promise<T>
  close(): Promise<void>
}

interface Answer {
  readonly id: number
  readonly ok?: unknown
  readonly error?: { readonly kafka: string; readonly message: string }
}

/** A client whose program speaks JSON lines. */
export class WorkerClient implements InteropClient {
  readonly traits: ClientTraits
  readonly #process: LongProcess
  readonly #waiting = new Map<number, { operation: string; resolve: (answer: Answer) => void }>()
  #nextId = 1

  constructor(
    traits: ClientTraits,
    command: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ) {
    this.traits = traits
    this.#process = new LongProcess(command, args, {
      env,
      onLine: (line) => {
        const answer = JSON.parse(line) as Answer
        this.#waiting.get(answer.id)?.resolve(answer)
        this.#waiting.delete(answer.id)
      },
    })
    void this.#process.exit.then((exit) => {
      for (const [id, waiting] of this.#waiting) {
        const message = `the program ended with ${JSON.stringify(exit)}\n${this.#process.recentErrors()}`
        waiting.resolve({ id, error: { kafka: 'CLIENT_ENDED', message } })
      }
      this.#waiting.clear()
    })
  }

  async write(request: WriteRequest): Promise<number[]> {
    return (await this.call<{ offsets: number[] }>('write', request)).offsets
  }

  async read(request: ReadRequest): Promise<ReadRecord[]> {
    const timeoutMs = request.timeoutMs ?? 20_000
    return (await this.call<{ records: ReadRecord[] }>('read', { ...request, timeoutMs })).records
  }

  async call<T>(operation: string, request: object): Promise<T> {
    if (this.#process.exited !== undefined) {
      throw new Error(`${this.traits.name} has ended: ${this.#process.recentErrors()}`)
    }
    const id = this.#nextId++
    const answer = await new Promise<Answer>((resolve) => {
      this.#waiting.set(id, { operation, resolve })
      this.#process.writeLine(JSON.stringify({ ...request, id, op: operation }))
    })
    if (answer.error !== undefined) {
      throw new ClientError(this.traits.name, operation, answer.error.kafka, answer.error.message)
    }
    return answer.ok as T
  }

  async close(): Promise<void> {
    this.#process.closeInput()
    const timer = setTimeout(() => this.#process.signal('SIGKILL'), 10_000)
    await this.#process.exit
    clearTimeout(timer)
  }
}
