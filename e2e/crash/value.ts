import { crc32 } from 'node:zlib'

/** What the crash suite's producers write: who wrote it, its number, and letters whose count and order follow from it. */
export function valueOf(producer: string, sequence: number): string {
  if (producer === verifiableProducer) return String(sequence)
  const letters = 20 + ((sequence * 7919) % 900)
  const start = sequence % 26
  return `${producer} ${sequence} ${alphabet.slice(start, start + letters)}`
}

/** The name that LogReader gives to the writer of values of one word: Kafka's VerifiableProducer writes plain numbers. */
export const verifiableProducer = '-'

/** CRC-32 (zlib's) of that value. */
export function valueCrc(producer: string, sequence: number): number {
  return crc32(valueOf(producer, sequence))
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz'.repeat(37)
