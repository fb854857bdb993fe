/** kcat as an interop client: one run of the program for each thing asked. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { join } from 'node:path'

import { describeFailure, runProgram, runProgramOk } from '../lib/process.ts'
import {
  ClientError,
  type ClientTraits,
  type InteropClient,
  type JsonBytes,
  type ReadRecord,
  type ReadRequest,
  type WriteRequest,
} from './client.ts'

const wholeValueBytes = 65_536

/** Printed after each record's headers, which kcat shows as text of unknown length. */
const headerEnd = '<<end of headers>>'

/** kcat prints headers as text, so they are compared as text. */
export class KcatClient implements InteropClient {
  readonly traits: ClientTraits = {
    name: 'kcat',
    nullHeaderValues: false,
    emptyKeys: false,
    emptyValues: false,
    readsNullHeaderValues: true,
    idempotence: true,
    admin: false,
    manualAssignments: false,
    validateOnly: false,
    configs: false,
    maxTimestamp: false,
  }
  readonly #program: string
  readonly #bootstrap: string
  readonly #folder: string

  constructor(program: string, bootstrap: string, scratchFolder: string) {
    this.#program = program
    this.#bootstrap = bootstrap
    this.#folder = scratchFolder
  }

  /** Each record is one run of kcat, since key and headers are options that hold for a whole run. */
  async write(request: WriteRequest): Promise<number[]> {
    const folder = mkdtempSync(join(this.#folder, 'kcat-'))
    const offsets: number[] = []
    try {
      for (const [index, record] of request.records.entries()) {
        const args = ['-P', '-b', this.#bootstrap, '-t', request.topic, '-p', String(request.partition)]
        args.push('-z', request.codec, '-X', `acks=${request.acks ?? 'all'}`, '-X', 'message.max.bytes=33554432')
        if (request.idempotent === true) args.push('-X', 'enable.idempotence=true')
        const key = record.key === null ? null : inlineBytes(record.key).toString()
        let input = ''
        if (record.value === null) {
          // It skips empty files; a line that ends after the key has an empty value, which -Z sends as null.
          args.push('-Z', '-K', '\\x1f')
          input = `${key ?? ''}\x1f\n`
        } else if (key !== null) args.push('-k', key)
        for (const [name, value] of record.headers) {
          args.push('-H', value === null ? name : `${name}=${Buffer.from(value, 'base64').toString()}`)
        }
        const file = join(folder, String(index))
        if (record.value !== null && typeof record.value === 'object') args.push(record.value.file)
        else if (record.value !== null) {
          writeFileSync(file, inlineBytes(record.value))
          args.push(file)
        }
        const result = await runProgram(this.#program, ['-vv', ...args], { input })
        if (result.status !== 0) throw this.#failure('write', args, result.stderr, result)
        const delivered = /Message delivered to partition \d+ \(offset (\d+)\)/.exec(result.stderr)
        offsets.push(delivered?.[1] === undefined ? -1 : Number(delivered[1]))
      }
      return offsets
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  async read(request: ReadRequest): Promise<ReadRecord[]> {
    // Lengths come first, so that keys and values may hold any byte; headers end at a byte that none of them holds.
    const args = [
      ...['-C', '-q', '-b', this.#bootstrap, '-t', request.topic, '-p', String(request.partition)],
      ...['-o', String(request.offset), '-c', String(request.count), '-X', 'check.crcs=true'],
      ...['-X', 'fetch.message.max.bytes=16777216', '-X', 'receive.message.max.bytes=67108864'],
      ...['-f', `%o %T %K %S %k%s%h${headerEnd}`],
    ]
    const { stdoutBytes } = await runProgramOk(this.#program, args, { timeoutMs: request.timeoutMs ?? 20_000 })
    return parseRecords(stdoutBytes)
  }

  call<T>(operation: string): Promise<T> {
    return Promise.reject(new Error(`kcat can't ${operation}`))
  }

  async close(): Promise<void> {
    // Nothing lives between two runs.
  }

  #failure(
    operation: string,
    args: readonly string[],
    stderr: string,
    result: { status: number; stdout: string },
  ): Error {
    const named = /: ([A-Z_]{6,}|Broker: [^:\n]+)/.exec(stderr)?.[1] ?? 'UNKNOWN'
    const text = describeFailure(this.#program, args, { ...result, stderr, stdoutBytes: Buffer.alloc(0), wallMs: 0 })
    return new ClientError('kcat', operation, named, text)
  }
}

function inlineBytes(value: JsonBytes): Buffer {
  if (value !== null && typeof value === 'object') throw new Error('only values may come from a file')
  return value === null ? Buffer.alloc(0) : Buffer.from(value, 'base64')
}

function parseRecords(output: Buffer): ReadRecord[] {
  const records: ReadRecord[] = []
  let position = 0
  const nextNumber = (): number => {
    const end = output.indexOf(0x20, position)
    const text = output.toString('latin1', position, end)
    position = end + 1
    return Number(text)
  }
  const nextBytes = (length: number): string | null => {
    // The length of null is -1; kcat prints nothing for it.
    if (length < 0) return null
    position += length
    return bytesToText(output.subarray(position - length, position))
  }
  while (position < output.length) {
    const offset = nextNumber()
    const timestamp = nextNumber()
    const keyLength = nextNumber()
    const valueLength = nextNumber()
    const key = nextBytes(keyLength)
    const value = nextBytes(valueLength)
    const end = output.indexOf(headerEnd, position)
    if (end < 0) throw new Error(`kcat's output ends inside a record`)
    const headersText = output.toString('latin1', position, end)
    position = end + headerEnd.length
    records.push({ offset, timestamp, key, value, headers: [], headersText })
  }
  return records
}

/** The form in which the worker programs hand back what they read. */
export function bytesToText(bytes: Buffer): string {
  if (bytes.length <= wholeValueBytes) return bytes.toString('base64')
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}:${bytes.length}`
}

/** Headers as kcat prints them. */
export function headersAsKcatPrints(headers: ReadRecord['headers']): string {
  return headers
    .map(([name, value]) => {
      // It prints a value as a C string, which ends at the first zero byte.
      const text = value === null ? 'NULL' : Buffer.from(value, 'base64').toString('latin1').split('\0')[0]
      return `${Buffer.from(name).toString('latin1')}=${text}`
    })
    .join(',')
}
