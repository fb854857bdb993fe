import assert from 'node:assert/strict'
import { randomInt, SeededRandom, type Random } from '../../../common/random.ts'
import { MemoryDisk, type DiskFault } from '../../../common/testing/memory-disk.ts'
import { encodeBatch, type RecordToEncode } from '../../protocol/records/encode-batch.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { decodeRecords } from '../../protocol/records/record.ts'
import type { LogConfig } from '../log-config.ts'
import { defaultCleanerConfig } from '../log-manager-options.ts'
import type { LogManager } from '../log-manager.ts'
import { append, ManualTime, newManager, openLog, readAll } from '../testing/log-fixture.ts'
import type { UnifiedLog } from '../unified-log.ts'
import { InlineKernel } from './kernel-host.ts'

const config: Partial<LogConfig> = {
  cleanupPolicy: { delete: false, compact: true },
  segmentBytes: 500,
  indexIntervalBytes: 100,
  minCleanableDirtyRatio: 0,
  deleteRetentionMs: 1000,
}

const PRODUCER_ID = 77
const KEYS = 6

interface Written {
  readonly key: string
  readonly value: string | null
}

/** What was written, by offset, and how far it is sure to be there. */
class History {
  readonly records: Written[] = []
  flushedOffset = 0
  logEndOffset = 0
  /** Of the idempotent producer: the last sequence up to each offset. */
  readonly sequences = new Map<number, number>()
  isCreated = false

  /** What was lost, as it may be, is not missed later. */
  endsAt(logEndOffset: number): void {
    this.records.length = logEndOffset
    this.flushedOffset = logEndOffset
    this.logEndOffset = logEndOffset
    for (const offset of this.sequences.keys()) if (offset > logEndOffset) this.sequences.delete(offset)
  }

  progress(log: UnifiedLog): void {
    this.flushedOffset = Math.max(this.flushedOffset, log.flushedOffset)
    this.logEndOffset = Math.max(this.logEndOffset, log.logEndOffset)
  }
}

class Run {
  readonly history: History
  readonly #random: Random
  readonly time: ManualTime
  manager!: LogManager
  log!: UnifiedLog
  #nextSequence = 0

  constructor(history: History, random: Random, time = new ManualTime()) {
    this.history = history
    this.#random = random
    this.time = time
  }

  async open(disk: MemoryDisk): Promise<void> {
    this.manager = newManager(disk, {
      time: this.time,
      config,
      // So small that a pass may not hold all keys.
      cleanerConfig: () => ({ ...defaultCleanerConfig, dedupeBufferBytes: 24 * 6, ioBufferBytes: 200 }),
      cleanerKernel: new InlineKernel(),
      producerIdExpirationMs: Number.MAX_SAFE_INTEGER,
      listener: { onProgress: (log) => this.history.progress(log) },
    })
    await this.manager.open()
    this.log = await openLog(this.manager, config)
    this.history.isCreated = true
    const last = [...this.log.activeProducers()].find(({ producerId }) => producerId === PRODUCER_ID)
    this.#nextSequence = (last?.lastSequence ?? -1) + 1
  }

  async appendSome(count: number): Promise<void> {
    for (let i = 0; i < count; i++) this.#appendBatch()
    await this.log.flush()
    this.log.updateHighWatermark(this.log.logEndOffset)
  }

