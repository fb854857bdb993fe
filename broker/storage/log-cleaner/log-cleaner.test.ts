import assert from 'node:assert/strict'
import { MemoryDisk } from '../../../common/testing/memory-disk.ts'
import { encodeBatch, type RecordToEncode } from '../../protocol/records/encode-batch.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { decodeRecords } from '../../protocol/records/record.ts'
import type { LogConfig } from '../log-config.ts'
import { defaultCleanerConfig } from '../log-manager-options.ts'
import type { LogManager } from '../log-manager.ts'
import {
  append,
  errorLogger,
  logConfig,
  ManualTime,
  newManager,
  openLog,
  read,
  readAll,
} from '../testing/log-fixture.ts'
import type { UnifiedLog } from '../unified-log.ts'
import type { CleanerConfig } from './cleaner-config.ts'
import { InlineKernel } from './kernel-host.ts'

const compacted: Partial<LogConfig> = {
  cleanupPolicy: { delete: false, compact: true },
  segmentBytes: 300,
  indexIntervalBytes: 100,
  minCleanableDirtyRatio: 0,
}

interface World {
  readonly disk: MemoryDisk
  readonly time: ManualTime
  readonly manager: LogManager
  readonly log: UnifiedLog
}

async function open(
  disk: MemoryDisk,
  options: {
    readonly time?: ManualTime
    readonly config?: Partial<LogConfig>
    readonly cleaner?: Partial<CleanerConfig>
    readonly logger?: ReturnType<typeof errorLogger>['logger']
  } = {},
): Promise<World> {
  const { time = new ManualTime(), cleaner, logger } = options
  const config = { ...compacted, ...options.config }
  const manager = newManager(disk, {
    time,
    config,
    cleanerConfig: () => ({ ...defaultCleanerConfig, ...cleaner }),
    cleanerKernel: new InlineKernel(),
    ...(logger === undefined ? {} : { logger }),
  })
  await manager.open()
  const log = await openLog(manager, config)
  return { disk, time, manager, log }
}

function newDisk(): MemoryDisk {
  return new MemoryDisk({ folders: ['/'] })
}

let sequence = 0

/** Appends a batch of records given as `key=value`, or `key` for a tombstone. */
function write(world: Pick<World, 'log' | 'time'>, texts: readonly string[], options: object = {}): number {
  const records = texts.map((text): RecordToEncode => {
    const [key = '', value] = text.split('=')
    return { timestamp: world.time.wallMs(), key, value: value ?? null }
  })
  return append(world.log, encodeBatch({ records, ...options }))
}

/** Makes everything committed and begins a new segment. */
async function settle({ log }: Pick<World, 'log'>): Promise<void> {
  await log.flush()
  log.updateHighWatermark(log.logEndOffset)
}

/** Fills up the active segment, so that what was written before is in others. */
async function rollBy(world: Pick<World, 'log' | 'time'>): Promise<void> {
  const before = world.log.segments().length
  while (world.log.segments().length === before) write(world, [`filler-${sequence++}=${'.'.repeat(100)}`])
  await settle(world)
}

/** What a consumer sees: `offset:key=value`, without fillers. */
async function contents(log: UnifiedLog): Promise<string[]> {
  const records = await readAll(log)
  const lines: string[] = []
  let last = -1
  for (const position of recordBatch.batchPositions(records)) {
    assert.ok(recordBatch.isValid(records, position), 'the CRC of each batch is right')
    assert.ok(recordBatch.baseOffset(records, position) > last, 'offsets grow')
    last = recordBatch.lastOffset(records, position)
    for (const { offset, key, value } of decodeRecords(records, position)) {
      const name = key?.toString() ?? ''
      if (!name.startsWith('filler')) lines.push(`${offset}:${name}${value === null ? '' : `=${value.toString()}`}`)
    }
  }
  return lines
}

