import assert from 'node:assert/strict'
import { silentLogger } from '../../common/logger.ts'
import { randomInt, SeededRandom } from '../../common/random.ts'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import { encodeEndTransactionMarker } from '../protocol/records/control-record.ts'
import { encodeBatch } from '../protocol/records/encode-batch.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { kafkaSnapshot } from '../protocol/records/testing/kafka-fixtures.ts'
import { CorruptSnapshotError, decodeSnapshot, encodeSnapshot, snapshotFileName } from './producer-snapshot.ts'
import { ProducerStateManager } from './producer-state-manager.ts'
import type { CompletedTxn, ProducerAppendOrigin } from './producer-state.ts'
import { ProducerStateError } from './producer-state.ts'

const FOLDER = '/data/topic-0'
const HOUR = 3_600_000
const MAX_SEQUENCE = 0x7fff_ffff

/** A manager with the log around it reduced to an end offset. */
class TestLog {
  nowMs = 0
  disk: MemoryDisk
  manager!: ProducerStateManager
  nextOffset = 0

  constructor(disk = new MemoryDisk({ folders: ['/data', FOLDER] })) {
    this.disk = disk
  }

  static async open(disk?: MemoryDisk): Promise<TestLog> {
    const log = new TestLog(disk)
    log.manager = await ProducerStateManager.open({
      topicPartition: 'topic-0',
      disk: log.disk,
      folder: FOLDER,
      clock: { wallMs: () => 1_700_000_000_000 + log.nowMs, monotonicMs: () => log.nowMs },
      logger: silentLogger,
      producerIdExpirationMs: 24 * HOUR,
      maxTransactionTimeoutMs: HOUR / 4,
    })
    return log
  }

  /** Appends; returns what it repeats, or the transactions that it ends. */
  append(batch: Buffer, origin: ProducerAppendOrigin = 'client'): [number, number] | CompletedTxn[] {
    recordBatch.setBaseOffset(batch, 0, this.nextOffset)
    const prepared = this.manager.prepareAppend(batch, origin)
    if (prepared.duplicate !== undefined) return [prepared.duplicate.firstOffset, prepared.duplicate.lastOffset]
    this.nextOffset = recordBatch.nextOffset(batch, 0)
    this.manager.applyAppend(prepared, this.nextOffset)
    for (const txn of prepared.completedTxns) this.manager.completeTxn(txn)
    return [...prepared.completedTxns]
  }

  data(producerId: number, epoch: number, sequence: number, count = 1, isTransactional = false): Buffer {
    const records = Array.from({ length: count }, () => ({ timestamp: 1000 + this.nowMs, key: null, value: 'v' }))
    return encodeBatch({ records, producerId, producerEpoch: epoch, baseSequence: sequence, isTransactional })
  }

  marker(producerId: number, epoch: number, type: 'ABORT' | 'COMMIT', coordinatorEpoch = 0): Buffer {
    const marker = { type, coordinatorEpoch }
    return encodeEndTransactionMarker({ marker, producerId, producerEpoch: epoch, timestamp: 2000 + this.nowMs })
  }

  refuses(errorName: ProducerStateError['errorName'], batch: Buffer, origin: ProducerAppendOrigin = 'client'): void {
    const before = describeState(this.manager)
    assert.throws(
      () => this.append(batch, origin),
      (error) => error instanceof ProducerStateError && error.errorName === errorName,
      errorName,
    )
    assert.deepEqual(describeState(this.manager), before, 'a refused append changes nothing')
  }
}

function describeState(manager: ProducerStateManager): object {
  return {
    producers: [...manager.activeProducers()].map((entry) => ({
      producerId: entry.producerId,
      producerEpoch: entry.producerEpoch,
      coordinatorEpoch: entry.coordinatorEpoch,
      lastTimestamp: entry.lastTimestamp,
      currentTxnFirstOffset: entry.currentTxnFirstOffset,
      batches: entry.batches(),
    })),
    firstUnstableOffset: manager.firstUnstableOffset(),
    mapEndOffset: manager.mapEndOffset,
  }
}

