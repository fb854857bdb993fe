import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { systemClock } from '../../../common/clock.ts'
import { NodeDisk } from '../../../common/disk-node.ts'
import { silentLogger } from '../../../common/logger.ts'
import { SeededRandom } from '../../../common/random.ts'
import { encodeBatch } from '../../protocol/records/encode-batch.ts'
import * as recordBatch from '../../protocol/records/record-batch.ts'
import { decodeRecords } from '../../protocol/records/record.ts'
import type { LogConfig } from '../log-config.ts'
import { LogManager } from '../log-manager.ts'
import { append, logConfig, ManualTime, readAll, TOPIC_ID } from '../testing/log-fixture.ts'
import { WorkerKernel } from './worker-kernel.ts'

const pass = { maxMapBytes: 1024 * 1024, maxLoad: 0.9, hashKey: new Uint8Array(16), startOffset: 0 }

/** The real thread, and the real disk: what simulated ones can't show. */
describe('log cleaner in a thread', () => {
  const compacted: LogConfig = {
    ...logConfig,
    cleanupPolicy: { delete: false, compact: true },
    segmentBytes: 256 * 1024,
    minCleanableDirtyRatio: 0,
    flushMessages: 100_000,
  }
  let folder = ''

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cleaner-'))
  })

  afterEach(() => {
    fs.rmSync(folder, { recursive: true, force: true })
  })

  async function open(): Promise<LogManager> {
    const timers = new ManualTime()
    const manager = new LogManager(
      { disk: new NodeDisk(), clock: systemClock, timers, random: new SeededRandom(1), logger: silentLogger },
      {
        folder,
        clusterId: 'cluster',
        nodeId: 1,
        logConfigOf: () => compacted,
        retentionCheckIntervalMs: 300_000,
        recoveryPointIntervalMs: 5000,
        logStartIntervalMs: 60_000,
        producerIdExpirationMs: 86_400_000,
        freeSpaceFloorBytes: 0,
      },
      { onProgress: () => undefined, onFailure: () => undefined },
    )
    await manager.open()
    return manager
  }

  it('compacts logs on disk, so that the next start finds the same', async () => {
    const manager = await open()
    const log = await manager.createLog('t', 0, TOPIC_ID, compacted)
    const expected = new Map<string, string>()
    for (let batch = 0; batch < 400; batch++) {
      const records = Array.from({ length: 40 }, (_, i) => {
        const key = `key-${(batch * 131 + i * 17) % 1000}`
        const value = `${batch}-${i}`.padEnd(50, '.')
        expected.set(key, value)
        return { timestamp: Date.now(), key, value }
      })
      append(log, encodeBatch({ records, compression: batch % 2 === 0 ? 'lz4' : 'none' }))
    }
    await log.flush()
    log.updateHighWatermark(log.logEndOffset)
    const activeBase = log.segments().at(-1)?.baseOffset ?? 0
    const bytesBefore = log.sizeBytes
    await manager.compact()
    assert.equal(manager.cleanerStats.uncleanablePartitionsCount, 0)
    assert.equal(log.cleanerCheckpoint, activeBase)
    assert.ok(log.sizeBytes < bytesBefore / 2, `${bytesBefore} bytes became ${log.sizeBytes}`)
    await manager.close({ brokerEpoch: 1 })

    const again = await open()
    const reopened = again.getLog('t', 0)
    assert.ok(reopened !== undefined)
    const records = await readAll(reopened)
    const found = new Map<string, string>()
    for (const position of recordBatch.batchPositions(records)) {
      assert.ok(recordBatch.isValid(records, position))
      for (const { key, value } of decodeRecords(records, position)) {
        found.set(key?.toString() ?? '', value?.toString() ?? '')
      }
    }
    assert.deepEqual(found, expected)
    assert.equal(reopened.cleanerCheckpoint, activeBase)
    assert.match(
      fs.readFileSync(path.join(folder, 'cleaner-offset-checkpoint'), 'utf8'),
      new RegExp(`^0\\n1\\nt 0 ${activeBase}\\n$`),
    )
    await again.close({ brokerEpoch: 1 })
  })

  it('answers what is wrong with a chunk, and goes on', async () => {
    const kernel = new WorkerKernel()
    try {
      await kernel.begin(pass)
      const chunk = kernel.takeBuffer(100)
      chunk.fill(0)
      await assert.rejects(kernel.index({ chunk, abortedTxns: [] }), /batch length 0/)
      const batch = encodeBatch({ records: [{ timestamp: 1, key: 'k', value: 'v' }] })
      const good = kernel.takeBuffer(batch.length)
      batch.copy(good)
      assert.equal((await kernel.index({ chunk: good, abortedTxns: [] })).latestOffset, 0)
    } finally {
      await kernel.close()
    }
  })

  it('has a lower priority than the rest of the process, on Linux', async function () {
    if (process.platform !== 'linux') this.skip()
    const kernel = new WorkerKernel()
    try {
      await kernel.begin(pass)
      // The niceness is the 19th field of the statistics of a thread; the second, its name, may have spaces.
      const niceness = fs.readdirSync('/proc/self/task').map((id) => {
        const stat = fs.readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
      })
      const lowest = Math.max(...niceness)
      assert.equal(lowest, os.getPriority() + 5)
      assert.equal(niceness.filter((each) => each === lowest).length, 1)
    } finally {
      await kernel.close()
    }
  })

  it('fails what it was asked when the thread ends, and begins another with the next pass', async () => {
    const kernel = new WorkerKernel()
    try {
      await kernel.begin(pass)
      const asked = kernel.beginFilter({
        nowMs: 0,
        deleteRetentionMs: 0,
        roundEndOffset: 0,
        latestOffset: 0,
        compressionLevels: {},
      })
      const failing = assert.rejects(asked, /thread of the log cleaner ended/)
      await kernel.close()
      await failing
      await assert.rejects(
        kernel.index({ chunk: kernel.takeBuffer(10), abortedTxns: [] }),
        /thread of the log cleaner is gone/,
      )
      await kernel.begin(pass)
    } finally {
      await kernel.close()
    }
  })
})
