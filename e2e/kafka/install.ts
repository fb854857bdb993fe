/**
 * Brings Apache Kafka (pom.xml beside this file) from Maven Central into the cache, once; and compiles the suites' own
 * Java programs (java/) against it.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { cacheFolder, e2eFolder } from '../lib/paths.ts'
import { runProgramOk } from '../lib/process.ts'
import { requireProgram } from '../lib/requirements.ts'

const kafkaFolder = join(e2eFolder, 'kafka')

/** The version that pom.xml names. */
export function kafkaVersion(): string {
  const found = /<kafka\.version>([^<]+)</.exec(readFileSync(join(kafkaFolder, 'pom.xml'), 'utf8'))
  if (found?.[1] === undefined) throw new Error('e2e/kafka/pom.xml names no kafka.version')
  return found[1]
}

/** The folder with Kafka's jars; fetches them when they are missing. */
export async function installKafka(): Promise<string> {
  const pom = readFileSync(join(kafkaFolder, 'pom.xml'))
  const folder = join(cacheFolder(), `kafka-${kafkaVersion()}-${shortHash([pom])}`)
  if (existsSync(join(folder, '.complete'))) return folder
  requireProgram('mvn', 'Maven fetches Apache Kafka', ['-version'])
  const part = `${folder}.part-${process.pid}`
  mkdirSync(part, { recursive: true })
  console.error('Fetching Apache Kafka from Maven Central (once, about 60 MB)...')
  writeFileSync(join(part, 'pom.xml'), pom)
  await runProgramOk(
    'mvn',
    [
      '-q',
      '-B',
      '-f',
      join(part, 'pom.xml'),
      'dependency:copy-dependencies',
      `-DoutputDirectory=${join(part, 'lib')}`,
      '-DincludeScope=runtime',
    ],
    { timeoutMs: 900_000 },
  )
  writeFileSync(join(part, '.complete'), '')
  moveIntoPlace(part, folder)
  return folder
}

/** The folder with the compiled classes of `java/`; compiles them when their sources changed. */
export async function compileJavaPrograms(kafka: string): Promise<string> {
  const sources = readdirSync(join(kafkaFolder, 'java'))
    .filter((name) => name.endsWith('.java'))
    .sort()
    .map((name) => join(kafkaFolder, 'java', name))
  const hash = shortHash([...sources.map((path) => readFileSync(path)), Buffer.from(kafka)])
  const folder = join(cacheFolder(), `classes-${hash}`)
  if (existsSync(folder)) return folder
  requireProgram('javac', "a Java Development Kit compiles the suites' Java programs", ['-version'])
  const part = `${folder}.part-${process.pid}`
  mkdirSync(part, { recursive: true })
  await runProgramOk('javac', [
    '--release',
    '17',
    '-Xlint:all,-processing',
    '-cp',
    join(kafka, 'lib', '*'),
    '-d',
    part,
    ...sources,
  ])
  moveIntoPlace(part, folder)
  return folder
}

/** Two runs may install at once: whoever comes second throws its copy away. */
function moveIntoPlace(part: string, folder: string): void {
  try {
    renameSync(part, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    rmSync(part, { recursive: true, force: true })
  }
}

function shortHash(parts: readonly Buffer[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex').slice(0, 12)
}
