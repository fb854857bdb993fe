/**
 * Kafka's own definitions of messages and records, from its jars, and the comparison of a description here with them:
 * names, order, types, versions, nullable versions, tags, defaults, and whether a field is ignorable. Versions are
 * compared one by one, so that it doesn't matter how a range is written.
 */
import assert from 'node:assert/strict'
import { kafkaJar, type KafkaArtifact } from '../../../scripts/kafka-jars.ts'
import { readZipEntries } from '../../../scripts/zip.ts'
import { includes, type Field, type Fields, type FieldType, type Message, type VersionRange } from '../schema.ts'
import { ZERO_UUID } from '../wire/uuid.ts'

/** A field as Kafka writes it. */
interface KafkaField {
  readonly name: string
  readonly type: string
  readonly versions: string
  readonly nullableVersions?: string
  readonly taggedVersions?: string
  readonly tag?: number
  readonly default?: string | number | boolean
  readonly ignorable?: boolean
  readonly fields?: readonly KafkaField[]
}

export interface KafkaDefinition {
  readonly apiKey?: number
  readonly type: string
  readonly name: string
  readonly validVersions: string
  readonly flexibleVersions?: string
  readonly fields?: readonly KafkaField[]
  readonly commonStructs?: readonly { readonly name: string; readonly fields: readonly KafkaField[] }[]
}

/** What is compared of a field; the versions are those of the message in which each fact holds. */
interface Facts {
  readonly name: string
  readonly type: string
  readonly present: readonly number[]
  readonly nullable: readonly number[]
  readonly tagged: readonly number[]
  readonly tag: number | undefined
  readonly default: unknown
  readonly ignorable: boolean
  readonly fields: readonly Facts[]
}

/** The definitions in a jar, by name. */
export async function kafkaDefinitions(artifact: KafkaArtifact): Promise<Map<string, KafkaDefinition>> {
  const definitions = new Map<string, KafkaDefinition>()
  const entries = readZipEntries(await kafkaJar(artifact), (name) => /^common\/message\/\w+\.json$/.test(name))
  for (const content of entries.values()) {
    const definition = JSON.parse(content.toString('utf8').replace(/^\s*\/\/.*$/gm, '')) as KafkaDefinition
    definitions.set(definition.name, definition)
  }
  return definitions
}

/** Throws an AssertionError where versions or fields are others than Kafka's. */
export function assertDescribedAs(definition: KafkaDefinition, message: Message): void {
  assert.deepEqual(message.versions, range(definition.validVersions))
  const versions = versionsOf(message)
  assert.deepEqual(within(versions, message.flexibleVersions), within(versions, range(definition.flexibleVersions)))
  assert.deepEqual(factsOfFields(message.fields, versions), factsOfKafkaFields(definition, versions))
}

function factsOfFields(fields: Fields, versions: readonly number[]): Facts[] {
  return Object.entries(fields).map(([name, field]) => factsOfField(name, field, versions))
}

function factsOfField(name: string, field: Field, versions: readonly number[]): Facts {
  const present = within(versions, field.versions)
  const struct = structOf(field.type)
  return {
    name,
    type: typeName(field.type),
    present,
    nullable: within(present, field.nullableVersions),
    tagged: field.tag === undefined ? [] : present,
    tag: field.tag,
    default: Buffer.isBuffer(field.default) ? '' : field.default,
    ignorable: field.ignorable,
    fields: struct === undefined ? [] : factsOfFields(struct, versions),
  }
}

function structOf(type: FieldType): Fields | undefined {
  if (type.kind === 'array') return structOf(type.element)
  return type.kind === 'struct' ? type.fields : undefined
}

function typeName(type: FieldType): string {
  return type.kind === 'array' ? `[]${typeName(type.element)}` : type.kind
}

function factsOfKafkaFields(definition: KafkaDefinition, versions: readonly number[]): Facts[] {
  const structs = new Map(definition.commonStructs?.map(({ name, fields }) => [name, fields]))
  const factsOf = (field: KafkaField): Facts => {
    const present = within(versions, range(field.versions))
    const element = field.type.replace('[]', '')
    const fields = /^[A-Z]/.test(element) ? (field.fields ?? structs.get(element) ?? []) : []
    return {
      name: camelCase(field.name),
      type: field.type.replace(/[A-Z]\w*$/, 'struct'),
      present,
      nullable: within(present, range(field.nullableVersions)),
      tagged: within(present, range(field.taggedVersions)),
      tag: field.tag,
      default: kafkaDefault(field),
      ignorable: field.ignorable ?? false,
      fields: fields.map(factsOf),
    }
  }
  return (definition.fields ?? []).map(factsOf)
}

/** The default as the descriptions here have it: Kafka writes it as text, and leaves out that of the type. */
function kafkaDefault(field: KafkaField): unknown {
  const text = field.default === undefined ? undefined : String(field.default)
  if (text === 'null') return null
  if (field.type.startsWith('[]')) return []
  switch (field.type) {
    case 'bool':
      return text === 'true'
    case 'string':
    case 'bytes':
      return text ?? ''
    case 'records':
      return null
    case 'uuid':
      return ZERO_UUID
    case 'int8':
    case 'int16':
    case 'uint16':
    case 'int32':
    case 'uint32':
    case 'int64':
    case 'float64':
      // No limit is the largest int64 there, and Infinity here.
      return text === '9223372036854775807' ? Infinity : Number(text ?? 0)
    default:
      return undefined
  }
}

/** `ISRNodes` is `isrNodes`. */
function camelCase(name: string): string {
  return name.replace(/^[A-Z]+(?=[A-Z][a-z]|$)|^[A-Z]/, (start) => start.toLowerCase())
}

function versionsOf(message: Message): number[] {
  const { first, last } = message.versions
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

function within(versions: readonly number[], wanted: VersionRange | undefined): number[] {
  return versions.filter((version) => includes(wanted, version))
}

function range(text: string | undefined): VersionRange | undefined {
  if (text === undefined || text === 'none') return undefined
  const match = /^(\d+)(\+|-(\d+))?$/.exec(text)
  assert.ok(match !== null, `bad version range '${text}'`)
  const first = Number(match[1])
  return { first, last: match[2] === '+' ? Infinity : Number(match[3] ?? first) }
}
