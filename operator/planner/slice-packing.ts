import { MAX_ENTRIES_PER_SLICE } from '../../crds/partition-slice.ts'

/**
 * Which slice a new entry goes to. Pure and deterministic. Entries are packed by their preferred leader, so that a slice
 * has about one writer; room in existing slices is used before new ones are made.
 */
export class SlicePacker {
  /** Entries by slice, those included that are recorded but not born yet. */
  readonly #used: Map<string, number>
  /** By preferred leader: the ordinal below which every slice is known to be full. */
  readonly #firstOpen = new Map<number, number>()

  constructor(used: ReadonlyMap<string, number>) {
    this.#used = new Map(used)
  }

  /** Takes a place for an entry with this preferred leader and returns its slice's name. */
  allocate(preferredLeader: number): string {
    for (let ordinal = this.#firstOpen.get(preferredLeader) ?? 0; ; ordinal++) {
      const name = sliceName(preferredLeader, ordinal)
      if (this.hasRoom(name)) {
        this.#firstOpen.set(preferredLeader, ordinal)
        this.#used.set(name, (this.#used.get(name) ?? 0) + 1)
        return name
      }
    }
  }

  hasRoom(name: string): boolean {
    return (this.#used.get(name) ?? 0) < MAX_ENTRIES_PER_SLICE
  }

  /** Whether all that was taken in the slice fits into it. */
  isWithin(name: string): boolean {
    return (this.#used.get(name) ?? 0) <= MAX_ENTRIES_PER_SLICE
  }
}

export function sliceName(preferredLeader: number, ordinal: number): string {
  return `broker-${preferredLeader}-${ordinal}`
}