describe('producer state: idempotence', () => {
  it('costs nothing for batches without a producer, but follows the log end', async () => {
    const log = await TestLog.open()
    const batch = encodeBatch({ records: [{ timestamp: 1, key: null, value: null }] })
    assert.deepEqual(log.append(batch), [])
    assert.equal(log.manager.producerIdCount, 0)
    assert.equal(log.manager.mapEndOffset, 1)
  })

  it('takes sequences without gaps only', async () => {
    const log = await TestLog.open()
    log.append(log.data(7, 0, 0, 3))
    log.refuses('OUT_OF_ORDER_SEQUENCE_NUMBER', log.data(7, 0, 4))
    log.refuses('OUT_OF_ORDER_SEQUENCE_NUMBER', log.data(7, 0, 2))
    log.append(log.data(7, 0, 3))
    log.append(log.data(8, 0, 0))
    log.append(log.data(7, 0, 4, 10))
    assert.equal(log.manager.lastEntry(7)?.lastSequence, 13)
  })

  it('recognises the last five batches by epoch and exact sequences', async () => {
    const log = await TestLog.open()
    for (let i = 0; i < 7; i++) log.append(log.data(7, 0, i * 2, 2))
    for (let i = 2; i < 7; i++) assert.deepEqual(log.append(log.data(7, 0, i * 2, 2)), [i * 2, i * 2 + 1])
    log.refuses('OUT_OF_ORDER_SEQUENCE_NUMBER', log.data(7, 0, 2, 2))
    log.refuses('OUT_OF_ORDER_SEQUENCE_NUMBER', log.data(7, 0, 12, 1))
    assert.equal(log.nextOffset, 14)
    const duplicate = log.manager.prepareAppend(log.data(7, 0, 12, 2), 'client').duplicate
    assert.deepEqual(duplicate, {
      firstSequence: 12,
      lastSequence: 13,
      firstOffset: 12,
      lastOffset: 13,
      timestamp: 1000,
    })
  })

  it('wraps sequences after 2^31 - 1', async () => {
    const log = await TestLog.open()
    log.append(log.data(7, 0, MAX_SEQUENCE - 1, 1))
    log.append(log.data(7, 0, MAX_SEQUENCE, 3))
    assert.deepEqual(log.append(log.data(7, 0, MAX_SEQUENCE, 3)), [1, 3])
    assert.equal(log.manager.lastEntry(7)?.lastSequence, 1)
    log.append(log.data(7, 0, 2))
    const other = await TestLog.open()
    other.append(other.data(7, 0, MAX_SEQUENCE, 1))
    other.append(other.data(7, 0, 0))
  })

  it('lets a producer that it does not know start anywhere', async () => {
    const log = await TestLog.open()
    log.append(log.data(7, 3, 500))
    log.refuses('OUT_OF_ORDER_SEQUENCE_NUMBER', log.data(7, 3, 502))
  })

  it('fences old epochs and wants a new one to start at 0', async () => {
    const log = await TestLog.open()
    log.append(log.data(7, 3, 0))
    log.refuses('INVALID_PRODUCER_EPOCH', log.data(7, 2, 1))
    log.refuses('INVALID_PRODUCER_EPOCH', log.data(7, 2, 0))
    log.refuses('OUT_OF_ORDER_SEQUENCE_NUMBER', log.data(7, 4, 1))
    log.append(log.data(7, 4, 0))
    assert.equal(log.manager.lastEntry(7)?.batchCount, 1, 'batches of older epochs are forgotten')
    log.refuses('INVALID_PRODUCER_EPOCH', log.data(7, 3, 1))
  })

  it('does not judge what was replicated', async () => {
    const log = await TestLog.open()
    log.append(log.data(7, 3, 0), 'replication')
    log.append(log.data(7, 3, 9), 'replication')
    log.append(log.data(7, 2, 0), 'replication')
    assert.equal(log.manager.lastEntry(7)?.producerEpoch, 2)
    log.append(log.data(9, 0, -1), 'coordinator')
    log.append(log.data(9, 0, -1), 'coordinator')
  })

  it('takes several batches of several producers in one append of a follower', async () => {
    const log = await TestLog.open()
    const batches = [log.data(1, 0, 0, 2), log.data(2, 0, 0), log.data(1, 0, 2), log.data(1, 1, 0)]
    for (const batch of batches) {
      recordBatch.setBaseOffset(batch, 0, log.nextOffset)
      log.nextOffset = recordBatch.nextOffset(batch, 0)
    }
    log.manager.applyAppend(log.manager.prepareAppend(Buffer.concat(batches), 'replication'), log.nextOffset)
    assert.deepEqual(
      log.manager
        .lastEntry(1)
        ?.batches()
        .map((batch) => batch.firstOffset),
      [4],
    )
    assert.equal(log.manager.lastEntry(2)?.lastDataOffset, 2)
  })

  it('is what a naive model says, for random producers', async () => {
    const random = new SeededRandom(3)
    const log = await TestLog.open()
    const model = new Map<number, { epoch: number; next: number; batches: [number, number, number][] }>()
    for (let step = 0; step < 3000; step++) {
      const id = randomInt(random, 1, 4)
      const known = model.get(id)
      const epoch = Math.max(0, (known?.epoch ?? 0) + (random.next() < 0.05 ? randomInt(random, -1, 1) : 0))
      const count = randomInt(random, 1, 3)
      const repeated = known?.batches[randomInt(random, 0, Math.max(0, known.batches.length - 1))]
      const next = epoch === known?.epoch ? known.next : 0
      const sequence = random.next() < 0.1 ? next + 1 : random.next() < 0.2 && repeated ? repeated[0] : next
      let expected: unknown = []
      const same = epoch === known?.epoch ? known.batches.find(([s, c]) => s === sequence && c === count) : undefined
      if (same) expected = [same[2], same[2] + count - 1]
      else if (known !== undefined && epoch < known.epoch) expected = 'INVALID_PRODUCER_EPOCH'
      else if (known !== undefined && sequence !== next) expected = 'OUT_OF_ORDER_SEQUENCE_NUMBER'
      else {
        const batches = epoch === known?.epoch ? known.batches : []
        batches.push([sequence, count, log.nextOffset])
        model.set(id, { epoch, next: sequence + count, batches: batches.slice(-5) })
      }
      let found: unknown
      try {
        found = log.append(log.data(id, epoch, sequence, count))
      } catch (error) {
        assert.ok(error instanceof ProducerStateError)
        found = error.errorName
      }
      assert.deepEqual(found, expected, `step ${step}`)
    }
  })
})

