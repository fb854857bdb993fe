/**
 * The cleaner's thread: answers one request after the other with a {@link CleanerKernel}. Where the system allows it, it
 * has a lower priority than the rest of the broker, so that on busy cores clients are served first.
 */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { invariant } from '../../../common/invariant.ts'
import { CleanerKernel } from './cleaner-kernel.ts'
import type { CleanerAnswer, CleanerRequest, SentChunk } from './worker-messages.ts'

/** About a third of the share that a thread of normal priority gets of a busy core. */
const NICENESS = 5

const port = parentPort
invariant(port !== null, 'the cleaner runs as a thread')
const kernel = new CleanerKernel()
lowerPriority()

port.on('message', (request: CleanerRequest) => {
  let answer: CleanerAnswer
  try {
    answer = answerOf(request)
  } catch (error) {
    answer = { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
  port.postMessage(answer, memoryOf(answer))
})

/** Linux has priorities of threads, and names the calling one in /proc. */
function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    const [, threadId] = /\/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self')) ?? []
    if (threadId !== undefined) setPriority(Number(threadId), NICENESS)
  } catch {
    // Without /proc, or in a sandbox that forbids it, it runs like the others.
  }
}

function answerOf(request: CleanerRequest): CleanerAnswer {
  switch (request.kind) {
    case 'begin':
      kernel.begin(request.pass)
      return { kind: 'done' }
    case 'index': {
      const result = kernel.index({ ...request.request, chunk: chunkOf(request.sent) })
      return { kind: 'indexed', result, memory: request.sent.memory }
    }
    case 'beginFilter':
      kernel.beginFilter(request.rules)
      return { kind: 'done' }
    case 'filter': {
      const { output, ...result } = kernel.filter({ ...request.request, chunk: chunkOf(request.sent) })
      // The kernel makes each output in memory of its own.
      return { kind: 'filtered', result, output: output.buffer as ArrayBuffer, memory: request.sent.memory }
    }
    case 'end':
      kernel.end()
      return { kind: 'done' }
  }
}

function chunkOf({ memory, length }: SentChunk): Buffer {
  return Buffer.from(memory, 0, length)
}

function memoryOf(answer: CleanerAnswer): ArrayBuffer[] {
  if (answer.kind === 'indexed') return [answer.memory]
  return answer.kind === 'filtered' ? [answer.output, answer.memory] : []
}
