/** Keeps the indexes of segments that grow no more in memory while they are used, within a budget for the whole broker. */
import type { LogSegment } from './log-segment.ts'

export class IndexCache {
  readonly #budgetBytes: number
  /** Loaded indexes with their sizes, the longest unused first. */
  readonly #segments = new Map<LogSegment, number>()
  #sizeBytes = 0

  constructor(budgetBytes: number) {
    this.#budgetBytes = budgetBytes
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  used(segment: LogSegment): void {
    const { indexes } = segment
    this.#sizeBytes -= this.#segments.get(segment) ?? 0
    this.#segments.delete(segment)
    if (indexes === undefined) return
    const bytes = indexes.offsetIndex.sizeBytes + indexes.timeIndex.sizeBytes
    this.#segments.set(segment, bytes)
    this.#sizeBytes += bytes
    for (const [oldest, oldestBytes] of this.#segments) {
      if (this.#sizeBytes <= this.#budgetBytes || oldest === segment) break
      this.#segments.delete(oldest)
      this.#sizeBytes -= oldestBytes
      oldest.releaseIndexes()
    }
  }
}
