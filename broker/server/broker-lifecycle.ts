/**
 * A broker's registration: makes its Broker resource, reports this incarnation, and waits until the operator has
 * acknowledged it. Until then the broker leads and follows nothing.
 */
import type { Logger } from '../../common/logger.ts'
import { brokerObjectName, type BrokerStatus } from '../../crds/broker.ts'
import { LOCAL_NAMESPACE } from '../../crds/resource.ts'
import { StoreError, type ResourceStore } from '../../crds/resource-store.ts'
import type { MetadataCache } from '../metadata/metadata-cache.ts'

export interface Registration {
  readonly brokerId: number
  readonly incarnation: string
  readonly directoryId: string
  readonly cleanShutdownEpoch: number | undefined
  readonly endpoints: NonNullable<BrokerStatus['endpoints']>
  readonly rack: string | undefined
  readonly version: string
  readonly highestProducerId: number
}

/** Resolves with the broker epoch that the operator gave to this incarnation. Errors: StoreError. */
export async function registerBroker(
  store: ResourceStore,
  metadata: MetadataCache,
  registration: Registration,
  logger: Logger,
): Promise<number> {
  const { brokerId, incarnation } = registration
  const ref = { namespace: LOCAL_NAMESPACE, name: brokerObjectName(brokerId) }
  if ((await store.get('Broker', ref)) === undefined) await createBroker(store, brokerId)
  const known = (await store.get('Broker', ref))?.status
  const status: BrokerStatus = {
    incarnation,
    directoryId: registration.directoryId,
    endpoints: registration.endpoints,
    version: registration.version,
    highestProducerId: registration.highestProducerId,
    ...(registration.cleanShutdownEpoch !== undefined && { cleanShutdownEpoch: registration.cleanShutdownEpoch }),
    ...(registration.rack !== undefined && { rack: registration.rack }),
    // What the operator wrote is the operator's.
    ...(known?.acknowledged !== undefined && { acknowledged: known.acknowledged }),
    ...(known?.conditions !== undefined && { conditions: known.conditions }),
  }
  await store.patch('Broker', ref, [{ op: 'add', path: '/status', value: status }], { subresource: 'status' })
  logger.info({ brokerId, incarnation }, 'registered; waiting for the acknowledgement')
  const acknowledgedEpoch = (): number | undefined => {
    const acknowledged = metadata.brokerResource(brokerId)?.status?.acknowledged
    return acknowledged?.incarnation === incarnation ? acknowledged.brokerEpoch : undefined
  }
  await metadata.waitFor(() => acknowledgedEpoch() !== undefined)
  const brokerEpoch = acknowledgedEpoch()
  if (brokerEpoch === undefined) throw new Error('the acknowledgement vanished')
  logger.info({ brokerId, brokerEpoch }, 'acknowledged')
  return brokerEpoch
}

async function createBroker(store: ResourceStore, brokerId: number): Promise<void> {
  try {
    await store.create({
      kind: 'Broker',
      metadata: { namespace: LOCAL_NAMESPACE, name: brokerObjectName(brokerId) },
      spec: { brokerId },
    })
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== 'AlreadyExists') throw error
  }
}
