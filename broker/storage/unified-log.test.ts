import assert from 'node:assert/strict'
import { randomInt, SeededRandom } from '../../common/random.ts'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { decodeRecords } from '../protocol/records/record.ts'
import type { LogConfig } from './log-config.ts'
import type { LogManager } from './log-manager.ts'
import {
  append,
  baseOffsets,
  batchOf,
  logConfig,
  ManualTime,
  openLog,
  openManager,
  read,
  readAll,
  type OpenOptions,
} from './testing/log-fixture.ts'
import type { UnifiedLog } from './unified-log.ts'

async function fresh(
  config: Partial<LogConfig> = {},
  options: OpenOptions & { disk?: MemoryDisk } = {},
): Promise<{ disk: MemoryDisk; manager: LogManager; log: UnifiedLog }> {
  const disk = options.disk ?? new MemoryDisk()
  const manager = await openManager(disk, { config, ...options })
  return { disk, manager, log: await openLog(manager, config) }
}

/** A log of `count` batches of 1 to 4 records each, flushed. */
async function filled(count: number, config: Partial<LogConfig>, options: OpenOptions = {}): Promise<UnifiedLog> {
  const { log } = await fresh(config, options)
  const random = new SeededRandom(count)
  for (let i = 0; i < count; i++) {
    append(log, batchOf(randomInt(random, 1, 4), { firstValue: i, valueBytes: randomInt(random, 1, 120) }))
    if (i % 7 === 0) await log.flush()
  }
  await log.flush()
  return log
}

