// What the JavaScript clients share: one JSON request a line on standard input, one JSON answer a line on standard
// output (the requests are described in e2e/interop/client.ts), and the JSON form of keys, values and headers.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const WHOLE_VALUE_BYTES = 65536

/** Loads a client from the folder in which e2e/setup.ts installed them. */
export const requireClient = createRequire(join(process.env.OTTLA_E2E_CLIENTS, 'from-here.js'))

/** null, base64, or { file } -> Buffer or null */
export function toBytes(value) {
  if (value === null || value === undefined) return null
  return typeof value === 'object' ? readFileSync(value.file) : Buffer.from(value, 'base64')
}

/** Buffer or null -> base64, or a digest when it is large, or null */
export function toText(bytes) {
  if (bytes === null || bytes === undefined) return null
  if (bytes.length <= WHOLE_VALUE_BYTES) return Buffer.from(bytes).toString('base64')
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}:${bytes.length}`
}

/** An error with the name of Kafka's error code. */
export class KafkaCodeError extends Error {
  constructor(kafka, message) {
    super(message)
    this.kafka = kafka
  }
}

/** Answers requests one after the other until standard input ends; `describeError(error)` names Kafka's error. */
export async function serve(operations, describeError, close) {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line)
    let answer
    try {
      const operation = operations[request.op]
      if (operation === undefined) throw new Error(`this client has no operation ${request.op}`)
      answer = { id: request.id, ok: (await operation(request)) ?? {} }
    } catch (error) {
      answer = { id: request.id, error: { kafka: describeError(error), message: String(error?.message ?? error) } }
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`)
  }
  await close()
  process.exit(0)
}
