import assert from 'node:assert/strict'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { append, batchOf, openLog, openManager, readAll } from './testing/log-fixture.ts'

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
    const { disk, content } = await killed(2, 3)
    disk.setFault((call) => (call.operation === 'writev' && call.path.endsWith('.recovered') ? 'ENOSPC' : undefined))
    const log = await openLog(await openManager(disk, { config }), config)
    assert.deepEqual(await readAll(log), content)
    assert.equal(log.epochForOffset(8), 1)
    append(log, batchOf(1), 3)
    await log.flush()
    const again = await openLog(await openManager(disk.powerLoss(), { config }), config)
    assert.deepEqual((await readAll(again)).subarray(0, content.length), content)
  })

  it('reads the leader epochs from the batches if their file is unreadable', async () => {
    const { disk } = await killed(4, 4)
    disk.poke('/data/t-0/leader-epoch-checkpoint', Buffer.from('nonsense'))
    const log = await openLog(await openManager(disk, { config }), config)
    assert.deepEqual([log.epochForOffset(0), log.epochForOffset(8), log.latestEpoch], [0, 1, 1])
  })
})
