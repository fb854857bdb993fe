import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/**
 * Rooms in the order in which they may import: each only from itself and from rooms before it in its list. A broken
 * arrow here is a design error, not a matter of style (see docs/architecture.md).
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  common: [],
  crds: ['common'],
  'broker/protocol': ['common'],
  'broker/storage': ['common', 'crds', 'broker/protocol'],
  'broker/metadata': ['common', 'crds', 'broker/protocol'],
  'broker/replication': ['common', 'crds', 'broker/protocol', 'broker/storage', 'broker/metadata'],
  'broker/coordinator': [
    'common',
    'crds',
    'broker/protocol',
    'broker/storage',
    'broker/metadata',
    'broker/replication',
  ],
  'broker/server': [
    'common',
    'crds',
    'broker/protocol',
    'broker/storage',
    'broker/metadata',
    'broker/replication',
    'broker/coordinator',
  ],
  'operator/planner': ['common', 'crds'],
  'operator/resources': ['common', 'crds', 'operator/planner'],
  'operator/controllers': ['common', 'crds', 'operator/planner', 'operator/resources'],
  cli: ['common', 'crds', 'broker/server', 'broker/storage', 'operator/controllers', 'package.json'],
}

const root = join(import.meta.dirname, '..')
const IMPORT =
  /^\s*(?:import|export)\b[^'"]*?\bfrom\s+['"](\.[^'"]+)['"]|^\s*import\s+['"](\.[^'"]+)['"]|\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/gm

function roomOf(path: string): string {
  const [first = '', second = ''] = path.split('/')
  return first === 'broker' || first === 'operator' ? `${first}/${second}` : first
}

function sources(): string[] {
  return globSync('{common,crds,broker,operator,cli}/**/*.ts', { cwd: root }).filter(
    (path) => !/\.(test|conformance)\.ts$/.test(path) && !path.includes('/testing/'),
  )
}

describe('import directions', () => {
  it('finds the sources and their imports', () => {
    assert.ok(sources().length > 50)
    const [match] = [..."import { a } from './b.ts'".matchAll(IMPORT)]
    assert.equal(match?.[1], './b.ts')
  })

  it('point one way', () => {
    const broken: string[] = []
    for (const path of sources()) {
      const room = roomOf(path)
      const allowed = ALLOWED[room]
      if (allowed === undefined) {
        broken.push(`${path} is in no known room`)
        continue
      }
      for (const match of readFileSync(join(root, path), 'utf8').matchAll(IMPORT)) {
        const target = relative(root, join(root, dirname(path), match[1] ?? match[2] ?? match[3] ?? ''))
        const targetRoom = roomOf(target)
        if (targetRoom !== room && !allowed.includes(targetRoom)) broken.push(`${path} imports ${target}`)
        if (target.includes('/testing/')) broken.push(`${path} imports ${target}, which is for tests`)
      }
    }
    assert.deepEqual(broken, [])
  })

  it('of no file form a cycle', () => {
    const graph = new Map<string, string[]>()
    for (const path of sources()) {
      const targets = [...readFileSync(join(root, path), 'utf8').matchAll(IMPORT)].map((match) =>
        relative(root, join(root, dirname(path), match[1] ?? match[2] ?? match[3] ?? '')),
      )
      graph.set(path, targets)
    }
    const done = new Set<string>()
    const visit = (path: string, trail: readonly string[]): void => {
      const at = trail.indexOf(path)
      assert.ok(at < 0, `a cycle of imports: ${[...trail.slice(at), path].join(' -> ')}`)
      if (done.has(path)) return
      for (const target of graph.get(path) ?? []) visit(target, [...trail, path])
      done.add(path)
    }
    for (const path of graph.keys()) visit(path, [])
  })
})
