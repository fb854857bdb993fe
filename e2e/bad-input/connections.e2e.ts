/** Clients that are slow, many, greedy, or gone. */
import assert from 'node:assert/strict'
import { produceRequest, produceResponse } from '../../broker/protocol/messages/00-produce.ts'
import { fetchRequest } from '../../broker/protocol/messages/01-fetch.ts'
import { apiVersionsRequest } from '../../broker/protocol/messages/18-api-versions.ts'
import { encodeBatch } from '../../broker/protocol/records/encode-batch.ts'
import { SeededRandom, randomInt } from '../../common/random.ts'
import { sleep, waitFor } from '../lib/wait.ts'
import { frameOf, int32 } from './raw-client.ts'
import { TOPIC, world } from './world.ts'

function batch(valueBytes: number): Buffer {
  return encodeBatch({ records: [{ key: null, value: Buffer.alloc(valueBytes, 1), timestamp: Date.now() }] })
}

function produceFrame(id: number, records: Buffer): Buffer {
  return frameOf(
    produceRequest,
    9,
    { acks: -1, timeoutMs: 30_000, topicData: [{ name: TOPIC, partitionData: [{ records }] }] },
    id,
  )
}

function fetchFrame(id: number, maxWaitMs = 0): Buffer {
  const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 0x7fffffff }]
  return frameOf(
    fetchRequest,
    12,
    { maxBytes: 0x7fffffff, minBytes: 1, maxWaitMs, sessionEpoch: -1, topics: [{ topic: TOPIC, partitions }] },
    id,
  )
}

describe('connections', () => {
  it('answers 10,000 pipelined produce requests of a client that reads nothing until then', async () => {
    const client = await world().connect({ isPaused: true })
    const records = batch(100)
    const count = 10_000
    const sent = client.send(Buffer.concat(Array.from({ length: count }, (_, id) => produceFrame(id, records))))
    await sleep(1000)
    client.startReading()
    for (let id = 0; id < count; id++) assert.equal((await client.nextFrame(40_000))?.readInt32BE(0), id)
    await sent
    await world().expectProblems()
  })

  it('stops reading from a client that fetches and never reads', async () => {
    const writer = await world().connect()
    for (let i = 0; i < 20; i++) {
      await writer.call([produceRequest, produceResponse], 9, {
        acks: -1,
        timeoutMs: 30_000,
        topicData: [{ name: TOPIC, partitionData: [{ records: batch(1_000_000) }] }],
      })
    }
    const before = world().ottla.residentMib()
    const client = await world().connect({ isPaused: true })
    let isAllTaken = false
    const frames = Buffer.concat(Array.from({ length: 10_000 }, (_, id) => fetchFrame(id)))
    void client.send(Buffer.concat(Array.from({ length: 40 }, () => frames))).then(() => (isAllTaken = true))
    await sleep(2000)
    assert.equal(isAllTaken, false)
    const grown = world().ottla.residentMib() - before
    assert.ok(grown < 300, `${grown} MiB more`)
    await world().expectProblems()
  })

  it('lets those go that hold all memory and take nothing', async () => {
    // Each fetch is answered with 20 MB, of which the clients read nothing.
    const clients = await Promise.all(Array.from({ length: 30 }, () => world().connect({ isPaused: true })))
    await Promise.all(clients.map((client) => client.send(fetchFrame(1))))
    const other = await world().connect()
    await other.send(frameOf(apiVersionsRequest, 0, {}))
    assert.ok(await other.nextFrame())
    await sleep(500)
    assert.ok(world().ottla.residentMib() < 1000, `${world().ottla.residentMib()} MiB are resident`)
  })

  it('holds 2,000 idle connections', async () => {
    const before = world().ottla.residentMib()
    const clients = []
    for (let i = 0; i < 20; i++) {
      clients.push(...(await Promise.all(Array.from({ length: 100 }, () => world().connect()))))
    }
    const grown = world().ottla.residentMib() - before
    assert.ok(grown < 100, `2,000 connections take ${grown} MiB`)
    const last = clients.at(-1)
    assert.ok(last)
    await last.send(frameOf(apiVersionsRequest, 0, {}))
    assert.ok(await last.nextFrame())
    await world().expectProblems()
  })

  it('survives connections that come and go, in the middle of anything', async () => {
    const random = new SeededRandom(5)
    const frames = [produceFrame(1, batch(5000)), fetchFrame(2, 60_000), frameOf(apiVersionsRequest, 0, {})]
    for (let round = 0; round < 40; round++) {
      await Promise.all(
        Array.from({ length: 25 }, async () => {
          const client = await world().connect()
          const frame = frames[randomInt(random, 0, frames.length - 1)] ?? Buffer.alloc(0)
          await client.send(frame.subarray(0, randomInt(random, 0, frame.length)))
          const way = randomInt(random, 0, 2)
          if (way === 0) client.socket.resetAndDestroy()
          else if (way === 1) await client.close()
          else client.socket.end()
          await client.close()
        }),
      )
    }
    await world().expectProblems()
  })

  it('forgets parked fetches whose clients reset', async () => {
    for (let i = 0; i < 300; i++) {
      const client = await world().connect()
      const body = { maxWaitMs: 0x7fffffff, minBytes: 0x7fffffff, maxBytes: 0x7fffffff, sessionEpoch: -1 }
      const topics = [{ topic: TOPIC, partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 0x7fffffff }] }]
      await client.send(frameOf(fetchRequest, 12, { ...body, topics }))
      client.socket.resetAndDestroy()
    }
    await world().expectProblems()
  })

  it('bears many clients that send a byte now and then', async () => {
    const clients = await Promise.all(Array.from({ length: 200 }, () => world().connect()))
    const frame = frameOf(apiVersionsRequest, 0, {})
    for (const byte of frame) {
      await Promise.all(clients.map((client) => client.send(Buffer.from([byte]))))
      await sleep(10)
    }
    for (const client of clients) assert.ok(await client.nextFrame())
    await world().expectProblems()
  })

  it('lets go of the memory of clients that left half a frame', async () => {
    const clients = await Promise.all(Array.from({ length: 5 }, () => world().connect()))
    for (const client of clients) await client.send(Buffer.concat([int32(50_000_000), Buffer.alloc(20_000_000)]))
    await Promise.all(clients.map((client) => client.close()))
    const client = await world().connect()
    await client.send(Buffer.concat([int32(50_000_000), Buffer.alloc(20_000_000)]))
    await waitFor('the frame to wait', 5000, () => (client.isEnded ? undefined : true))
    await world().expectProblems()
  })
})
