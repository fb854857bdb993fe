/**
 * Lets the accepted connections of a server read into one buffer that is used again for each read.
 *
 * Node gives every read of an accepted socket 64 KiB of new memory, which at broker rates keeps the garbage collector
 * busy. Its `onread` option avoids that, but Node offers it only to sockets that connect. So the accepted socket's handle
 * is moved to a new socket that has the option. The handle is no documented property; where it is missing, reads come as
 * plain `data` events, which is slower and otherwise the same.
 */
import { Socket, type SocketConstructorOpts } from 'node:net'

/** Called with bytes that are valid only during the call. */
export type BytesListener = (bytes: Buffer) => void

type WithHandle = { _handle?: { readonly writeQueueSize?: number } | null }

/**
 * `accepted` must be paused (`pauseOnConnect`) and is not to be used any more; the returned socket takes its place and is
 * paused too: `resume` begins the reading. `buffer` may serve any number of sockets.
 */
export function readIntoBuffer(accepted: Socket, buffer: Buffer, onBytes: BytesListener): Socket {
  const { _handle: handle } = accepted as unknown as WithHandle
  if (typeof handle !== 'object' || handle === null) {
    accepted.on('data', onBytes)
    accepted.pause()
    return accepted
  }
  ;(accepted as unknown as WithHandle)._handle = null
  const options = {
    handle,
    allowHalfOpen: true,
    readable: true,
    writable: true,
    onread: {
      buffer,
      callback: (bytesRead: number) => {
        onBytes(buffer.subarray(0, bytesRead))
        return true
      },
    },
  }
  return new Socket(options as unknown as SocketConstructorOpts)
}

/**
 * Bytes written to a socket that its peer's window has not let the kernel take: it shrinks within a large write too, where
 * `writableLength` stands still until the end.
 */
export function unwrittenBytes(socket: Socket): number {
  const queued = (socket as unknown as WithHandle)._handle?.writeQueueSize
  // What the stream holds and the handle does not know yet changes only as the handle's queue becomes empty.
  return typeof queued === 'number' ? queued : socket.writableLength
}
