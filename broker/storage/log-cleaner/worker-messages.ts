/** What the cleaner's thread is asked and answers. Buffers travel as their memory, which changes hands. */
import type { BeginFilter, BeginPass, FilterChunk, FilteredChunk, IndexChunk, IndexedChunk } from './cleaner-kernel.ts'

/** The memory of a chunk, and how much of it is the chunk. */
export interface SentChunk {
  readonly memory: ArrayBuffer
  readonly length: number
}

export type CleanerRequest =
  | { readonly kind: 'begin'; readonly pass: BeginPass }
  | { readonly kind: 'index'; readonly sent: SentChunk; readonly request: Omit<IndexChunk, 'chunk'> }
  | { readonly kind: 'beginFilter'; readonly rules: BeginFilter }
  | { readonly kind: 'filter'; readonly sent: SentChunk; readonly request: Omit<FilterChunk, 'chunk'> }
  | { readonly kind: 'end' }

export type CleanerAnswer =
  | { readonly kind: 'done' }
  | { readonly kind: 'indexed'; readonly result: IndexedChunk; readonly memory: ArrayBuffer }
  | {
      readonly kind: 'filtered'
      readonly result: Omit<FilteredChunk, 'output'>
      readonly output: ArrayBuffer
      readonly memory: ArrayBuffer
    }
  | { readonly kind: 'failed'; readonly message: string }
