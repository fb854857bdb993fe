import type { Random } from '../../../../common/random.ts'
import { randomInt } from '../../../../common/random.ts'
import type { RecordToEncode } from '../encode-batch.ts'

/** Records of all shapes: null and empty keys and values, headers, times that go back, sizes around varint borders. */
export function randomRecords(random: Random, maxCount = 12): RecordToEncode[] {
  return Array.from({ length: randomInt(random, 1, maxCount) }, () => ({
    timestamp: randomTimestamp(random),
    key: randomBytes(random),
    value: randomBytes(random),
    headers: Array.from({ length: Math.max(0, randomInt(random, -3, 3)) }, () => ({
      key: ['', 'h', 'a-much-longer-header-key', 'schlüssel'][randomInt(random, 0, 3)] ?? '',
      value: randomBytes(random),
    })),
  }))
}

function randomTimestamp(random: Random): number {
  switch (randomInt(random, 0, 5)) {
    case 0:
      return -1
    case 1:
      return 0
    case 2:
      return 2 ** 41 + randomInt(random, 0, 2 ** 31)
    default:
      return 1_700_000_000_000 + randomInt(random, -100_000, 100_000)
  }
}

function randomBytes(random: Random): Buffer | null {
  const size = [-1, 0, 1, 63, 64, 100, 8191, 8192][randomInt(random, 0, 7)] ?? 0
  if (size < 0) return null
  // Half of them compress well.
  return random.next() < 0.5 ? random.bytes(size) : Buffer.alloc(size, 'ottla ')
}
