import assert from 'node:assert/strict'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { append, batchOf, errorLogger, openLog, openManager, read, readAll } from './testing/log-fixture.ts'
import type { UnifiedLog } from './unified-log.ts'

const config = { indexIntervalBytes: 150 }
const FIRST_SEGMENT = '/data/t-0/00000000000000000000.log'

/** A log whose process was killed: `checkpointed` batches below the recovery point, then `count` more. */
async function killed(checkpointed: number, count: number, extra = {}): Promise<{ disk: MemoryDisk; content: Buffer }> {
  const disk = new MemoryDisk()
  const manager = await openManager(disk, { config: { ...config, ...extra } })
  const log = await openLog(manager, { ...config, ...extra })
  for (let i = 0; i < checkpointed + count; i++) {
    append(log, batchOf(2, { firstValue: i, valueBytes: 5 }), i >> 2)
    if (i === checkpointed - 1) await manager.checkpointAll()
  }
  await log.flush()
  const content = await readAll(log)
  return { disk: disk.kill(), content }
}

/** Where each batch of `records` ends. */
function batchEnds(records: Buffer): number[] {
  return [...recordBatch.batchPositions(records)].map(
    (position) => position + recordBatch.sizeInBytes(records, position),
  )
}

describe('recovery of a log', () => {
  it('drops a tail that was cut at any byte of the last batches', async () => {
    for (const checkpointed of [0, 3, 6]) {
      const { content } = await killed(checkpointed, 3)
      const ends = batchEnds(content)
      const protectedEnd = ends[checkpointed - 1] ?? 0
      for (let length = protectedEnd; length <= content.length; length++) {
        const { disk: torn } = await killed(checkpointed, 3)
        torn.poke(FIRST_SEGMENT, content.subarray(0, length))
        const survivor = await openManager(torn, { config })
        const log = await openLog(survivor, config)
        const expectedEnd = ends.filter((end) => end <= length).at(-1) ?? 0
        assert.deepEqual(await readAll(log), content.subarray(0, expectedEnd), `cut at ${length}`)
        assert.equal(log.logEndOffset, 2 * ends.filter((end) => end <= length).length)
        append(log, batchOf(1), 9)
        await log.flush()
        // What the recovery wrote is whole for the next start too.
        const again = await openLog(await openManager(torn.powerLoss(), { config }), config)
        assert.equal(again.logEndOffset, log.logEndOffset)
      }
    }
  })

  it('drops what follows a segment whose bytes were lost before they were durable, so that there is no hole', async () => {
    for (const cleanupPolicy of [
      { delete: true, compact: false },
      { delete: false, compact: true },
    ]) {
      const { disk } = await killed(1, 11, { segmentBytes: 400, flushMessages: 1000 })
      const names = (await disk.list('/data/t-0')).map(({ name }) => name).filter((name) => name.endsWith('.log'))
      const lost = names.sort().at(-2) ?? ''
      disk.poke(`/data/t-0/${lost}`, Buffer.alloc(0))
      const log = await openLog(await openManager(disk, { config: { ...config, cleanupPolicy } }))
      assert.equal(log.logEndOffset, Number(lost.slice(0, 20)))
      assert.equal(log.lostBelowRecoveryPoint, undefined)
      assert.deepEqual(log.segments().at(-1)?.baseOffset, Number(lost.slice(0, 20)))
    }
  })

  it('cuts at the first bad byte of the tail, whichever it is', async () => {
    const { content } = await killed(2, 4)
    const ends = batchEnds(content)
    for (let at = ends[1] ?? 0; at < content.length; at += 5) {
      const bad = Buffer.from(content)
      bad[at] = (bad[at] ?? 0) ^ 0x55
      const { disk: damaged } = await killed(2, 4)
      damaged.poke(FIRST_SEGMENT, bad)
      const log = await openLog(await openManager(damaged, { config }), config)
      const goodBatches = ends.filter((end) => end <= at).length
      const inBatch = at - (ends[goodBatches - 1] ?? 0)
      // Base offset and leader epoch lie outside of the CRC; of them only what contradicts the order can be seen.
      const isCovered = inBatch >= 16
      if (isCovered) assert.equal(log.logEndOffset, 2 * goodBatches, `byte ${at}`)
      else assert.ok(log.logEndOffset >= 2 * goodBatches)
    }
  })

  it('removes the segments behind a bad byte', async () => {
    const { disk, content } = await killed(0, 12, { segmentBytes: 300 })
    const names = (await disk.list('/data/t-0')).map((entry) => entry.name).filter((name) => name.endsWith('.log'))
    assert.ok(names.length > 3)
    const second = `/data/t-0/${names.sort()[1] ?? ''}`
    const bad = disk.peek(second) ?? Buffer.alloc(0)
    bad[70] = (bad[70] ?? 0) ^ 1
    disk.poke(second, bad)
    // As if nothing had been checkpointed: all of the log is the tail.
    await disk.remove('/data/recovery-point-offset-checkpoint')
    const log = await openLog(await openManager(disk, { config: { ...config, segmentBytes: 300 } }), config)
    const kept = await readAll(log)
    assert.deepEqual(kept, content.subarray(0, kept.length))
    assert.ok(kept.length > 0 && kept.length < content.length / 2)
    assert.equal(log.segmentCount, 1)
  })

  it('reads nothing below the recovery point but the last index entry on', async () => {
    const { disk } = await killed(200, 2)
    let readBytes = 0
    const counting = disk.kill({
      fault: (call) => {
        if (call.operation === 'read' && call.path.endsWith('.log')) readBytes++
        return undefined
      },
    })
    const log = await openLog(await openManager(counting, { config }), config)
    assert.equal(log.logEndOffset, 404)
    assert.ok(readBytes <= 4, `${readBytes} reads`)
  })

  it('starts on a full disk: the good tail stays in place', async () => {
    for (const rewriteInPlaceBytes of [0, 1_000_000]) {
      for (const checkpointed of [0, 2]) {
        const { disk, content } = await killed(checkpointed, 5 - checkpointed)
        const full = rewriteInPlaceBytes === 0 ? '.recovered' : '.log'
        let refused = 0
        disk.setFault((call) => {
          if (call.operation !== 'writev' || !call.path.endsWith(full)) return undefined
          refused++
          return 'ENOSPC'
        })
        const log = await openLog(await openManager(disk, { config, rewriteInPlaceBytes }), config)
        assert.equal(refused, 1)
        disk.setFault(undefined)
        assert.deepEqual(await readAll(log), content)
        assert.equal(log.epochForOffset(8), 1)
        append(log, batchOf(1), 3)
        await log.flush()
        const again = await openLog(await openManager(disk.powerLoss(), { config }), config)
        assert.deepEqual((await readAll(again)).subarray(0, content.length), content)
      }
    }
  })

  it('reads the leader epochs from the batches if their file is unreadable', async () => {
    const { disk } = await killed(4, 4)
    disk.poke('/data/t-0/leader-epoch-checkpoint', Buffer.from('nonsense'))
    const log = await openLog(await openManager(disk, { config }), config)
    assert.deepEqual([log.epochForOffset(0), log.epochForOffset(8), log.latestEpoch], [0, 1, 1])
  })
})

