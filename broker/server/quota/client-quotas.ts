/**
 * The quotas of clients, enforced (KIP-13, KIP-124, KIP-219, KIP-599, KIP-612): what each client used lately, and for how long it
 * has to wait when that was too much. Nobody waits here: the response is told how long its client is throttled, and the
 * connection is not read from for that time.
 *
 * Each broker counts for itself, as in Kafka. Without quotas nothing is counted.
 */
import { createHash } from 'node:crypto'
import { isIPv6, SocketAddress } from 'node:net'
import type { Clock } from '../../../common/clock.ts'
import type { MetadataCache } from '../../metadata/metadata-cache.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import type { ClientQuotaKey } from './quota-keys.ts'
import { QuotaLimits, type EffectiveLimit } from './quota-limits.ts'
import { RateSensor, type RateWindow } from './rate-sensor.ts'
import { TokenBucket } from './token-bucket.ts'
import { withoutIpv4Mapping } from '../ip-address.ts'

/** Where the quotas that are set come from. */
export type QuotaSource = Pick<MetadataCache, 'clientQuotas' | 'subscribe'>

/** Whom a request comes from. */
export interface QuotaClient {
  readonly user: string
  readonly clientId: string | null
}

/** What one user, client id or pair used of a quota. */
export interface QuotaUse {
  readonly quota: ClientQuotaKey
  readonly user: string
  readonly clientId: string
  readonly limit: number
  readonly rate: number
  readonly throttledCount: number
  readonly throttledMs: number
}

/** The quota of one request on what changes the cluster's metadata. */
export interface MutationQuota {
  /** Counts created or deleted partitions. Throws THROTTLING_QUOTA_EXCEEDED where the client knows that answer. */
  charge(count: number): void
  /** For how long the client is to be throttled for what was charged. */
  readonly throttleMs: number
}

interface Sensor {
  readonly rate: RateSensor
  readonly tokens: TokenBucket
  readonly user: string
  readonly clientId: string
  limit: number
  throttledCount: number
  throttledMs: number
}

interface Tracker {
  limits: QuotaLimits
  /** By who shares a limit, the longest unused first. */
  readonly sensors: Map<string, Sensor>
}

const KEYS: readonly ClientQuotaKey[] = [
  'producer_byte_rate',
  'consumer_byte_rate',
  'request_percentage',
  'controller_mutation_rate',
]
/** Clients choose their ids: more than these are not told apart at a time, and the longest unused begins anew. */
const MAX_SENSORS = 10_000

/** Longer client ids are remembered by their hash. */
const MAX_ID_LENGTH = 256

const UNLIMITED: MutationQuota = { charge: () => undefined, throttleMs: 0 }

