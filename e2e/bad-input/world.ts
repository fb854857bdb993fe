/** What the tests of this suite share: one broker under attack, and a well-behaved client of it. */
import assert from 'node:assert/strict'
import { createTopicsRequest, createTopicsResponse } from '../../broker/protocol/messages/19-create-topics.ts'
import { waitFor } from '../lib/wait.ts'
import { Ottla } from './ottla.ts'
import { RawClient, type RawClientOptions } from './raw-client.ts'
import { Witness } from './witness.ts'

/** A topic for records that are good and bad. */
export const TOPIC = 'target'

/** A produce of the witness takes a few ms; the machine may be busy with other things. */
const MAX_WITNESS_MS = 4000
/** At rest about 150 MiB; requests, responses, the tail cache and unfinished frames have limits of their own. */
const MAX_RESIDENT_MIB = 1200

export class World {
  readonly ottla: Ottla
  readonly #witness: Witness
  readonly #clients = new Set<RawClient>()
  #lineCount = 0

  private constructor(ottla: Ottla, witness: Witness) {
    this.ottla = ottla
    this.#witness = witness
  }

  static async open(): Promise<World> {
    const ottla = await Ottla.start()
    const admin = await RawClient.connect(ottla.port)
    await admin.call([createTopicsRequest, createTopicsResponse], 7, {
      topics: [TOPIC, Witness.topic].map((name) => ({ name, numPartitions: 1, replicationFactor: 1 })),
      timeoutMs: 10_000,
    })
    await admin.close()
    return new World(ottla, await Witness.start(ottla.port))
  }

  async connect(options: RawClientOptions = {}): Promise<RawClient> {
    const client = await RawClient.connect(this.ottla.port, options)
    this.#clients.add(client)
    return client
  }

  /** Before each test. */
  begin(): void {
    this.#lineCount = this.ottla.lineCount
    this.#witness.takeWorstMs()
  }

  /** After each test: the broker lives, its memory is bounded, the witness was not disturbed. */
  async check(maxWitnessMs = MAX_WITNESS_MS): Promise<void> {
    const peakMib = this.ottla.isRunning ? this.ottla.peakMib() : 0
    await Promise.all([...this.#clients].map((client) => client.close()))
    this.#clients.clear()
    assert.ok(this.ottla.isRunning, `the broker ended\n${this.ottla.tail()}`)
    assert.ok(peakMib < MAX_RESIDENT_MIB, `${peakMib} MiB were resident`)
    // A produce that began during the test ends after it.
    const before = this.#witness.acknowledged
    await waitFor('the well-behaved client to go on', 30_000, () => {
      this.#worstMs = Math.max(this.#worstMs, this.#witness.takeWorstMs())
      return this.#witness.acknowledged > before + 2 ? true : undefined
    })
    const worstMs = this.#worstMs
    this.#worstMs = 0
    if (process.env['OTTLA_E2E_VERBOSE'] !== undefined) {
      console.log(
        `      worst ${worstMs.toFixed(0)} ms, resident ${this.ottla.residentMib().toFixed(0)} MiB, peak ${peakMib.toFixed(0)} MiB`,
      )
    }
    assert.ok(worstMs < maxWitnessMs, `the well-behaved client waited ${worstMs} ms`)
  }

  #worstMs = 0

  /** Waits for the lines that a test expects, warnings and errors, and checks that there are no others. */
  async expectProblems(...patterns: readonly RegExp[]): Promise<void> {
    const problems = await waitFor(`log lines: ${patterns.join(', ')}`, 5000, () => {
      const found = this.ottla.problemsSince(this.#lineCount)
      return found.length >= patterns.length ? found : undefined
    }).catch(() => this.ottla.problemsSince(this.#lineCount))
    assert.equal(problems.length, patterns.length, `log lines:\n${problems.slice(0, 20).join('\n')}`)
    for (const [i, pattern] of patterns.entries()) assert.match(problems[i] ?? '', pattern)
  }

  /** Warnings and errors since the test began. */
  problems(): string[] {
    return this.ottla.problemsSince(this.#lineCount)
  }

  /** Stops all; throws unless no record is missing and the process ends with 0. */
  async close(): Promise<void> {
    await this.#witness.stop()
    const exit = await this.ottla.stop()
    assert.deepEqual(exit, { code: 0, signal: null }, this.ottla.tail())
  }
}

let current: World | undefined

export function setWorld(opened: World | undefined): void {
  current = opened
}

export function world(): World {
  if (current === undefined) throw new Error('the broker is not running')
  return current
}
