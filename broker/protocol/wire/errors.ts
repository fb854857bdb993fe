/**
 * Bytes from a peer that are no valid message: a read past the end, an impossible length or count, a null where none is
 * allowed. It is bad input, never a bug: the server answers by closing the connection.
 */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

/**
 * A value that has no encoding in the chosen version: a number out of range, or a field that the version lacks. The bytes
 * of a peer can't cause it; either a handler set a field that it had to leave out, or a client asked for too much.
 */
export class EncodeError extends Error {
  override readonly name = 'EncodeError'
}
