import assert from 'node:assert/strict'
import { systemClock } from '../../../common/clock.ts'
import { silentLogger } from '../../../common/logger.ts'
import { MemoryDisk } from '../../../common/testing/memory-disk.ts'
import { TimingWheel } from '../../../common/timing-wheel.ts'
import { ErrorCode } from '../../protocol/error-codes.ts'
import { TestCluster } from '../../server/testing/test-cluster.ts'
import { CoordinatorRuntime } from './coordinator-runtime.ts'
import type { CoordinatorResult, CoordinatorShard, CoordinatorTimer, RecordSerde } from './coordinator-shard.ts'

interface Put {
  readonly key: string
  readonly value: string | null
}

const serde: RecordSerde<Put> = {
  encode: ({ key, value }) => ({ key: Buffer.from(key), value: value === null ? null : Buffer.from(value) }),
  decode(cursor) {
    const key = cursor.key()?.toString() ?? ''
    if (key.startsWith('unknown')) return undefined
    if (key.startsWith('broken')) throw new RangeError('no such record')
    return { key, value: cursor.value()?.toString() ?? null }
  },
}

/** A map as a state machine. */
class MapShard implements CoordinatorShard<Put> {
  readonly values = new Map<string, string>()
  readonly offsets: number[] = []
  readonly timer: CoordinatorTimer<Put>
  loadedCount = 0
  unloadedWith: number | undefined

  constructor(timer: CoordinatorTimer<Put>) {
    this.timer = timer
  }

  replay({ key, value }: Put, offset: number): void {
    this.offsets.push(offset)
    if (value === null) this.values.delete(key)
    else this.values.set(key, value)
  }

  onLoaded(): void {
    this.loadedCount++
  }

  onUnloaded(errorCode: number): void {
    this.unloadedWith = errorCode
  }
}

const put = (key: string, value: string | null): CoordinatorResult<Put, string> => ({
  records: [{ key, value }],
  reply: `${key} put`,
})

const TOPIC = 'state'
const TIMEOUT_MS = 5000

