/**
 * Turns the description of a message into the source of one encoder and one decoder for one version. What depends on the
 * description (which fields the version has, in which encoding, and their defaults) is decided here, once; the
 * functions themselves are straight code, which the JIT compiles as it would hand-written code.
 *
 * The source holds names of fields, numbers, and `C[i]` for constants; nothing in it comes from a peer.
 */
import { includes, type Field, type Fields, type FieldType, type Message } from './schema.ts'

/** The source of a function body that returns the encoder or decoder, and the constants that it takes as `C`. */
export interface GeneratedCode {
  readonly source: string
  readonly constants: readonly unknown[]
}

interface FieldOfVersion {
  readonly name: string
  readonly field: Field
  readonly isNullable: boolean
}

/** Generates `(reader) => decoded`. */
export function generateDecoder(message: Message, version: number): GeneratedCode {
  return new DecoderGenerator(message, version).generate()
}

/** Generates `(writer, input) => void`. */
export function generateEncoder(message: Message, version: number): GeneratedCode {
  return new EncoderGenerator(message, version).generate()
}

/** The default of a field as a decoded value, shared by all messages that lack it; structs and arrays are frozen. */
export function defaultOf(field: Field): unknown {
  if (field.type.kind !== 'struct' || field.default === null) return field.default
  const entries = Object.entries(field.type.fields).map(([name, inner]) => [name, defaultOf(inner)])
  return Object.freeze(Object.fromEntries(entries))
}

/** What both generators share: the constants, the functions of structs, and which fields the version has. */
class CodeUnit {
  readonly version: number
  readonly isFlexible: boolean
  readonly #constants: unknown[] = []
  readonly #functions: string[] = []

  constructor(message: Message, version: number) {
    this.version = version
    this.isFlexible = includes(message.flexibleVersions, version)
  }

  constant(value: unknown): string {
    if (value === null || typeof value === 'boolean' || typeof value === 'number') return String(value)
    if (typeof value === 'string') return JSON.stringify(value)
    const index = this.#constants.indexOf(value)
    return `C[${index >= 0 ? index : this.#constants.push(value) - 1}]`
  }

  /** Adds a function and returns its name; the same source is added once. */
  addFunction(parameters: string, body: string): string {
    const source = `(${parameters}) {\n${body}}\n`
    const index = this.#functions.indexOf(source)
    return `f${index >= 0 ? index : this.#functions.push(source) - 1}`
  }

  finish(mainFunction: string): GeneratedCode {
    const functions = this.#functions.map((source, index) => `function f${index}${source}`).join('')
    return { source: `'use strict'\n${functions}return ${mainFunction}\n`, constants: this.#constants }
  }

  untagged(fields: Fields): FieldOfVersion[] {
    return this.#present(fields).filter(({ field }) => field.tag === undefined)
  }

  /** In the order in which they have to be written. */
  tagged(fields: Fields): FieldOfVersion[] {
    return this.#present(fields)
      .filter(({ field }) => field.tag !== undefined)
      .sort((a, b) => Number(a.field.tag) - Number(b.field.tag))
  }

  absent(fields: Fields): FieldOfVersion[] {
    return this.#all(fields).filter(({ field }) => !includes(field.versions, this.version))
  }

  /** The name of the reader's or writer's method for a string, byte or array length. */
  method(base: string, isNullable: boolean): string {
    const name = `${isNullable ? 'nullable' : ''}${isNullable ? capitalized(base) : base}`
    return this.isFlexible ? `compact${capitalized(name)}` : name
  }

  #present(fields: Fields): FieldOfVersion[] {
    return this.#all(fields).filter(({ field }) => includes(field.versions, this.version))
  }

  #all(fields: Fields): FieldOfVersion[] {
    return Object.entries(fields).map(([name, field]) => ({
      name,
      field,
      isNullable: includes(field.nullableVersions, this.version),
    }))
  }
}

class DecoderGenerator {
  readonly #unit: CodeUnit
  readonly #message: Message

  constructor(message: Message, version: number) {
    this.#message = message
    this.#unit = new CodeUnit(message, version)
  }

  generate(): GeneratedCode {
    return this.#unit.finish(this.#structFunction(this.#message.fields))
  }

