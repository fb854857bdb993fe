/** Waiting for a condition in the real world, with a limit. */

export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs))
}

/** Asks `probe` until it gives a value other than undefined; throws `what` after `timeoutMs`. */
export async function waitFor<T>(
  what: string,
  timeoutMs: number,
  probe: () => T | undefined | Promise<T | undefined>,
  everyMs = 20,
): Promise<T> {
  const endMs = performance.now() + timeoutMs
  for (;;) {
    const value = await probe()
    if (value !== undefined) return value
    if (performance.now() > endMs) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`)
    await sleep(everyMs)
  }
}
