import assert from 'node:assert/strict'
import { MemoryDisk, type DiskFault } from '../../common/testing/memory-disk.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { append, batchOf, ManualTime, openLog, openManager, readAll } from './testing/log-fixture.ts'

/** Waits until everything that was started on a disk in memory is done: it answers in microtasks. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('a disk that others have filled', () => {
  it('postpones checkpoints, and ends nothing', async () => {
    let fault: DiskFault | undefined
    let refusedCount = 0
    const disk = new MemoryDisk({
      fault: ({ path }) => {
        // There is room in the blocks that the segments have; whatever would be a new file finds none.
        if (fault === undefined || path.endsWith('.log')) return undefined
        refusedCount++
        return fault
      },
    })
    const time = new ManualTime()
    const manager = await openManager(disk, { time })
    const log = await openLog(manager)
    append(log, batchOf(3))
    await log.flush()
    fault = 'ENOSPC'
    for (let round = 0; round < 3; round++) {
      append(log, batchOf(1))
      time.advance(600_000)
      await settled()
    }
    assert.ok(refusedCount > 0, 'checkpoints were tried')
    assert.equal(manager.isOffline, false)
    append(log, batchOf(1))
    await log.flush()
    assert.equal(log.logEndOffset, 7)

    fault = undefined
    time.advance(600_000)
    await settled()
    const reopened = await openManager(disk.powerLoss())
    assert.equal((await openLog(reopened)).logEndOffset, 7)
    await reopened.close({ brokerEpoch: 0 })
  })

  it('ends the service where a checkpoint fails for another reason', async () => {
    const disk = new MemoryDisk()
    const time = new ManualTime()
    const manager = await openManager(disk, { time })
    const log = await openLog(manager)
    append(log, batchOf(3))
    await log.flush()
    disk.setFault(({ path }) => (path.endsWith('.log') ? undefined : 'EIO'))
    time.advance(600_000)
    await settled()
    assert.equal(manager.isOffline, true)
  })
})

describe('a log that never rests', () => {
  it('keeps the order of what it is given while it writes', async () => {
    const disk = new MemoryDisk()
    const count = 3000
    let appended = 0
    const manager = await openManager(disk, {
      config: { segmentBytes: 20_000 },
      listener: {
        onProgress: (log) => {
          // Two for each that was written, so that the queue is never empty before the end.
          for (let i = 0; i < 2 && appended < count; i++) append(log, batchOf(1, { firstValue: appended++ }))
        },
      },
    })
    const log = await openLog(manager, { segmentBytes: 20_000 })
    append(log, batchOf(1, { firstValue: appended++ }))
    while (log.logEndOffset < count) await settled()
    await log.flush()
    const records = await readAll(log)
    const values = [...recordBatch.batchPositions(records)].map((position) => records.subarray(position))
    assert.equal(values.length, count)
    for (const [i, batch] of values.entries()) {
      assert.equal(recordBatch.baseOffset(batch, 0), i)
      assert.ok(batch.subarray(0, recordBatch.sizeInBytes(batch, 0)).includes(`value-${i}`))
    }
    await manager.close({ brokerEpoch: 0 })
  })
})