export class ClientQuotas {
  readonly #metadata: QuotaSource
  readonly #clock: Clock
  readonly #window: RateWindow
  readonly #trackers = new Map<ClientQuotaKey, Tracker>(
    KEYS.map((key) => [key, { limits: new QuotaLimits(), sensors: new Map<string, Sensor>() }]),
  )
  readonly #ipLimits = new Map<string, number>()
  #defaultIpLimit: number | undefined
  readonly #connectionRates = new Map<string, RateSensor>()
  #isActive = false

  constructor(metadata: QuotaSource, clock: Clock, window: RateWindow) {
    this.#metadata = metadata
    this.#clock = clock
    this.#window = window
    metadata.subscribe(({ quotasChanged }) => {
      if (quotasChanged) this.#takeQuotas()
    })
  }

  /** Whether any user or client id has a quota; if not, nothing need be charged. */
  get isActive(): boolean {
    return this.#isActive
  }

  /** Counts the bytes of a Produce request; returns for how long its client is to be throttled. */
  chargeProduce(client: QuotaClient, bytes: number): number {
    return this.#charge('producer_byte_rate', client, bytes)
  }

  /** Counts the bytes of a Fetch response, unless they are too many: then they are not to be sent. */
  chargeFetch(client: QuotaClient, bytes: number): number {
    const found = this.#sensorOf('consumer_byte_rate', client)
    if (found === undefined) return 0
    const nowMs = this.#clock.monotonicMs()
    // One batch may be more than the quota ever allows: a client that rested gets it, and rests again afterwards.
    const hasRested = found.rate.rate(nowMs) <= 0
    found.rate.record(bytes, nowMs)
    if (hasRested) return 0
    const throttleMs = throttled(found, found.rate.throttleMs(found.limit, nowMs))
    if (throttleMs > 0) found.rate.record(-bytes, nowMs)
    return throttleMs
  }

  /** The most bytes of one Fetch response: more would be over the quota even after a long rest. */
  maxFetchBytes(client: QuotaClient): number {
    if (!this.#isActive) return Infinity
    const limit = this.#limitOf('consumer_byte_rate', client)?.limit
    const { samples, windowMs } = this.#window
    return limit === undefined ? Infinity : Math.max(1, Math.floor((limit * (samples - 1) * windowMs) / 1000))
  }

  /** Counts the time that a request took of the event loop, which is 100 percent. */
  chargeRequest(client: QuotaClient, busyMs: number): number {
    const percent = (busyMs / 1000) * 100
    return Math.min(this.#window.windowMs, this.#charge('request_percentage', client, percent))
  }

  /** `isStrict`: the client's version knows that a change can be refused for its quota. */
  mutationQuota(client: QuotaClient, isStrict: boolean): MutationQuota {
    const found = this.#isActive ? this.#sensorOf('controller_mutation_rate', client) : undefined
    return found === undefined ? UNLIMITED : new ChargedMutations(found, isStrict, this.#window, this.#clock)
  }

  /** Counts a connection; returns for how long it is to be held up before it is closed, or 0 if it may be opened. */
  chargeConnection(address: string): number {
    if (this.#ipLimits.size === 0 && this.#defaultIpLimit === undefined) return 0
    const ip = canonicalAddress(address)
    const limit = this.#ipLimits.get(ip) ?? this.#defaultIpLimit
    if (limit === undefined) return 0
    const nowMs = this.#clock.monotonicMs()
    const rate = recent(this.#connectionRates, ip, () => new RateSensor(this.#window))
    rate.record(1, nowMs)
    const throttleMs = Math.min(this.#window.windowMs, rate.throttleMs(limit, nowMs))
    if (throttleMs > 0) rate.record(-1, nowMs)
    return throttleMs
  }

  /** What is in use now, for metrics. */
  *uses(): Generator<QuotaUse> {
    const nowMs = this.#clock.monotonicMs()
    for (const [quota, { sensors }] of this.#trackers) {
      for (const { user, clientId, limit, rate, throttledCount, throttledMs } of sensors.values()) {
        yield { quota, user, clientId, limit, rate: rate.rate(nowMs), throttledCount, throttledMs }
      }
    }
  }

  #charge(key: ClientQuotaKey, client: QuotaClient, value: number): number {
    const found = this.#sensorOf(key, client)
    if (found === undefined) return 0
    const nowMs = this.#clock.monotonicMs()
    found.rate.record(value, nowMs)
    return throttled(found, found.rate.throttleMs(found.limit, nowMs))
  }

  #limitOf(key: ClientQuotaKey, { user, clientId }: QuotaClient): EffectiveLimit | undefined {
    return this.#trackers.get(key)?.limits.find(user, clientId ?? '')
  }

  #sensorOf(key: ClientQuotaKey, client: QuotaClient): Sensor | undefined {
    const found = this.#limitOf(key, client)
    const tracker = this.#trackers.get(key)
    if (found === undefined || tracker === undefined) return undefined
    const { user, limit } = found
    const clientId = shortId(found.clientId)
    const sensor = recent(tracker.sensors, `${user.length}:${user}${clientId}`, () => ({
      rate: new RateSensor(this.#window),
      tokens: new TokenBucket(),
      user,
      clientId,
      limit,
      throttledCount: 0,
      throttledMs: 0,
    }))
    sensor.limit = limit
    return sensor
  }

  #takeQuotas(): void {
    const limits = new Map(KEYS.map((key) => [key, new QuotaLimits()]))
    this.#ipLimits.clear()
    this.#defaultIpLimit = undefined
    for (const { spec } of this.#metadata.clientQuotas()) {
      const { entity, quotas } = spec
      const [first] = entity
      if (first?.type === 'ip') {
        const limit = quotas['connection_creation_rate']
        if (first.name === undefined) this.#defaultIpLimit = limit
        else if (limit !== undefined) this.#ipLimits.set(canonicalAddress(first.name), limit)
        continue
      }
      for (const [key, ofKey] of limits) {
        const limit = quotas[key]
        if (limit !== undefined) ofKey.add(entity, limit)
      }
    }
    this.#isActive = false
    for (const [key, tracker] of this.#trackers) {
      tracker.limits = limits.get(key) ?? new QuotaLimits()
      if (tracker.limits.isEmpty) tracker.sensors.clear()
      else this.#isActive = true
    }
  }
}

class ChargedMutations implements MutationQuota {
  readonly #sensor: Sensor
  readonly #isStrict: boolean
  readonly #burst: number
  readonly #clock: Clock
  #throttledUntilMs = 0

  constructor(sensor: Sensor, isStrict: boolean, { samples, windowMs }: RateWindow, clock: Clock) {
    this.#sensor = sensor
    this.#isStrict = isStrict
    this.#burst = (sensor.limit * samples * windowMs) / 1000
    this.#clock = clock
  }

  charge(count: number): void {
    const { tokens, limit, rate } = this.#sensor
    const nowMs = this.#clock.monotonicMs()
    let left = tokens.left(limit, this.#burst, nowMs)
    const isRefused = this.#isStrict && left < 0
    if (!isRefused) {
      tokens.take(count)
      rate.record(count, nowMs)
      left -= count
    }
    // A strict client may overdraw once, and is told with what it asks for next.
    if (left >= 0 || (this.#isStrict && !isRefused)) return
    const throttleMs = throttled(this.#sensor, Math.round((-left / limit) * 1000))
    this.#throttledUntilMs = nowMs + throttleMs
    if (isRefused) throw new KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, 'The throttling quota has been exceeded.')
  }

  get throttleMs(): number {
    return Math.max(0, Math.round(this.#throttledUntilMs - this.#clock.monotonicMs()))
  }
}

/** The one text of an address: IPv4 also where it came over IPv6. */
function canonicalAddress(address: string): string {
  const plain = withoutIpv4Mapping(address)
  return isIPv6(plain) ? new SocketAddress({ address: plain, family: 'ipv6' }).address : plain
}

/** Clients choose their ids, and thousands of long ones would fill the memory. */
function shortId(clientId: string): string {
  if (clientId.length <= MAX_ID_LENGTH) return clientId
  return `sha256:${createHash('sha256').update(clientId).digest('hex')}`
}

/** Notes a throttling; returns its time, which a response can carry. */
function throttled(sensor: Sensor, throttleMs: number): number {
  if (throttleMs <= 0) return 0
  sensor.throttledCount++
  sensor.throttledMs += throttleMs
  return Math.min(throttleMs, 0x7fffffff)
}

/** The member of a bounded map, made if it is not there, as the most recently used one. */
function recent<V>(map: Map<string, V>, key: string, make: () => V): V {
  const value = map.get(key) ?? make()
  map.delete(key)
  map.set(key, value)
  if (map.size > MAX_SENSORS) {
    for (const oldest of map.keys()) {
      map.delete(oldest)
      break
    }
  }
  return value
}
