import { StoreError } from '../../crds/resource-store.ts'
import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'

const MAX_ATTEMPTS = 10

/**
 * Tries a change of the store, which reads before it writes, again when others were quicker; what is refused every time is
 * told at last.
 */
export async function againOnRaces<T>(attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      const isRace = error instanceof StoreError && ['Invalid', 'Conflict', 'AlreadyExists'].includes(error.reason)
      if (!isRace) throw error
      if (attempts < MAX_ATTEMPTS) continue
      // What breaks a schema is refused each time.
      if (error.reason === 'Invalid') throw error
      throw new KafkaError(ErrorCode.REQUEST_TIMED_OUT, 'Others change the same all the time; try again later.')
    }
  }
}