describe('producer state: transactions', () => {
  it('tracks open ones until their marker is replicated', async () => {
    const log = await TestLog.open()
    log.append(log.data(1, 0, 0, 2, true))
    log.append(log.data(2, 0, 0, 1, true))
    log.append(log.data(1, 0, 2, 1, true))
    assert.equal(log.manager.firstUnstableOffset(), 0)
    const abort = log.marker(1, 0, 'ABORT')
    assert.deepEqual(log.append(abort, 'coordinator'), [
      { producerId: 1, firstOffset: 0, lastOffset: 4, isAborted: true },
    ])
    assert.equal(log.manager.firstUndecidedOffset(), 2)
    assert.equal(log.manager.firstUnstableOffset(), 0, 'the marker may not be replicated yet')
    log.manager.onHighWatermarkUpdated(4)
    assert.equal(log.manager.firstUnstableOffset(), 0)
    log.manager.onHighWatermarkUpdated(5)
    assert.equal(log.manager.firstUnstableOffset(), 2)
    log.append(log.marker(2, 0, 'COMMIT'), 'coordinator')
    log.manager.onHighWatermarkUpdated(6)
    assert.equal(log.manager.firstUnstableOffset(), undefined)
    log.append(log.data(1, 0, 3, 1, true))
    assert.equal(log.manager.firstUnstableOffset(), 6)
  })

  it('knows the last stable offset that goes into the transaction index', async () => {
    const log = await TestLog.open()
    log.append(log.data(1, 0, 0, 2, true))
    log.append(log.data(2, 0, 0, 1, true))
    const first = { producerId: 1, firstOffset: 0, lastOffset: 3, isAborted: true }
    assert.equal(log.manager.lastStableOffset(first), 2)
    log.append(log.marker(1, 0, 'ABORT'), 'coordinator')
    assert.equal(log.manager.lastStableOffset({ ...first, producerId: 2, firstOffset: 2, lastOffset: 4 }), 5)
  })

  it('treats a marker without records before it as none', async () => {
    const log = await TestLog.open()
    assert.deepEqual(log.append(log.marker(1, 4, 'ABORT'), 'coordinator'), [])
    assert.equal(log.manager.firstUnstableOffset(), undefined)
    assert.equal(log.manager.lastEntry(1)?.producerEpoch, 4)
    log.refuses('INVALID_PRODUCER_EPOCH', log.data(1, 3, 0, 1, true))
    log.append(log.data(1, 4, 0, 1, true))
  })

  it('refuses markers of fenced coordinators and producers, and writes outside of an open transaction', async () => {
    const log = await TestLog.open()
    log.append(log.data(1, 2, 0, 1, true))
    log.refuses('INVALID_TXN_STATE', log.data(1, 2, 1))
    log.append(log.marker(1, 2, 'COMMIT', 9), 'coordinator')
    log.refuses('TRANSACTION_COORDINATOR_FENCED', log.marker(1, 2, 'COMMIT', 8), 'coordinator')
    log.refuses('INVALID_PRODUCER_EPOCH', log.marker(1, 1, 'COMMIT', 9), 'coordinator')
    log.append(log.marker(1, 2, 'COMMIT', 8), 'replication')
    log.append(log.data(1, 2, 1))
  })

  it('notices one that hangs', async () => {
    const log = await TestLog.open()
    assert.equal(log.manager.hasLateTransaction(), false)
    log.append(log.data(1, 0, 0, 1, true))
    log.nowMs = HOUR / 4 + 5 * 60_000
    assert.equal(log.manager.hasLateTransaction(), false)
    log.nowMs += 1000
    assert.equal(log.manager.hasLateTransaction(), true)
  })
})

