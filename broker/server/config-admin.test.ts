import assert from 'node:assert/strict'
import { MemoryDisk } from '../../common/testing/memory-disk.ts'
import { ErrorCode } from '../protocol/error-codes.ts'
import { produceRequest, produceResponse } from '../protocol/messages/00-produce.ts'
import { describeConfigsRequest, describeConfigsResponse } from '../protocol/messages/32-describe-configs.ts'
import { alterConfigsRequest, alterConfigsResponse } from '../protocol/messages/33-alter-configs.ts'
import {
  incrementalAlterConfigsRequest,
  incrementalAlterConfigsResponse,
} from '../protocol/messages/44-incremental-alter-configs.ts'
import {
  listConfigResourcesRequest,
  listConfigResourcesResponse,
} from '../protocol/messages/74-list-config-resources.ts'
import { encodeBatch } from '../protocol/records/encode-batch.ts'
import { TestCluster } from './testing/test-cluster.ts'

const TOPIC = 2
const BROKER = 4
const GROUP = 32
const [SET, DELETE, APPEND, SUBTRACT] = [0, 1, 2, 3]
const [FROM_BROKER, FROM_DEFAULT, FROM_START, BUILT_IN, FROM_GROUP] = [2, 3, 4, 5, 8]

type Change = readonly [name: string, operation: number | undefined, value?: string]

