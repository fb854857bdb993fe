/**
 * The language in which messages are described: `request`, `response` and `data` define a message, `int32`, `string`,
 * `array`, `struct` and so on its fields. The TypeScript types of a message follow from its description.
 *
 * Versions are written as Kafka writes them: `'3+'`, `'0-12'`, `'4'`. A field is one property for all versions of the
 * message; where a version lacks it, decoding gives its default, and encoding anything but its default is an error unless
 * the field is `ignorable`. A description is data: `codec.ts` compiles it.
 */
import { invariant } from '../../common/invariant.ts'
import type { ByteInput } from './wire/writer.ts'
import { ZERO_UUID } from './wire/uuid.ts'

/** The primitive types, with what they decode to. Bytes and records are views of the frame. */
interface PrimitiveTypes {
  bool: boolean
  int8: number
  int16: number
  uint16: number
  int32: number
  uint32: number
  int64: number
  float64: number
  string: string
  uuid: string
  bytes: Buffer
  records: Buffer
}
export type PrimitiveName = keyof PrimitiveTypes

/** Versions from `first` to `last`, both included. */
export interface VersionRange {
  readonly first: number
  readonly last: number
}

export type FieldType =
  | { readonly kind: PrimitiveName }
  | { readonly kind: 'array'; readonly element: FieldType }
  | { readonly kind: 'struct'; readonly fields: Fields }

/** A field that decodes to `Decoded` and is encoded from `Input`. */
export interface Field<Decoded = unknown, Input = unknown> {
  readonly type: FieldType
  readonly versions: VersionRange
  /** The versions in which the field may be null. */
  readonly nullableVersions: VersionRange | undefined
  /** The number of a field that stands in the tagged section. */
  readonly tag: number | undefined
  /** True if encoding a value in a version that lacks the field drops it silently. */
  readonly ignorable: boolean
  /** An int64 in which 2^53 and beyond stands for "no limit" and is `Infinity` here. */
  readonly saturating: boolean
  /** The value where the field is absent; undefined for a struct, whose default is that of its fields. */
  readonly default: unknown
  readonly about: string
  /** Never set: it carries the type. */
  readonly decodedType?: Decoded
  /** Never set: it carries the type. */
  readonly inputType?: Input
}

/** Fields by name, in the order in which they are encoded. */
export type Fields = Readonly<Record<string, Field>>

interface CommonOptions {
  /** Makes the field a tagged one. */
  readonly tag?: number
  readonly ignorable?: true
  /** What the field means, where its name doesn't say it. */
  readonly about?: string
}

export interface FieldOptions<T> extends CommonOptions {
  readonly default?: T
  readonly nullable?: never
}

export interface NullableFieldOptions<T> extends CommonOptions {
  readonly default?: T | null
  /** The versions in which the field may be null; true for all. */
  readonly nullable: true | string
}

/** Makes a field of one primitive type. */
interface FieldMaker<Decoded, Input = Decoded> {
  (versions: string, options?: FieldOptions<Decoded>): Field<Decoded, Input>
  (versions: string, options: NullableFieldOptions<Decoded>): Field<Decoded | null, Input | null>
}

export const bool: FieldMaker<boolean> = primitive('bool', false)
export const int8: FieldMaker<number> = primitive('int8', 0)
export const int16: FieldMaker<number> = primitive('int16', 0)
export const uint16: FieldMaker<number> = primitive('uint16', 0)
export const int32: FieldMaker<number> = primitive('int32', 0)
export const uint32: FieldMaker<number> = primitive('uint32', 0)
export const int64: FieldMaker<number> = primitive('int64', 0)
export const float64: FieldMaker<number> = primitive('float64', 0)
export const string: FieldMaker<string> = primitive('string', '')
/** A UUID as 22 characters of base64url, as Kafka prints it. */
export const uuid: FieldMaker<string> = primitive('uuid', ZERO_UUID)
export const bytes: FieldMaker<Buffer, ByteInput> = primitive<Buffer, ByteInput>('bytes', Buffer.alloc(0))
/** Record batches: a view of the frame, or null. They may be given as several buffers, and are null by default. */
export const records: FieldMaker<Buffer, ByteInput> = primitive<Buffer, ByteInput>('records', null)
/** An int64 that is `Infinity` for values that a number can't hold: for limits, and timestamps to search for. */
export function saturatingInt64(versions: string, options: FieldOptions<number> = {}): Field<number, number> {
  return { ...field<number, number>({ kind: 'int64' }, versions, options, 0), saturating: true }
}

type Element = PrimitiveName | Fields
type ElementDecoded<E extends Element> = E extends PrimitiveName
  ? PrimitiveTypes[E]
  : E extends Fields
    ? DecodedFields<E>
    : never
type ElementInput<E extends Element> = E extends 'bytes' | 'records'
  ? ByteInput
  : E extends PrimitiveName
    ? PrimitiveTypes[E]
    : E extends Fields
      ? InputFields<E>
      : never