describe('producer state: expiry', () => {
  it('counts from the last append on the monotonic clock, never while a transaction is open', async () => {
    const log = await TestLog.open()
    log.append(log.data(1, 0, 0))
    log.append(log.data(2, 0, 0, 1, true))
    log.nowMs = 12 * HOUR
    log.append(log.data(3, 0, 0))
    log.nowMs = 24 * HOUR - 1000
    assert.equal(log.manager.removeExpiredProducers(), 0)
    log.nowMs = 24 * HOUR
    assert.equal(log.manager.removeExpiredProducers(), 1)
    log.append(log.marker(2, 0, 'COMMIT'), 'coordinator')
    log.nowMs = 100 * HOUR
    assert.equal(log.manager.removeExpiredProducers(), 2)
    assert.equal(log.manager.isEmpty, false, 'the marker of producer 2 is not replicated')
    log.append(log.data(1, 0, 77))
  })
})

describe('producer state: snapshots', () => {
  it("have Kafka's format", () => {
    const bytes = Buffer.from(kafkaSnapshot, 'base64')
    const entries = decodeSnapshot(bytes)
    assert.deepEqual(
      entries.map((entry) => [entry.producerId, entry.producerEpoch, entry.coordinatorEpoch, entry.lastTimestamp]),
      [
        [4711, 3, 12, 1700000000000],
        [9, 0, -1, 1700000000001],
      ],
    )
    assert.equal(entries[0]?.currentTxnFirstOffset, 95)
    assert.deepEqual(entries[0].batches(), [
      { firstSequence: 17, lastSequence: 21, firstOffset: 100, lastOffset: 104, timestamp: 1700000000000 },
    ])
    assert.equal(entries[1]?.batchCount, 0)
    assert.ok(encodeSnapshot(new Map(entries.map((entry) => [entry.producerId, entry]))).equals(bytes))
  })

  it('refuse every damage and every prefix', () => {
    const good = Buffer.from(kafkaSnapshot, 'base64')
    for (let position = 0; position < good.length; position++) {
      assert.throws(() => decodeSnapshot(good.subarray(0, position)), CorruptSnapshotError)
      const damaged = Buffer.from(good)
      damaged[position] = (damaged[position] ?? 0) ^ 0x10
      assert.throws(() => decodeSnapshot(damaged), CorruptSnapshotError, `byte ${position}`)
    }
  })

  it('bring the state back after a restart', async () => {
    const log = await TestLog.open()
    log.append(log.data(1, 0, 0, 3))
    log.append(log.data(2, 5, 0, 1, true))
    log.append(log.data(3, 1, 8, 1, true))
    assert.equal(await log.manager.takeSnapshot(), 5)
    assert.equal(await log.manager.takeSnapshot(), undefined, 'the same state is not written twice')
    const again = await TestLog.open(log.disk.powerLoss())
    assert.equal(again.manager.latestSnapshotOffset, 5)
    await again.manager.truncateAndReload(0, 9)
    assert.equal(again.manager.mapEndOffset, 5, 'where the log goes on replaying')
    assert.equal(again.manager.firstUnstableOffset(), 3)
    again.nextOffset = 5
    assert.deepEqual(again.append(again.data(1, 0, 0, 3)), [0, 2])
    again.refuses('OUT_OF_ORDER_SEQUENCE_NUMBER', again.data(1, 0, 4))
    again.append(again.data(1, 0, 3))
    assert.deepEqual(again.append(again.marker(2, 5, 'COMMIT'), 'coordinator'), [
      { producerId: 2, firstOffset: 3, lastOffset: 6, isAborted: false },
    ])
    assert.equal(again.manager.firstUndecidedOffset(), 4)
  })

  it('hold the state at the time of the call', async () => {
    const log = await TestLog.open()
    log.append(log.data(1, 0, 0))
    const taken = log.manager.takeSnapshot()
    log.append(log.data(1, 0, 1))
    assert.equal(await taken, 1)
    const content = await log.disk.readFile(`${FOLDER}/${snapshotFileName(1)}`)
    assert.equal(decodeSnapshot(content ?? Buffer.alloc(0))[0]?.lastSequence, 0)
    assert.equal(await log.manager.takeSnapshot(), 2)
  })

  it('that are unreadable give way to older ones', async () => {
    const log = await TestLog.open()
    for (let i = 0; i < 3; i++) {
      log.append(log.data(1, 0, i))
      await log.manager.takeSnapshot()
    }
    await log.disk.replaceFile(`${FOLDER}/${snapshotFileName(3)}`, 'torn')
    await log.disk.replaceFile(`${FOLDER}/${snapshotFileName(2)}`, '')
    const again = await TestLog.open(log.disk)
    await again.manager.truncateAndReload(0, 3)
    assert.equal(again.manager.mapEndOffset, 1)
    assert.deepEqual(again.manager.snapshotOffsets(), [1])
    assert.equal(again.manager.lastEntry(1)?.lastSequence, 0)
    const names = (await log.disk.list(FOLDER)).map((entry) => entry.name)
    assert.deepEqual(names, [snapshotFileName(1)])
  })

  it('follow truncation, durably', async () => {
    const log = await TestLog.open()
    for (let i = 0; i < 5; i++) {
      log.append(log.data(1, 0, i))
      await log.manager.takeSnapshot()
    }
    log.append(log.data(2, 0, 0))
    await log.manager.truncateAndReload(1, 3)
    assert.deepEqual(log.manager.snapshotOffsets(), [2, 3])
    assert.equal(log.manager.mapEndOffset, 3)
    assert.equal(log.manager.lastEntry(1)?.lastSequence, 2)
    assert.equal(log.manager.producerIdCount, 1)
    const after = await TestLog.open(log.disk.powerLoss())
    assert.deepEqual(after.manager.snapshotOffsets(), [2, 3])
    await after.manager.truncateFullyAndStartAt(50)
    assert.equal(after.manager.mapEndOffset, 50)
    assert.equal(after.manager.isEmpty, true)
    assert.deepEqual(await after.disk.list(FOLDER), [])
  })

  it('keep the state when the log end is where the state ends', async () => {
    const log = await TestLog.open()
    log.append(log.data(1, 0, 0))
    await log.manager.truncateAndReload(0, 1)
    assert.equal(log.manager.producerIdCount, 1)
  })

  it('of segments that are gone are removed, but for the newest of all', async () => {
    const log = await TestLog.open()
    for (let i = 0; i < 6; i++) {
      log.append(log.data(1, 0, i))
      await log.manager.takeSnapshot()
    }
    await log.manager.removeStraySnapshots([0, 2, 4])
    assert.deepEqual(log.manager.snapshotOffsets(), [2, 4, 6])
    await log.manager.removeStraySnapshots([2, 7])
    assert.deepEqual(log.manager.snapshotOffsets(), [2])
    await log.manager.deleteSnapshotsBefore(3)
    assert.deepEqual(log.manager.snapshotOffsets(), [])
  })

  it('that could not be written are due again', async () => {
    let failing = true
    const disk = new MemoryDisk({
      folders: ['/data', FOLDER],
      fault: (call) => (failing && call.operation === 'datasync' ? 'EIO' : undefined),
    })
    const log = await TestLog.open(disk)
    log.append(log.data(1, 0, 0))
    await assert.rejects(log.manager.takeSnapshot(), { code: 'EIO' })
    assert.deepEqual(log.manager.snapshotOffsets(), [])
    failing = false
    assert.equal(await log.manager.takeSnapshot(), 1)
  })
})
