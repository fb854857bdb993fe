import assert from 'node:assert/strict'
import { randomInt, SeededRandom, type Random } from '../../common/random.ts'
import { MemoryDisk, type DiskFault } from '../../common/testing/memory-disk.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import type { LogManager } from './log-manager.ts'
import { append, batchOf, ManualTime, newManager, openLog, openManager, readAll } from './testing/log-fixture.ts'
import type { UnifiedLog } from './unified-log.ts'

const config = { segmentBytes: 700, indexIntervalBytes: 100, flushMessages: 1 }

/** What a crash must not take, as the workload sees it. */
class Expectation {
  /** The batches that were ever appended, by base offset; the newest last. */
  readonly versions = new Map<number, Buffer[]>()
  /** Everything below was durable, and was not cut off since. */
  flushedOffset = 0
  /** Everything below was written, and was not cut off since. */
  logEndOffset = 0
  /** The log may start anywhere up to here. */
  maxLogStartOffset = 0
  isCreated = false

  progress(log: UnifiedLog): void {
    this.flushedOffset = Math.max(this.flushedOffset, log.flushedOffset)
    this.logEndOffset = Math.max(this.logEndOffset, log.logEndOffset)
  }

  appended(records: Buffer, firstOffset: number): void {
    const versions = this.versions.get(firstOffset) ?? []
    versions.push(Buffer.from(records))
    this.versions.set(firstOffset, versions)
  }

  willCutAt(target: number): void {
    // A batch that reaches the target goes as a whole.
    const offset = Math.max(...[...this.versions.keys()].filter((baseOffset) => baseOffset <= target))
    this.flushedOffset = Math.min(this.flushedOffset, offset)
    this.logEndOffset = Math.min(this.logEndOffset, offset)
  }
}

/** Appends a batch of an idempotent producer whose sequence numbers are the log's offsets. */
function appendNext(log: UnifiedLog, expectation: Expectation, random: Random, leaderEpoch: number): void {
  const records = batchOf(randomInt(random, 1, 3), {
    firstValue: log.nextOffset,
    valueBytes: randomInt(random, 10, 60),
    producerId: 9,
    producerEpoch: leaderEpoch,
    baseSequence: log.nextOffset - epochStart(log, leaderEpoch),
  })
  expectation.appended(records, append(log, records, leaderEpoch))
  // The offset and the epoch were written in place.
  expectation.versions.get(recordBatch.baseOffset(records, 0))?.splice(-1, 1, Buffer.from(records))
}

/** A new producer epoch begins with sequence 0, and this producer begins one with each leader epoch. */
function epochStart(log: UnifiedLog, leaderEpoch: number): number {
  if (log.latestEpoch !== leaderEpoch) return log.nextOffset
  const previous = log.endOffsetForEpoch(leaderEpoch - 1)
  return leaderEpoch === 0 || previous.endOffset < 0 ? 0 : previous.endOffset
}

async function workload(disk: MemoryDisk, expectation: Expectation, seed: number): Promise<void> {
  const random = new SeededRandom(seed)
  const time = new ManualTime()
  const listener = { onProgress: (log: UnifiedLog) => expectation.progress(log) }
  let manager = await openManager(disk, { time, config, listener })
  let log = await openLog(manager, config)
  expectation.isCreated = true
  for (let i = 0; i < 4; i++) appendNext(log, expectation, random, 0)
  await log.flush()
  for (let i = 0; i < 8; i++) appendNext(log, expectation, random, 0)
  await log.flush()
  await manager.checkpointAll()
  for (let i = 0; i < 3; i++) appendNext(log, expectation, random, 1)
  await log.flush()
  const target = log.logEndOffset - randomInt(random, 1, 12)
  expectation.willCutAt(target)
  await log.truncateTo(target)
  for (let i = 0; i < 6; i++) {
    appendNext(log, expectation, random, 2)
    if (i % 2 === 1) await log.flush()
  }
  log.updateHighWatermark(log.logEndOffset)
  expectation.maxLogStartOffset = 8
  await log.deleteRecordsBefore(8)
  appendNext(log, expectation, random, 2)
  await log.flush()
  await manager.close({ brokerEpoch: 1 })
  manager = await openManager(disk, { time, config, listener })
  log = await openLog(manager, config)
  for (let i = 0; i < 3; i++) appendNext(log, expectation, random, 3)
  await log.flush()
}

