import assert from 'node:assert/strict'
import { closestName, ConfigError, parseConfig, type ConfigType } from './config-def.ts'
import {
  defaultTopicConfig,
  parseTopicConfig,
  TOPIC_CONFIGS,
  validateTopicConfig,
  type TopicConfigName,
} from './topic-configs.ts'
import {
  BROKER_CONFIGS,
  brokerConfigDef,
  isBrokerConfigName,
  parseBrokerConfig,
  validateBrokerConfig,
} from './broker-configs.ts'

describe('config definitions', () => {
  // The sentences that Kafka 4.3.1 gives for the same input.
  const refused: readonly (readonly [string, string, string])[] = [
    ['retention.ms', 'xyz', 'Invalid value xyz for configuration retention.ms: Not a number of type LONG'],
    ['retention.ms', '', 'Invalid value  for configuration retention.ms: Not a number of type LONG'],
    ['retention.ms', '-2', 'Invalid value -2 for configuration retention.ms: Value must be at least -1'],
    [
      'retention.ms',
      '9223372036854775808',
      'Invalid value 9223372036854775808 for configuration retention.ms: Not a number of type LONG',
    ],
    [
      'segment.bytes',
      '3000000000',
      'Invalid value 3000000000 for configuration segment.bytes: Not a number of type INT',
    ],
    ['segment.bytes', '1.5', 'Invalid value 1.5 for configuration segment.bytes: Not a number of type INT'],
    ['segment.bytes', '1', 'Invalid value 1 for configuration segment.bytes: Value must be at least 1048576'],
    [
      'cleanup.policy',
      'foo',
      'Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete',
    ],
    ['cleanup.policy', 'compact,', "Configuration 'cleanup.policy' values must not be empty."],
    [
      'preallocate',
      'yes',
      'Invalid value yes for configuration preallocate: Expected value to be either true or false',
    ],
    [
      'min.cleanable.dirty.ratio',
      '2',
      'Invalid value 2 for configuration min.cleanable.dirty.ratio: Value must be no more than 1',
    ],
    [
      'min.cleanable.dirty.ratio',
      'NaN',
      'Invalid value NaN for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE',
    ],
    [
      'compression.type',
      'GZIP',
      'Invalid value GZIP for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer',
    ],
    [
      'compression.gzip.level',
      '0',
      'Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1',
    ],
    ['flush.messages', '0', 'Invalid value 0 for configuration flush.messages: Value must be at least 1'],
    [
      'follower.replication.throttled.replicas',
      '*,1:2',
      "Invalid value [*, 1:2] for configuration follower.replication.throttled.replicas: follower.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
    ],
    ['foo.bar', '1', 'Unknown topic config name: foo.bar'],
    ['retention.mss', '1', 'Unknown topic config name: retention.mss (did you mean retention.ms?)'],
    ['constructor', '1', 'Unknown topic config name: constructor'],
    [
      'remote.storage.enable',
      'true',
      'Invalid value true for configuration remote.storage.enable: tiered storage is not supported',
    ],
  ]
  for (const [name, value, message] of refused) {
    it(`refuses ${name}=${value}`, () => {
      assert.throws(() => parseTopicConfig(name, value), new ConfigError(name, message))
    })
  }

  const accepted: readonly (readonly [string, string, string])[] = [
    ['retention.ms', ' 12 ', '12'],
    ['retention.ms', '+12', '12'],
    ['retention.ms', '012', '12'],
    ['retention.ms', '-1', '-1'],
    ['flush.ms', '9223372036854775807', '9223372036854775807'],
    ['cleanup.policy', ' compact , delete ', 'compact,delete'],
    ['cleanup.policy', '', ''],
    ['preallocate', ' TRUE ', 'true'],
    ['min.cleanable.dirty.ratio', '1e-1', '0.1'],
    ['min.cleanable.dirty.ratio', '1', '1.0'],
    ['compression.type', ' gzip ', 'gzip'],
    ['leader.replication.throttled.replicas', '*', '*'],
    ['leader.replication.throttled.replicas', '1:2,3:4', '1:2,3:4'],
    ['retention.bytes', '-5', '-5'],
  ]
  for (const [name, value, text] of accepted) {
    it(`takes ${name}='${value}' as '${text}'`, () => {
      assert.equal(parseTopicConfig(name, value).text, text)
    })
  }

  it('parses each type to its value', () => {
    const value = (type: ConfigType, text: string): unknown =>
      parseConfig('k', { type, defaultValue: null, importance: 'low', documentation: '' }, text).value
    assert.equal(value('short', '-32768'), -32768)
    assert.throws(() => value('short', '32768'), /type SHORT/)
    assert.deepEqual(value('list', 'a, b'), ['a', 'b'])
    assert.equal(value('double', '.5'), 0.5)
    assert.equal(value('password', ' x '), ' x ')
    assert.equal(value('class', ' a.B '), 'a.B')
    assert.equal(value('boolean', 'False'), false)
  })

  it('checks configs against each other', () => {
    assert.throws(
      () => validateTopicConfig({ 'min.compaction.lag.ms': '10', 'max.compaction.lag.ms': '5' }),
      /conflict topic config setting min\.compaction\.lag\.ms \(10\) > max\.compaction\.lag\.ms \(5\)/,
    )
    validateTopicConfig({ 'min.compaction.lag.ms': '5', 'max.compaction.lag.ms': '5' })
    assert.throws(() => validateBrokerConfig({ 'message.max.bytes': '200000000' }), /could never arrive/)
    assert.throws(() => validateBrokerConfig({ 'log.retension.ms': '1' }), /did you mean log\.retention\.ms\?/)
  })

  it('has defaults that pass their own validation, and synonyms that exist and agree', () => {
    for (const name of Object.keys(TOPIC_CONFIGS) as TopicConfigName[]) {
      const parsed = defaultTopicConfig(name)
      assert.equal(parsed.text, TOPIC_CONFIGS[name].defaultValue, name)
      for (const synonym of TOPIC_CONFIGS[name].synonyms) {
        assert.ok(isBrokerConfigName(synonym.name), synonym.name)
        const text = brokerConfigDef(synonym.name).defaultValue
        if (text === null) continue
        const factor = 'factor' in synonym ? synonym.factor : undefined
        const converted = factor === undefined ? text : String(BigInt(text) * BigInt(factor))
        assert.equal(converted, parsed.text, `${name} and ${synonym.name}`)
      }
    }
    for (const name of Object.keys(BROKER_CONFIGS)) {
      const text = isBrokerConfigName(name) ? brokerConfigDef(name).defaultValue : null
      if (text !== null) assert.equal(parseBrokerConfig(name, text).text, text, name)
    }
    validateBrokerConfig({})
  })

  it('suggests only near names', () => {
    assert.equal(closestName('retentionms', ['retention.ms', 'segment.ms']), 'retention.ms')
    assert.equal(closestName('completely.other', ['retention.ms']), undefined)
  })
})