describe('configs of brokers and groups', () => {
  let cluster: TestCluster
  afterEach(() => cluster.close())

  async function alter(
    resourceType: number,
    resourceName: string,
    changes: readonly Change[],
    { validateOnly = false } = {},
  ): Promise<[errorCode: number, message: string | null]> {
    const { responses } = await cluster.call([incrementalAlterConfigsRequest, incrementalAlterConfigsResponse], 1, {
      resources: [
        {
          resourceType,
          resourceName,
          configs: changes.map(([name, configOperation = SET, value = null]) => ({ name, configOperation, value })),
        },
      ],
      validateOnly,
    })
    const [response] = responses
    assert.ok(response)
    return [response.errorCode, response.errorMessage]
  }

  async function described(
    resourceType: number,
    resourceName: string,
    configurationKeys: string[] | null = null,
  ): Promise<{ name: string; value: string | null; source: number; readOnly: boolean; synonyms: string[] }[]> {
    const { results } = await cluster.call([describeConfigsRequest, describeConfigsResponse], 4, {
      resources: [{ resourceType, resourceName, configurationKeys }],
      includeSynonyms: true,
    })
    const [result] = results
    assert.equal(result?.errorCode, ErrorCode.NONE, result?.errorMessage ?? '')
    return result.configs.map(({ name, value, configSource, readOnly, synonyms }) => ({
      name,
      value,
      source: configSource,
      readOnly,
      synonyms: synonyms.map((synonym) => `${synonym.source}:${synonym.name}=${synonym.value ?? ''}`),
    }))
  }

  async function source(name: string): Promise<[value: string | null | undefined, source: number | undefined]> {
    const [config] = await described(BROKER, '0', [name])
    return [config?.value, config?.source]
  }

  it('of this broker go before those of all brokers, and both before what it was started with', async () => {
    cluster = await TestCluster.start({ config: { 'num.partitions': '2' } })
    assert.deepEqual(await source('num.partitions'), ['2', FROM_START])
    assert.deepEqual(await alter(BROKER, '', [['num.partitions', SET, '3']]), [0, null])
    assert.deepEqual(await source('num.partitions'), ['3', FROM_DEFAULT])
    assert.deepEqual(await alter(BROKER, '0', [['num.partitions', SET, '4']]), [0, null])
    const [config] = await described(BROKER, '0', ['num.partitions'])
    assert.deepEqual(config, {
      name: 'num.partitions',
      value: '4',
      source: FROM_BROKER,
      readOnly: false,
      synonyms: [
        `${FROM_BROKER}:num.partitions=4`,
        `${FROM_DEFAULT}:num.partitions=3`,
        `${FROM_START}:num.partitions=2`,
        `${BUILT_IN}:num.partitions=1`,
      ],
    })
    assert.deepEqual(
      (await described(BROKER, '')).map(({ name, value, synonyms }) => [name, value, synonyms]),
      [['num.partitions', '3', [`${FROM_DEFAULT}:num.partitions=3`]]],
    )
    await cluster.createTopic('four', { partitions: -1 })
    assert.equal(cluster.broker.metadata.topic('four')?.partitions.size, 4)
    assert.deepEqual(await alter(BROKER, '0', [['num.partitions', DELETE]]), [0, null])
    assert.deepEqual(await source('num.partitions'), ['3', FROM_DEFAULT])
  })

  it('outlive a restart', async () => {
    const disk = new MemoryDisk()
    cluster = await TestCluster.start({ disk })
    await alter(BROKER, '', [['log.retention.ms', SET, '7000']])
    await alter(BROKER, '0', [['message.max.bytes', SET, '2000']])
    await alter(GROUP, 'g', [['consumer.session.timeout.ms', SET, '50000']])
    await cluster.close()
    cluster = await TestCluster.start({ disk })
    assert.deepEqual(await source('log.retention.ms'), ['7000', FROM_DEFAULT])
    assert.deepEqual(await source('message.max.bytes'), ['2000', FROM_BROKER])
    assert.deepEqual(cluster.broker.metadata.groupConfig('g'), { 'consumer.session.timeout.ms': '50000' })
  })

  it('change what topics do not set themselves, in logs that are open', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('plain')
    await cluster.createTopic('own', { configs: { 'max.message.bytes': '900' } })
    const produce = async (topic: string): Promise<number | undefined> => {
      const records = encodeBatch({ records: [{ key: null, value: 'x'.repeat(500), timestamp: Date.now() }] })
      const { responses } = await cluster.call([produceRequest, produceResponse], 9, {
        acks: -1,
        timeoutMs: 5000,
        topicData: [{ name: topic, partitionData: [{ index: 0, records }] }],
      })
      return responses[0]?.partitionResponses[0]?.errorCode
    }
    assert.equal(await produce('plain'), ErrorCode.NONE)
    await alter(BROKER, '', [['message.max.bytes', SET, '300']])
    assert.equal(await produce('plain'), ErrorCode.MESSAGE_TOO_LARGE)
    assert.equal(await produce('own'), ErrorCode.NONE)
    const [config] = await described(TOPIC, 'plain', ['max.message.bytes'])
    assert.deepEqual(
      [config?.value, config?.source, config?.synonyms[0]],
      ['300', FROM_DEFAULT, `${FROM_DEFAULT}:message.max.bytes=300`],
    )
    await alter(BROKER, '', [['message.max.bytes', DELETE]])
    assert.equal(await produce('plain'), ErrorCode.NONE)
  })

  it('reach the controllers: min.insync.replicas of all topics', async () => {
    cluster = await TestCluster.start()
    await cluster.createTopic('t')
    const { metadata } = cluster.broker
    const minIsr = (): number | undefined => metadata.partition('t', 0)?.minIsr
    assert.equal(minIsr(), 1)
    await alter(BROKER, '', [['min.insync.replicas', SET, '2']])
    await metadata.waitFor(() => minIsr() === 2)
  })

  it('are refused with the errors of Kafka, and nothing changes', async () => {
    cluster = await TestCluster.start()
    const cases: [name: string, changes: readonly Change[], code: number, message: RegExp][] = [
      [
        '0',
        [['broker.rack', SET, 'x']],
        ErrorCode.INVALID_REQUEST,
        /Cannot update these configs dynamically: \[broker\.rack\]/,
      ],
      ['', [['log.retention.hours', SET, '1']], ErrorCode.INVALID_REQUEST, /Cannot update these configs dynamically/],
      [
        '0',
        [['message.max.bytes', SET, 'many']],
        ErrorCode.INVALID_REQUEST,
        /Invalid value many for configuration message\.max\.bytes: Not a number of type INT/,
      ],
      ['0', [['message.max.bytes', SET, '-1']], ErrorCode.INVALID_REQUEST, /Value must be at least 0/],
      [
        '0',
        [['mesage.max.bytes', SET, '1']],
        ErrorCode.INVALID_REQUEST,
        /Unknown broker config name: mesage\.max\.bytes \(did you mean message\.max\.bytes\?\)/,
      ],
      [
        '0',
        [['message.max.bytes', SET, '200000000']],
        ErrorCode.INVALID_REQUEST,
        /must not be greater than socket\.request\.max\.bytes/,
      ],
      [
        '1',
        [['message.max.bytes', SET, '5']],
        ErrorCode.INVALID_REQUEST,
        /Unexpected broker id, expected 0, but received 1/,
      ],
      ['x', [['message.max.bytes', SET, '5']], ErrorCode.INVALID_REQUEST, /Node id must be an integer, but it is: x/],
      [
        '0',
        [['message.max.bytes', SET]],
        ErrorCode.INVALID_REQUEST,
        /Null value not supported for : message\.max\.bytes/,
      ],
      [
        '0',
        [
          ['num.partitions', SET, '1'],
          ['num.partitions', DELETE],
        ],
        ErrorCode.INVALID_REQUEST,
        /duplicate config keys/,
      ],
      [
        '0',
        [['num.partitions', APPEND, '1']],
        ErrorCode.INVALID_CONFIG,
        /Can't APPEND to key num\.partitions because its type is not LIST/,
      ],
      ['0', [['num.partitions', 7, '1']], ErrorCode.INVALID_REQUEST, /Unknown operations type 7/],
    ]
    cases.push(['0', [['min.insync.replicas', SET, '2']], ErrorCode.INVALID_CONFIG, /Set the default of all brokers/])
    for (const [name, changes, code, message] of cases) {
      const [errorCode, errorMessage] = await alter(BROKER, name, changes)
      assert.equal(errorCode, code, errorMessage ?? '')
      assert.match(errorMessage ?? '', message)
    }
    assert.deepEqual(await described(BROKER, ''), [])
    assert.equal(cluster.broker.configs.current.layers.dynamicBroker, undefined)
  })

  it('that nobody knows can be deleted: tools delete throttles that were never set', async () => {
    cluster = await TestCluster.start()
    assert.deepEqual(await alter(BROKER, '0', [['leader.replication.throttled.rate', DELETE]]), [0, null])
  })

  it('are only checked with validate_only', async () => {
    cluster = await TestCluster.start()
    assert.deepEqual(await alter(BROKER, '', [['num.partitions', SET, '9']], { validateOnly: true }), [0, null])
    assert.equal(
      (await alter(BROKER, '', [['num.partitions', SET, '0']], { validateOnly: true }))[0],
      ErrorCode.INVALID_REQUEST,
    )
    assert.deepEqual(await source('num.partitions'), ['1', BUILT_IN])
  })

  it('that are lists grow and shrink by items', async () => {
    cluster = await TestCluster.start()
    await alter(BROKER, '', [['log.cleanup.policy', APPEND, 'compact']])
    assert.deepEqual(await source('log.cleanup.policy'), ['delete,compact', FROM_DEFAULT])
    await alter(BROKER, '', [['log.cleanup.policy', SUBTRACT, 'delete']])
    assert.deepEqual(await source('log.cleanup.policy'), ['compact', FROM_DEFAULT])
  })

  it('are replaced as a whole by AlterConfigs', async () => {
    cluster = await TestCluster.start()
    await alter(BROKER, '0', [['num.partitions', SET, '9']])
    const { responses } = await cluster.call([alterConfigsRequest, alterConfigsResponse], 2, {
      resources: [
        { resourceType: BROKER, resourceName: '0', configs: [{ name: 'message.max.bytes', value: '7' }] },
        { resourceType: BROKER, resourceName: '', configs: [{ name: 'broker.rack', value: '7' }] },
        { resourceType: 8, resourceName: '0', configs: [] },
      ],
    })
    assert.deepEqual(
      responses.map(({ errorCode }) => errorCode),
      [ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST],
    )
    assert.deepEqual(await source('num.partitions'), ['1', BUILT_IN])
    assert.deepEqual(await source('message.max.bytes'), ['7', FROM_BROKER])
  })

  it('of the store that can not be in force are ignored, and break nothing else', async () => {
    cluster = await TestCluster.start()
    const [object] = await cluster.store.list('Cluster')
    assert.ok(object)
    await cluster.store.patch('Cluster', object.metadata, [
      {
        op: 'add',
        path: '/spec/config',
        value: { 'num.partitions': '6', 'message.max.bytes': 'x', nonsense: '1', 'broker.rack': 'r' },
      },
    ])
    await cluster.broker.metadata.waitFor(() => cluster.broker.configs.current.get('num.partitions') === 6)
    assert.deepEqual(
      (await described(BROKER, '')).map(({ name }) => name),
      ['num.partitions'],
    )
  })

  it('of a group have bounds, defaults of the broker, and a source of their own', async () => {
    cluster = await TestCluster.start()
    const group = async (): Promise<unknown[]> =>
      (await described(GROUP, 'g')).map(({ name, value, source: from }) => [name, value, from])
    assert.deepEqual(await group(), [
      ['consumer.heartbeat.interval.ms', '5000', BUILT_IN],
      ['consumer.session.timeout.ms', '45000', BUILT_IN],
    ])
    const heartbeat = 'consumer.heartbeat.interval.ms'
    assert.deepEqual(await alter(GROUP, 'g', [[heartbeat, SET, '6000']]), [0, null])
    assert.deepEqual((await group())[0], [heartbeat, '6000', FROM_GROUP])
    const { configResources } = await cluster.call([listConfigResourcesRequest, listConfigResourcesResponse], 1, {
      resourceTypes: [GROUP, BROKER],
    })
    assert.deepEqual(
      configResources.map(({ resourceType, resourceName }) => [resourceType, resourceName]),
      [
        [GROUP, 'g'],
        [BROKER, '0'],
      ],
    )
    for (const [name, change, code, message] of [
      [
        'g',
        [heartbeat, SET, '1'],
        ErrorCode.INVALID_CONFIG,
        /must be greater than or equal to group\.consumer\.min\.heartbeat/,
      ],
      [
        'g',
        [heartbeat, SET, '99999'],
        ErrorCode.INVALID_CONFIG,
        /must be less than or equal to group\.consumer\.max\.heartbeat/,
      ],
      ['g', ['consumer.session.timeout.ms', SET, '1'], ErrorCode.INVALID_CONFIG, /group\.consumer\.min\.session/],
      ['g', ['share.session.timeout.ms', SET, '1'], ErrorCode.INVALID_CONFIG, /Unknown group config name/],
      ['g'.repeat(1001), [heartbeat, SET, '6000'], ErrorCode.INVALID_REQUEST, /at most 1000 characters/],
      ['', [heartbeat, SET, '6000'], ErrorCode.INVALID_REQUEST, /Default group resources are not allowed/],
    ] as const) {
      const [errorCode, errorMessage] = await alter(GROUP, name, [change])
      assert.equal(errorCode, code)
      assert.match(errorMessage ?? '', message)
    }
    assert.deepEqual(await alter(GROUP, 'g', [[heartbeat, DELETE]]), [0, null])
    assert.deepEqual(cluster.broker.metadata.configuredGroups(), [])
    assert.deepEqual(await cluster.store.list('GroupConfig'), [])
  })
})