async function crashAt(index: number, fault: DiskFault, seed: number): Promise<[MemoryDisk, Expectation, boolean]> {
  const disk = new MemoryDisk({ fault: (call) => (call.index === index ? fault : undefined) })
  const expectation = new Expectation()
  let hasCrashed = false
  await Promise.race([
    workload(disk, expectation, seed),
    disk.crashed.then(() => {
      hasCrashed = true
    }),
  ])
  return [disk, expectation, hasCrashed]
}

/** Opens the log after a crash and checks it against what was expected. */
async function check(disk: MemoryDisk, expectation: Expectation, endOffset: number, index = 0): Promise<LogManager> {
  const manager = await openManager(disk, { config, ...recoveryOf(index) })
  const log = manager.getLog('t', 0)
  if (log === undefined) {
    assert.equal(expectation.isCreated, false, 'a log that was made is gone')
    return manager
  }
  assert.ok(log.logEndOffset >= endOffset, `the log ends at ${log.logEndOffset}, before ${endOffset}`)
  assert.ok(log.logStartOffset <= expectation.maxLogStartOffset, `the log starts at ${log.logStartOffset}`)
  assert.equal(log.flushedOffset, log.logEndOffset)
  assert.equal(log.lostBelowRecoveryPoint, undefined, 'nothing that was durable is lost, whatever a truncation cut')
  await checkContent(log, expectation, endOffset)
  await checkFiles(disk)
  await checkProducer(log)
  return manager
}

/** Both ways to make a tail durable are to be tried: in place, and in a new file. */
function recoveryOf(index: number): { rewriteInPlaceBytes: number } {
  return { rewriteInPlaceBytes: index % 2 === 0 ? 0 : 1_000_000 }
}

async function checkContent(log: UnifiedLog, expectation: Expectation, endOffset: number): Promise<void> {
  const records = await readAll(log)
  let nextOffset = -1
  let lastEpoch = -1
  for (const position of recordBatch.batchPositions(records)) {
    const baseOffset = recordBatch.baseOffset(records, position)
    const batch = records.subarray(position, position + recordBatch.sizeInBytes(records, position))
    const versions = expectation.versions.get(baseOffset) ?? []
    if (nextOffset < 0) assert.ok(baseOffset <= log.logStartOffset)
    else assert.equal(baseOffset, nextOffset, 'the log has a gap')
    if (baseOffset < endOffset) assert.deepEqual(batch, versions.at(-1), `batch at ${baseOffset} is not the newest`)
    else
      assert.ok(
        versions.some((version) => version.equals(batch)),
        `batch at ${baseOffset} was never appended`,
      )
    const leaderEpoch = recordBatch.partitionLeaderEpoch(batch, 0)
    assert.ok(leaderEpoch >= lastEpoch)
    assert.equal(log.epochForOffset(Math.max(baseOffset, log.logStartOffset)), leaderEpoch)
    lastEpoch = leaderEpoch
    nextOffset = recordBatch.nextOffset(batch, 0)
  }
  if (nextOffset >= 0) assert.equal(nextOffset, log.logEndOffset)
}

/** Each segment file ends where the next one starts. */
async function checkFiles(disk: MemoryDisk): Promise<void> {
  const names = (await disk.list('/data/t-0')).map((entry) => entry.name).filter((name) => name.endsWith('.log'))
  let nextOffset = -1
  for (const name of names.sort()) {
    const records = disk.peek(`/data/t-0/${name}`) ?? Buffer.alloc(0)
    assert.ok(nextOffset <= Number(name.slice(0, 20)), `${name} starts below the end of the segment before it`)
    for (const position of recordBatch.batchPositions(records)) nextOffset = recordBatch.nextOffset(records, position)
  }
}

/** The last batch, sent again, is a duplicate, and the one after it is taken. */
async function checkProducer(log: UnifiedLog): Promise<void> {
  const records = await readAll(log)
  const last = [...recordBatch.batchPositions(records)].at(-1)
  if (last === undefined) return
  const batch = Buffer.from(records.subarray(last, last + recordBatch.sizeInBytes(records, last)))
  const [firstOffset, lastOffset] = [recordBatch.baseOffset(batch, 0), recordBatch.lastOffset(batch, 0)]
  const leaderEpoch = recordBatch.partitionLeaderEpoch(batch, 0)
  recordBatch.setBaseOffset(batch, 0, 0)
  const again = log.appendAsLeader(batch, { leaderEpoch })
  assert.ok(again.ok && again.isDuplicate, 'the last batch, sent again, must be a duplicate')
  assert.deepEqual([again.info.firstOffset, again.info.lastOffset], [firstOffset, lastOffset])
  const next = batchOf(1, {
    producerId: 9,
    producerEpoch: recordBatch.producerEpoch(batch, 0),
    baseSequence: recordBatch.lastSequence(batch, 0) + 1,
  })
  const outcome = log.appendAsLeader(next, { leaderEpoch })
  assert.ok(outcome.ok && !outcome.isDuplicate, 'the next batch of the producer must be taken')
  await log.flush()
}

