import type { Clock } from './clock.ts'
import { invariant } from './invariant.ts'
import type { TimerHandle, Timers } from './timers.ts'

/** What `setTimeout` takes. */
const MAX_TIMEOUT_MS = 0x7fffffff

/**
 * A hashed timing wheel: everything that waits in a process (delayed fetches, produce acknowledgements, periodic
 * tasks) hangs on one wheel with one system timer behind it. Scheduling and cancelling are O(1); the system timer is
 * armed only for the next occupied slot, so an idle process does not tick.
 *
 * A timer fires in the first tick at or after its deadline: never early, late by at most about one tick.
 */
export class TimingWheel implements Timers {
  readonly #clock: Clock
  readonly #tickMs: number
  /** Sentinels of circular doubly linked lists, one a slot. */
  readonly #slots: Entry[] = []
  readonly #startMs: number
  /** All ticks below this one have been fired. */
  #nextTick = 0
  #size = 0
  #armedTick = Infinity
  #timeout: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(clock: Clock, { tickMs = 4, slotCount = 1024 }: { tickMs?: number; slotCount?: number } = {}) {
    invariant((slotCount & (slotCount - 1)) === 0, 'slotCount must be a power of two')
    this.#clock = clock
    this.#tickMs = tickMs
    this.#startMs = clock.monotonicMs()
    for (let i = 0; i < slotCount; i++) this.#slots.push(new Entry(this, -1, undefined))
  }

  /** Timers that wait. */
  get size(): number {
    return this.#size
  }

  schedule(delayMs: number, fire: () => void): TimerHandle {
    invariant(!this.#isClosed, 'the timing wheel is closed')
    invariant(delayMs >= 0 && Number.isFinite(delayMs), `a delay must be finite and not negative, not ${delayMs}`)
    const deadlineMs = this.#clock.monotonicMs() - this.#startMs + delayMs
    const tick = Math.max(this.#nextTick, Math.ceil(deadlineMs / this.#tickMs))
    const entry = new Entry(this, tick, fire)
    entry.insertBefore(this.#slotOf(tick))
    this.#size++
    if (tick < this.#armedTick) this.#arm(tick)
    return entry
  }

  /** Cancels all timers. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timeout)
    for (const slot of this.#slots) while (slot.next !== slot) slot.next.cancel()
  }

  /** Called by an entry that leaves the wheel. */
  removed(): void {
    this.#size--
  }

  #slotOf(tick: number): Entry {
    const slot = this.#slots[tick & (this.#slots.length - 1)]
    invariant(slot !== undefined, 'a slot exists for each tick')
    return slot
  }

  #arm(tick: number): void {
    clearTimeout(this.#timeout)
    this.#armedTick = tick
    const delayMs = this.#startMs + tick * this.#tickMs - this.#clock.monotonicMs()
    // Longer than the system's timers can: the wheel then wakes in vain, and waits on.
    this.#timeout = setTimeout(() => this.#advance(), Math.min(MAX_TIMEOUT_MS, Math.max(0, Math.ceil(delayMs))))
  }

  #advance(): void {
    this.#armedTick = Infinity
    const nowTick = Math.floor((this.#clock.monotonicMs() - this.#startMs) / this.#tickMs)
    const due: Entry[] = []
    const lastTick = Math.min(nowTick, this.#nextTick + this.#slots.length - 1)
    for (let tick = this.#nextTick; tick <= lastTick; tick++) {
      const slot = this.#slotOf(tick)
      for (let entry = slot.next; entry !== slot; entry = entry.next) if (entry.tick <= nowTick) due.push(entry)
    }
    this.#nextTick = Math.max(this.#nextTick, nowTick + 1)
    due.sort((a, b) => a.tick - b.tick)
    try {
      for (const entry of due) entry.fireOnce()
    } finally {
      this.#armNext()
    }
  }

  #armNext(): void {
    if (this.#size === 0 || this.#isClosed) return
    for (let tick = this.#nextTick; tick < this.#nextTick + this.#slots.length; tick++) {
      const slot = this.#slotOf(tick)
      // An entry of a later round wakes the wheel in vain once a round, which costs less than looking at each entry here.
      if (slot.next !== slot) {
        if (tick < this.#armedTick) this.#arm(tick)
        return
      }
    }
  }
}

class Entry implements TimerHandle {
  readonly #wheel: TimingWheel
  readonly tick: number
  #fire: (() => void) | undefined
  previous: Entry = this
  next: Entry = this

  constructor(wheel: TimingWheel, tick: number, fire: (() => void) | undefined) {
    this.#wheel = wheel
    this.tick = tick
    this.#fire = fire
  }

  insertBefore(other: Entry): void {
    this.previous = other.previous
    this.next = other
    other.previous.next = this
    other.previous = this
  }

  cancel(): void {
    if (this.#fire === undefined) return
    this.#fire = undefined
    this.previous.next = this.next
    this.next.previous = this.previous
    this.#wheel.removed()
  }

  fireOnce(): void {
    const fire = this.#fire
    if (fire === undefined) return
    this.cancel()
    fire()
  }
}
