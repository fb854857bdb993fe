import { once } from 'node:events'
import { createServer } from 'node:net'
import { randomInt } from 'node:crypto'

/**
 * Below the ports that systems give to outgoing connections (from 32768 on Linux): a port of a broker that is down for a
 * moment must not be taken by a client that connects to another.
 */
const FIRST_PORT = 15_000
const LAST_PORT = 32_000

/** A loopback TCP port that was free a moment ago, as are the `count - 1` ports that follow it. */
export async function freePort(count = 1): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const first = randomInt(FIRST_PORT, LAST_PORT - count)
    let isFree = true
    for (let port = first; port < first + count && isFree; port++) isFree = await canListen(port)
    if (isFree) return first
  }
  throw new Error(`found no ${count} free consecutive ports on 127.0.0.1`)
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer()
  try {
    const isListening = once(server, 'listening')
    server.listen(port, '127.0.0.1')
    await isListening
    server.close()
    await once(server, 'close')
    return true
  } catch {
    return false
  }
}