  #appendBatch(): void {
    const random = this.#random
    const records = Array.from({ length: randomInt(random, 1, 3) }, (): RecordToEncode & Written => {
      const key = `key-${randomInt(random, 0, KEYS - 1)}`
      const value =
        random.next() < 0.25 ? null : `${this.history.records.length}-${'x'.repeat(randomInt(random, 0, 40))}`
      return { timestamp: this.time.wallMs(), key, value }
    })
    const isIdempotent = random.next() < 0.3
    const compression = random.next() < 0.3 ? 'zstd' : 'none'
    const producer = isIdempotent ? { producerId: PRODUCER_ID, producerEpoch: 0, baseSequence: this.#nextSequence } : {}
    const offset = append(this.log, encodeBatch({ records, compression, ...producer }))
    this.history.records.length = offset
    for (const { key, value } of records) this.history.records.push({ key, value })
    if (!isIdempotent) return
    this.#nextSequence += records.length
    this.history.sequences.set(this.history.records.length, this.#nextSequence - 1)
  }
}

async function workload(disk: MemoryDisk, history: History, seed: number): Promise<void> {
  const run = new Run(history, new SeededRandom(seed))
  await run.open(disk)
  await run.appendSome(10)
  await run.manager.compact()
  await run.appendSome(6)
  run.time.advance(2000)
  await run.manager.compact()
  run.log.updateConfig({ ...run.log.config, segmentBytes: 3000 })
  await run.appendSome(3)
  run.time.advance(run.log.config.segmentMs)
  await run.manager.compact()
  await run.manager.checkpointAll()
}

/** The log has what it must have, and nothing that it must not. `endOffset`: what must have survived. */
async function check(log: UnifiedLog, history: History, endOffset: number): Promise<void> {
  assert.ok(log.logEndOffset >= endOffset, `the log ends at ${log.logEndOffset}, before ${endOffset}`)
  assert.ok(log.logEndOffset <= history.records.length)
  assert.equal(log.logStartOffset, 0)
  assert.equal(log.lostBelowRecoveryPoint, undefined)
  const records = await readAll(log)
  const found = new Map<number, Written>()
  let last = -1
  for (const position of recordBatch.batchPositions(records)) {
    assert.ok(recordBatch.isValid(records, position))
    assert.ok(recordBatch.baseOffset(records, position) > last, 'offsets grow')
    last = recordBatch.lastOffset(records, position)
    for (const { offset, key, value } of decodeRecords(records, position)) {
      found.set(offset, { key: key?.toString() ?? '', value: value === null ? null : value.toString() })
    }
  }
  for (const [offset, record] of found) assert.deepEqual(record, history.records[offset], `offset ${offset}`)
  for (let i = 0; i < KEYS; i++) {
    const key = `key-${i}`
    const newest = history.records.slice(0, log.logEndOffset).findLastIndex((record) => record.key === key)
    if (newest < 0 || found.has(newest)) continue
    assert.equal(history.records[newest]?.value, null, `the newest value of ${key}, at ${newest}, is gone`)
    const older = [...found].filter(([, record]) => record.key === key)
    assert.deepEqual(older, [], `the tombstone of ${key} at ${newest} went before what it deletes`)
  }
}

function checkProducer(log: UnifiedLog, history: History): void {
  let expected: number | undefined
  for (const [offset, sequence] of history.sequences) if (offset <= log.logEndOffset) expected = sequence
  const entry = [...log.activeProducers()].find(({ producerId }) => producerId === PRODUCER_ID)
  assert.equal(entry?.lastSequence, expected, 'the last sequence of the producer')
}

async function checkFiles(disk: MemoryDisk): Promise<void> {
  const names = (await disk.list('/data/t-0')).map(({ name }) => name)
  assert.deepEqual(
    names.filter((name) => /cleaned|swap|deleted|tmp/.test(name)),
    [],
  )
  for (const name of names) {
    const isOrphan = /\.(index|timeindex)$/.test(name) && !names.includes(`${name.slice(0, 20)}.log`)
    assert.ok(!isOrphan, `${name} has no segment`)
  }
}

async function crashAt(index: number, fault: DiskFault, seed: number): Promise<[MemoryDisk, History]> {
  const disk = new MemoryDisk({ fault: (call) => (call.index === index ? fault : undefined) })
  const history = new History()
  await Promise.race([workload(disk, history, seed), disk.crashed])
  return [disk, history]
}

async function checkAfter(disk: MemoryDisk, history: History, endOffset: number, seed: number): Promise<void> {
  const run = new Run(history, new SeededRandom(seed))
  await run.open(disk)
  await check(run.log, history, history.isCreated ? endOffset : 0)
  checkProducer(run.log, history)
  await checkFiles(disk)
  history.endsAt(run.log.logEndOffset)
  // And it goes on.
  await run.appendSome(4)
  run.time.advance(run.log.config.segmentMs)
  await run.manager.compact()
  assert.equal(run.manager.cleanerStats.uncleanablePartitionsCount, 0)
  await check(run.log, history, history.logEndOffset)
  checkProducer(run.log, history)
  await run.manager.close({ brokerEpoch: 1 })
}

async function operationCount(seed: number): Promise<number> {
  const disk = new MemoryDisk()
  const history = new History()
  await workload(disk, history, seed)
  return disk.operations
}

async function inContext<T>(context: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new Error(`${context}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

describe('a crash of compaction at every disk operation', function () {
  this.timeout(120_000)

  for (const fault of ['crash-before', 'crash-after', 'crash-torn'] as const) {
    it(`keeps the newest value of each key when the process is killed (${fault})`, async () => {
      const count = await operationCount(11)
      for (let index = 0; index < count; index++) {
        const [disk, history] = await crashAt(index, fault, 11)
        await inContext(`operation ${index} of ${count}`, () =>
          checkAfter(disk.kill(), history, history.logEndOffset, index),
        )
      }
    })
  }

  for (const survival of ['nothing', 'some'] as const) {
    it(`keeps it when the machine loses power and ${survival} of what was not synced survives`, async () => {
      const seed = survival === 'nothing' ? 13 : 12
      const count = await operationCount(seed)
      for (let index = 0; index < count; index++) {
        const [disk, history] = await crashAt(index, 'crash-after', seed)
        const survivor = disk.powerLoss(survival === 'nothing' ? undefined : new SeededRandom(index))
        await inContext(`operation ${index} of ${count}`, () =>
          checkAfter(survivor, history, history.flushedOffset, index),
        )
      }
    })
  }

  it('survives a second crash at every operation of the start that follows', async () => {
    const count = await operationCount(14)
    const random = new SeededRandom(14)
    for (let round = 0; round < 16; round++) {
      const index = randomInt(random, 30, count - 1)
      for (let second = 0; ; second++) {
        const [disk, history] = await crashAt(index, 'crash-after', 14)
        const isPowerLoss = round % 2 === 0
        const recovering = disk.kill({ fault: (call) => (call.index === second ? 'crash-after' : undefined) })
        const run = new Run(history, new SeededRandom(second))
        const hasCrashed = await Promise.race([
          run.open(recovering).then(() => false),
          recovering.crashed.then(() => true),
        ])
        const survivor = isPowerLoss ? recovering.powerLoss(new SeededRandom(second)) : recovering.kill()
        const endOffset = isPowerLoss ? history.flushedOffset : history.logEndOffset
        await inContext(`operation ${index}, then ${second} of the start`, () =>
          checkAfter(survivor, history, endOffset, second),
        )
        if (!hasCrashed) break
      }
    }
  })

  it('keeps all of it through random work, of many seeds', async () => {
    for (let seed = 100; seed < 140; seed++) {
      const random = new SeededRandom(seed)
      const history = new History()
      let disk = new MemoryDisk()
      const time = new ManualTime()
      await inContext(`seed ${seed}`, async () => {
        for (let round = 0; round < 6; round++) {
          const run = new Run(history, random, time)
          await run.open(disk)
          await check(run.log, history, history.logEndOffset)
          checkProducer(run.log, history)
          await run.appendSome(randomInt(random, 1, 15))
          time.advance(randomInt(random, 0, 1500))
          const compacting = run.manager.compact()
          if (random.next() < 0.5) {
            await run.appendSome(randomInt(random, 1, 5))
            run.log.updateConfig({ ...run.log.config, segmentBytes: randomInt(random, 300, 3000) })
          }
          await compacting
          if (random.next() < 0.3) time.advance(run.log.config.segmentMs)
          await run.manager.compact()
          await check(run.log, history, history.logEndOffset)
          if (random.next() < 0.5) {
            await run.manager.close({ brokerEpoch: 1 })
          } else {
            disk = disk.kill()
          }
        }
      })
    }
  })
})
