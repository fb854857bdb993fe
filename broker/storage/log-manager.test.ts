import assert from 'node:assert/strict'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import { DataDirError, parseLogFolderName, parseOffsetCheckpoint } from './log-dir.ts'
import {
  append,
  batchOf,
  errorLogger,
  logConfig,
  ManualTime,
  newManager,
  openLog,
  openManager,
  readAll,
  TOPIC_ID,
} from './testing/log-fixture.ts'

const OTHER_ID = 'AAAAAAAAAAAAAAAAAAAAAQ'

async function folders(disk: MemoryDisk): Promise<string[]> {
  return (await disk.list('/data')).filter((entry) => entry.isFolder).map((entry) => entry.name)
}

/** Lets everything run that needs no time. */
async function settle(): Promise<void> {
  for (let i = 0; i < 200; i++) await Promise.resolve()
}

describe('LogManager', () => {
  it('keeps logs over a clean stop, with the epoch of the stop and without a check', async () => {
    const disk = new MemoryDisk()
    let manager = await openManager(disk)
    assert.equal(manager.cleanShutdownEpoch, undefined)
    const { directoryId } = manager
    const log = await openLog(manager)
    append(log, batchOf(3, { producerId: 77, producerEpoch: 0, baseSequence: 0 }), 5)
    await log.flush()
    log.updateHighWatermark(3)
    const content = await readAll(log)
    await manager.close({ brokerEpoch: 42 })

    manager = await openManager(disk.kill())
    assert.equal(manager.cleanShutdownEpoch, 42)
    assert.equal(manager.directoryId, directoryId)
    assert.equal(manager.highestProducerId, 77)
    const again = manager.getLog('t', 0)
    assert.ok(again !== undefined)
    assert.deepEqual([again.topicId, again.logEndOffset, again.highWatermark, again.recoveryPoint], [TOPIC_ID, 3, 3, 3])
    assert.deepEqual([again.latestEpoch, again.flushedOffset], [5, 3])
    assert.deepEqual(await readAll(again), content)
  })

  it('forgets the clean stop durably before it reports anything', async () => {
    let disk = new MemoryDisk()
    await (await openManager(disk)).close({ brokerEpoch: 1 })
    disk = disk.kill()
    assert.equal((await openManager(disk)).cleanShutdownEpoch, 1)
    assert.equal((await openManager(disk.powerLoss())).cleanShutdownEpoch, undefined)
  })

  it('makes a log durably, once, and never under the id of another topic', async () => {
    const disk = new MemoryDisk()
    const manager = await openManager(disk)
    const [first, second] = await Promise.all([openLog(manager), openLog(manager)])
    assert.equal(first, second)
    await assert.rejects(manager.createLog('t', 0, OTHER_ID, logConfig), /topic id/)
    const again = await openManager(disk.powerLoss())
    assert.equal(again.getLog('t', 0)?.topicId, TOPIC_ID)
    assert.equal(again.logCount, 1)
  })

  it('leaves nothing of a log whose making a crash interrupted', async () => {
    for (let index = 0; ; index++) {
      let begin = Infinity
      const disk = new MemoryDisk({ fault: (call) => (call.index === begin + index ? 'crash-after' : undefined) })
      const manager = await openManager(disk)
      begin = disk.operations
      const made = await Promise.race([openLog(manager).then(() => true), disk.crashed.then(() => false)])
      const survivor = index % 2 === 0 ? disk.powerLoss() : disk.kill()
      const again = await openManager(survivor)
      const log = again.getLog('t', 0)
      if (made) assert.ok(log !== undefined)
      assert.ok((await folders(survivor)).every((name) => name === 't-0'))
      assert.equal((await openLog(again)).topicId, TOPIC_ID)
      if (made) break
    }
  })

  it('deletes in two steps, and a new log of the same name starts at 0', async () => {
    const time = new ManualTime()
    const disk = new MemoryDisk()
    const manager = await openManager(disk, { time })
    const log = await openLog(manager)
    append(log, batchOf(3))
    await log.flush()
    await manager.deleteLog('t', 0)
    assert.equal(manager.getLog('t', 0), undefined)
    assert.deepEqual(await folders(disk), [`t-0.${TOPIC_ID}-delete`])
    const refused = log.appendAsLeader(batchOf(1), { leaderEpoch: 0 })
    assert.equal(refused.ok, false)
    assert.equal(manager.isOffline, false)
    const next = await manager.createLog('t', 0, OTHER_ID, logConfig)
    assert.equal(next.logEndOffset, 0)
    time.advance(1000)
    await settle()
    assert.deepEqual(await folders(disk), ['t-0'])
  })

  it('removes at start what was being deleted, keeps what was set aside', async () => {
    const disk = new MemoryDisk()
    const manager = await openManager(disk)
    await openLog(manager)
    await manager.createLog('u', 3, OTHER_ID, logConfig)
    await manager.deleteLog('t', 0)
    await manager.setAside('u', 3)
    const next = disk.powerLoss()
    const again = await openManager(next)
    assert.equal(again.logCount, 0)
    assert.deepEqual(await folders(next), [`u-3.${OTHER_ID}-stray`])
  })

  it('leaves a folder alone that holds no log, and moves it out of the way of a new one', async () => {
    const disk = new MemoryDisk()
    disk.poke('/data/t-0/00000000000000000000.log', Buffer.from('somebody else put this here'))
    const manager = await openManager(disk)
    assert.equal(manager.logCount, 0)
    const log = await openLog(manager)
    assert.equal(log.logEndOffset, 0)
    assert.deepEqual((await folders(disk)).sort(), ['t-0', `t-0.${TOPIC_ID}-stray`])
  })

  it('starts without a log that the disk can not read, keeps its offsets, and has it back at the next start', async () => {
    const disk = new MemoryDisk()
    const manager = await openManager(disk)
    const broken = await openLog(manager)
    await manager.createLog('u', 0, OTHER_ID, logConfig)
    for (let i = 0; i < 4; i++) append(broken, batchOf(3, { firstValue: i }))
    await broken.flush()
    broken.updateHighWatermark(12)
    await broken.deleteRecordsBefore(5)
    await manager.close({ brokerEpoch: 1 })

    const second = disk.kill()
    second.setFault((call) => (/^\/data\/t-0\/.*\.log$/.test(call.path) ? 'EIO' : undefined))
    const { logger, errors } = errorLogger()
    const partial = await openManager(second, { logger })
    assert.deepEqual([partial.logCount, partial.isOffline], [1, false])
    assert.match(partial.failedLogs().get('t-0')?.error.message ?? '', /\/data\/t-0 could not be opened: .*EIO/)
    assert.equal(errors.length, 1)
    await assert.rejects(openLog(partial), /could not be opened/)
    const other = partial.getLog('u', 0)
    assert.ok(other !== undefined)
    append(other, batchOf(1))
    await other.flush()
    await partial.checkpointAll()
    await partial.close({ brokerEpoch: 2 })

    // It was not closed cleanly, so the next start checks it.
    const third = second.kill()
    const whole = await openManager(third)
    assert.equal(whole.cleanShutdownEpoch, undefined)
    const again = await openLog(whole)
    assert.deepEqual([again.logStartOffset, again.highWatermark, again.logEndOffset], [5, 12, 12])
    assert.equal(again.lostBelowRecoveryPoint, undefined)
    assert.equal(whole.getLog('u', 0)?.logEndOffset, 1)
  })

  it('does not take a log for an unfinished one because its metadata is gone', async () => {
    const disk = new MemoryDisk()
    const manager = await openManager(disk)
    append(await openLog(manager), batchOf(3))
    await manager.checkpointAll()
    const next = disk.kill()
    next.poke('/data/t-0/partition.metadata', Buffer.from(''))
    const again = await openManager(next)
    await assert.rejects(openLog(again), /partition\.metadata is missing or malformed/)
    assert.deepEqual(await folders(next), ['t-0'])
  })

  it('checkpoints what changed now and then, so that a start after kill -9 reads only the rest', async () => {
    const time = new ManualTime()
    const disk = new MemoryDisk()
    const manager = await openManager(disk, { time })
    const log = await openLog(manager)
    append(log, batchOf(4))
    await log.flush()
    assert.equal(log.recoveryPoint, 0)
    time.advance(5000)
    await settle()
    assert.equal(log.recoveryPoint, 4)
    assert.equal(disk.peek('/data/recovery-point-offset-checkpoint')?.toString(), '0\n1\nt 0 4\n')
  })

  it('checkpoints a log after so many bytes', async () => {
    const disk = new MemoryDisk()
    const manager = await openManager(disk, { checkpointBytes: 1000, config: { flushMessages: 1_000_000 } })
    const log = await openLog(manager, { flushMessages: 1_000_000 })
    append(log, batchOf(1, { valueBytes: 500 }))
    append(log, batchOf(1, { valueBytes: 500 }))
    await settle()
    assert.equal(log.recoveryPoint, 2)
  })

  it('syncs by age where flush.ms says so', async () => {
    const time = new ManualTime()
    const manager = await openManager(new MemoryDisk(), { time })
    const log = await openLog(manager, { flushMessages: 1_000_000, flushMs: 2000 })
    append(log, batchOf(1))
    await settle()
    assert.deepEqual([log.flushedOffset, log.durableOffset], [1, 0])
    time.advance(1000)
    await settle()
    assert.equal(log.durableOffset, 0)
    time.advance(1000)
    await settle()
    assert.equal(log.durableOffset, 1)
  })

  it('says when the disk is nearly full', async () => {
    const told: boolean[] = []
    const manager = await openManager(new MemoryDisk({ freeBytes: 99 }), {
      freeSpaceFloorBytes: 100,
      listener: { onBelowFloor: (isBelow) => told.push(isBelow) },
    })
    assert.equal(manager.isBelowFloor, true)
    assert.deepEqual(told, [true])
  })

  it('opens each segment file only while it needs it', async () => {
    const disk = new MemoryDisk()
    const manager = await openManager(disk, { maxOpenFiles: 5 })
    for (let i = 0; i < 20; i++) {
      const log = await manager.createLog('t', i, TOPIC_ID, logConfig)
      append(log, batchOf(1))
      await log.flush()
    }
    assert.ok(manager.openFileCount <= 5, `${manager.openFileCount} files`)
    for (const log of manager.logs()) assert.equal((await readAll(log)).length > 0, true)
  })
})

