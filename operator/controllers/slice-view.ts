import { parsePartitionKey, type PartitionEntry, type PartitionSlice } from '../../crds/partition-slice.ts'
import type { WatchEvent } from '../../crds/resource-store.ts'

/** An entry and where it stands. */
export interface LocatedEntry {
  readonly key: string
  readonly partition: number
  readonly slice: string
  readonly entry: PartitionEntry
}

/**
 * The entries of all slices, indexed by topic. Kept up to date from a watch, it serves to notice work; a decision that
 * must be consistent is made on one that was built from a list ({@link SliceView.of}).
 */
export class SliceView {
  readonly #slices = new Map<string, PartitionSlice>()
  /** By topic name, by key and slice: an entry may stand, wrongly, in two slices. */
  readonly #topics = new Map<string, Map<string, LocatedEntry>>()

  static of(slices: readonly PartitionSlice[]): SliceView {
    const view = new SliceView()
    for (const slice of slices) view.put(slice)
    return view
  }

  /** Takes a watch event; returns the names of the topics whose entries changed. */
  apply(event: WatchEvent<'PartitionSlice'>): Set<string> {
    const changed = new Set<string>()
    switch (event.type) {
      case 'sync': {
        const present = new Set(event.items.map((slice) => slice.metadata.name))
        for (const name of [...this.#slices.keys()]) if (!present.has(name)) this.remove(name, changed)
        for (const slice of event.items) this.put(slice, changed)
        break
      }
      case 'put':
        this.put(event.object, changed)
        break
      case 'delete':
        this.remove(event.object.metadata.name, changed)
    }
    return changed
  }

  put(slice: PartitionSlice, changed?: Set<string>): void {
    const name = slice.metadata.name
    const before = this.#slices.get(name)?.spec.entries ?? {}
    this.#slices.set(name, slice)
    for (const key of Object.keys(before)) {
      if (slice.spec.entries[key] === undefined) this.#removeEntry(name, key, changed)
    }
    for (const [key, entry] of Object.entries(slice.spec.entries)) {
      // The local store shares what did not change.
      if (before[key] === entry) continue
      const parsed = parsePartitionKey(key)
      if (parsed === undefined) continue
      let topic = this.#topics.get(parsed.topicName)
      if (topic === undefined) {
        topic = new Map<string, LocatedEntry>()
        this.#topics.set(parsed.topicName, topic)
      }
      topic.set(`${key} ${name}`, { key, partition: parsed.partition, slice: name, entry })
      changed?.add(parsed.topicName)
    }
  }

  remove(name: string, changed?: Set<string>): void {
    for (const key of Object.keys(this.#slices.get(name)?.spec.entries ?? {})) this.#removeEntry(name, key, changed)
    this.#slices.delete(name)
  }

  slice(name: string): PartitionSlice | undefined {
    return this.#slices.get(name)
  }

  slices(): IterableIterator<PartitionSlice> {
    return this.#slices.values()
  }

  /** The entries under a topic's name, whatever their topic id, by partition and slice. */
  topic(topicName: string): LocatedEntry[] {
    return [...(this.#topics.get(topicName)?.values() ?? [])].sort(
      (a, b) => a.partition - b.partition || (a.slice < b.slice ? -1 : 1),
    )
  }

  #removeEntry(slice: string, key: string, changed: Set<string> | undefined): void {
    const parsed = parsePartitionKey(key)
    const topic = parsed === undefined ? undefined : this.#topics.get(parsed.topicName)
    if (parsed === undefined || topic === undefined) return
    topic.delete(`${key} ${slice}`)
    if (topic.size === 0) this.#topics.delete(parsed.topicName)
    changed?.add(parsed.topicName)
  }
}
