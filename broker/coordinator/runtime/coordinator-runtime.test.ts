import assert from 'node:assert/strict'
import { systemClock } from '../../../common/clock.ts'
import { silentLogger, type Logger } from '../../../common/logger.ts'
import { MemoryDisk } from '../../../common/testing/memory-disk.ts'
import { TimingWheel } from '../../../common/timing-wheel.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import { encodeBatch } from '../../protocol/records/encode-batch.ts'
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
    if (key.startsWith('poison')) throw new RangeError('what replay does not take')
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
  let logged: { level: string; text: string }[]

  const logger: Logger = {
    ...silentLogger,
    info: () => undefined,
    warn: (_fields, text) => void logged.push({ level: 'warn', text }),
    error: (_fields, text) => void logged.push({ level: 'error', text }),
  }

  async function open(disk = new MemoryDisk({ folders: ['/data'] }), partitionCount = 1): Promise<void> {
    cluster = await TestCluster.start({ disk })
    logged = []
    timers = new TimingWheel(systemClock)
    shards = []
    runtime = new CoordinatorRuntime({
      topicName: TOPIC,
      replicas: cluster.broker.replicas,
      clock: systemClock,
      timers,
      logger,
      serde,
      createShard: (timer) => {
        const shard = new MapShard(timer)
        shards.push(shard)
        return shard
      },
    })
    if (cluster.broker.metadata.topic(TOPIC) === undefined)
      await cluster.createTopic(TOPIC, { partitions: partitionCount })
  }

  async function start(disk?: MemoryDisk): Promise<void> {
    await open(disk)
    runtime.start()
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

  /** The machine loses power, and the next process has what is left. */
  async function reopen(): Promise<void> {
    runtime.close()
    timers.close()
    const disk = cluster.disk.powerLoss()
    cluster.abandon()
    await open(disk)
  }

  async function restart(): Promise<void> {
    await reopen()
    runtime.start()
    await active()
  }

  /** Resolves once `holds` does. */
  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1))
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

  it('passes on the errors of an operation, and hides, but logs, what nobody foresaw', async () => {
    const failing = (error: Error): Promise<unknown> =>
      runtime.write(0, TIMEOUT_MS, () => {
        throw error
      })
    await assert.rejects(failing(new KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)), { code: ErrorCode.UNKNOWN_MEMBER_ID })
    assert.deepEqual(logged, [])
    await assert.rejects(failing(new RangeError('unforeseen')), { code: ErrorCode.UNKNOWN_SERVER_ERROR })
    assert.deepEqual(logged, [{ level: 'error', text: "a coordinator's operation failed" }])
    assert.equal(await write('a', '1'), 'a put')
  })

  it('loads again when a replay fails, without what was not appended', async () => {
    await write('a', '1')
    const shard = await active()
    const other = assert.rejects(write('b', '1'), { code: ErrorCode.NOT_COORDINATOR })
    const records = [
      { key: 'c', value: '1' },
      { key: 'poison', value: '1' },
    ]
    await assert.rejects(
      runtime.write(0, TIMEOUT_MS, () => ({ records, reply: undefined })),
      { code: ErrorCode.UNKNOWN_SERVER_ERROR },
    )
    await other
    assert.equal(shard.unloadedWith, ErrorCode.NOT_COORDINATOR)
    assert.equal(runtime.stats.lostStateCount, 1)
    assert.deepEqual([...(await active()).values], [['a', '1']])
  })

  it('loads again when its records got other offsets than it replayed', async () => {
    const partition = log()
    assert.ok(partition)
    partition.appendAsLeader(encodeBatch({ records: [{ timestamp: 0, key: 'x', value: '1' }] }), -1, {
      origin: 'coordinator',
    })
    await assert.rejects(write('a', '1'), { code: ErrorCode.NOT_COORDINATOR })
    assert.equal(runtime.stats.lostStateCount, 1)
    const shard = await active()
    assert.deepEqual(
      [...shard.values],
      [
        ['x', '1'],
        ['a', '1'],
      ],
    )
    assert.equal(await write('b', '1'), 'b put')
  })

  it('tells everybody, though one of them can not be told', async () => {
    const failing = runtime.write(0, TIMEOUT_MS, () => ({
      ...put('a', '1'),
      whenSettled: () => {
        throw new RangeError('not listening')
      },
    }))
    assert.deepEqual(await Promise.all([failing, write('b', '1')]), ['a put', 'b put'])
    assert.deepEqual(logged, [{ level: 'error', text: 'a coordinator failed to tell a client' }])
  })

  it('gives up waiting in time, while the records stay', async () => {
    const partition = log()
    assert.ok(partition)
    const held: (() => void)[] = []
    const whenCommitted = partition.whenCommitted.bind(partition)
    partition.whenCommitted = (...args) => void held.push(() => whenCommitted(...args))
    const settled: number[] = []
    await assert.rejects(
      runtime.write(0, 5, () => ({ ...put('a', '1'), whenSettled: (code) => void settled.push(code) })),
      { code: ErrorCode.COORDINATOR_NOT_AVAILABLE },
    )
    assert.deepEqual(settled, [])
    partition.whenCommitted = whenCommitted
    for (const release of held) release()
    assert.equal(await read('a'), '1')
    assert.deepEqual(settled, [ErrorCode.NONE])
  })

  it('has nothing appended while too few replicas are in sync, and keeps its state', async () => {
    const partition = log()
    assert.ok(partition)
    const end = partition.log.nextOffset
    Object.defineProperty(partition, 'isUnderMinIsr', { value: true, configurable: true })
    await assert.rejects(write('a', '1'), { code: ErrorCode.COORDINATOR_NOT_AVAILABLE })
    assert.equal(partition.log.nextOffset, end)
    Reflect.deleteProperty(partition, 'isUnderMinIsr')
    assert.equal(await write('b', '1'), 'b put')
    assert.deepEqual([...(await active()).values], [['b', '1']])
    assert.equal(runtime.stats.lostStateCount, 0)
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

  it('tries a timer again that was refused, unless it was set anew', async () => {
    const shard = await active()
    const partition = log()
    assert.ok(partition)
    Object.defineProperty(partition, 'isUnderMinIsr', { value: true, configurable: true })
    const runs = { refused: 0, replaced: 0 }
    const { promise, resolve } = Promise.withResolvers<undefined>()
    shard.timer.schedule('refused', 1, () => {
      runs.refused++
      return { ...put('refused', '1'), whenSettled: (code) => code === ErrorCode.NONE && resolve(undefined) }
    })
    shard.timer.schedule('replaced', 1, () => {
      runs.replaced++
      shard.timer.schedule('replaced', 60_000, () => put('replaced', 'late'))
      return put('replaced', '1')
    })
    await until(() => runs.refused + runs.replaced === 2)
    Reflect.deleteProperty(partition, 'isUnderMinIsr')
    await promise
    assert.deepEqual(runs, { refused: 2, replaced: 1 })
    assert.deepEqual([...shard.values], [['refused', '1']])
    assert.ok(shard.timer.isScheduled('replaced'))
  })

  it('loses nothing that it replied to, whenever power is lost', async function () {
    this.timeout(60_000)
    for (let operations = 1; operations <= 60; operations += 7) {
      runtime.close()
      timers.close()
      await cluster.close()
      let left = Infinity
      const disk = new MemoryDisk({ folders: ['/data'], fault: () => (left-- === 0 ? 'crash-before' : undefined) })
      await start(disk)
      left = operations
      const replied = new Map<string, string>()
      for (let i = 0; i < 400 && left >= 0; i++) {
        const value = String(i)
        void write(`k${i % 20}`, value).then(
          () => replied.set(`k${i % 20}`, value),
          () => undefined,
        )
        await new Promise((resolve) => setImmediate(resolve))
      }
      assert.ok(left < 0, 'the power was lost while records were written')
      await restart()
      const { values } = await active()
      for (const [key, value] of replied)
        assert.ok(Number(values.get(key)) >= Number(value), `${key}: ${values.get(key) ?? 'nothing'} for ${value}`)
    }
  })

  it('answers only when what it has loaded is committed, and holds no other load up', async () => {
    await reopen()
    runtime.close()
    await cluster.close()
    await open(undefined, 6)
    const held: (() => void)[] = []
    for (let index = 0; index < 5; index++) {
      const partition = cluster.broker.replicas.partition(TOPIC, index)
      assert.ok(partition)
      const whenCommitted = partition.whenCommitted.bind(partition)
      partition.whenCommitted = (...args) => void held.push(() => whenCommitted(...args))
    }
    runtime.start()
    await until(() => runtime.shardCounts.active === 1)
    assert.deepEqual(
      [...runtime.shards()].map(([index]) => index),
      [5],
    )
    await assert.rejects(read('a'), { code: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS })
    await assert.rejects(
      runtime.readAll(TIMEOUT_MS, () => 0),
      { code: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS },
    )
    for (const release of held) release()
    await until(() => runtime.shardCounts.active === 6)
    assert.deepEqual(await runtime.readAll(TIMEOUT_MS, (shard) => shard.loadedCount), [1, 1, 1, 1, 1, 1])
    assert.deepEqual(runtime.shardCounts, { loading: 0, active: 6, failed: 0 })
    assert.equal(runtime.stats.loadCount, 6)
  })

  it('gives a load up when the leadership ends', async () => {
    await reopen()
    const partition = log()
    assert.ok(partition)
    const { promise: asked, resolve } = Promise.withResolvers<undefined>()
    const whenCommitted = partition.whenCommitted.bind(partition)
    partition.whenCommitted = (_offset, waiter) => {
      // Never reached, as without enough replicas.
      whenCommitted(Infinity, waiter)
      resolve(undefined)
    }
    runtime.start()
    await asked
    cluster.broker.replicas.close()
    await new Promise((tick) => setImmediate(tick))
    await assert.rejects(read('a'), { code: ErrorCode.NOT_COORDINATOR })
    assert.equal(shards[0]?.loadedCount, 0)
    assert.equal(runtime.stats.failedLoadCount, 0)
  })

  it('loads what is spread over many batches, some of them compressed', async () => {
    const partition = log()
    assert.ok(partition)
    runtime.close()
    const end = 3000
    for (let at = partition.log.nextOffset; at < end;) {
      const records = Array.from({ length: Math.min(1 + (at % 13), end - at) }, (_, i) => ({
        timestamp: 0,
        key: `k${at + i}`,
        value: 'v',
      }))
      const batch = encodeBatch({ records, compression: at % 3 === 0 ? 'gzip' : 'none' })
      assert.ok(partition.appendAsLeader(batch, -1, { origin: 'coordinator' }).ok)
      at += records.length
    }
    await until(() => partition.highWatermark === end)
    await restart()
    const { values, offsets } = await active()
    assert.equal(values.size, end)
    assert.deepEqual(
      offsets,
      Array.from({ length: end }, (_, i) => i),
    )
  })

  it('skips records of kinds that it does not know, and transaction markers', async () => {
    await write('unknown-1', 'x')
    await write('a', '1')
    const partition = log()
    assert.ok(partition)
    const marker = encodeBatch({
      records: [{ timestamp: 0, key: Buffer.from([0, 0, 0, 1]), value: Buffer.from([0, 0, 0, 0, 0, 0]) }],
      producerId: 7,
      producerEpoch: 0,
      isTransactional: true,
      isControl: true,
    })
    assert.ok(partition.appendAsLeader(marker, -1, { origin: 'coordinator' }).ok)
    await restart()
    assert.deepEqual([...(await active()).values], [['a', '1']])
    assert.equal(await write('b', '1'), 'b put')
  })

  it('does not answer from a partition that it can not read, and says where', async () => {
    await write('broken', 'x')
    await write('a', '1')
    await reopen()
    runtime.start()
    await until(() => runtime.stats.failedLoadCount === 1)
    assert.deepEqual(runtime.shardCounts, { loading: 0, active: 0, failed: 1 })
    assert.deepEqual(
      logged.map(({ level }) => level),
      ['error'],
    )
    await assert.rejects(read('a'), { code: ErrorCode.COORDINATOR_NOT_AVAILABLE })
  })
})