describe('a data dir', () => {
  it('is of one process, one cluster and one broker', async () => {
    const disk = new MemoryDisk()
    const manager = await openManager(disk)
    await assert.rejects(openManager(disk), (error) => error instanceof DataDirError && /in use/.test(error.message))
    await manager.close({ brokerEpoch: 1 })
    await assert.rejects(
      openManager(disk, { clusterId: 'another' }),
      (error) => error instanceof DataDirError && /cluster\.id cluster .*cluster\.id another/.test(error.message),
    )
    await assert.rejects(
      openManager(disk, { nodeId: 2 }),
      (error) => error instanceof DataDirError && /node\.id 1 .*node\.id 2/.test(error.message),
    )
    const again = newManager(disk)
    await again.open()
    assert.equal(again.directoryId, manager.directoryId)
  })

  it('has names of partitions for folders', () => {
    assert.deepEqual(parseLogFolderName('a-b.c_d-12'), { topicName: 'a-b.c_d', partitionIndex: 12 })
    for (const name of ['t', 't-', '-1', 't-01', 't-0.x-delete', 't 1-0', 't-99999999999']) {
      assert.equal(parseLogFolderName(name), undefined, name)
    }
  })

  it('reads checkpoints that are whole', () => {
    assert.deepEqual(
      [...parseOffsetCheckpoint('0\n2\na 0 5\na-b 10 7\n')],
      [
        ['a-0', 5],
        ['a-b-10', 7],
      ],
    )
    for (const content of ['', '1\n1\na 0 5\n', '0\n2\na 0 5\n', '0\n1\na 0 x\n', '0\n1\na 0 5 6\n', '0\n1\na 0 5']) {
      assert.equal(parseOffsetCheckpoint(content).size, 0, JSON.stringify(content))
    }
  })
})
