import assert from 'node:assert/strict'
import type { ClientQuota, QuotaEntityPart } from '../../../crds/client-quota.ts'
import type { MetadataDelta } from '../../metadata/metadata-cache.ts'
import { ErrorCode, KafkaError } from '../../protocol/error-codes.ts'
import { ClientQuotas } from './client-quotas.ts'
import { quotaMetrics } from './quota-metrics.ts'

class World {
  nowMs = 1_000_000
  #quotas: ClientQuota[] = []
  #listener: ((delta: MetadataDelta) => void) | undefined
  readonly quotas = new ClientQuotas(
    {
      clientQuotas: () => this.#quotas,
      subscribe: (listener) => {
        this.#listener = listener
        return () => true
      },
    },
    { wallMs: () => 0, monotonicMs: () => this.nowMs },
    { samples: 11, windowMs: 1000 },
  )

  set(...quotas: readonly (readonly [entity: readonly QuotaEntityPart[], quotas: Record<string, number>])[]): void {
    this.#quotas = quotas.map(([entity, values], i) => ({
      apiVersion: 'ottla.dev/v1alpha1',
      kind: 'ClientQuota',
      metadata: {
        name: String(i),
        namespace: 'default',
        uid: String(i),
        resourceVersion: '1',
        generation: 1,
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
      spec: { entity, quotas: values },
    }))
    const none = new Set<string>()
    const unchanged = { partitions: none, topics: none, groups: none, brokersChanged: false, clusterChanged: false }
    this.#listener?.({ ...unchanged, quotasChanged: true })
  }
}

const client = (clientId: string | null, user = 'ANONYMOUS'): { user: string; clientId: string | null } => ({
  user,
  clientId,
})
const user = (name?: string): QuotaEntityPart => ({ type: 'user', ...(name !== undefined && { name }) })
const id = (name?: string): QuotaEntityPart => ({ type: 'client-id', ...(name !== undefined && { name }) })
const ip = (name?: string): QuotaEntityPart => ({ type: 'ip', ...(name !== undefined && { name }) })

