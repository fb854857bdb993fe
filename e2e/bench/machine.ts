/** The machine under the measurements: what it is, what its processes use, and whether anything else disturbs them. */
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem } from 'node:os'

import { runProgramOk } from '../lib/process.ts'
import { sleep } from '../lib/wait.ts'

/** Clock ticks in a second, which Linux fixes for what it tells processes. */
const ticksPerSecond = 100

/** A sentence for the head of the report: no names or addresses. */
export async function describeMachine(): Promise<string> {
  const java = (await runProgramOk('java', ['-version'])).stderr.split('\n')[0] ?? ''
  const model = cpus()[0]?.model.trim() ?? 'unknown processor'
  const memoryGb = Math.round(totalmem() / 1024 ** 3)
  return `${availableParallelism()} cores (${model}), ${memoryGb} GB memory, Linux ${release()}, Node ${process.version}, ${java}`
}

/** CPU seconds of a process with all its threads and living descendants. */
export function processCpuSeconds(pid: number): number {
  let ticks = 0
  for (const one of withDescendants(pid)) ticks += statFields(one)?.ticks ?? 0
  return ticks / ticksPerSecond
}

/** Resident bytes of a process and its living descendants. */
export function residentBytes(pid: number): number {
  let bytes = 0
  for (const one of withDescendants(pid)) {
    const found = /^VmRSS:\s+(\d+) kB/m.exec(readProc(one, 'status') ?? '')
    bytes += Number(found?.[1] ?? 0) * 1024
  }
  return bytes
}

/** CPU seconds that all cores together have been busy since boot. */
export function busySeconds(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)
    .join('')
    .split(/\s+/)
    .map(Number)
  return (user + nice + system + irq + softIrq) / ticksPerSecond
}

/**
 * Waits until everything but `pids` together has left the cores idle for two seconds, or for `limitMs` at most.
 * @returns whether they were idle
 */
export async function waitForIdleCores(pids: readonly number[], limitMs: number): Promise<boolean> {
  const own = (): number => pids.reduce((sum, pid) => sum + processCpuSeconds(pid), 0)
  const endMs = performance.now() + limitMs
  for (;;) {
    const before = busySeconds() - own()
    const startedMs = performance.now()
    await sleep(2000)
    const share = (busySeconds() - own() - before) / ((performance.now() - startedMs) / 1000) / availableParallelism()
    if (share < 0.06) return true
    if (performance.now() > endMs) return false
  }
}

function withDescendants(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const parent = statFields(Number(name))?.parent
    if (parent === undefined) continue
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [Number(name)])
    else siblings.push(Number(name))
  }
  const found = [pid]
  for (let index = 0; index < found.length; index++) found.push(...(children.get(found[index] ?? -1) ?? []))
  return found
}

function statFields(pid: number): { parent: number; ticks: number } | undefined {
  // The command name, in brackets, may hold anything; the fields after it don't.
  const fields = readProc(pid, 'stat')
    ?.replace(/^.*\) /s, '')
    .split(' ')
  return fields && { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) }
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined // It has ended meanwhile.
  }
}
