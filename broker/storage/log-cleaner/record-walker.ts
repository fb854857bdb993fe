/**
 * Walks the uncompressed records of a batch for the cleaner: where each lies and what decides about it, with nothing
 * allocated per record. The records were checked when they were appended; here only what keeps the walk within them is.
 */
import { RecordsError } from '../../protocol/records/records-error.ts'
import { readVarint, readVarlong, varintEnd } from '../../protocol/records/varint.ts'

export class RecordWalker {
  #records: Buffer = Buffer.alloc(0)
  #remaining = 0
  /** The bytes of the current record: length and all. */
  start = 0
  end = 0
  /** After the length: the attributes byte. */
  bodyStart = 0
  timestampDelta = 0
  offsetDelta = 0
  /** Where the offset delta begins: what follows is the same whatever base timestamp the batch has. */
  offsetDeltaStart = 0
  keyStart = 0
  /** -1 for null. */
  keyLength = -1
  hasValue = false

  begin(records: Buffer, count: number): void {
    this.#records = records
    this.#remaining = count
    this.end = 0
  }

  /** Moves to the next record; false after the last. @throws {@link RecordsError} `INVALID_RECORD`. */
  next(): boolean {
    if (this.#remaining === 0) return false
    this.#remaining--
    const records = this.#records
    this.start = this.end
    const length = readVarint(records, this.start)
    this.bodyStart = varintEnd
    this.end = varintEnd + length
    if (length < 0 || this.end > records.length) throw malformed()
    this.timestampDelta = readVarlong(records, this.bodyStart + 1)
    this.offsetDeltaStart = varintEnd
    this.offsetDelta = readVarint(records, varintEnd)
    this.keyLength = readVarint(records, varintEnd)
    this.keyStart = varintEnd
    const valueAt = this.keyStart + Math.max(this.keyLength, 0)
    this.hasValue = readVarint(records, valueAt) >= 0
    if (varintEnd > this.end) throw malformed()
    return true
  }
}

function malformed(): RecordsError {
  return new RecordsError('INVALID_RECORD', 'a record in a segment is malformed')
}