describe('UnifiedLog: appends', () => {
  it('gives offsets in order and moves the log end only once the bytes are written', async () => {
    const { log } = await fresh()
    assert.equal(append(log, batchOf(3)), 0)
    assert.equal(append(log, batchOf(2)), 3)
    assert.deepEqual([log.nextOffset, log.logEndOffset, log.flushedOffset], [5, 0, 0])
    await log.flush()
    assert.deepEqual([log.nextOffset, log.logEndOffset, log.flushedOffset], [5, 5, 5])
    const values = [...recordBatch.batchPositions(await readAll(log))].length
    assert.equal(values, 2)
  })

  it('writes what is appended during a write as one vector', async () => {
    const writes: number[] = []
    const disk = new MemoryDisk({
      fault: (call) => {
        if (call.operation === 'writev' && call.path.endsWith('.log')) writes.push(call.index)
        return undefined
      },
    })
    const { log } = await fresh({}, { disk })
    append(log, batchOf(1))
    await Promise.resolve()
    for (let i = 0; i < 50; i++) append(log, batchOf(1))
    await log.flush()
    assert.equal(log.logEndOffset, 51)
    assert.ok(writes.length <= 2, `${writes.length} writes`)
  })

  it('answers a repeated batch with its first offsets and refuses a gap', async () => {
    const { log } = await fresh()
    const batch = (baseSequence: number): Buffer => batchOf(2, { producerId: 4, producerEpoch: 0, baseSequence })
    append(log, batch(0))
    append(log, batch(2))
    const again = log.appendAsLeader(batch(0), { leaderEpoch: 0 })
    assert.ok(again.ok && again.isDuplicate)
    assert.deepEqual([again.info.firstOffset, again.info.lastOffset], [0, 1])
    const gap = log.appendAsLeader(batch(9), { leaderEpoch: 0 })
    assert.ok(!gap.ok)
    assert.equal(gap.errorCode, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert.equal(log.nextOffset, 4)
  })

  it('rolls by size, by age and at the reach of the index', async () => {
    const time = new ManualTime()
    const { log } = await fresh({ segmentBytes: 500, segmentMs: 1000 }, { time })
    for (let i = 0; i < 10; i++) append(log, batchOf(1, { valueBytes: 100 }))
    await log.flush()
    assert.ok(log.segmentCount > 3)
    const before = log.segmentCount
    append(log, batchOf(1))
    time.advance(1000)
    append(log, batchOf(1))
    assert.equal(log.segmentCount, before + 1)
    const far = batchOf(1, { baseOffset: log.nextOffset + 2 ** 31, partitionLeaderEpoch: 0 })
    assert.ok(log.appendAsFollower(far, 0).ok)
    assert.equal(log.segmentCount, before + 2)
    await log.flush()
    assert.equal((await read(log, log.logEndOffset - 1)).ok, true)
  })

  it('takes as follower what the leader sent, over several segments, with its epochs', async () => {
    const { log } = await fresh({ segmentBytes: 400 })
    const sent = Buffer.concat(
      Array.from({ length: 12 }, (_, i) =>
        batchOf(1, { baseOffset: i * 2, partitionLeaderEpoch: i < 5 ? 1 : 3, valueBytes: 60 }),
      ),
    )
    const outcome = log.appendAsFollower(Buffer.from(sent), 3)
    assert.ok(outcome.ok)
    assert.deepEqual([outcome.info.firstOffset, outcome.info.lastOffset], [0, 22])
    await log.flush()
    assert.ok(log.segmentCount > 2)
    assert.deepEqual(await readAll(log), sent)
    assert.deepEqual(log.endOffsetForEpoch(2), { leaderEpoch: 1, endOffset: 10 })
    const back = log.appendAsFollower(batchOf(1, { baseOffset: 3, partitionLeaderEpoch: 3 }), 3)
    assert.equal(back.ok, false)
  })

  it('counts appends as flushed when written if flush.messages is relaxed, and syncs after so many records', async () => {
    const { log } = await fresh({ flushMessages: 10 })
    append(log, batchOf(4))
    while (log.logEndOffset < 4) await Promise.resolve()
    assert.deepEqual([log.flushedOffset, log.durableOffset], [4, 0])
    append(log, batchOf(6))
    for (let i = 0; i < 100 && log.durableOffset < 10; i++) await Promise.resolve()
    assert.equal(log.durableOffset, 10)
  })
})

describe('UnifiedLog: reads', () => {
  it('gives the same from memory and from disk, for every offset, size and bound', async () => {
    const config = { segmentBytes: 1500, indexIntervalBytes: 200 }
    const cached = await filled(60, config)
    const uncached = await filled(60, config, { tailCacheBytes: 0 })
    assert.ok(uncached.segmentCount > 3)
    const random = new SeededRandom(3)
    const bases = new Set(baseOffsets(await readAll(uncached)))
    for (let offset = 0; offset < cached.logEndOffset; offset++) {
      for (const maxBytes of [1, 200, 450, 10_000]) {
        const upperBoundOffset = randomInt(random, offset, cached.logEndOffset)
        for (const minOneMessage of [true, false]) {
          const options = { maxBytes, minOneMessage, upperBoundOffset }
          const fromMemory = await read(cached, offset, options)
          const fromDisk = await read(uncached, offset, options)
          assert.ok(fromMemory.ok && fromDisk.ok)
          const records = Buffer.concat(fromDisk.buffers)
          // A read from disk ends with its segment; as far as it goes, both are the same.
          const memory = Buffer.concat(fromMemory.buffers)
          assert.deepEqual(memory.subarray(0, records.length), records)
          assert.equal(memory.length === 0, records.length === 0)
          assert.equal(fromDisk.sizeBytes, records.length)
          if (records.length === 0) continue
          assert.ok(fromDisk.nextOffset <= upperBoundOffset && fromMemory.nextOffset <= upperBoundOffset)
          assert.ok(memory.length <= maxBytes || (minOneMessage && baseOffsets(memory).length === 1))
          assert.ok(recordBatch.baseOffset(records, 0) <= offset && offset < recordBatch.nextOffset(records, 0))
          assert.ok(bases.has(recordBatch.baseOffset(records, 0)))
        }
      }
    }
  })

  it('answers inside of the log only', async () => {
    const { log } = await fresh()
    append(log, batchOf(3))
    await log.flush()
    const [below, atEnd, above] = [await read(log, -1), await read(log, 3), await read(log, 4)]
    assert.ok(!below.ok && below.errorCode === ErrorCode.OFFSET_OUT_OF_RANGE)
    assert.ok(atEnd.ok && atEnd.sizeBytes === 0)
    assert.ok(!above.ok && above.errorCode === ErrorCode.OFFSET_OUT_OF_RANGE)
  })

  it('reads a batch that is larger than what is asked for, whole or not at all', async () => {
    const { log } = await fresh({}, { tailCacheBytes: 0 })
    append(log, batchOf(1, { valueBytes: 400_000 }))
    append(log, batchOf(1))
    await log.flush()
    const whole = await read(log, 0, { maxBytes: 100 })
    assert.ok(whole.ok && whole.nextOffset === 1 && whole.sizeBytes > 400_000)
    const none = await read(log, 0, { maxBytes: 100, minOneMessage: false })
    assert.ok(none.ok && none.sizeBytes === 0 && none.nextOffset === 0)
  })

  it('finds records by timestamp as a look at all records does', async () => {
    const { log } = await fresh({ segmentBytes: 2000, indexIntervalBytes: 150 })
    const random = new SeededRandom(11)
    for (let i = 0; i < 80; i++) {
      append(log, batchOf(randomInt(random, 1, 3), { timestamp: 1000 + i * 10 + randomInt(random, -40, 40) }))
    }
    await log.flush()
    const all = await readAll(log)
    const records = [...recordBatch.batchPositions(all)].flatMap((position) => [...decodeRecords(all, position)])
    for (let timestamp = 900; timestamp < 1900; timestamp += 3) {
      const expected = records.find((record) => record.timestamp >= timestamp)
      const found = await log.offsetForTimestamp(timestamp)
      assert.equal(found?.offset, expected?.offset, `timestamp ${timestamp}`)
      assert.equal(found?.timestamp, expected?.timestamp)
    }
    const largest = Math.max(...records.map((record) => record.timestamp))
    const latest = await log.offsetOfMaxTimestamp()
    assert.equal(latest?.offset, records.find((record) => record.timestamp === largest)?.offset)
  })

  it('builds a lost or wrong index anew', async () => {
    const config = { segmentBytes: 4000, indexIntervalBytes: 100 }
    const { disk, manager, log } = await fresh(config)
    for (let i = 0; i < 40; i++) append(log, batchOf(2, { firstValue: i, valueBytes: 60 }))
    await log.flush()
    const content = await readAll(log)
    await manager.close({ brokerEpoch: 1 })
    const stem = '/data/t-0/00000000000000000000'
    const index = disk.peek(`${stem}.index`) ?? Buffer.alloc(0)
    assert.ok(index.length >= 16)
    const wrong = Buffer.from(index)
    // In order and within the segment, but no batch starts there.
    wrong.writeInt32BE(wrong.readInt32BE(12) - 3, 12)
    for (const bytes of [undefined, wrong, index.subarray(0, 11), Buffer.alloc(80, 1)]) {
      const next = disk.kill()
      if (bytes === undefined) await next.remove(`${stem}.index`)
      else next.poke(`${stem}.index`, bytes)
      const again = await openManager(next, { config, tailCacheBytes: 0 })
      const reopened = await openLog(again, config)
      for (let offset = 0; offset < reopened.logEndOffset; offset++) {
        const result = await read(reopened, offset)
        assert.ok(result.ok && recordBatch.nextOffset(result.buffers[0] ?? Buffer.alloc(0), 0) > offset)
      }
      assert.deepEqual(await readAll(reopened), content)
    }
  })
})

describe('UnifiedLog: memory', () => {
  it('keeps nothing of the memory that an append came in', async () => {
    for (const compression of ['producer', 'gzip'] as const) {
      const config = { compression: { type: compression }, segmentBytes: 900, indexIntervalBytes: 100 }
      const { disk, log } = await fresh(config)
      const appended: Buffer[] = []
      for (let i = 0; i < 12; i++) {
        const timestamp = 1000 + i * 10
        const sequence = { producerId: 3, producerEpoch: 0, baseSequence: i * 2 }
        const batch = batchOf(2, { firstValue: i, valueBytes: 60, timestamp, ...sequence })
        append(log, batch, i >> 2)
        appended.push(Buffer.from(batch))
        batch.fill(0xee)
      }
      await log.flush()
      const content = await readAll(log)
      if (compression === 'producer') assert.deepEqual(content, Buffer.concat(appended))
      assert.equal(
        [...recordBatch.batchPositions(content)].every((at) => recordBatch.isValid(content, at)),
        true,
      )
      assert.equal((await log.offsetForTimestamp(1055))?.offset, 12)
      assert.deepEqual([log.epochForOffset(9), log.latestEpoch], [1, 2])
      const repeated = batchOf(2, { producerId: 3, producerEpoch: 0, baseSequence: 20 })
      const again = log.appendAsLeader(repeated, { leaderEpoch: 2 })
      assert.ok(again.ok && again.isDuplicate && again.info.firstOffset === 20)
      const reopened = await openLog(await openManager(disk.powerLoss(), { config }), config)
      assert.deepEqual(await readAll(reopened), content)
    }
    const { log } = await fresh({ segmentBytes: 400 })
    const sent = Buffer.concat(
      [0, 1, 2, 3, 4].map((i) => batchOf(1, { baseOffset: i, partitionLeaderEpoch: 0, valueBytes: 90 })),
    )
    const received = Buffer.from(sent)
    assert.ok(log.appendAsFollower(received, 0).ok)
    received.fill(0xee)
    await log.flush()
    assert.deepEqual(await readAll(log), sent)
  })
})

describe('UnifiedLog: byte estimates', () => {
  /** Small batches, a few huge ones, small ones again; where each begins and how many bytes it has. */
  async function skewed(
    options: OpenOptions,
  ): Promise<{ log: UnifiedLog; batches: { offset: number; bytes: number }[] }> {
    const config = { segmentBytes: 300_000, indexIntervalBytes: 4096 }
    const { log } = await fresh(config, options)
    const batches: { offset: number; bytes: number }[] = []
    for (let i = 0; i < 300; i++) {
      const isHuge = i >= 140 && i < 150
      const batch = batchOf(isHuge ? 1 : 3, { valueBytes: isHuge ? 50_000 : 20 + (i % 30) })
      batches.push({ offset: append(log, batch), bytes: batch.length })
    }
    await log.flush()
    assert.ok(log.segmentCount > 1)
    return { log, batches }
  }

  const bytesFrom = (batches: { offset: number; bytes: number }[], start: number, end: number): number =>
    batches.reduce((sum, { offset, bytes }) => sum + (offset >= start && offset < end ? bytes : 0), 0)

  it('are exact in the tail cache, however the sizes of the records differ', async () => {
    const { log, batches } = await skewed({})
    for (const [i, { offset }] of batches.entries()) {
      for (const end of [batches[i + 1]?.offset, batches[i + 17]?.offset, log.logEndOffset]) {
        if (end === undefined) continue
        assert.equal(log.estimateBytesBetween(offset, end), bytesFrom(batches, offset, end))
      }
      // A read from within a batch gives the whole of it.
      assert.equal(
        log.estimateBytesBetween(offset + 1, log.logEndOffset + 5) > 0,
        i < 299 || offset + 1 < log.logEndOffset,
      )
    }
    // A read from within a batch gives the whole of it.
    assert.equal(log.estimateBytesBetween(4, log.logEndOffset + 5), log.estimateBytesBetween(3, log.logEndOffset))
    assert.equal(log.estimateBytesBetween(5, 5), 0)
    assert.equal(log.estimateBytesBetween(9, 3), 0)
    assert.equal(log.estimateBytesBetween(log.logEndOffset, log.logEndOffset + 10), 0)
  })

  it('follow the offset indexes elsewhere, without a look at the disk', async () => {
    const { log, batches } = await skewed({ tailCacheBytes: 0 })
    for (const [i, { offset }] of batches.entries()) {
      for (const end of [batches[i + 1]?.offset, batches[i + 40]?.offset, log.logEndOffset]) {
        if (end === undefined) continue
        const estimate = log.estimateBytesBetween(offset, end)
        const exact = bytesFrom(batches, offset, end)
        // At each end, the batches between two index entries count as equally large: off by an interval and one batch.
        const largestNear = (at: number): number =>
          Math.max(0, ...batches.filter((batch) => Math.abs(batch.offset - at) < 150).map(({ bytes }) => bytes))
        const slack = 2 * 4096 + largestNear(offset) + largestNear(end)
        assert.ok(Math.abs(estimate - exact) <= slack, `[${offset}, ${end}): ${estimate} instead of ${exact}`)
      }
    }
    assert.equal(log.estimateBytesBetween(0, log.logEndOffset), log.sizeBytes)
  })

  it('of a truncated tail count what is left and what came after', async () => {
    const { log, batches } = await skewed({})
    const target = batches[200]?.offset ?? 0
    await log.truncateTo(target)
    const next = batchOf(2, { valueBytes: 77 })
    append(log, next, 1)
    await log.flush()
    const start = batches[190]?.offset ?? 0
    assert.equal(log.estimateBytesBetween(start, log.logEndOffset), bytesFrom(batches, start, target) + next.length)
  })
})

describe('UnifiedLog: retention', () => {
  async function withSegments(config: Partial<LogConfig>, time: ManualTime): Promise<UnifiedLog> {
    const { log } = await fresh({ segmentBytes: 300, ...config }, { time })
    for (let i = 0; i < 10; i++) append(log, batchOf(1, { valueBytes: 200, timestamp: time.wallMs() }))
    await log.flush()
    log.updateHighWatermark(log.logEndOffset)
    assert.equal(log.segmentCount, 10)
    return log
  }

  it('removes the oldest segments above the size', async () => {
    const time = new ManualTime()
    const log = await withSegments({ retentionBytes: 1000 }, time)
    assert.ok((await log.deleteOldSegments()) > 0)
    assert.ok(log.sizeBytes >= 1000 && log.sizeBytes < 1300, `${log.sizeBytes}`)
    const out = await read(log, log.logStartOffset - 1)
    assert.ok(!out.ok && out.errorCode === ErrorCode.OFFSET_OUT_OF_RANGE)
    assert.equal(baseOffsets(await readAll(log))[0], log.logStartOffset)
  })

  it('removes what is too old, the active segment too, and keeps the log end', async () => {
    const time = new ManualTime()
    const log = await withSegments({ retentionMs: 60_000 }, time)
    assert.equal(await log.deleteOldSegments(), 0)
    time.advance(60_001)
    assert.equal(await log.deleteOldSegments(), 10)
    assert.deepEqual([log.logStartOffset, log.logEndOffset, log.segmentCount, log.sizeBytes], [10, 10, 1, 0])
    assert.equal(append(log, batchOf(1)), 10)
  })

  it('is not fooled by timestamps of the future, but takes those of the past at their word', async () => {
    const time = new ManualTime()
    const { log } = await fresh({ segmentBytes: 300, retentionMs: 60_000 }, { time })
    append(log, batchOf(1, { valueBytes: 200, timestamp: time.wallMs() - 60_001 }))
    append(log, batchOf(1, { valueBytes: 200, timestamp: time.wallMs() + 1e12 }))
    append(log, batchOf(1, { valueBytes: 200, timestamp: time.wallMs() }))
    await log.flush()
    log.updateHighWatermark(3)
    assert.equal(await log.deleteOldSegments(), 1)
    time.advance(60_001)
    assert.equal(await log.deleteOldSegments(), 2)
  })

  it('keeps what is not below the high watermark', async () => {
    const time = new ManualTime()
    const { log } = await fresh({ segmentBytes: 300, retentionMs: 1000 }, { time })
    for (let i = 0; i < 5; i++) append(log, batchOf(1, { valueBytes: 200 }))
    await log.flush()
    log.updateHighWatermark(2)
    time.advance(2000)
    assert.equal(await log.deleteOldSegments(), 2)
    assert.equal(log.logStartOffset, 2)
  })

  it('rolls an idle segment that is old enough', async () => {
    const time = new ManualTime()
    const { log } = await fresh({ segmentMs: 5000 }, { time })
    append(log, batchOf(1))
    await log.flush()
    time.advance(5000)
    await log.deleteOldSegments()
    assert.equal(log.segmentCount, 2)
    await log.deleteOldSegments()
    assert.equal(log.segmentCount, 2)
  })

  it('moves the log start where it is told, durably', async () => {
    const time = new ManualTime()
    const disk = new MemoryDisk()
    const { log } = await fresh({ segmentBytes: 300 }, { time, disk })
    for (let i = 0; i < 6; i++) append(log, batchOf(2, { valueBytes: 100 }))
    await log.flush()
    log.updateHighWatermark(9)
    assert.equal(await log.deleteRecordsBefore(7), 7)
    assert.equal(await log.deleteRecordsBefore(100), 9)
    const manager = await openManager(disk.powerLoss())
    const again = await openLog(manager)
    assert.deepEqual([again.logStartOffset, again.logEndOffset], [9, 12])
  })
})

describe('UnifiedLog: failures and truncation', () => {
  for (const [name, operation, fault] of [
    ['a failing fsync', 'datasync', 'EIO'],
    ['a full disk', 'writev', 'ENOSPC'],
    ['a short write', 'writev', 'short'],
  ] as const) {
    it(`takes the data dir offline at ${name}, and counts nothing that was not saved`, async () => {
      const offline: Error[] = []
      const failed: UnifiedLog[] = []
      const listener = {
        onFailure: (log: UnifiedLog) => failed.push(log),
        onOffline: (error: Error) => offline.push(error),
      }
      const { disk, manager, log } = await fresh({}, { listener })
      const other = await manager.createLog('u', 1, 'AAAAAAAAAAAAAAAAAAAAAQ', logConfig)
      append(log, batchOf(2))
      await log.flush()
      disk.setFault((call) => (call.operation === operation && call.path.endsWith('.log') ? fault : undefined))
      append(log, batchOf(2))
      await assert.rejects(log.flush())
      disk.setFault(undefined)
      assert.equal(offline.length, 1)
      assert.match(offline[0]?.message ?? '', /offline/)
      assert.ok(manager.isOffline && failed.includes(log) && failed.includes(other))
      assert.equal(log.flushedOffset, 2)
      for (const each of [log, other]) {
        const refused = each.appendAsLeader(batchOf(1), { leaderEpoch: 0 })
        assert.ok(!refused.ok && refused.errorCode === ErrorCode.KAFKA_STORAGE_ERROR)
      }
      await manager.close({ brokerEpoch: 1 })
      const again = await openManager(disk.powerLoss())
      assert.equal(again.cleanShutdownEpoch, undefined)
      assert.ok((await openLog(again)).logEndOffset >= 2)
    })
  }

  it('writes nothing any more once it failed, not even what waited for its file to be opened', async () => {
    const calls: string[] = []
    const disk = new MemoryDisk({
      fault: (call) => {
        if (call.path.endsWith('.log')) calls.push(call.operation)
        return undefined
      },
    })
    const { log } = await fresh({}, { disk })
    calls.length = 0
    append(log, batchOf(1))
    while (calls.length === 0) await Promise.resolve()
    assert.deepEqual(calls, ['open'])
    log.fail(new Error('another log could not write'))
    for (let i = 0; i < 50; i++) await Promise.resolve()
    assert.deepEqual(calls, ['open'])
    await log.abandon()
    assert.deepEqual(calls, ['open', 'close'])
  })

  it('truncates only after the fsync under way, which counts for nothing that is cut off', async () => {
    const held: (() => void)[] = []
    let isHolding = false
    const disk = new MemoryDisk({ defer: (run) => (isHolding ? held.push(run) : queueMicrotask(run)) })
    const { log } = await fresh({}, { disk })
    append(log, batchOf(5))
    await log.flush()
    append(log, batchOf(5))
    while (log.logEndOffset < 10) await Promise.resolve()
    // The fsync of the second batch has begun.
    isHolding = true
    append(log, batchOf(1))
    const truncated = log.truncateTo(5)
    for (let i = 0; i < 50; i++) await Promise.resolve()
    const refused = log.appendAsLeader(batchOf(1), { leaderEpoch: 1 })
    assert.ok(!refused.ok && refused.errorCode === ErrorCode.NOT_LEADER_OR_FOLLOWER)
    isHolding = false
    for (const run of held) run()
    await truncated
    assert.deepEqual([log.nextOffset, log.logEndOffset, log.flushedOffset], [5, 5, 5])
    const newer = batchOf(5, { firstValue: 100 })
    append(log, newer, 1)
    assert.equal(log.flushedOffset, 5)
    await log.flush()
    const again = await openLog(await openManager(disk.powerLoss()))
    assert.equal(again.logEndOffset, 10)
    assert.deepEqual((await readAll(again, 5)).subarray(0), newer)
    assert.equal(again.epochForOffset(5), 1)
  })

  it('truncates at every offset to whole batches, with epochs and producers, and reads right positions after', async () => {
    for (let target = 0; target <= 30; target++) {
      const segmentBytes = target % 2 === 0 ? 500 : 100_000
      const { log } = await fresh({ segmentBytes, indexIntervalBytes: 100 }, { tailCacheBytes: 0 })
      for (let i = 0; i < 10; i++) {
        append(log, batchOf(3, { valueBytes: 40, producerId: 1, producerEpoch: 0, baseSequence: i * 3 }), i >> 2)
      }
      await log.flush()
      const before = await readAll(log, 0, 100)
      await log.truncateTo(target)
      const end = target - (target % 3)
      assert.equal(log.logEndOffset, end)
      const kept = await readAll(log, 0, 100)
      assert.deepEqual(kept, before.subarray(0, kept.length))
      assert.equal(log.latestEpoch, end === 0 ? -1 : ((end - 1) / 3) >> 2)
      const added: Buffer[] = []
      for (let i = 0; i < 9; i++) {
        const next = batchOf(3, { valueBytes: 11 + i, producerId: 1, producerEpoch: 0, baseSequence: end + i * 3 })
        assert.equal(append(log, next, 9), end + i * 3)
        added.push(next)
      }
      await log.flush()
      assert.deepEqual(await readAll(log, 0, 100), Buffer.concat([kept, ...added]))
      for (let offset = 0; offset < log.logEndOffset; offset += 3) {
        const result = await read(log, offset, { maxBytes: 1 })
        assert.ok(result.ok && result.nextOffset === offset + 3)
      }
    }
  })

  it('forgets where reads ended before a truncation', async () => {
    const { log } = await fresh({}, { tailCacheBytes: 0 })
    for (let i = 0; i < 4; i++) append(log, batchOf(1, { valueBytes: 50 }))
    await log.flush()
    // This read ends where offset 3 is.
    assert.ok((await read(log, 2, { maxBytes: 1 })).ok)
    await log.truncateTo(1)
    const added = [batchOf(1, { valueBytes: 500 }), batchOf(1, { valueBytes: 7 }), batchOf(1, { valueBytes: 9 })]
    for (const batch of added) append(log, batch, 1)
    await log.flush()
    const result = await read(log, 3)
    assert.ok(result.ok)
    assert.deepEqual(result.buffers, added.slice(2))
  })

  it('starts anew at an offset', async () => {
    const disk = new MemoryDisk()
    const { log } = await fresh({ segmentBytes: 300 }, { disk })
    for (let i = 0; i < 6; i++) append(log, batchOf(2, { valueBytes: 100 }))
    await log.truncateFullyAndStartAt(100)
    assert.deepEqual([log.logStartOffset, log.logEndOffset, log.flushedOffset, log.highWatermark], [100, 100, 100, 100])
    assert.equal(append(log, batchOf(1)), 100)
    await log.flush()
    const again = await openLog(await openManager(disk.powerLoss()))
    assert.deepEqual([again.logStartOffset, again.logEndOffset], [100, 101])
  })
})