/** The headers of the batches: `base-last count`. */
async function batches(log: UnifiedLog): Promise<string[]> {
  const records = await readAll(log)
  return [...recordBatch.batchPositions(records)].map((position) => {
    const base = recordBatch.baseOffset(records, position)
    return `${base}-${recordBatch.lastOffset(records, position)} ${recordBatch.recordsCount(records, position)}`
  })
}

async function fileNames(disk: MemoryDisk): Promise<string[]> {
  return (await disk.list('/data/t-0')).map((entry) => entry.name).sort()
}

describe('log cleaner', () => {
  it('keeps the newest record of each key, and its offset', async () => {
    const world = await open(newDisk())
    write(world, ['a=1', 'b=1', 'c=1'])
    write(world, ['a=2', 'b=2'])
    await rollBy(world)
    write(world, ['a=3'])
    await rollBy(world)
    const { logEndOffset, logStartOffset } = world.log
    await world.manager.compact()
    assert.deepEqual(await contents(world.log), ['2:c=1', '4:b=2', `${await offsetOf(world.log, 'a')}:a=3`])
    assert.equal(world.log.logEndOffset, logEndOffset)
    assert.equal(world.log.logStartOffset, logStartOffset)
    assert.equal((await batches(world.log))[0], '0-2 1', 'a batch keeps its offsets')
    await world.manager.close({ brokerEpoch: 1 })
    const again = await open(world.disk)
    assert.equal(again.log.logEndOffset, logEndOffset)
    assert.deepEqual((await contents(again.log)).length, 3)
    assert.equal(again.log.cleanerCheckpoint, world.log.cleanerCheckpoint)
  })

  it('writes no more of a log that has nothing new, and leaves the active segment alone', async () => {
    const world = await open(newDisk())
    write(world, ['a=1'])
    write(world, ['a=2'])
    await settle(world)
    await world.manager.compact()
    assert.deepEqual(await contents(world.log), ['0:a=1', '1:a=2'])
    await rollBy(world)
    await world.manager.compact()
    assert.deepEqual(await contents(world.log), ['1:a=2'])
    const before = await fileNames(world.disk)
    await world.manager.compact()
    assert.deepEqual(await fileNames(world.disk), before)
  })

  it('does not touch what lies above the high watermark', async () => {
    const world = await open(newDisk())
    write(world, ['a=1'])
    await rollBy(world)
    const highWatermark = world.log.highWatermark
    write(world, ['a=2'])
    const before = world.log.segments().length
    while (world.log.segments().length === before) write(world, [`filler-${sequence++}=${'.'.repeat(100)}`])
    await world.log.flush()
    assert.equal(world.log.highWatermark, highWatermark)
    await world.manager.compact()
    assert.equal((await contents(world.log)).length, 2)
    await settle(world)
    await world.manager.compact()
    assert.equal((await contents(world.log)).length, 1)
  })

  it('groups small segments, with indexes that lead to the batches', async () => {
    const world = await open(newDisk())
    for (let i = 0; i < 40; i++) write(world, [`key-${i % 4}=${'.'.repeat(60)}${i}`])
    await rollBy(world)
    const before = world.log.segments().length
    world.log.updateConfig({ ...logConfig, ...compacted, segmentBytes: 2000 })
    await world.manager.compact()
    const segments = world.log.segments()
    assert.ok(segments.length < before / 2, `${before} segments became ${segments.length}`)
    assert.equal(
      world.log.sizeBytes,
      segments.reduce((sum, segment) => sum + segment.sizeBytes, 0),
    )
    const records = await readAll(world.log)
    for (let offset = 0; offset < world.log.logEndOffset; offset++) {
      const result = await read(world.log, offset, { maxBytes: 1 })
      assert.ok(result.ok)
      const expected = [...recordBatch.batchPositions(records)].find(
        (position) => recordBatch.lastOffset(records, position) >= offset,
      )
      const found = result.buffers[0]
      assert.ok(expected !== undefined && found !== undefined)
      assert.equal(recordBatch.baseOffset(found, 0), recordBatch.baseOffset(records, expected))
    }
    assert.deepEqual(
      (await fileNames(world.disk)).filter((name) => /cleaned|swap/.test(name)),
      [],
    )
  })

  it('keeps a tombstone for delete.retention.ms after the first clean, then drops it', async () => {
    const world = await open(newDisk(), { config: { deleteRetentionMs: 1000 } })
    write(world, ['a=1', 'b=1'])
    write(world, ['a', 'c=1'])
    await rollBy(world)
    await world.manager.compact()
    assert.deepEqual(await contents(world.log), ['1:b=1', '2:a', '3:c=1'])
    const position = [...recordBatch.batchPositions(await readAll(world.log))][1] ?? 0
    const records = await readAll(world.log)
    assert.ok(recordBatch.hasDeleteHorizon(records, position))
    assert.equal(recordBatch.baseTimestamp(records, position), world.time.wallMs() + 1000)
    assert.deepEqual(
      decodeRecords(records, position).map(({ timestamp }) => timestamp),
      [world.time.wallMs(), world.time.wallMs()],
      'the records keep their timestamps',
    )
    world.time.advance(999)
    await rollBy(world)
    await world.manager.compact()
    assert.deepEqual(await contents(world.log), ['1:b=1', '2:a', '3:c=1'])
    world.time.advance(1)
    await rollBy(world)
    await world.manager.compact()
    assert.deepEqual(await contents(world.log), ['1:b=1', '3:c=1'])
  })

  it('waits for min.compaction.lag.ms', async () => {
    const world = await open(newDisk(), { config: { minCompactionLagMs: 1000 } })
    write(world, ['a=1'])
    write(world, ['a=2'])
    await rollBy(world)
    await world.manager.compact()
    assert.equal((await contents(world.log)).length, 2)
    world.time.advance(1001)
    await world.manager.compact()
    assert.equal((await contents(world.log)).length, 1)
  })

  it('waits for the dirty ratio, but no longer than max.compaction.lag.ms, for which it rolls the active segment', async () => {
    const world = await open(newDisk(), { config: { minCleanableDirtyRatio: 1, maxCompactionLagMs: 5000 } })
    write(world, ['a=1'])
    write(world, ['a=2'])
    await settle(world)
    world.time.advance(4999)
    await world.manager.compact()
    assert.equal(world.log.segments().length, 1)
    world.time.advance(2)
    await world.manager.compact()
    assert.equal(world.log.segments().length, 2)
    assert.deepEqual(await contents(world.log), ['1:a=2'])
  })

  it('applies retention to compacted logs only where the policy says so', async () => {
    for (const remove of [false, true]) {
      const config = { cleanupPolicy: { delete: remove, compact: true }, retentionMs: 1000 }
      const world = await open(newDisk(), { config })
      write(world, ['a=1'])
      await rollBy(world)
      await world.manager.compact()
      world.time.advance(2000)
      write(world, ['b=1'])
      await rollBy(world)
      await world.manager.applyRetention()
      assert.equal(
        (await contents(world.log)).some((line) => line.endsWith('a=1')),
        !remove,
      )
      await world.log.deleteRecordsBefore(world.log.highWatermark)
      assert.deepEqual((await contents(world.log)).length, 0, 'DeleteRecords works with each policy')
    }
  })

  it("keeps the last sequence of each producer as an empty batch, until the producer's state says something newer", async () => {
    const world = await open(newDisk())
    const producer = { producerId: 5, producerEpoch: 0 }
    write(world, ['a=1'], { ...producer, baseSequence: 0 })
    write(world, ['a=2', 'b=2'], { ...producer, baseSequence: 1 })
    write(world, ['a=3', 'b=3'])
    await rollBy(world)
    await world.manager.compact()
    assert.deepEqual((await batches(world.log)).slice(0, 2), ['1-2 0', '3-4 2'])
    // A replica that begins now learns the producer from what is left.
    const replica = await open(newDisk())
    assert.ok(replica.log.appendAsFollower(await readAll(world.log), 0).ok)
    assert.equal([...replica.log.activeProducers()][0]?.lastSequence, 2)
    const again = await open(world.disk.kill())
    assert.equal([...again.log.activeProducers()][0]?.lastSequence, 2)
    assert.equal(write(again, ['b=4'], { ...producer, baseSequence: 3 }), again.log.nextOffset - 1)
    await rollBy(again)
    await again.manager.compact()
    assert.equal((await batches(again.log))[0], '3-4 1')
    await again.manager.close({ brokerEpoch: 1 })
    assert.equal([...(await open(again.disk)).log.activeProducers()][0]?.lastSequence, 3)
  })

  it('keeps the end of the log when the newest batch before the active segment goes', async () => {
    const world = await open(newDisk())
    write(world, ['b=1'])
    write(world, ['a=1'])
    await rollBy(world)
    // The active segment is empty once it is rolled by age.
    write(world, ['c'])
    await settle(world)
    world.time.advance(logConfig.segmentMs)
    await world.log.deleteOldSegments()
    await world.manager.compact()
    world.time.advance(logConfig.deleteRetentionMs + 1)
    write(world, ['d=1'])
    await settle(world)
    world.time.advance(logConfig.segmentMs)
    await world.log.deleteOldSegments()
    await world.manager.compact()
    const { logEndOffset } = world.log
    const again = await open(world.disk.powerLoss())
    assert.equal(again.log.logEndOffset, logEndOffset)
    assert.equal(again.log.lostBelowRecoveryPoint, undefined)
    assert.ok((await contents(again.log)).every((line) => !line.endsWith(':c')))
  })

  it('covers as much as its memory holds, pass by pass', async () => {
    const world = await open(newDisk(), { cleaner: { dedupeBufferBytes: 24 * 10, maxLoad: 0.9 } })
    for (let i = 0; i < 60; i++) write(world, [`key-${i % 20}=${i}`])
    await rollBy(world)
    await world.manager.compact()
    const found = (await contents(world.log)).map((line) => line.replace(/^\d+:/, '')).sort()
    assert.deepEqual(found, Array.from({ length: 20 }, (_, i) => `key-${i}=${40 + i}`).sort())
  })

  it('recompresses with the codec of the batch', async () => {
    for (const compression of ['gzip', 'snappy', 'lz4', 'zstd'] as const) {
      const world = await open(newDisk())
      write(world, ['a=1', 'b=1', 'c=1'], { compression })
      write(world, ['b=2', 'c'], { compression })
      await rollBy(world)
      await world.manager.compact()
      assert.deepEqual(await contents(world.log), ['0:a=1', '3:b=2', '4:c'])
      const records = await readAll(world.log)
      const ids = [...recordBatch.batchPositions(records)].map((position) =>
        recordBatch.compressionId(records, position),
      )
      assert.equal(ids[0], ['none', 'gzip', 'snappy', 'lz4', 'zstd'].indexOf(compression))
      assert.equal(ids[1], ids[0])
    }
  })

  it('lets readers of replaced segments go on', async () => {
    const world = await open(newDisk())
    for (let i = 0; i < 30; i++) write(world, [`key-${i % 3}=${'.'.repeat(60)}${i}`])
    await rollBy(world)
    await world.manager.close({ brokerEpoch: 1 })
    // Nothing in the tail cache: all is read from disk.
    const again = await open(world.disk)
    const reading = Promise.all(
      Array.from({ length: 30 }, async (_, offset) => {
        let next = offset
        const offsets: number[] = []
        while (next < again.log.logEndOffset) {
          const result = await read(again.log, next, { maxBytes: 1 })
          assert.ok(result.ok, result.ok ? '' : result.message)
          assert.ok(result.nextOffset > next)
          const [batch] = result.buffers
          assert.ok(batch !== undefined)
          offsets.push(recordBatch.lastOffset(batch, 0))
          next = result.nextOffset
        }
        return offsets
      }),
    )
    await again.manager.compact()
    const kept = new Set((await contents(again.log)).map((line) => Number(line.split(':')[0])))
    for (const [start, offsets] of (await reading).entries()) {
      for (const offset of kept) if (offset >= start) assert.ok(offsets.includes(offset), `${offset} from ${start}`)
    }
  })

  it('marks a log that can not be compacted, goes on with others, and tries again', async () => {
    const { logger, errors } = errorLogger()
    const world = await open(newDisk(), { logger })
    const other = await world.manager.createLog('u', 0, 'r1Sh-9_ISia_zwGINzRvyQ', { ...logConfig, ...compacted })
    write(world, ['a=1'])
    write(world, ['a=2'])
    await rollBy(world)
    const second = { log: other, time: world.time }
    write(second, ['a=1'])
    write(second, ['a=2'])
    await rollBy(second)
    const path = world.log.segments()[0]?.path('.log') ?? ''
    const file = await world.disk.open(path, 'write')
    const good = Buffer.alloc(4)
    await new Promise<void>((resolve) => file.read(good, 8, () => resolve()))
    await new Promise<void>((resolve) => file.writev([Buffer.from([0x7f, 0, 0, 0])], 8, () => resolve()))
    await world.manager.compact()
    assert.deepEqual(
      errors.map(({ message }) => message),
      ['a log could not be compacted; it is tried again'],
    )
    assert.equal(world.manager.cleanerStats.uncleanablePartitionsCount, 1)
    assert.equal(world.manager.cleanerStats.uncleanableBytes, world.log.sizeBytes)
    assert.deepEqual(await contents(other), ['1:a=2'])
    assert.equal(world.manager.failure, undefined, 'the log serves on')
    await world.manager.compact()
    world.time.advance(60_000)
    await world.manager.compact()
    assert.equal(errors.length, 1, 'it is told once')
    await new Promise<void>((resolve) => file.writev([good], 8, () => resolve()))
    await file.close()
    world.time.advance(3_600_000)
    await world.manager.compact()
    assert.equal(world.manager.cleanerStats.uncleanablePartitionsCount, 0)
    assert.deepEqual(await contents(world.log), ['1:a=2'])
  })

  it('is given up when the log is deleted, truncated or closed, and leaves nothing behind', async () => {
    for (const act of ['delete', 'truncate', 'close', 'policy'] as const) {
      const world = await open(newDisk())
      for (let i = 0; i < 20; i++) write(world, [`key-${i % 3}=${'.'.repeat(60)}${i}`])
      await rollBy(world)
      const compacting = world.manager.compact()
      for (let i = 0; i < 40; i++) await Promise.resolve()
      if (act === 'delete') {
        await world.manager.deleteLog('t', 0)
        assert.deepEqual(
          (await world.disk.list('/data')).filter(({ isFolder }) => isFolder).map(({ name }) => name),
          [`t-0.${world.log.topicId}-delete`],
        )
      } else if (act === 'truncate') {
        await world.log.truncateTo(10)
      } else if (act === 'close') {
        await world.manager.close({ brokerEpoch: 1 })
      } else {
        world.log.updateConfig({ ...logConfig, ...compacted, cleanupPolicy: { delete: true, compact: false } })
      }
      await compacting
      assert.equal(world.manager.cleanerStats.uncleanablePartitionsCount, 0)
      if (act === 'delete') continue
      assert.deepEqual(
        (await fileNames(world.disk)).filter((name) => /cleaned|swap/.test(name)),
        [],
      )
      if (act === 'truncate') assert.equal(world.log.logEndOffset, 10)
    }
  })
})

async function offsetOf(log: UnifiedLog, key: string): Promise<string> {
  const line = (await contents(log)).find((each) => each.includes(`:${key}`))
  return line?.split(':')[0] ?? ''
}
