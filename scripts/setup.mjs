// Makes a checkout ready to run: installs the locked dependencies when they are missing or out of date, and checks
// that the pinned Node is the one that npm scripts find first. Runs on any Node 20 or newer, before anything else.
import { createHash } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const modules = join(root, 'node_modules')
const stamp = join(modules, '.ottla-setup')
const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
const wanted = createHash('sha256').update(lock).digest('hex')
const pinned = JSON.parse(lock).packages['node_modules/node'].version

const nodeVersion = () => {
  const run = spawnSync(join(modules, '.bin', 'node'), ['--version'], { encoding: 'utf8' })
  return run.status === 0 ? run.stdout.trim().slice(1) : undefined
}

const isReady = existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted && nodeVersion() === pinned
if (!isReady) {
  console.error('Installing dependencies (once)...')
  const install = spawnSync('npm', ['ci', '--no-fund', '--no-audit', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (install.status !== 0) {
    console.error('setup: `npm ci` failed; see its output above')
    process.exit(1)
  }
  const found = nodeVersion()
  if (found !== pinned) {
    console.error(
      `setup: expected Node ${pinned} in node_modules/.bin, found ${found ?? 'none'}; remove node_modules and run again`,
    )
    process.exit(1)
  }
  writeFileSync(stamp, wanted)
}
