/**
 * Brings other makers' Kafka clients to this machine: kcat and confluent-kafka for Python as Debian packages (when run
 * as root), the JavaScript clients from npm into the cache, the native one of them built there.
 */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { spawnSync } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'

import { cacheFolder, e2eFolder } from '../lib/paths.ts'
import { runProgramOk } from '../lib/process.ts'
import { MissingRequirementError } from '../lib/requirements.ts'

/** Where the clients are and what runs them. */
export interface InstalledClients {
  /** The folder whose `node_modules` holds the JavaScript clients. */
  readonly npmFolder: string
  /** The pinned Node, which runs the clients that are plain JavaScript. */
  readonly node: string
  /** The Node that the native client was built for. */
  readonly nativeNode: string
  /** A Python that can import `confluent_kafka`. */
  readonly python: string
  readonly kcat: string
}

/** The Node that runs the suite: the pinned one. */
const pinnedNode = process.execPath

/** What librdkafka inside @confluentinc/kafka-javascript is built against, beside the programs. */
const debianPackages = [
  'kcat',
  'chromium',
  'python3-confluent-kafka',
  'build-essential',
  'libcurl4-openssl-dev',
  'libssl-dev',
  'libsasl2-dev',
  'zlib1g-dev',
  'libzstd-dev',
  'liblz4-dev',
]

/** Finds all clients; one that is missing is an error that says what to do. */
export function findClients(): InstalledClients {
  const npmFolder = npmClientsFolder()
  if (!existsSync(join(npmFolder, '.complete'))) {
    throw new MissingRequirementError('the JavaScript clients are not installed: run `npm run e2e:setup` first')
  }
  const kcat = findProgram(['kcat', 'kafkacat'], ['-V'])
  if (kcat === undefined) throw missingDebian('kcat', 'kcat')
  const python = findProgram(['python3', '/usr/bin/python3'], ['-c', 'import confluent_kafka'])
  if (python === undefined) {
    throw missingDebian('no python3 that can import confluent_kafka', 'python3-confluent-kafka')
  }
  return { npmFolder, node: pinnedNode, nativeNode: nodeWithHeaders().node, python, kcat }
}

/** Installs those of the Debian packages that are missing. */
export async function installPackages(names: readonly string[]): Promise<void> {
  const missing = names.filter((name) => !isInstalled(name))
  if (missing.length > 0) await installDebianPackages(missing)
}

/** Installs what is missing. */
export async function installClients(): Promise<void> {
  await installPackages(debianPackages)
  const folder = npmClientsFolder()
  if (existsSync(join(folder, '.complete'))) return
  const part = `${folder}.part-${process.pid}`
  mkdirSync(part, { recursive: true })
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
    copyFileSync(join(e2eFolder, 'interop', name), join(part, name))
  }
  console.error('Installing the JavaScript clients (once)...')
  await runProgramOk('npm', ['ci', '--ignore-scripts'], { cwd: part, timeoutMs: 600_000 })
  console.error('Building @confluentinc/kafka-javascript (once, a few minutes)...')
  const native = nodeWithHeaders()
  await runProgramOk('npm', ['rebuild', '@confluentinc/kafka-javascript', '--foreground-scripts'], {
    cwd: part,
    timeoutMs: 1_500_000,
    env: {
      // Links with the system's libraries; the static build would download their sources.
      CKJS_LINKING: 'dynamic',
      PATH: `${dirname(native.node)}${delimiter}${process.env['PATH'] ?? ''}`,
      ...(native.prefix === undefined ? {} : { npm_config_nodedir: native.prefix }),
    },
  })
  await runProgramOk(native.node, ['-e', "require('@confluentinc/kafka-javascript')"], { cwd: part })
  writeFileSync(join(part, '.complete'), '')
  if (existsSync(folder)) rmSync(part, { recursive: true, force: true })
  else renameSync(part, folder)
}

function npmClientsFolder(): string {
  const lock = readFileSync(join(e2eFolder, 'interop', 'package-lock.json'))
  const hash = createHash('sha256').update(lock).update(nodeWithHeaders().version).digest('hex').slice(0, 12)
  return join(cacheFolder(), `npm-clients-${hash}`)
}

/**
 * The Node that the native client is built for and run by: one on the PATH that brings its own headers, since others
 * must download them; else the pinned one.
 */
function nodeWithHeaders(): { node: string; version: string; prefix: string | undefined } {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const candidate = join(folder, 'node')
    if (!existsSync(candidate)) continue
    const node = realpathSync(candidate)
    const prefix = dirname(dirname(node))
    const header = join(prefix, 'include', 'node', 'node_version.h')
    if (!existsSync(header)) continue
    const text = readFileSync(header, 'utf8')
    const part = (name: string): string => new RegExp(`#define NODE_${name}_VERSION (\\d+)`).exec(text)?.[1] ?? '?'
    const headerVersion = `v${part('MAJOR')}.${part('MINOR')}.${part('PATCH')}`
    const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()
    if (version === headerVersion) return { node, version, prefix }
  }
  return { node: realpathSync(pinnedNode), version: process.version, prefix: undefined }
}

function findProgram(names: readonly string[], args: readonly string[]): string | undefined {
  return names.find((name) => spawnSync(name, args, { stdio: 'ignore' }).status === 0)
}

function isInstalled(name: string): boolean {
  const query = spawnSync('dpkg-query', ['-W', '-f', '${db:Status-Status}', name], { encoding: 'utf8' })
  return query.status === 0 && query.stdout.trim() === 'installed'
}

async function installDebianPackages(missing: readonly string[]): Promise<void> {
  const names = missing.join(' ')
  const hasApt = spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status === 0
  if (!hasApt || process.getuid?.() !== 0) {
    throw new MissingRequirementError(
      hasApt
        ? `these Debian packages are missing: ${names}. Run \`apt-get install ${names}\` as root, then this again`
        : `this machine has no apt-get; install the equivalents of ${names} by hand (see e2e/README.md)`,
    )
  }
  console.error(`Installing Debian packages: ${names}`)
  await runProgramOk('apt-get', ['update', '-q'], { timeoutMs: 300_000 })
  await runProgramOk('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...missing], {
    env: { DEBIAN_FRONTEND: 'noninteractive' },
    timeoutMs: 900_000,
  })
}

function missingDebian(what: string, packageName: string): MissingRequirementError {
  return new MissingRequirementError(
    `${what} is missing: run \`npm run e2e:setup\` as root, or install the Debian package ${packageName} (see e2e/README.md)`,
  )
}
