/** A broken invariant: a bug in this program, never bad input. It ends the process, since state can't be trusted any more. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}

/** Throws an {@link InvariantError} unless `condition` holds. Stays on in production. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (condition !== true && !condition) throw new InvariantError(message)
}

/** Marks code that the types prove unreachable. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable value: ${String(value)}`)
}
