import assert from 'node:assert/strict'
import { ConfigError } from './config-def.ts'
import { BrokerConfig, type DescribedConfig } from './resolve.ts'

function find(configs: readonly DescribedConfig[], name: string): DescribedConfig {
  const found = configs.find((config) => config.name === name)
  assert.ok(found, name)
  return found
}

describe('BrokerConfig', () => {
  it('takes the strongest layer', () => {
    const name = 'log.segment.bytes'
    const layers = {
      dynamicBroker: { [name]: '4000000' },
      dynamicDefault: { [name]: '3000000' },
      staticBroker: { [name]: '2000000' },
    }
    const weaker = { dynamicDefault: layers.dynamicDefault, staticBroker: layers.staticBroker }
    assert.equal(new BrokerConfig(layers).get(name), 4_000_000)
    assert.equal(new BrokerConfig(weaker).get(name), 3_000_000)
    assert.equal(new BrokerConfig({ staticBroker: layers.staticBroker }).get(name), 2_000_000)
    assert.equal(new BrokerConfig().get(name), 1_073_741_824)
    assert.equal(new BrokerConfig().get('log.retention.ms'), null)
    assert.equal(new BrokerConfig(layers).topic({}).get('segment.bytes'), 4_000_000)
    assert.equal(new BrokerConfig(layers).topic({ 'segment.bytes': '5000000' }).get('segment.bytes'), 5_000_000)
  })

  it('converts hours and minutes, and lets the finer unit win within a layer', () => {
    const retention = (staticBroker: Record<string, string>): number =>
      new BrokerConfig({ staticBroker }).topic({}).get('retention.ms')
    assert.equal(retention({ 'log.retention.hours': '2' }), 7_200_000)
    assert.equal(retention({ 'log.retention.hours': '2', 'log.retention.minutes': '3' }), 180_000)
    assert.equal(retention({ 'log.retention.minutes': '3', 'log.retention.ms': '4' }), 4)
    assert.equal(retention({ 'log.retention.hours': '-1' }), -1)
    assert.equal(retention({}), 604_800_000)
  })

  it('describes a topic with the source and all synonyms in order', () => {
    const config = new BrokerConfig({
      dynamicDefault: { 'log.retention.ms': '500' },
      staticBroker: { 'log.retention.hours': '1' },
    })
    const described = find(config.describeTopic({ 'retention.ms': ' 0100' }), 'retention.ms')
    assert.equal(described.value, '100')
    assert.equal(described.source, 'DYNAMIC_TOPIC_CONFIG')
    assert.equal(described.isDefault, false)
    assert.deepEqual(described.synonyms, [
      { name: 'retention.ms', value: '100', source: 'DYNAMIC_TOPIC_CONFIG' },
      { name: 'log.retention.ms', value: '500', source: 'DYNAMIC_DEFAULT_BROKER_CONFIG' },
      { name: 'log.retention.hours', value: '1', source: 'STATIC_BROKER_CONFIG' },
      { name: 'log.retention.hours', value: '168', source: 'DEFAULT_CONFIG' },
    ])
    const inherited = find(config.describeTopic({}), 'retention.ms')
    assert.deepEqual([inherited.value, inherited.source], ['500', 'DYNAMIC_DEFAULT_BROKER_CONFIG'])
    const untouched = find(config.describeTopic({}), 'segment.jitter.ms')
    assert.deepEqual([untouched.value, untouched.source, untouched.isDefault], ['0', 'DEFAULT_CONFIG', true])
    assert.equal(config.describeTopic({}).length, 33)
    assert.deepEqual(
      config.describeTopic({}, ['segment.ms', 'nothing']).map(({ name }) => name),
      ['segment.ms'],
    )
  })

  it('describes a broker', () => {
    const config = new BrokerConfig({ staticBroker: { 'num.partitions': '3' } })
    const partitions = find(config.describe(), 'num.partitions')
    assert.deepEqual([partitions.value, partitions.source, partitions.isReadOnly], ['3', 'STATIC_BROKER_CONFIG', false])
    const rack = find(config.describe(), 'broker.rack')
    assert.deepEqual([rack.value, rack.isDefault, rack.isReadOnly], [null, true, true])
  })

  it('checks a topic against the defaults of the broker', () => {
    const config = new BrokerConfig({ staticBroker: { 'log.cleaner.max.compaction.lag.ms': '5' } })
    assert.throws(() => config.validateTopic({ 'min.compaction.lag.ms': '10' }), /conflict topic config setting/)
    config.validateTopic({ 'min.compaction.lag.ms': '3' })
  })

  it('gives canonical text by key', () => {
    assert.equal(new BrokerConfig().topic({}).text('flush.ms'), '9223372036854775807')
    assert.throws(() => new BrokerConfig().topic({}).text('nothing'), TypeError)
  })
})

describe('the segment size of __consumer_offsets', () => {
  it('is one that the topic takes, so that the topic can be made', () => {
    const sized = (bytes: string): number =>
      new BrokerConfig({ staticBroker: { 'offsets.topic.segment.bytes': bytes } }).get('offsets.topic.segment.bytes')
    assert.throws(() => sized('65536'), ConfigError)
    assert.equal(sized('1048576'), 1_048_576)
    new BrokerConfig().validateTopic({ 'segment.bytes': '1048576' })
  })
})
