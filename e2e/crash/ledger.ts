/**
 * What the run has been told: which records were acknowledged, where; what tailing consumers have seen; and at the end
 * what the logs hold. Its checks are the promises of the log.
 */
import { valueCrc } from './value.ts'

export type PartitionName = string

export function partitionName(topic: string, partition: number | string): PartitionName {
  return `${topic}-${partition}`
}

/** One producer's records in one partition, by sequence number. */
interface Sent {
  /** Acknowledged offsets; -1: acknowledged without an offset. */
  readonly acknowledged: Map<number, number>
  /** Sequence numbers whose outcome the producer does not know. */
  readonly failed: Set<number>
  /** How many records it has sent in all, once it has ended. */
  count: number | undefined
}

export interface LedgerProducer {
  readonly name: string
  readonly isIdempotent: boolean
  /** Retries until it succeeds, so that nothing of what it sent may be missing. */
  readonly isPersistent: boolean
}

interface LoggedRecord {
  readonly crc: number
  readonly producer: string
  readonly sequence: number
}

export class Ledger {
  readonly #producers = new Map<string, LedgerProducer>()
  readonly #sent = new Map<PartitionName, Map<string, Sent>>()
  readonly #seen = new Map<PartitionName, Map<number, number>>()
  readonly #lastSeen = new Map<PartitionName, number>()
  /** What is wrong, in the order in which it was found. */
  readonly violations: string[] = []
  #acknowledgedCount = 0
  #seenCount = 0

  get acknowledgedCount(): number {
    return this.#acknowledgedCount
  }

  get seenCount(): number {
    return this.#seenCount
  }

  addProducer(producer: LedgerProducer): void {
    this.#producers.set(producer.name, producer)
  }

  acknowledge(producer: string, partition: PartitionName, sequence: number, offset: number): void {
    const sent = this.#sentBy(producer, partition)
    if (sent.acknowledged.has(sequence)) {
      this.violations.push(`${producer} was told twice that ${partition} took its record ${sequence}`)
    }
    sent.acknowledged.set(sequence, offset)
    this.#acknowledgedCount += 1
  }

  fail(producer: string, partition: PartitionName, sequence: number, error: string): void {
    this.#sentBy(producer, partition).failed.add(sequence)
    if (this.#producers.get(producer)?.isPersistent === true) {
      this.violations.push(`${producer} had to give up record ${sequence} of ${partition}: ${error}`)
    }
  }

  finish(producer: string, partition: PartitionName, count: number): void {
    this.#sentBy(producer, partition).count = count
  }

  /** A consumer that follows the log has got a record. */
  see(partition: PartitionName, offset: number, crc: number): void {
    let seen = this.#seen.get(partition)
    if (seen === undefined) {
      seen = new Map()
      this.#seen.set(partition, seen)
    }
    const last = this.#lastSeen.get(partition) ?? -1
    if (offset <= last)
      this.violations.push(`a consumer of ${partition} was sent back from offset ${last} to ${offset}`)
    this.#lastSeen.set(partition, offset)
    seen.set(offset, crc)
    this.#seenCount += 1
  }

  /** Compares one partition's log, from `logStartOffset` to its end, with everything known about it. */
  check(
    partition: PartitionName,
    logStartOffset: number,
    logEndOffset: number,
    log: ReadonlyMap<number, LoggedRecord>,
  ): void {
    this.#checkOffsets(partition, logStartOffset, logEndOffset, log)
    this.#checkContents(partition, log)
    this.#checkSeen(partition, logStartOffset, log)
    const byProducer = groupByProducer(log)
    for (const [name, sent] of this.#sent.get(partition) ?? []) {
      const producer = this.#producers.get(name)
      if (producer === undefined) throw new Error(`unknown producer ${name}`)
      this.#checkAcknowledged(partition, producer, sent, logStartOffset, log, byProducer.get(name) ?? [])
      this.#checkOrder(partition, producer, sent, logStartOffset, byProducer.get(name) ?? [])
    }
  }

  #sentBy(producer: string, partition: PartitionName): Sent {
    let producers = this.#sent.get(partition)
    if (producers === undefined) {
      producers = new Map()
      this.#sent.set(partition, producers)
    }
    let sent = producers.get(producer)
    if (sent === undefined) {
      sent = { acknowledged: new Map(), failed: new Set(), count: undefined }
      producers.set(producer, sent)
    }
    return sent
  }

  #checkOffsets(partition: PartitionName, start: number, end: number, log: ReadonlyMap<number, LoggedRecord>): void {
    for (let offset = start; offset < end; offset++) {
      if (!log.has(offset)) {
        this.violations.push(`${partition} has no record at offset ${offset} (log ${start} to ${end})`)
        return
      }
    }
  }

  #checkContents(partition: PartitionName, log: ReadonlyMap<number, LoggedRecord>): void {
    for (const [offset, { crc, producer, sequence }] of log) {
      if (crc !== valueCrc(producer, sequence)) {
        this.violations.push(`${partition}@${offset}: the value of ${producer}'s record ${sequence} has changed`)
      }
    }
  }

  #checkSeen(partition: PartitionName, start: number, log: ReadonlyMap<number, LoggedRecord>): void {
    for (const [offset, crc] of this.#seen.get(partition) ?? []) {
      if (offset < start) continue
      const now = log.get(offset)
      if (now === undefined) this.violations.push(`${partition}@${offset}: a record that a consumer saw has vanished`)
      else if (now.crc !== crc) this.violations.push(`${partition}@${offset}: a record that a consumer saw has changed`)
    }
  }

  #checkAcknowledged(
    partition: PartitionName,
    producer: LedgerProducer,
    sent: Sent,
    start: number,
    log: ReadonlyMap<number, LoggedRecord>,
    logged: readonly number[],
  ): void {
    const present = new Set(logged)
    for (const [sequence, offset] of sent.acknowledged) {
      if (offset >= 0) {
        // Below the log's start retention has removed it.
        if (offset < start) continue
        const found = log.get(offset)
        if (found?.producer !== producer.name || found.sequence !== sequence) {
          const what = found === undefined ? 'nothing' : `${found.producer}'s record ${found.sequence}`
          this.violations.push(
            `${partition}@${offset}: acknowledged ${producer.name}'s record ${sequence}, holds ${what}`,
          )
        }
      } else if (start === 0 && !present.has(sequence)) {
        this.violations.push(`${partition}: acknowledged ${producer.name}'s record ${sequence}, holds it nowhere`)
      }
    }
  }

  #checkOrder(
    partition: PartitionName,
    producer: LedgerProducer,
    sent: Sent,
    start: number,
    logged: readonly number[],
  ): void {
    const known = new Set<number>()
    let last = -1
    for (const sequence of logged) {
      if (known.has(sequence)) {
        if (producer.isIdempotent)
          this.violations.push(`${partition}: ${producer.name}'s record ${sequence} is there twice`)
        continue
      }
      known.add(sequence)
      if (sequence < last)
        this.violations.push(`${partition}: ${producer.name}'s record ${sequence} comes after ${last}`)
      last = sequence
    }
    if (!producer.isPersistent || start > 0 || sent.count === undefined) return
    for (let sequence = 0; sequence < sent.count; sequence++) {
      if (!known.has(sequence)) this.violations.push(`${partition}: ${producer.name}'s record ${sequence} is missing`)
    }
  }
}

function groupByProducer(log: ReadonlyMap<number, LoggedRecord>): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  for (const { producer, sequence } of log.values()) {
    const group = groups.get(producer)
    if (group === undefined) groups.set(producer, [sequence])
    else group.push(sequence)
  }
  return groups
}
