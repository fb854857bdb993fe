/**
 * Brings jars of Kafka, in which its own message and record definitions are, to the git-ignored folder `.cache`.
 *
 * Maven does it where it is installed, with whatever repository and proxy it is set up for. Without Maven, set
 * `OTTLA_MAVEN_REPO` to the base URL of a Maven repository. Each jar is checked against its hash below either way.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const KAFKA_VERSION = '4.3.1'
/** SHA-256 by artifact. */
const HASHES = {
  'kafka-clients': '52501b7b47510c66f898871adaf6d2968ab7246561d44ced43643a8a587f0b36',
  'kafka-group-coordinator': '4ab56d002e1624185c874199e9e0ffb243dbeb9f68b4d0cadf48ce2f617a1126',
} as const

export type KafkaArtifact = keyof typeof HASHES

const MAVEN_COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
const cacheFolder = join(import.meta.dirname, '..', '.cache')

/** The content of a jar. Throws an Error that says what to do if it can't be had. */
export async function kafkaJar(artifact: KafkaArtifact): Promise<Buffer> {
  const name = jarName(artifact)
  const path = join(cacheFolder, name)
  if (existsSync(path)) {
    const cached = readFileSync(path)
    if (isIntact(artifact, cached)) return cached
  }
  mkdirSync(cacheFolder, { recursive: true })
  const jar = copyWithMaven(artifact) ?? (await download(artifact))
  if (!isIntact(artifact, jar))
    throw new Error(`the ${name} that was fetched has another hash than the one expected, ${HASHES[artifact]}`)
  // Through a second name, so that a jar under the real one is a whole one.
  writeFileSync(`${path}.part`, jar)
  renameSync(`${path}.part`, path)
  return jar
}

function jarName(artifact: KafkaArtifact): string {
  return `${artifact}-${KAFKA_VERSION}.jar`
}

/** The jar as Maven has it, or undefined if Maven isn't installed. */
function copyWithMaven(artifact: KafkaArtifact): Buffer | undefined {
  const folder = join(cacheFolder, 'maven')
  const coordinates = `-Dartifact=org.apache.kafka:${artifact}:${KAFKA_VERSION}`
  const run = spawnSync('mvn', ['-q', '-B', MAVEN_COPY, coordinates, `-DoutputDirectory=${folder}`], {
    encoding: 'utf8',
  })
  if (run.error !== undefined) {
    if ('code' in run.error && run.error.code === 'ENOENT') return undefined
    throw new Error('Maven could not be started', { cause: run.error })
  }
  if (run.status !== 0) throw new Error(`Maven could not fetch ${jarName(artifact)}:\n${run.stdout}${run.stderr}`)
  return readFileSync(join(folder, jarName(artifact)))
}

async function download(artifact: KafkaArtifact): Promise<Buffer> {
  const name = jarName(artifact)
  const repository = process.env['OTTLA_MAVEN_REPO']
  if (repository === undefined) {
    throw new Error(`to fetch ${name}, install Maven or set OTTLA_MAVEN_REPO to the base URL of a Maven repository`)
  }
  const url = `${repository.replace(/\/+$/, '')}/org/apache/kafka/${artifact}/${KAFKA_VERSION}/${name}`
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url} answered ${response.status} ${response.statusText}`)
  return Buffer.from(await response.arrayBuffer())
}

function isIntact(artifact: KafkaArtifact, jar: Buffer): boolean {
  return createHash('sha256').update(jar).digest('hex') === HASHES[artifact]
}