  #structFunction(fields: Fields): string {
    const unit = this.#unit
    let body = ''
    for (const { name, field, isNullable } of unit.untagged(fields)) {
      body += `const ${name}_ = ${this.#read(field.type, isNullable, field.saturating)}\n`
    }
    if (unit.isFlexible) body += this.#taggedSection(fields)
    // One literal with all fields in one order: the objects of all versions have the same hidden class.
    const absent = new Set(unit.absent(fields).map(({ name }) => name))
    const properties = Object.entries(fields).map(
      ([name, field]) => `${name}: ${absent.has(name) ? unit.constant(defaultOf(field)) : `${name}_`}`,
    )
    return unit.addFunction('r', `${body}return { ${properties.join(', ')} }\n`)
  }

  #taggedSection(fields: Fields): string {
    const tagged = this.#unit.tagged(fields)
    if (tagged.length === 0) return 'r.skipTaggedFields()\n'
    let code = ''
    let cases = ''
    for (const { name, field, isNullable } of tagged) {
      code += `let ${name}_ = ${this.#unit.constant(defaultOf(field))}\n`
      cases += `case ${field.tag ?? -1}: ${name}_ = ${this.#read(field.type, isNullable, field.saturating)}; r.expectPosition(end); break\n`
    }
    code += 'for (let n = r.uvarint(); n > 0; n--) {\nconst tag = r.uvarint(), end = r.taggedFieldEnd()\n'
    return `${code}switch (tag) {\n${cases}default: r.skip(end - r.position)\n}\n}\n`
  }

  /** An expression that reads one value. */
  #read(type: FieldType, isNullable: boolean, isSaturating: boolean): string {
    const unit = this.#unit
    switch (type.kind) {
      case 'int64':
        return isSaturating ? 'r.saturatingInt64()' : 'r.int64()'
      case 'string':
        return `r.${unit.method('string', isNullable)}()`
      case 'bytes':
      case 'records':
        return `r.${unit.method('bytes', isNullable)}()`
      case 'struct': {
        const read = `${this.#structFunction(type.fields)}(r)`
        return isNullable ? `(r.isPresent() ? ${read} : null)` : read
      }
      case 'array':
        return `${this.#arrayFunction(type.element, isNullable)}(r)`
      default:
        return `r.${type.kind}()`
    }
  }

  #arrayFunction(element: FieldType, isNullable: boolean): string {
    const readLength = `r.${this.#unit.method('arrayLength', isNullable)}(${Math.max(1, minBytes(element, this.#unit))})`
    return this.#unit.addFunction(
      'r',
      `const n = ${readLength}\n${isNullable ? 'if (n < 0) return null\n' : ''}const a = []\n` +
        `for (let i = 0; i < n; i++) a.push(${this.#read(element, false, false)})\nreturn a\n`,
    )
  }
}

class EncoderGenerator {
  readonly #unit: CodeUnit
  readonly #message: Message

  constructor(message: Message, version: number) {
    this.#message = message
    this.#unit = new CodeUnit(message, version)
  }

  generate(): GeneratedCode {
    return this.#unit.finish(this.#structFunction(this.#message.fields, ''))
  }