/** An array of a primitive type or of structs with the given fields; empty by default. */
export function array<const E extends Element>(
  versions: string,
  element: E,
  options?: FieldOptions<never>,
): Field<readonly ElementDecoded<E>[], readonly ElementInput<E>[]>
export function array<const E extends Element>(
  versions: string,
  element: E,
  options: NullableFieldOptions<never>,
): Field<readonly ElementDecoded<E>[] | null, readonly ElementInput<E>[] | null>
export function array(
  versions: string,
  element: Element,
  options: FieldOptions<never> | NullableFieldOptions<never> = {},
): Field<never, never> {
  const elementType: FieldType =
    typeof element === 'string' ? { kind: element } : { kind: 'struct', fields: checkedFields(element) }
  return field({ kind: 'array', element: elementType }, versions, options, EMPTY_ARRAY)
}

/** A single struct. Its default is the struct of its fields' defaults, or null where the options say so. */
export function struct<F extends Fields>(
  versions: string,
  fields: F,
  options?: FieldOptions<never>,
): Field<DecodedFields<F>, InputFields<F>>
export function struct<F extends Fields>(
  versions: string,
  fields: F,
  options: NullableFieldOptions<never>,
): Field<DecodedFields<F> | null, InputFields<F> | null>
export function struct(
  versions: string,
  fields: Fields,
  options: FieldOptions<never> | NullableFieldOptions<never> = {},
): Field<never, never> {
  return field({ kind: 'struct', fields: checkedFields(fields) }, versions, options, undefined)
}

/** The decoded form of a set of fields: every field is there, in every version. */
export type DecodedFields<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer Decoded> ? Decoded : never
}

/** What a set of fields is encoded from: a field left out (or undefined) has its default. */
export type InputFields<F extends Fields> = {
  readonly [K in keyof F]?: (F[K] extends Field<unknown, infer Input> ? Input : never) | undefined
}

export type MessageKind = 'request' | 'response' | 'data'

/** The description of one message in all its versions. */
export interface Message<F extends Fields = Fields> {
  readonly kind: MessageKind
  /** The key of the API that the message belongs to; -1 for `data`. */
  readonly apiKey: number
  /** Kafka's name: `FetchRequest`. */
  readonly name: string
  readonly versions: VersionRange
  /** The versions with compact lengths and tagged fields. */
  readonly flexibleVersions: VersionRange | undefined
  readonly fields: F
}

/** The decoded form of a message. */
export type Decoded<M extends Message> = DecodedFields<M['fields']>
/** What a message is encoded from. */
export type Input<M extends Message> = InputFields<M['fields']>

interface MessageDefinition<F extends Fields> {
  readonly name: string
  readonly versions: string
  /** The versions with compact lengths and tagged fields, if any. */
  readonly flexible?: string
  readonly fields: F
}

/** Describes the request of an API. */
export function request<F extends Fields>(apiKey: number, definition: MessageDefinition<F>): Message<F> {
  return message('request', apiKey, definition)
}

/** Describes the response of an API. */
export function response<F extends Fields>(apiKey: number, definition: MessageDefinition<F>): Message<F> {
  return message('response', apiKey, definition)
}

/** Describes a structure that is no request: the value of a record, or bytes inside of another message. */
export function data<F extends Fields>(definition: MessageDefinition<F>): Message<F> {
  return message('data', -1, definition)
}

export function includes(range: VersionRange | undefined, version: number): boolean {
  return range !== undefined && version >= range.first && version <= range.last
}

const EMPTY_ARRAY: readonly never[] = Object.freeze([])

function message<F extends Fields>(kind: MessageKind, apiKey: number, definition: MessageDefinition<F>): Message<F> {
  const { name, versions, flexible, fields } = definition
  checkedFields(fields)
  const flexibleVersions = flexible === undefined ? undefined : versionRange(flexible)
  return { kind, apiKey, name, versions: versionRange(versions), flexibleVersions, fields }
}

function primitive<Decoded, Input = Decoded>(
  kind: PrimitiveName,
  typeDefault: Decoded | null,
): FieldMaker<Decoded, Input> {
  return (versions: string, options: FieldOptions<Decoded> | NullableFieldOptions<Decoded> = {}) =>
    field<Decoded, Input>({ kind }, versions, options, typeDefault)
}

function field<Decoded, Input>(
  type: FieldType,
  versions: string,
  options: FieldOptions<Decoded> | NullableFieldOptions<Decoded>,
  typeDefault: unknown,
): Field<Decoded, Input> {
  const range = versionRange(versions)
  const { nullable } = options
  return {
    type,
    versions: range,
    nullableVersions: nullable === true ? range : nullable === undefined ? undefined : versionRange(nullable),
    tag: options.tag,
    ignorable: options.ignorable ?? false,
    saturating: false,
    default: options.default === undefined ? typeDefault : options.default,
    about: options.about ?? '',
  }
}

/** JavaScript orders integer-like names first, so such a name would change the order of the encoding. */
function checkedFields(fields: Fields): Fields {
  for (const name of Object.keys(fields)) invariant(/^[a-z][a-zA-Z0-9]*$/.test(name), `bad field name '${name}'`)
  return fields
}

function versionRange(text: string): VersionRange {
  const match = /^(\d+)(?:(\+)|-(\d+))?$/.exec(text)
  invariant(match !== null, `bad version range '${text}'`)
  const first = Number(match[1])
  const last = match[2] === '+' ? Infinity : match[3] === undefined ? first : Number(match[3])
  invariant(first <= last, `bad version range '${text}'`)
  return { first, last }
}