describe('coordinator runtime', () => {
  let cluster: TestCluster
  let runtime: CoordinatorRuntime<MapShard, Put>
  let timers: TimingWheel
  let shards: MapShard[]

  async function start(disk = new MemoryDisk({ folders: ['/data'] })): Promise<void> {
    cluster = await TestCluster.start({ disk })
    timers = new TimingWheel(systemClock)
    shards = []
    runtime = new CoordinatorRuntime({
      topicName: TOPIC,
      replicas: cluster.broker.replicas,
      clock: systemClock,
      timers,
      logger: silentLogger,
      serde,
      createShard: (timer) => {
        const shard = new MapShard(timer)
        shards.push(shard)
        return shard
      },
    })
    runtime.start()
    if (cluster.broker.metadata.topic(TOPIC) === undefined) await cluster.createTopic(TOPIC)
    await active()
  }

  /** Resolves once the shard of partition 0 takes operations. */
  async function active(): Promise<MapShard> {
    for (;;) {
      const [first] = runtime.shards()
      if (first !== undefined) return first[1]
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** The machine loses power, and starts again. */
  async function restart(): Promise<void> {
    runtime.close()
    timers.close()
    const disk = cluster.disk.powerLoss()
    cluster.abandon()
    await start(disk)
  }

  const write = (key: string, value: string | null): Promise<string> =>
    runtime.write(0, TIMEOUT_MS, () => put(key, value))
  const read = (key: string): Promise<string | undefined> =>
    runtime.read(0, TIMEOUT_MS, (shard) => shard.values.get(key))
  const log = () => cluster.broker.replicas.partition(TOPIC, 0)

  beforeEach(() => start())
  afterEach(async () => {
    runtime.close()
    timers.close()
    await cluster.close()
  })

  it('has everything that it replied to after a power loss', async () => {
    assert.equal(await write('a', '1'), 'a put')
    await Promise.all(Array.from({ length: 100 }, (_, i) => write(`k${i}`, String(i))))
    await write('a', null)
    await restart()
    const shard = await active()
    assert.equal(shard.values.size, 100)
    assert.equal(await read('k99'), '99')
    assert.equal(await read('a'), undefined)
    assert.equal(shard.loadedCount, 1)
  })

  it('runs an operation within the call, and shows its records to the next', async () => {
    const first = write('a', '1')
    const seen: (string | undefined)[] = []
    const second = runtime.write(0, TIMEOUT_MS, (shard) => {
      seen.push(shard.values.get('a'))
      return { records: [], reply: undefined }
    })
    assert.deepEqual(seen, ['1'])
    await Promise.all([first, second])
  })

  it('replies only when what the operation saw is committed, also to reads', async () => {
    const order: string[] = []
    const highWatermark = (): number => log()?.highWatermark ?? -1
    await Promise.all([
      write('a', '1').then(() => order.push(`write at ${highWatermark()}`)),
      read('a').then((value) => order.push(`read ${value ?? ''} at ${highWatermark()}`)),
    ])
    assert.deepEqual(order, ['write at 1', 'read 1 at 1'])
  })

  it('settles an operation once, after its replay', async () => {
    const settled: number[] = []
    const operation = (shard: MapShard): CoordinatorResult<Put, undefined> => ({
      ...put('a', '1'),
      reply: undefined,
      whenSettled: (errorCode) => {
        assert.equal(shard.values.get('a'), '1')
        settled.push(errorCode)
      },
    })
    await runtime.write(0, TIMEOUT_MS, operation)
    assert.deepEqual(settled, [ErrorCode.NONE])
  })

  it('collects what is written while a batch is on its way', async () => {
    const before = log()?.log.logEndOffset ?? -1
    let batchCount = 0
    const partition = log()
    assert.ok(partition)
    const append = partition.appendAsLeader.bind(partition)
    partition.appendAsLeader = (...args) => {
      batchCount++
      return append(...args)
    }
    await Promise.all(Array.from({ length: 1000 }, (_, i) => write(`k${i}`, 'v')))
    assert.equal((log()?.log.logEndOffset ?? -1) - before, 1000)
    assert.ok(batchCount <= 5, `${batchCount} batches`)
    const shard = await active()
    assert.deepEqual(
      shard.offsets,
      Array.from({ length: 1000 }, (_, i) => before + i),
    )
  })

  it('refuses what no batch can hold before anything is replayed', async () => {
    const records = Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, value: 'v'.repeat(20_000) }))
    await assert.rejects(
      runtime.write(0, TIMEOUT_MS, () => ({ records, reply: undefined })),
      { code: ErrorCode.UNKNOWN_SERVER_ERROR },
    )
    assert.equal((await active()).values.size, 0)
    await Promise.all(records.map(({ key, value }) => write(key, value)))
    assert.equal((await active()).values.size, 100)
  })

  it('passes on what an operation throws', async () => {
    await assert.rejects(
      runtime.write(0, TIMEOUT_MS, () => {
        throw new RangeError('refused')
      }),
      RangeError,
    )
    assert.equal(await write('a', '1'), 'a put')
  })

  it('loads again when an append is refused after its replay', async () => {
    await write('a', '1')
    const shard = await active()
    const partition = log()
    assert.ok(partition)
    const append = partition.appendAsLeader.bind(partition)
    partition.appendAsLeader = () => ({
      ok: false,
      errorCode: ErrorCode.KAFKA_STORAGE_ERROR,
      message: '',
      recordErrors: [],
    })
    const settled: number[] = []
    await assert.rejects(
      runtime.write(0, TIMEOUT_MS, () => ({ ...put('a', '2'), whenSettled: (code) => void settled.push(code) })),
      { code: ErrorCode.NOT_COORDINATOR },
    )
    partition.appendAsLeader = append
    assert.deepEqual(settled, [ErrorCode.NOT_COORDINATOR])
    assert.equal(shard.unloadedWith, ErrorCode.NOT_COORDINATOR)
    await assert.rejects(read('a'), { code: ErrorCode.COORDINATOR_NOT_AVAILABLE })
    assert.notEqual(await active(), shard)
    assert.equal(await read('a'), '1')
  })

  it('does not know partitions that it does not lead', async () => {
    await assert.rejects(
      runtime.write(7, TIMEOUT_MS, () => put('a', '1')),
      { code: ErrorCode.NOT_COORDINATOR },
    )
  })

  it('ends with the replica: who waits is told', async () => {
    const shard = await active()
    const waiting = assert.rejects(write('a', '1'), { code: ErrorCode.NOT_COORDINATOR })
    cluster.broker.replicas.close()
    await waiting
    assert.equal(shard.unloadedWith, ErrorCode.NOT_COORDINATOR)
    await assert.rejects(read('a'), { code: ErrorCode.NOT_COORDINATOR })
  })

  it('runs timers as operations, and forgets them with the shard', async () => {
    const shard = await active()
    const { promise, resolve } = Promise.withResolvers<undefined>()
    shard.timer.schedule('replaced', 1, () => put('replaced', 'too early'))
    shard.timer.schedule('replaced', 5, () => ({
      ...put('replaced', 'in time'),
      whenSettled: () => resolve(undefined),
    }))
    shard.timer.schedule('cancelled', 1, () => put('cancelled', 'never'))
    shard.timer.cancel('cancelled')
    assert.ok(shard.timer.isScheduled('replaced'))
    await promise
    assert.equal(await read('replaced'), 'in time')
    assert.equal(await read('cancelled'), undefined)
    assert.equal(shard.timer.isScheduled('replaced'), false)
    shard.timer.schedule('late', 1, () => put('late', 'never'))
    runtime.close()
    assert.equal(shard.timer.isScheduled('late'), false)
  })

  it('skips records of kinds that it does not know, and transaction markers', async () => {
    await write('unknown-1', 'x')
    await write('a', '1')
    await restart()
    assert.deepEqual([...(await active()).values], [['a', '1']])
  })

  it('does not answer from a partition that it can not read', async () => {
    await write('broken', 'x')
    await write('a', '1')
    runtime.close()
    timers.close()
    const disk = cluster.disk.powerLoss()
    cluster.abandon()
    const whenActive = start(disk)
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal([...runtime.shards()].length, 0)
    assert.equal(runtime.stats.failedLoadCount, 1)
    await assert.rejects(read('a'), { code: ErrorCode.COORDINATOR_NOT_AVAILABLE })
    void whenActive
  })
})
