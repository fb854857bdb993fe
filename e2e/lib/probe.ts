/**
 * Asks a broker for its metadata with one hand-made request (Metadata version 1), without any client library, so that
 * readiness is measured alike for every broker.
 */
import { createConnection } from 'node:net'

export interface ProbedMetadata {
  readonly brokerCount: number
  /** Partitions that have a leader, by topic. */
  readonly leaderCounts: ReadonlyMap<string, number>
}

/** One Metadata request for `topics` (null: all) on a new connection. */
export function probeMetadata(
  host: string,
  port: number,
  topics: readonly string[] | null,
  timeoutMs = 2000,
): Promise<ProbedMetadata> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, host)
    let received = Buffer.alloc(0)
    const fail = (error: Error): void => {
      socket.destroy()
      reject(error)
    }
    socket.setTimeout(timeoutMs, () => fail(new Error(`no answer within ${timeoutMs} ms`)))
    socket.on('error', fail)
    socket.on('close', () => fail(new Error('the connection was closed')))
    socket.on('connect', () => socket.write(metadataRequest(topics)))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 4 || received.length < 4 + received.readInt32BE(0)) return
      try {
        resolve(parseMetadata(received.subarray(8)))
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)))
      }
      socket.destroy()
    })
  })
}

/** Asks until the broker answers with at least one broker and `leaders` led partitions of each named topic. */
export async function waitUntilServing(
  host: string,
  port: number,
  leaders: Readonly<Record<string, number>>,
  timeoutMs: number,
  isAlive: () => boolean = () => true,
): Promise<void> {
  const topics = Object.keys(leaders)
  const endMs = performance.now() + timeoutMs
  let last: unknown
  while (performance.now() < endMs && isAlive()) {
    try {
      const found = await probeMetadata(host, port, topics)
      if (
        found.brokerCount > 0 &&
        topics.every((name) => (found.leaderCounts.get(name) ?? 0) >= (leaders[name] ?? 0))
      ) {
        return
      }
      last = new Error(`incomplete metadata: ${found.brokerCount} brokers, ${JSON.stringify([...found.leaderCounts])}`)
    } catch (error) {
      last = error
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error(
    isAlive()
      ? `${host}:${port} did not serve within ${timeoutMs} ms`
      : `the broker at ${host}:${port} ended while starting`,
    { cause: last },
  )
}

function metadataRequest(topics: readonly string[] | null): Buffer {
  const header = Buffer.alloc(8)
  header.writeInt16BE(3, 0)
  header.writeInt16BE(1, 2)
  header.writeInt32BE(1, 4)
  const count = Buffer.alloc(4)
  count.writeInt32BE(topics === null ? -1 : topics.length)
  const body = Buffer.concat([header, shortString('probe'), count, ...(topics ?? []).map(shortString)])
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length)
  return Buffer.concat([length, body])
}

function shortString(text: string): Buffer {
  const bytes = Buffer.from(text)
  const length = Buffer.alloc(2)
  length.writeInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

function parseMetadata(body: Buffer): ProbedMetadata {
  let position = 0
  const int32 = (): number => ((position += 4), body.readInt32BE(position - 4))
  const int16 = (): number => ((position += 2), body.readInt16BE(position - 2))
  const string = (): string | null => {
    const length = int16()
    if (length < 0) return null
    position += length
    return body.toString('utf8', position - length, position)
  }
  const brokerCount = int32()
  for (let index = 0; index < brokerCount; index++) {
    int32()
    string()
    int32()
    string()
  }
  int32()
  const leaderCounts = new Map<string, number>()
  for (let topicCount = int32(); topicCount > 0; topicCount--) {
    int16()
    const name = string() ?? ''
    position += 1
    let leaders = 0
    for (let partitionCount = int32(); partitionCount > 0; partitionCount--) {
      const errorCode = int16()
      int32()
      const leader = int32()
      if (errorCode === 0 && leader >= 0) leaders += 1
      for (let replicas = int32(); replicas > 0; replicas--) int32()
      for (let inSync = int32(); inSync > 0; inSync--) int32()
    }
    leaderCounts.set(name, leaders)
  }
  return { brokerCount, leaderCounts }
}