describe('what was durable and is gone', () => {
  const small = { segmentBytes: 400 }

  /** Opens the log and expects that it, and one line, say that `startOffset` to `endOffset` (exclusive) are gone. */
  async function openWithLoss(
    disk: MemoryDisk,
    startOffset: number,
    endOffset: number,
    extra = {},
  ): Promise<UnifiedLog> {
    const { logger, errors } = errorLogger()
    const manager = await openManager(disk, { config: { ...config, ...extra }, logger })
    const log = await openLog(manager, { ...config, ...extra })
    assert.deepEqual(log.lostBelowRecoveryPoint, { startOffset, endOffset })
    assert.equal(errors.length, 1)
    assert.match(errors[0]?.message ?? '', new RegExp(`offsets ${startOffset} to ${endOffset - 1} of t-0 are gone`))
    return log
  }

  async function segmentNames(disk: MemoryDisk): Promise<string[]> {
    const names = (await disk.list('/data/t-0')).map((entry) => entry.name)
    return names.filter((name) => name.endsWith('.log')).sort()
  }

  it('is told when the file ends below the recovery point, and the log goes on with what there is', async () => {
    for (const keptBatches of [0, 1, 5]) {
      const { disk, content } = await killed(6, 2)
      const keptBytes = batchEnds(content)[keptBatches - 1] ?? 0
      disk.poke(FIRST_SEGMENT, content.subarray(0, keptBytes))
      const log = await openWithLoss(disk, 2 * keptBatches, 12)
      assert.equal(log.logEndOffset, 2 * keptBatches)
      assert.deepEqual(await readAll(log), content.subarray(0, keptBytes))
      append(log, batchOf(1), 9)
      await log.flush()
      // It was told; what was appended since is as durable as ever.
      const again = await openLog(await openManager(disk.powerLoss(), { config }), config)
      assert.deepEqual([again.logEndOffset, again.lostBelowRecoveryPoint], [2 * keptBatches + 1, undefined])
    }
  })

  it('is told when bytes below the recovery point are bad, with what had to go behind them', async () => {
    const { disk, content } = await killed(6, 2)
    const bad = Buffer.from(content)
    bad.fill(0, batchEnds(content)[4])
    disk.poke(FIRST_SEGMENT, bad)
    assert.equal((await openWithLoss(disk, 10, 12)).logEndOffset, 10)
  })

  it('is told when the segments are gone', async () => {
    const { disk } = await killed(12, 0, small)
    const names = await segmentNames(disk)
    assert.ok(names.length > 2)
    const last = names.at(-1) ?? ''
    await disk.remove(`/data/t-0/${last}`)
    await openWithLoss(disk, Number(last.slice(0, 20)), 24, small)
    const { disk: emptied } = await killed(12, 0, small)
    for (const name of await segmentNames(emptied)) await emptied.remove(`/data/t-0/${name}`)
    assert.equal((await openWithLoss(emptied, 0, 24, small)).logEndOffset, 0)
  })

  it('is told when there is a gap before what follows the recovery point, which is kept', async () => {
    const { disk, content } = await killed(5, 0, small)
    const checkpoint = disk.peek('/data/recovery-point-offset-checkpoint') ?? Buffer.alloc(0)
    assert.match(checkpoint.toString(), /^t 0 10$/m)
    const { disk: longer, content: all } = await killed(5, 12, small)
    longer.poke('/data/recovery-point-offset-checkpoint', checkpoint)
    const names = await segmentNames(longer)
    const bases = names.map((name) => Number(name.slice(0, 20)))
    const holder = bases.filter((base) => base <= 10).at(-1) ?? 0
    const next = bases.find((base) => base > 10) ?? 0
    longer.poke(`/data/t-0/${names[bases.indexOf(holder)] ?? ''}`, Buffer.alloc(0))
    const log = await openWithLoss(longer, holder, 10, small)
    assert.equal(log.logEndOffset, 34)
    const behind = await readAll(log, next)
    assert.ok(content.length < all.length && behind.length > 0)
    assert.deepEqual(behind, all.subarray(all.length - behind.length))
    const inGap = await read(log, holder)
    assert.ok(inGap.ok && recordBatch.baseOffset(inGap.buffers[0] ?? Buffer.alloc(0), 0) === next)
  })

  it('is told after a stop that was clean too: an older image of the disk was brought back', async () => {
    const disk = new MemoryDisk()
    const manager = await openManager(disk, { config })
    const log = await openLog(manager, config)
    for (let i = 0; i < 4; i++) append(log, batchOf(1, { firstValue: i }))
    await log.flush()
    const content = await readAll(log)
    await manager.close({ brokerEpoch: 1 })
    const next = disk.kill()
    next.poke(FIRST_SEGMENT, content.subarray(0, batchEnds(content)[1]))
    assert.equal((await openWithLoss(next, 2, 4)).logEndOffset, 2)
  })

  it('is nothing that was deleted or cut off on purpose', async () => {
    const { disk } = await killed(8, 0, small)
    const options = { config: { ...config, ...small } }
    const manager = await openManager(disk, options)
    const log = await openLog(manager, options.config)
    log.updateHighWatermark(16)
    await log.deleteRecordsBefore(7)
    await log.truncateTo(11)
    const { errors, logger } = errorLogger()
    const again = await openLog(await openManager(disk.kill(), { ...options, logger }), options.config)
    assert.deepEqual([again.logStartOffset, again.logEndOffset, again.lostBelowRecoveryPoint], [7, 10, undefined])
    assert.deepEqual(errors, [])
  })
})
