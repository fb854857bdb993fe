import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** A loopback TCP port that was free a moment ago, as are the `count - 1` ports that follow it. */
export async function freePort(count = 1): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const first = await tryListen(0)
    if (first === undefined || first + count > 65_535) continue
    let isFree = true
    for (let next = first + 1; next < first + count && isFree; next++) isFree = (await tryListen(next)) !== undefined
    if (isFree) return first
  }
  throw new Error(`found no ${count} free consecutive ports on 127.0.0.1`)
}

async function tryListen(port: number): Promise<number | undefined> {
  const server = createServer()
  try {
    const isListening = once(server, 'listening')
    server.listen(port, '127.0.0.1')
    await isListening
    const address = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    return address.port
  } catch {
    return undefined
  }
}
