/** The cleaner's thread: answers one request after the other with a {@link CleanerKernel}. */
import { parentPort } from 'node:worker_threads'
import { invariant } from '../../../common/invariant.ts'
import { CleanerKernel } from './cleaner-kernel.ts'
import type { CleanerAnswer, CleanerRequest, SentChunk } from './worker-messages.ts'

const port = parentPort
invariant(port !== null, 'the cleaner runs as a thread')
const kernel = new CleanerKernel()

port.on('message', (request: CleanerRequest) => {
  let answer: CleanerAnswer
  try {
    answer = answerOf(request)
  } catch (error) {
    answer = { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
  port.postMessage(answer, memoryOf(answer))
})

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
