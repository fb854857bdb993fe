import { StoreError } from '../../crds/resource-store.ts'

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
      if (!isRace || attempts === MAX_ATTEMPTS) throw error
    }
  }
}
