/**
 * Random messages for tests: for any description and version, an input to encode and what decoding has to give back.
 */
import { randomInt, randomUuid, type Random } from '../../../common/random.ts'
import { defaultOf } from '../codegen.ts'
import { includes, type Field, type Fields, type FieldType, type Message } from '../schema.ts'
import { ZERO_UUID } from '../wire/uuid.ts'
import type { ByteInput } from '../wire/writer.ts'

export interface RandomMessage {
  readonly input: Record<string, unknown>
  readonly decoded: Record<string, unknown>
}

interface RandomValue {
  readonly input: unknown
  readonly decoded: unknown
}

/** Only sets fields that the version has; leaves some of them at their defaults. */
export function randomMessage(message: Message, version: number, random: Random): RandomMessage {
  return randomFields(message.fields, version, random)
}

function randomFields(fields: Fields, version: number, random: Random): RandomMessage {
  const input: Record<string, unknown> = {}
  const decoded: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields)) {
    const value = randomField(field, version, random)
    if (value.input !== undefined) input[name] = value.input
    decoded[name] = value.decoded
  }
  return { input, decoded }
}

function randomField(field: Field, version: number, random: Random): RandomValue {
  const isNullable = includes(field.nullableVersions, version)
  const hasUsableDefault = field.default !== null || isNullable
  if (!includes(field.versions, version) || (hasUsableDefault && random.next() < 0.15)) {
    return { input: undefined, decoded: defaultOf(field) }
  }
  if (isNullable && random.next() < 0.25) return { input: null, decoded: null }
  if (field.saturating && random.next() < 0.3) return same(random.next() < 0.5 ? Infinity : -Infinity)
  return randomValue(field.type, version, random)
}

function randomValue(type: FieldType, version: number, random: Random): RandomValue {
  switch (type.kind) {
    case 'bool':
      return same(random.next() < 0.5)
    case 'int8':
      return same(randomInt(random, -0x80, 0x7f))
    case 'int16':
      return same(randomInt(random, -0x8000, 0x7fff))
    case 'uint16':
      return same(randomInt(random, 0, 0xffff))
    case 'int32':
      return same(edgeOr(random, [-0x80000000, 0x7fffffff, -1, 0], () => randomInt(random, -0x80000000, 0x7fffffff)))
    case 'uint32':
      return same(randomInt(random, 0, 0xffffffff))
    case 'int64':
      return same(
        edgeOr(random, [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, -1, 0, 2 ** 32, -(2 ** 32)], () =>
          randomInt(random, -(2 ** 52), 2 ** 52),
        ),
      )
    case 'float64':
      return same(edgeOr(random, [-Infinity, 0.1, 1e300], () => random.next() * 1000))
    case 'string':
      return same(randomString(random))
    case 'uuid':
      return same(random.next() < 0.2 ? ZERO_UUID : randomUuid(random))
    case 'bytes':
    case 'records':
      return randomBytes(random)
    case 'array': {
      const values = Array.from({ length: randomInt(random, 0, 3) }, () => randomValue(type.element, version, random))
      return { input: values.map(({ input }) => input), decoded: values.map(({ decoded }) => decoded) }
    }
    case 'struct':
      return randomFields(type.fields, version, random)
  }
}

function randomBytes(random: Random): RandomValue {
  const content = random.bytes(randomInt(random, 0, 40))
  const cut = randomInt(random, 0, content.length)
  const parts: ByteInput = random.next() < 0.5 ? content : [content.subarray(0, cut), content.subarray(cut)]
  return { input: parts, decoded: content }
}

function randomString(random: Random): string {
  const alphabet = random.next() < 0.7 ? 'abcdefgh-._' : 'aé漢😀'
  const characters = Array.from(alphabet)
  // Now and then long enough for a length of two bytes.
  const length = random.next() < 0.05 ? randomInt(random, 100, 160) : randomInt(random, 0, 12)
  let text = ''
  for (let i = 0; i < length; i++) text += characters[randomInt(random, 0, characters.length - 1)] ?? ''
  return text
}

function edgeOr(random: Random, edges: readonly number[], other: () => number): number {
  return random.next() < 0.3 ? (edges[randomInt(random, 0, edges.length - 1)] ?? 0) : other()
}

function same(value: unknown): RandomValue {
  return { input: value, decoded: value }
}
