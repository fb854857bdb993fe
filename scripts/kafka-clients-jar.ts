/**
 * Brings the `kafka-clients` jar, in which Kafka's own message definitions are, to the git-ignored folder `.cache`.
 *
 * Maven does it where it is installed, with whatever repository and proxy it is set up for. Without Maven, set
 * `OTTLA_MAVEN_REPO` to the base URL of a Maven repository. The jar is checked against the hash below either way.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const KAFKA_VERSION = '4.3.1'
const SHA256 = '52501b7b47510c66f898871adaf6d2968ab7246561d44ced43643a8a587f0b36'

const JAR_NAME = `kafka-clients-${KAFKA_VERSION}.jar`
const MAVEN_COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
const cacheFolder = join(import.meta.dirname, '..', '.cache')

/** The content of the jar. Throws an Error that says what to do if it can't be had. */
export async function kafkaClientsJar(): Promise<Buffer> {
  const path = join(cacheFolder, JAR_NAME)
  if (existsSync(path)) {
    const cached = readFileSync(path)
    if (isIntact(cached)) return cached
  }
  mkdirSync(cacheFolder, { recursive: true })
  const jar = copyWithMaven() ?? (await download())
  if (!isIntact(jar))
    throw new Error(`the ${JAR_NAME} that was fetched has another hash than the one expected, ${SHA256}`)
  // Through a second name, so that a jar under the real one is a whole one.
  writeFileSync(`${path}.part`, jar)
  renameSync(`${path}.part`, path)
  return jar
}

/** The jar as Maven has it, or undefined if Maven isn't installed. */
function copyWithMaven(): Buffer | undefined {
  const folder = join(cacheFolder, 'maven')
  const artifact = `-Dartifact=org.apache.kafka:kafka-clients:${KAFKA_VERSION}`
  const run = spawnSync('mvn', ['-q', '-B', MAVEN_COPY, artifact, `-DoutputDirectory=${folder}`], { encoding: 'utf8' })
  if (run.error !== undefined) {
    if ('code' in run.error && run.error.code === 'ENOENT') return undefined
    throw new Error('Maven could not be started', { cause: run.error })
  }
  if (run.status !== 0) throw new Error(`Maven could not fetch ${JAR_NAME}:\n${run.stdout}${run.stderr}`)
  return readFileSync(join(folder, JAR_NAME))
}

async function download(): Promise<Buffer> {
  const repository = process.env['OTTLA_MAVEN_REPO']
  if (repository === undefined) {
    throw new Error(`to fetch ${JAR_NAME}, install Maven or set OTTLA_MAVEN_REPO to the base URL of a Maven repository`)
  }
  const url = `${repository.replace(/\/+$/, '')}/org/apache/kafka/kafka-clients/${KAFKA_VERSION}/${JAR_NAME}`
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url} answered ${response.status} ${response.statusText}`)
  return Buffer.from(await response.arrayBuffer())
}

function isIntact(jar: Buffer): boolean {
  return createHash('sha256').update(jar).digest('hex') === SHA256
}
