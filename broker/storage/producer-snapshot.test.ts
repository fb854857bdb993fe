import assert from 'node:assert/strict'
import { CorruptSnapshotError, decodeSnapshot, encodeSnapshot } from './producer-snapshot.ts'
import { ProducerStateEntry } from './producer-state.ts'

function producer(producerId: number, batchCount: number): ProducerStateEntry {
  const entry = new ProducerStateEntry(producerId)
  for (let i = 0; i < batchCount; i++)
    entry.addBatch(3, i * 10 + 9, producerId * 1000 + i * 10 + 9, 9, 1_700_000_000_000 + i)
  return entry
}

const KAFKA_BYTES_PER_PRODUCER = 46

describe('producer snapshots', () => {
  const entries = [producer(1, 5), producer(2, 1), producer(3, 0), producer(4, 2)]
  const file = encodeSnapshot(new Map(entries.map((entry) => [entry.producerId, entry])))

  it('hold all batches that a producer may repeat', () => {
    const decoded = decodeSnapshot(file)
    assert.deepEqual(
      decoded.map((entry) => entry.batches()),
      entries.map((entry) => entry.batches()),
    )
    assert.deepEqual(
      decoded.map(({ producerEpoch, lastTimestamp }) => [producerEpoch, lastTimestamp]),
      entries.map(({ producerEpoch, lastTimestamp }) => [producerEpoch, lastTimestamp]),
    )
  })

  it("end as Kafka's where no producer has older batches", () => {
    const single = encodeSnapshot(new Map([[2, producer(2, 1)]]))
    assert.equal(single.length, 10 + KAFKA_BYTES_PER_PRODUCER)
    assert.deepEqual(decodeSnapshot(single)[0]?.batches(), producer(2, 1).batches())
  })

  it('are refused when cut or damaged anywhere', () => {
    for (let length = 0; length < file.length; length++) {
      assert.throws(() => decodeSnapshot(file.subarray(0, length)), CorruptSnapshotError, `cut at ${length}`)
    }
    for (let position = 0; position < file.length; position++) {
      const damaged = Buffer.from(file)
      damaged[position] = (damaged[position] ?? 0) ^ 0x10
      assert.throws(() => decodeSnapshot(damaged), CorruptSnapshotError, `damaged at ${position}`)
    }
  })
})
