/**
 * Encoders and decoders of messages: one function each per (message, version), compiled from the message's description at
 * first use and kept. Compiled code costs about what hand-written code would; interpreting the description does not.
 */
import { invariant } from '../../common/invariant.ts'
import { generateDecoder, generateEncoder, type GeneratedCode } from './codegen.ts'
import { includes, type DecodedFields, type Fields, type InputFields, type Message } from './schema.ts'
import { EncodeError, ProtocolError } from './wire/errors.ts'
import type { Reader } from './wire/reader.ts'
import type { Writer } from './wire/writer.ts'

/** What the code of an encoder calls when a value can't be encoded in its version. */
interface EncodeFailures {
  absentField(path: string): never
  nullField(path: string): never
}

type Decoder = (reader: Reader) => unknown
type Encoder = (writer: Writer, input: unknown, failures: EncodeFailures) => void

interface Codecs {
  readonly decoders: (Decoder | undefined)[]
  readonly encoders: ({ encode: Encoder; failures: EncodeFailures } | undefined)[]
}

/** A cache, by the identity of a description that never changes. */
const codecsOfMessages = new WeakMap<Message, Codecs>()

/**
 * Decodes a message that begins at the reader's position. Bytes and records are views of the reader's buffer. Throws a
 * {@link ProtocolError} if the bytes are no such message.
 */
export function decodeMessage<F extends Fields>(
  message: Message<F>,
  version: number,
  reader: Reader,
): DecodedFields<F> {
  const { decoders } = codecsOf(message)
  const decoder = (decoders[version] ??= compileDecoder(message, version))
  try {
    return decoder(reader) as DecodedFields<F>
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    throw new ProtocolError(`${message.name} v${version}, byte ${reader.position}: ${error.message}`, { cause: error })
  }
}

/**
 * Encodes a message. Fields that `input` leaves out have their defaults. Throws an {@link EncodeError} if a value doesn't
 * fit its type, or isn't the default in a field that the version lacks and that isn't ignorable.
 */
export function encodeMessage<F extends Fields>(
  message: Message<F>,
  version: number,
  writer: Writer,
  input: InputFields<F>,
): void {
  const { encoders } = codecsOf(message)
  const encoder = (encoders[version] ??= compileEncoder(message, version))
  encoder.encode(writer, input, encoder.failures)
}

function codecsOf(message: Message): Codecs {
  let codecs = codecsOfMessages.get(message)
  if (codecs === undefined) {
    codecs = { decoders: [], encoders: [] }
    codecsOfMessages.set(message, codecs)
  }
  return codecs
}

function compileDecoder(message: Message, version: number): Decoder {
  checkVersion(message, version)
  return compile(generateDecoder(message, version)) as Decoder
}

function compileEncoder(message: Message, version: number): { encode: Encoder; failures: EncodeFailures } {
  checkVersion(message, version)
  const failures: EncodeFailures = {
    absentField: (path) => {
      throw new EncodeError(`${message.name} v${version} has no field '${path}', so it can only have its default`)
    },
    nullField: (path) => {
      throw new EncodeError(`${message.name} v${version}: '${path}' can't be null`)
    },
  }
  return { encode: compile(generateEncoder(message, version)) as Encoder, failures }
}

function compile({ source, constants }: GeneratedCode): unknown {
  // The source is made from descriptions in this program only, never from input.
  // eslint-disable-next-line @typescript-eslint/no-implied-eval
  const instantiate = new Function('C', source) as (constants: readonly unknown[]) => unknown
  return instantiate(constants)
}

/** Callers check the versions of requests; a description without the version is a bug of theirs. */
function checkVersion(message: Message, version: number): void {
  invariant(
    Number.isInteger(version) && includes(message.versions, version),
    `${message.name} has no version ${version}; it has ${message.versions.first} to ${message.versions.last}`,
  )
}
