/**
 * Control records: the markers that end a transaction in a partition (KIP-98). A control batch holds one; its key is
 * `version int16, type int16`, its value `version int16, coordinatorEpoch int32`.
 */
import { encodeBatch } from './encode-batch.ts'
import { RecordCursor } from './record.ts'
import { RecordsError } from './records-error.ts'

const TYPE_ABORT = 0
const TYPE_COMMIT = 1
const KEY_BYTES = 4
const VALUE_BYTES = 6

export interface EndTransactionMarker {
  readonly type: 'ABORT' | 'COMMIT'
  readonly coordinatorEpoch: number
}

/** The batch of one marker, as the leader of the partition appends it. */
export function encodeEndTransactionMarker(options: {
  readonly marker: EndTransactionMarker
  readonly producerId: number
  readonly producerEpoch: number
  readonly timestamp: number
  readonly baseOffset?: number
  readonly partitionLeaderEpoch?: number
}): Buffer {
  const { marker, timestamp, ...batch } = options
  const key = Buffer.alloc(KEY_BYTES)
  key.writeInt16BE(marker.type === 'COMMIT' ? TYPE_COMMIT : TYPE_ABORT, 2)
  const value = Buffer.alloc(VALUE_BYTES)
  value.writeInt32BE(marker.coordinatorEpoch, 2)
  return encodeBatch({ ...batch, records: [{ timestamp, key, value }], isTransactional: true, isControl: true })
}

/**
 * The marker in the control batch at `position` with its timestamp; undefined for a batch without records (compaction
 * has removed the transaction) and for control records of other kinds (Raft's, in logs that Kafka wrote).
 *
 * @throws {@link RecordsError} `INVALID_RECORD` for a malformed one.
 */
export function readEndTransactionMarker(
  buffer: Buffer,
  position: number,
): { readonly marker: EndTransactionMarker; readonly timestamp: number } | undefined {
  const cursor = RecordCursor.of(buffer, position)
  if (!cursor.next()) return undefined
  const key = cursor.key()
  const value = cursor.value()
  if (key === null || key.length < KEY_BYTES || key.readInt16BE(0) < 0) {
    throw new RecordsError('INVALID_RECORD', 'a control record has a malformed key')
  }
  const type = key.readInt16BE(2)
  if (type !== TYPE_ABORT && type !== TYPE_COMMIT) return undefined
  if (value === null || value.length < VALUE_BYTES || value.readInt16BE(0) < 0) {
    throw new RecordsError('INVALID_RECORD', 'an end transaction marker has a malformed value')
  }
  const marker: EndTransactionMarker = {
    type: type === TYPE_COMMIT ? 'COMMIT' : 'ABORT',
    coordinatorEpoch: value.readInt32BE(2),
  }
  return { marker, timestamp: cursor.timestamp }
}