describe('ClientQuotas', () => {
  it('counts nothing while there are none', () => {
    const { quotas } = new World()
    assert.equal(quotas.isActive, false)
    assert.equal(quotas.chargeProduce(client('a'), 1e12), 0)
    assert.equal(quotas.maxFetchBytes(client('a')), Infinity)
    assert.equal(quotas.chargeConnection('10.0.0.1'), 0)
    assert.deepEqual([...quotas.uses()], [])
  })

  it('takes the most specific quota, in the order of Kafka', () => {
    const world = new World()
    const all: [readonly QuotaEntityPart[], number][] = [
      [[user('u'), id('c')], 1000],
      [[user('u'), id()], 2000],
      [[user('u')], 3000],
      [[user(), id('c')], 4000],
      [[user(), id()], 5000],
      [[user()], 6000],
      [[id('c')], 7000],
      [[id()], 8000],
    ]
    for (let strongest = 0; strongest < all.length; strongest++) {
      world.set(...all.slice(strongest).map(([entity, rate]) => [entity, { consumer_byte_rate: rate }] as const))
      assert.equal(world.quotas.maxFetchBytes(client('c', 'u')), (all[strongest]?.[1] ?? 0) * 10)
    }
    world.set([[id()], { consumer_byte_rate: 8000 }])
    assert.equal(world.quotas.maxFetchBytes(client(null)), Infinity, 'a client without an id')
    world.set()
    assert.equal(world.quotas.isActive, false)
  })

  it('has all clients of a user share its quota, and each client id its own of a default', () => {
    const world = new World()
    world.set([[user('u')], { producer_byte_rate: 100 }])
    assert.equal(world.quotas.chargeProduce(client('a', 'u'), 1000), 0)
    assert.ok(world.quotas.chargeProduce(client('b', 'u'), 1000) > 0)
    world.set([[id()], { producer_byte_rate: 100 }])
    assert.equal(world.quotas.chargeProduce(client('a'), 1000), 0)
    assert.equal(world.quotas.chargeProduce(client('b'), 1000), 0)
    assert.ok(world.quotas.chargeProduce(client('a'), 1000) > 0)
  })

  it('takes a changed limit at once, for what was counted before too', () => {
    const world = new World()
    world.set([[id('a')], { producer_byte_rate: 1000 }])
    assert.equal(world.quotas.chargeProduce(client('a'), 9000), 0)
    world.set([[id('a')], { producer_byte_rate: 10 }])
    assert.ok(world.quotas.chargeProduce(client('a'), 1) > 800_000)
    const [use] = [...world.quotas.uses()]
    assert.deepEqual([use?.quota, use?.clientId, use?.limit, use?.throttledCount], ['producer_byte_rate', 'a', 10, 1])
  })

  it('are told to Prometheus', () => {
    const world = new World()
    assert.equal([...quotaMetrics(world.quotas)].join(''), '')
    world.set([[id('a"b')], { producer_byte_rate: 100 }])
    world.quotas.chargeProduce(client('a"b'), 1000)
    world.quotas.chargeProduce(client('a"b'), 1000)
    const labels = 'quota="producer_byte_rate",user="",client_id="a\\"b"'
    const text = [...quotaMetrics(world.quotas)].join('')
    for (const line of [
      `ottla_quota_limit{${labels}} 100`,
      `ottla_quota_rate{${labels}} 200`,
      `ottla_quota_throttles_total{${labels}} 1`,
      `ottla_quota_throttle_seconds_total{${labels}} 10`,
    ]) {
      assert.ok(text.includes(`\n${line}\n`), text)
    }
  })

  it('does not count fetched bytes that are not sent, and lets one large batch through after a rest', () => {
    const world = new World()
    world.set([[id('a')], { consumer_byte_rate: 100 }])
    assert.equal(world.quotas.chargeFetch(client('a'), 5000), 0, 'more than ten seconds of the quota')
    const throttleMs = world.quotas.chargeFetch(client('a'), 100)
    assert.ok(throttleMs > 0)
    assert.equal(world.quotas.chargeFetch(client('a'), 100), throttleMs, 'the first attempt left no trace')
    world.nowMs += 60_000
    assert.equal(world.quotas.chargeFetch(client('a'), 900), 0)
    assert.equal(world.quotas.chargeFetch(client('a'), 100), 0)
  })

  it('throttles for request time by a window at most', () => {
    const world = new World()
    world.set([[user()], { request_percentage: 1 }])
    assert.equal(world.quotas.chargeRequest(client('a'), 50), 0)
    assert.equal(world.quotas.chargeRequest(client('a'), 60_000), 1000)
  })

  it('refuses mutations strictly only once the quota is overdrawn', () => {
    const world = new World()
    world.set([[user()], { controller_mutation_rate: 1 }])
    const strict = world.quotas.mutationQuota(client('a'), true)
    strict.charge(10)
    strict.charge(5)
    assert.equal(strict.throttleMs, 0)
    assert.throws(
      () => strict.charge(1),
      (error) => error instanceof KafkaError && error.code === ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    )
    assert.equal(strict.throttleMs, 4000)
    world.nowMs += 4000
    assert.equal(strict.throttleMs, 0)
    world.quotas.mutationQuota(client('a'), true).charge(1)
  })

  it('only slows old clients down that do not know of refused mutations', () => {
    const world = new World()
    world.set([[user()], { controller_mutation_rate: 1 }])
    const permissive = world.quotas.mutationQuota(client('a'), false)
    permissive.charge(13)
    assert.equal(permissive.throttleMs, 2000)
    permissive.charge(1)
    assert.equal(permissive.throttleMs, 3000)
  })

  it('limits how fast an address connects, in whatever form the address comes', () => {
    const world = new World()
    world.set(
      [[ip('10.0.0.1')], { connection_creation_rate: 1 }],
      [[ip('2001:DB8::1')], { connection_creation_rate: 1 }],
    )
    for (const [first, again] of [
      ['10.0.0.1', '::ffff:10.0.0.1'],
      ['2001:db8::1', '2001:db8:0::1'],
    ] as const) {
      for (let i = 0; i < 10; i++) assert.equal(world.quotas.chargeConnection(first), 0)
      const throttleMs = world.quotas.chargeConnection(again)
      assert.ok(throttleMs > 0 && throttleMs <= 1000)
    }
    assert.equal(world.quotas.isActive, false, 'clients are not charged for it')
    for (let i = 0; i < 100; i++) assert.equal(world.quotas.chargeConnection('10.0.0.2'), 0)
    world.nowMs += 11_000
    assert.equal(world.quotas.chargeConnection('10.0.0.1'), 0)
  })

  it('tells a bounded number of clients apart', () => {
    const world = new World()
    world.set([[id()], { producer_byte_rate: 1e9 }])
    for (let i = 0; i < 10_100; i++) world.quotas.chargeProduce(client(`c${i}`), 1)
    const uses = [...world.quotas.uses()]
    assert.equal(uses.length, 10_000)
    assert.equal(uses[0]?.clientId, 'c100')
    const long = 'x'.repeat(30_000)
    for (const end of ['a', 'b']) world.quotas.chargeProduce(client(long + end), 1)
    const [first, second] = [...world.quotas.uses()].slice(-2)
    assert.ok((first?.clientId.length ?? 0) < 100 && first?.clientId !== second?.clientId)
  })
})
