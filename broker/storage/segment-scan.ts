/** Walks the batches of a segment file from a position on, chunk by chunk: recovery, index rebuild, searches. */
import type { DiskFile } from '../../common/disk.ts'
import * as recordBatch from '../protocol/records/record-batch.ts'
import { RecordsError } from '../protocol/records/records-error.ts'
import { readAt } from './disk-calls.ts'

const CHUNK_BYTES = 1024 * 1024

export interface ScanOptions {
  readonly fromPosition: number
  /** Bytes at and past this don't exist for the scan. */
  readonly endPosition: number
  readonly verifyCrc: boolean
  /**
   * Sees each whole batch: where it lies in `buffer` and in the file. False ends the scan before that batch. The buffer
   * is used again.
   */
  readonly visit: (buffer: Buffer, position: number, filePosition: number) => boolean
  /** Sees each run of accepted batches: views that are used again once the returned promise is resolved. */
  readonly visitRun?: (bytes: Buffer) => Promise<void>
}

export interface ScanResult {
  /** Where the last accepted batch ends. */
  readonly endPosition: number
  /** Whether that is the end asked for; if not, what follows is torn, corrupt or was refused by `visit`. */
  readonly isComplete: boolean
  /** What is wrong with the bytes that follow, if they are wrong. */
  readonly problem: string | undefined
}

export async function scanSegment(file: Pick<DiskFile, 'read'>, options: ScanOptions): Promise<ScanResult> {
  const { endPosition, verifyCrc, visit, visitRun } = options
  let filePosition = options.fromPosition
  let chunkBytes = Math.min(CHUNK_BYTES, Math.max(endPosition - filePosition, 0))
  let buffer = Buffer.allocUnsafeSlow(chunkBytes)
  while (filePosition < endPosition) {
    const wanted = Math.min(chunkBytes, endPosition - filePosition)
    const bytesRead = await readAt(file, buffer.subarray(0, wanted), filePosition)
    const chunk = buffer.subarray(0, bytesRead)
    let position = 0
    let problem: string | undefined
    let isStopped = false
    for (;;) {
      const end = tryBatchEnd(chunk, position)
      if (typeof end === 'string') {
        problem = end
        break
      }
      if (end < 0) break
      problem = checkBatch(chunk, position, verifyCrc)
      if (problem !== undefined) break
      isStopped = !visit(chunk, position, filePosition + position)
      if (isStopped) break
      position = end
    }
    if (position > 0 && visitRun !== undefined) await visitRun(chunk.subarray(0, position))
    filePosition += position
    if (problem !== undefined || isStopped) return { endPosition: filePosition, isComplete: false, problem }
    if (position > 0) continue
    // Not one whole batch in the chunk: either the file ends within it, or the batch is larger than the chunk.
    const missing = endPosition - filePosition
    const batchBytes = bytesRead >= recordBatch.LOG_OVERHEAD ? recordBatch.sizeInBytes(chunk, 0) : Infinity
    if (bytesRead < wanted || batchBytes > missing) {
      return { endPosition: filePosition, isComplete: false, problem: 'the last batch is incomplete' }
    }
    chunkBytes = Math.max(batchBytes, recordBatch.HEADER_SIZE_UP_TO_MAGIC)
    buffer = Buffer.allocUnsafeSlow(chunkBytes)
  }
  return { endPosition: filePosition, isComplete: true, problem: undefined }
}

function tryBatchEnd(chunk: Buffer, position: number): number | string {
  try {
    return recordBatch.batchEnd(chunk, position)
  } catch (error) {
    if (error instanceof RecordsError) return error.message
    throw error
  }
}

function checkBatch(chunk: Buffer, position: number, verifyCrc: boolean): string | undefined {
  if (recordBatch.magic(chunk, position) !== recordBatch.CURRENT_MAGIC) return 'a batch of an old format'
  if (recordBatch.sizeInBytes(chunk, position) < recordBatch.RECORD_BATCH_OVERHEAD) return 'a batch without a header'
  if (verifyCrc && !recordBatch.isValid(chunk, position)) return 'a batch with a wrong CRC'
  if (recordBatch.baseOffset(chunk, position) < 0 || recordBatch.lastOffsetDelta(chunk, position) < 0) {
    return 'a batch with a negative offset'
  }
  return undefined
}
