import { entryPointer, type PartitionEntry, type PartitionSlice } from '../../crds/partition-slice.ts'
import { StoreError, type PatchOperation, type ResourceStore } from '../../crds/resource-store.ts'
import type { SliceView } from './slice-view.ts'

/** All that is due for one slice, so that it goes in one patch. */
export interface SliceEdit {
  /** Raises the allocation epoch even if nothing is added or removed, so that a birth that is still on its way fails. */
  isBarrier: boolean
  readonly births: Map<string, PartitionEntry>
  /** Entries to remove, by key: only one of this topic id. */
  readonly removals: Map<string, string>
  /** Changed entries, by key: tested as they were read. */
  readonly changes: Map<string, { readonly from: PartitionEntry; readonly to: PartitionEntry }>
}

export type EditOutcome = 'applied' | 'again' | 'retry'

/** The edits of one pass, by slice. */
export class SliceEdits {
  readonly #edits = new Map<string, SliceEdit>()

  of(slice: string): SliceEdit {
    let edit = this.#edits.get(slice)
    if (edit === undefined) {
      edit = { isBarrier: false, births: new Map(), removals: new Map(), changes: new Map() }
      this.#edits.set(slice, edit)
    }
    return edit
  }

  get isEmpty(): boolean {
    return this.#edits.size === 0
  }

  /**
   * Applies each slice's edit as one patch, against the slices as `view`, which came from a consistent read, has them;
   * `view` learns the results. Answers what became of each slice's edit.
   */
  async apply(store: ResourceStore, namespace: string, view: SliceView): Promise<ReadonlyMap<string, EditOutcome>> {
    const outcomes = new Map<string, EditOutcome>()
    await Promise.all(
      [...this.#edits].map(async ([name, edit]) => {
        try {
          view.put(await applyEdit(store, { namespace, name }, edit, view.slice(name)))
          outcomes.set(name, 'applied')
        } catch (error) {
          outcomes.set(name, outcomeOf(error))
        }
      }),
    )
    return outcomes
  }
}

/**
 * What to do after a write failed: `again` where a test failed or the object is new or gone (re-read and re-decide),
 * `retry` where the store is not to be had or the outcome is unknown. Every write here tests what it was decided on, so
 * deciding again on what the store shows then is safe even if the lost write still lands. Throws what is no StoreError.
 */
export function outcomeOf(error: unknown): 'again' | 'retry' {
  if (!(error instanceof StoreError)) throw error
  return error.reason === 'UnknownOutcome' || error.reason === 'Unavailable' ? 'retry' : 'again'
}

async function applyEdit(
  store: ResourceStore,
  ref: { readonly namespace: string; readonly name: string },
  edit: SliceEdit,
  slice: PartitionSlice | undefined,
): Promise<PartitionSlice> {
  if (slice === undefined) {
    const spec = { allocationEpoch: 0, entries: Object.fromEntries(edit.births) }
    return await store.create({ kind: 'PartitionSlice', metadata: ref, spec })
  }
  return await store.patch('PartitionSlice', ref, operationsOf(edit, slice))
}

function operationsOf(edit: SliceEdit, slice: PartitionSlice): PatchOperation[] {
  const operations: PatchOperation[] = []
  if (edit.isBarrier || edit.births.size > 0 || edit.removals.size > 0) {
    const { allocationEpoch } = slice.spec
    const path = '/spec/allocationEpoch'
    operations.push({ op: 'test', path, value: allocationEpoch }, { op: 'replace', path, value: allocationEpoch + 1 })
  }
  for (const [key, { from, to }] of edit.changes) {
    operations.push({ op: 'test', path: entryPointer(key), value: from })
    operations.push({ op: 'replace', path: entryPointer(key), value: to })
  }
  for (const [key, topicId] of edit.removals) {
    operations.push({ op: 'test', path: `${entryPointer(key)}/topicId`, value: topicId })
    operations.push({ op: 'remove', path: entryPointer(key) })
  }
  for (const [key, entry] of edit.births) operations.push({ op: 'add', path: entryPointer(key), value: entry })
  return operations
}
