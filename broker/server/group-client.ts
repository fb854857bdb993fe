/** Who a group coordinator believes to talk to. */
import type { GroupClient } from '../coordinator/group/group.ts'
import type { RequestContext } from './api-handler.ts'
import { withoutIpv4Mapping } from './ip-address.ts'

export function groupClient({ clientId, remoteAddress, apiVersion }: RequestContext): GroupClient {
  // With the slash that Kafka's tools print.
  return { clientId: clientId ?? '', clientHost: `/${withoutIpv4Mapping(remoteAddress)}`, apiVersion }
}