async function operationCount(seed: number): Promise<number> {
  const disk = new MemoryDisk()
  await workload(disk, new Expectation(), seed)
  return disk.operations
}

describe('a crash of a log at every disk operation', function () {
  this.timeout(120_000)

  for (const fault of ['crash-before', 'crash-after', 'crash-torn'] as const) {
    it(`keeps what was written when the process is killed (${fault})`, async () => {
      const count = await operationCount(1)
      for (let index = 0; index < count; index++) {
        const [disk, expectation] = await crashAt(index, fault, 1)
        await inContext(`operation ${index} of ${count}`, () =>
          check(disk.kill(), expectation, expectation.logEndOffset, index),
        )
      }
    })
  }

  for (const survival of ['nothing', 'some'] as const) {
    it(`keeps what was flushed when the machine loses power and ${survival} of the rest survives`, async () => {
      const seed = survival === 'nothing' ? 2 : 3
      const count = await operationCount(seed)
      for (let index = 0; index < count; index++) {
        const [disk, expectation] = await crashAt(index, 'crash-after', seed)
        const random = survival === 'nothing' ? undefined : new SeededRandom(index)
        const survivor = disk.powerLoss(random)
        await inContext(`operation ${index} of ${count}`, () =>
          check(survivor, expectation, expectation.flushedOffset, index),
        )
      }
    })
  }

  it('survives a second crash at every operation of the recovery', async () => {
    const count = await operationCount(4)
    const random = new SeededRandom(4)
    for (let round = 0; round < 12; round++) {
      const index = randomInt(random, 20, count - 1)
      for (let second = 0; ; second++) {
        const [disk, expectation] = await crashAt(index, 'crash-after', 4)
        const isPowerLoss = round % 2 === 0
        const recovering = disk.kill({ fault: (call) => (call.index === second ? 'crash-after' : undefined) })
        const manager = newManager(recovering, { config, ...recoveryOf(round >> 1) })
        const hasCrashed = await Promise.race([manager.open().then(() => false), recovering.crashed.then(() => true)])
        const survivor = isPowerLoss ? recovering.powerLoss(new SeededRandom(second)) : recovering.kill()
        const endOffset = isPowerLoss ? expectation.flushedOffset : expectation.logEndOffset
        await inContext(`operation ${index}, then ${second} of the recovery`, () =>
          check(survivor, expectation, endOffset, second),
        )
        if (!hasCrashed) break
      }
    }
  })

  it('keeps through a power loss what is appended to a segment whose making a kill interrupted', async () => {
    const segment = /^\/data\/t-0\/(?!0{20})\d{20}\.log$/
    const disk = new MemoryDisk({
      fault: (call) => (call.operation === 'open' && segment.test(call.path) ? 'crash-after' : undefined),
    })
    const manager = await openManager(disk, { config })
    const log = await openLog(manager, config)
    append(log, batchOf(1))
    // With the leader epoch on disk, nothing else has the folder synced later.
    await manager.checkpointAll()
    for (let i = 0; i < 8; i++) append(log, batchOf(1, { valueBytes: 200 }))
    await disk.crashed
    // The file is there, but its entry in the folder was never synced.
    const second = disk.kill()
    const again = await openLog(await openManager(second, { config }), config)
    assert.ok(again.segmentCount > 1)
    append(again, batchOf(1))
    await again.flush()
    const endOffset = again.flushedOffset
    const third = await openLog(await openManager(second.powerLoss(), { config }), config)
    assert.equal(third.logEndOffset, endOffset)
  })

  it('keeps through a power loss what a recovery reported as flushed', async () => {
    const count = await operationCount(5)
    for (let index = 20; index < count; index += 3) {
      const [disk, expectation] = await crashAt(index, 'crash-after', 5)
      const first = disk.kill()
      const manager = await openManager(first, { config, ...recoveryOf(index) })
      const flushedOffset = manager.getLog('t', 0)?.flushedOffset ?? 0
      // checkProducer has appended one batch in other tests; here nothing was, so the expectation still holds.
      await inContext(`operation ${index}`, () => check(first.powerLoss(), expectation, flushedOffset))
    }
  })
})

async function inContext(what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw new Error(`after a crash at ${what}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}
