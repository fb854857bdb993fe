import assert from 'node:assert/strict'
import { releaseAll } from '../../common/block-pool.ts'
import { randomInt, SeededRandom, type Random } from '../../common/random.ts'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { batchOf, openLog, openManager, read, readAll } from './testing/log-fixture.ts'
import type { UnifiedLog } from './unified-log.ts'

/** Answers disk operations in an order drawn from the seed. */
class ShuffledQueue {
  readonly #random: Random
  #runs: (() => void)[] = []

  constructor(random: Random) {
    this.#random = random
  }

  readonly defer = (run: () => void): void => {
    this.#runs.push(run)
    if (this.#runs.length === 1) setImmediate(this.#runSome)
  }

  readonly #runSome = (): void => {
    for (let i = randomInt(this.#random, 1, 3); i > 0 && this.#runs.length > 0; i--) {
      const [run] = this.#runs.splice(randomInt(this.#random, 0, this.#runs.length - 1), 1)
      run?.()
    }
    if (this.#runs.length > 0) setImmediate(this.#runSome)
  }
}

/** A read is right if it is whole batches that were the log's content at some time while it ran. */
function checkRead(records: Buffer, startOffset: number, versions: ReadonlyMap<number, Buffer[]>): void {
  let nextOffset = -1
  for (const position of recordBatch.batchPositions(records)) {
    const baseOffset = recordBatch.baseOffset(records, position)
    const batch = records.subarray(position, position + recordBatch.sizeInBytes(records, position))
    if (nextOffset < 0) assert.ok(baseOffset <= startOffset && startOffset < recordBatch.nextOffset(batch, 0))
    else assert.equal(baseOffset, nextOffset)
    assert.ok(
      versions.get(baseOffset)?.some((version) => version.equals(batch)),
      `a batch at ${baseOffset}`,
    )
    nextOffset = recordBatch.nextOffset(batch, 0)
  }
}

/** The offset was deleted meanwhile, or the log was being truncated. */
function isExpected(errorCode: number): boolean {
  return errorCode === ErrorCode.OFFSET_OUT_OF_RANGE || errorCode === ErrorCode.NOT_LEADER_OR_FOLLOWER
}

async function run(seed: number): Promise<void> {
  const random = new SeededRandom(seed)
  const config = {
    segmentBytes: 600,
    indexIntervalBytes: 100,
    retentionBytes: 2500,
    flushMessages: randomInt(random, 1, 5),
  }
  const disk = new MemoryDisk({ defer: new ShuffledQueue(random).defer })
  // Blocks so small that each is used again all the time: bytes that somebody still needs would not survive that.
  const sizes = { tailCacheBytes: 700, indexCacheBytes: 64, maxOpenFiles: 2, blockBytes: 400 }
  const manager = await openManager(disk, { config, ...sizes })
  const log: UnifiedLog = await openLog(manager, config)
  const versions = new Map<number, Buffer[]>()
  const running = new Set<Promise<unknown>>()
  const track = (work: Promise<unknown>): void => {
    const tracked = work.finally(() => running.delete(tracked))
    running.add(tracked)
  }
  let leaderEpoch = 0
  for (let step = 0; step < 150; step++) {
    const draw = random.next()
    if (draw < 0.5) {
      const records = batchOf(randomInt(random, 1, 3), { firstValue: step, valueBytes: randomInt(random, 1, 80) })
      const outcome = log.appendAsLeader(records, { leaderEpoch })
      if (outcome.ok) {
        const { firstOffset } = outcome.info
        versions.set(firstOffset, [...(versions.get(firstOffset) ?? []), Buffer.from(records)])
        // It is the caller's memory again.
        records.fill(0xee)
      } else {
        assert.equal(outcome.errorCode, ErrorCode.NOT_LEADER_OR_FOLLOWER)
      }
    } else if (draw < 0.8) {
      const startOffset = randomInt(random, log.logStartOffset, log.logEndOffset)
      const maxBytes = randomInt(random, 50, 900)
      track(
        read(log, startOffset, { maxBytes }).then(async (result) => {
          if (!result.ok) {
            assert.ok(isExpected(result.errorCode), result.message)
            return
          }
          // As a socket does that takes its time.
          for (let i = step % 4; i > 0; i--) await new Promise((resolve) => setImmediate(resolve))
          checkRead(Buffer.concat(result.buffers), startOffset, versions)
          releaseAll(result.blocks)
        }),
      )
    } else if (draw < 0.88) {
      log.updateHighWatermark(log.flushedOffset)
      track(log.deleteOldSegments())
    } else if (draw < 0.93) {
      track(manager.checkpointAll())
    } else if (draw < 0.95) {
      leaderEpoch++
      await Promise.all(running)
      track(log.truncateTo(Math.max(log.highWatermark, log.nextOffset - randomInt(random, 0, 12))))
    } else {
      track(log.flush())
    }
    if (random.next() < 0.5) await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(running)
  await log.flush()
  assert.equal(log.failure, undefined)
  assert.equal(log.nextOffset, log.logEndOffset)
  const content = await readAll(log)
  for (const position of recordBatch.batchPositions(content)) {
    const batch = content.subarray(position, position + recordBatch.sizeInBytes(content, position))
    assert.deepEqual(batch, versions.get(recordBatch.baseOffset(batch, 0))?.at(-1))
  }
  await manager.close({ brokerEpoch: 1 })
  const again = await openLog(await openManager(disk.powerLoss(), { config }), config)
  assert.deepEqual([again.logStartOffset, again.logEndOffset], [log.logStartOffset, log.logEndOffset])
  assert.deepEqual(await readAll(again), content)
}

describe('a log under concurrent appends, reads, retention, checkpoints and truncations', function () {
  this.timeout(60_000)

  it('keeps its order, whatever the order of the disk is', async () => {
    for (let seed = 1; seed <= 300; seed++) {
      try {
        await run(seed)
      } catch (error) {
        throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
      }
    }
  })
})
