/** Who a group coordinator believes to talk to. */
import type { GroupClient } from '../coordinator/group/group.ts'
import type { RequestContext } from './api-handler.ts'

export function groupClient({ clientId, remoteAddress, apiVersion }: RequestContext): GroupClient {
  // IPv4 clients of a dual-stack socket are shown by their IPv4 address, with the slash that Kafka's tools print.
  return { clientId: clientId ?? '', clientHost: `/${remoteAddress.replace(/^::ffff:/, '')}`, apiVersion }
}
