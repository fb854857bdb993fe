/** The segments of one log in offset order; never empty. The last one is active: it alone grows. */
import { invariant } from '../../common/invariant.ts'
import type { LogSegment } from './log-segment.ts'

export class LogSegments {
  #segments: LogSegment[]

  constructor(segments: readonly LogSegment[]) {
    invariant(segments.length > 0, 'a log has at least one segment')
    this.#segments = [...segments]
  }

  get count(): number {
    return this.#segments.length
  }

  get active(): LogSegment {
    const active = this.#segments.at(-1)
    invariant(active !== undefined, 'a log has at least one segment')
    return active
  }

  get first(): LogSegment {
    const first = this.#segments[0]
    invariant(first !== undefined, 'a log has at least one segment')
    return first
  }

  get sizeBytes(): number {
    let total = 0
    for (const segment of this.#segments) total += segment.sizeBytes
    return total
  }

  /** Ascending. Not to be kept: it changes with the log. */
  all(): readonly LogSegment[] {
    return this.#segments
  }

  baseOffsets(): number[] {
    return this.#segments.map((segment) => segment.baseOffset)
  }

  /** The last segment that starts at or before `offset`. */
  floor(offset: number): LogSegment | undefined {
    return this.#segments[this.#floorIndex(offset)]
  }

  /** The segment after `segment`. */
  next(segment: LogSegment): LogSegment | undefined {
    return this.#segments[this.#floorIndex(segment.baseOffset) + 1]
  }

  /** The segments that may hold `offset` and what follows. */
  from(offset: number): LogSegment[] {
    return this.#segments.slice(Math.max(this.#floorIndex(offset), 0))
  }

  push(segment: LogSegment): void {
    invariant(segment.baseOffset > this.active.baseOffset, 'segments are in offset order')
    this.#segments.push(segment)
  }

  /** Takes out the active segment; the one before becomes active. */
  removeActive(): void {
    invariant(this.#segments.length > 1, 'a log has at least one segment')
    this.#segments.pop()
  }

  /** Takes out the first `count` segments. */
  removeFirst(count: number): LogSegment[] {
    invariant(count < this.#segments.length, 'a log has at least one segment')
    const removed = this.#segments.slice(0, count)
    this.#segments = this.#segments.slice(count)
    return removed
  }

  /** Whether these are segments of the log, one after the other, none of them active. */
  hasInactiveRun(run: readonly LogSegment[]): boolean {
    const first = this.#segments.findIndex((segment) => segment === run[0])
    const isRun = first >= 0 && run.every((segment, i) => this.#segments[first + i] === segment)
    return isRun && first + run.length < this.#segments.length
  }

  /** Puts one segment in the place of a run of others; see {@link hasInactiveRun}. */
  replaceRun(run: readonly LogSegment[], segment: LogSegment): void {
    invariant(this.hasInactiveRun(run), 'what is replaced is there, and is not active')
    const first = this.#segments.findIndex((each) => each === run[0])
    this.#segments = [...this.#segments.slice(0, first), segment, ...this.#segments.slice(first + run.length)]
  }

  replaceAll(segment: LogSegment): void {
    this.#segments = [segment]
  }

  #floorIndex(offset: number): number {
    let low = 0
    let high = this.#segments.length - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      if ((this.#segments[middle]?.baseOffset ?? Infinity) <= offset) low = middle + 1
      else high = middle - 1
    }
    return high
  }
}
