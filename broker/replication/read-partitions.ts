/** One pass over the partitions of a fetch: checks each, reads what there is within the limits. */
import { type Block, type Releasable, releaseAll } from '../../common/block-pool.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import type { FetchParams, FetchPartition, FetchPartitionResult } from './fetch-types.ts'
import type { Partition } from './partition.ts'
import type { ReadBudget } from './read-budget.ts'

export interface ReadPass {
  /** In the order of the requested partitions. */
  readonly results: readonly FetchPartitionResult[]
  readonly sizeBytes: number
  /** Whether something must be told at once: an error or a diverging epoch. */
  readonly isUrgent: boolean
  /** What the records lie in, and their share of the budget: to be released once they were sent. */
  readonly held: readonly Releasable[]
}

const NO_RECORDS: readonly Uint8Array[] = []
const NO_BLOCKS: readonly Block[] = []
const NO_TRANSACTIONS: FetchPartitionResult['abortedTransactions'] = []

/**
 * Reads in order until `params.maxBytes` are collected, or what the budget has left. The first partition that has data gives at least one batch,
 * however large (KIP-74). Calls `done` once, maybe before it returns.
 */
export function readPartitions(
  find: (topicName: string, partition: number) => Partition | number,
  wanted: readonly FetchPartition[],
  params: FetchParams,
  budget: ReadBudget,
  done: (pass: ReadPass) => void,
): void {
  const grant = budget.grant(params.maxBytes)
  const maxTotalBytes = grant.bytes
  const held: Releasable[] = [grant]
  const results: FetchPartitionResult[] = []
  let sizeBytes = 0
  let isUrgent = false
  const take = (result: FetchPartitionResult, blocks: readonly Block[]): void => {
    results.push(result)
    held.push(...blocks)
    sizeBytes += result.sizeBytes
    if (result.errorCode !== ErrorCode.NONE || result.divergingEpoch !== undefined) isUrgent = true
  }
  const next = (): void => {
    while (results.length < wanted.length) {
      const request = wanted[results.length]
      if (request === undefined) break
      let isInCall = true
      let isRead = false
      const maxBytes = Math.min(request.maxBytes, maxTotalBytes - sizeBytes)
      readPartition(find, request, params, maxBytes, sizeBytes === 0, (result, blocks = NO_BLOCKS) => {
        take(result, blocks)
        isRead = true
        if (!isInCall) next()
      })
      isInCall = false
      // The read went to the disk: its completion goes on from here.
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- set by the callback
      if (!isRead) return
    }
    grant.settle(sizeBytes)
    done({ results, sizeBytes, isUrgent, held })
  }
  next()
}

function readPartition(
  find: (topicName: string, partition: number) => Partition | number,
  request: FetchPartition,
  params: FetchParams,
  maxBytes: number,
  minOneMessage: boolean,
  done: (result: FetchPartitionResult, blocks?: readonly Block[]) => void,
): void {
  const partition = find(request.topicName, request.partition)
  if (typeof partition === 'number') {
    done(failedResult(partition))
    return
  }
  partition.stats.fetchRequests++
  const leaderError = checkReadable(partition, request)
  if (leaderError !== ErrorCode.NONE) {
    partition.stats.failedFetchRequests++
    done(failedResult(leaderError))
    return
  }
  const { log } = partition
  const divergingEpoch = findDivergence(partition, request)
  if (divergingEpoch !== undefined) {
    done({ ...emptyResult(partition), divergingEpoch })
    return
  }
  if (request.fetchOffset < log.logStartOffset || request.fetchOffset > log.logEndOffset) {
    partition.stats.failedFetchRequests++
    done({ ...emptyResult(partition), errorCode: ErrorCode.OFFSET_OUT_OF_RANGE })
    return
  }
  const upperBoundOffset = params.isReadCommitted ? log.lastStableOffset : log.highWatermark
  if (request.fetchOffset >= upperBoundOffset || (maxBytes <= 0 && !minOneMessage)) {
    done(emptyResult(partition))
    return
  }
  log.read(request.fetchOffset, { maxBytes, minOneMessage, upperBoundOffset }, (read) => {
    if (!read.ok) {
      partition.stats.failedFetchRequests++
      done({ ...emptyResult(partition), errorCode: read.errorCode })
      return
    }
    partition.stats.bytesOut += read.sizeBytes
    const result = { ...emptyResult(partition), records: read.buffers, sizeBytes: read.sizeBytes }
    if (!params.isReadCommitted || read.sizeBytes === 0) {
      done(result, read.blocks)
      return
    }
    log.abortedTransactions(request.fetchOffset, upperBoundOffset).then(
      (abortedTransactions) => done({ ...result, abortedTransactions }, read.blocks),
      () => {
        releaseAll(read.blocks)
        done({ ...emptyResult(partition), errorCode: ErrorCode.KAFKA_STORAGE_ERROR })
      },
    )
  })
}

function checkReadable(partition: Partition, request: FetchPartition): number {
  if (request.topicId !== undefined && partition.topicId !== request.topicId) return ErrorCode.INCONSISTENT_TOPIC_ID
  return partition.checkLeader(request.currentLeaderEpoch)
}

/** Where a reader whose last record has `lastFetchedEpoch` leaves this log, or undefined while it is on it. */
function findDivergence(partition: Partition, request: FetchPartition): FetchPartitionResult['divergingEpoch'] {
  if (request.lastFetchedEpoch < 0) return undefined
  const { leaderEpoch: epoch, endOffset } = partition.log.endOffsetForEpoch(request.lastFetchedEpoch)
  if (epoch < request.lastFetchedEpoch || endOffset < request.fetchOffset) return { epoch, endOffset }
  return undefined
}

function emptyResult(partition: Partition): FetchPartitionResult {
  const { log } = partition
  return {
    errorCode: ErrorCode.NONE,
    highWatermark: log.highWatermark,
    lastStableOffset: log.lastStableOffset,
    logStartOffset: log.logStartOffset,
    divergingEpoch: undefined,
    records: NO_RECORDS,
    sizeBytes: 0,
    abortedTransactions: NO_TRANSACTIONS,
  }
}

/** The result of a read whose records are not wanted any more. */
export function withoutRecords(result: FetchPartitionResult): FetchPartitionResult {
  return { ...result, records: NO_RECORDS, sizeBytes: 0 }
}

export function failedResult(errorCode: number): FetchPartitionResult {
  return {
    errorCode,
    highWatermark: -1,
    lastStableOffset: -1,
    logStartOffset: -1,
    divergingEpoch: undefined,
    records: NO_RECORDS,
    sizeBytes: 0,
    abortedTransactions: NO_TRANSACTIONS,
  }
}