  /** `path` names the struct in error messages: `topics.partitions.`. */
  #structFunction(fields: Fields, path: string): string {
    const unit = this.#unit
    let body = ''
    for (const { name, field } of unit.absent(fields)) {
      if (!field.ignorable) body += `if (!${this.#isDefault(field, `o.${name}`)}) e.absentField('${path}${name}')\n`
    }
    for (const { name, field, isNullable } of unit.untagged(fields)) {
      body += `const ${name}_ = o.${name}\n${this.#write(field, isNullable, `${name}_`, path + name)}`
    }
    if (unit.isFlexible) body += this.#taggedSection(fields, path)
    return unit.addFunction('w, o, e', body)
  }

  #taggedSection(fields: Fields, path: string): string {
    const tagged = this.#unit.tagged(fields)
    if (tagged.length === 0) return 'w.uvarint(0)\n'
    let code = ''
    let writes = ''
    const isSet: string[] = []
    for (const { name, field, isNullable } of tagged) {
      code += `const ${name}_ = o.${name}, has_${name} = !${this.#isDefault(field, `${name}_`)}\n`
      isSet.push(`(has_${name} ? 1 : 0)`)
      writes += `if (has_${name}) {\nconst begin = w.beginTagged(${field.tag ?? -1})\n`
      writes += `${this.#write(field, isNullable, `${name}_`, path + name)}w.endTagged(begin)\n}\n`
    }
    return `${code}w.uvarint(${isSet.join(' + ')})\n${writes}`
  }

  /** Statements that write the value of a field, or its default if the value is undefined. */
  #write(field: Field, isNullable: boolean, value: string, path: string): string {
    const { type } = field
    if (type.kind === 'array' || type.kind === 'struct') return this.#writeComposite(field, isNullable, value, path)
    if (field.default === null && !isNullable && type.kind !== 'records') {
      return `if (${value} == null) e.nullField('${path}')\nelse ${this.#writePrimitive(field, false, value)}\n`
    }
    const given = `${value} === undefined ? ${this.#inputDefault(field, isNullable)} : ${value}`
    const check = isNullable ? '' : `if (${value} === null) e.nullField('${path}')\n`
    return `${check}${this.#writePrimitive(field, isNullable, given)}\n`
  }

  /** Null records in a version that doesn't allow null are no records. */
  #inputDefault(field: Field, isNullable: boolean): string {
    return this.#unit.constant(field.default === null && !isNullable ? NO_BYTES : field.default)
  }

  #writePrimitive(field: Field, isNullable: boolean, value: string): string {
    switch (field.type.kind) {
      case 'int64':
        return `w.${field.saturating ? 'saturatingInt64' : 'int64'}(${value})`
      case 'string':
        return `w.${this.#unit.method('string', isNullable)}(${value})`
      case 'bytes':
      case 'records':
        return `w.${this.#unit.method('bytes', isNullable)}(${value})`
      default:
        return `w.${field.type.kind}(${value})`
    }
  }

  #writeComposite(field: Field, isNullable: boolean, value: string, path: string): string {
    const { type } = field
    const isNullByDefault = field.default === null
    if (type.kind === 'struct') {
      const write = `${this.#structFunction(type.fields, `${path}.`)}(w, ${value} === undefined ? ${this.#unit.constant(NOTHING)} : ${value}, e)`
      const isNull = isNullByDefault ? `${value} == null` : `${value} === null`
      if (!isNullable) return `if (${isNull}) e.nullField('${path}')\nelse ${write}\n`
      return `if (${isNull}) w.presence(false)\nelse { w.presence(true); ${write} }\n`
    }
    if (type.kind !== 'array') return ''
    const writeLength = `w.${this.#unit.isFlexible ? 'compactArrayLength' : 'arrayLength'}`
    const whenNull = isNullable ? `${writeLength}(-1)` : `e.nullField('${path}')`
    const whenAbsent = isNullByDefault ? whenNull : `${writeLength}(0)`
    const writeArray = this.#arrayFunction(type.element, writeLength, path)
    return `if (${value} === undefined) ${whenAbsent}\nelse if (${value} === null) ${whenNull}\nelse ${writeArray}(w, ${value}, e)\n`
  }

  #arrayFunction(element: FieldType, writeLength: string, path: string): string {
    const value = 'a[i]'
    const write =
      element.kind === 'struct'
        ? `${this.#structFunction(element.fields, `${path}.`)}(w, ${value}, e)`
        : this.#writePrimitive(elementField(element), false, value)
    return this.#unit.addFunction(
      'w, a, e',
      `const n = a.length\n${writeLength}(n)\nfor (let i = 0; i < n; i++) ${write}\n`,
    )
  }

  /** An expression that is true if `value` is undefined or the field's default. */
  #isDefault(field: Field, value: string): string {
    if (field.default === null) return `(${value} == null)`
    switch (field.type.kind) {
      case 'array':
      case 'bytes':
      case 'records':
        return `(${value} === undefined || (${value} !== null && ${value}.length === 0))`
      case 'struct':
        return `(${value} === undefined || (${value} !== null && ${this.#isDefaultFunction(field.type.fields)}(${value})))`
      default:
        return `(${value} === undefined || ${value} === ${this.#unit.constant(field.default)})`
    }
  }

  #isDefaultFunction(fields: Fields): string {
    const conditions = Object.entries(fields).map(([name, field]) => this.#isDefault(field, `o.${name}`))
    return this.#unit.addFunction('o', `return ${conditions.join(' && ')}\n`)
  }
}

const NO_BYTES = Buffer.alloc(0)
const NOTHING = Object.freeze({})

/** The least number of bytes that a value takes: what an array's count is checked with. */
function minBytes(type: FieldType, unit: CodeUnit): number {
  switch (type.kind) {
    case 'bool':
    case 'int8':
      return 1
    case 'int16':
    case 'uint16':
      return 2
    case 'int32':
    case 'uint32':
      return 4
    case 'int64':
    case 'float64':
      return 8
    case 'uuid':
      return 16
    case 'string':
      return unit.isFlexible ? 1 : 2
    case 'bytes':
    case 'records':
    case 'array':
      return unit.isFlexible ? 1 : 4
    case 'struct': {
      let bytes = unit.isFlexible ? 1 : 0
      for (const { field, isNullable } of unit.untagged(type.fields)) {
        bytes += isNullable && field.type.kind === 'struct' ? 1 : minBytes(field.type, unit)
      }
      return bytes
    }
  }
}

/** The elements of an array have no options of their own. */
function elementField(type: FieldType): Field {
  const always = { first: 0, last: Infinity }
  return {
    type,
    versions: always,
    nullableVersions: undefined,
    tag: undefined,
    ignorable: false,
    saturating: false,
    default: undefined,
    about: '',
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
