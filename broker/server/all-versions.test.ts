import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiMessages } from '../protocol/registry.ts'
import { encodeBatch } from '../protocol/records/encode-batch.ts'
import type { Logger } from '../../common/logger.ts'
import { silentLogger } from '../../common/logger.ts'
import { apiVersionsRequest, apiVersionsResponse } from '../protocol/messages/18-api-versions.ts'
import { apiName } from '../protocol/api-keys.ts'
import { TestCluster } from './testing/test-cluster.ts'

/**
 * Every API in every version that is advertised, with requests that succeed and requests that fail: a handler that fills a
 * field which a version lacks would answer UNKNOWN_SERVER_ERROR there, and log it.
 */
describe('every advertised version', () => {
  let cluster: TestCluster
  const unexpected: string[] = []
  const logger: Logger = {
    ...silentLogger,
    error: (fields, message) => unexpected.push(`${message} ${JSON.stringify(fields)}`),
    child: () => logger,
  }

  before(async () => {
    cluster = await TestCluster.start({ logger })
    await cluster.createTopic('there', { partitions: 2 })
  })
  after(() => cluster.close())

  const topicId = (): string => cluster.broker.metadata.topic('there')?.topicId ?? ''
  const batch = (): Buffer =>
    encodeBatch({ records: [{ key: null, value: Buffer.from('v'), headers: [], timestamp: Date.now() }] })

  /** Requests by API key, given the version: for an existing topic and partition, and for missing ones. */
  const requests: Readonly<Record<number, (version: number) => object[]>> = {
    0: (version) => {
      const data = [
        { index: 0, records: batch() },
        { index: 1, records: Buffer.from('garbage') },
        { index: 9, records: batch() },
      ]
      return [1, -1]
        .map((acks) => ({
          acks,
          timeoutMs: 1000,
          topicData: [{ name: 'there', partitionData: data }],
          ...(version >= 3 && { transactionalId: null }),
        }))
        .concat([{ acks: 3, timeoutMs: 1, topicData: [{ name: 'there', partitionData: data }] }])
    },
    1: (version) => {
      const wanted = [
        { partition: 0, fetchOffset: 0, partitionMaxBytes: 1000, ...(version >= 9 && { currentLeaderEpoch: 0 }) },
        { partition: 1, fetchOffset: 99, partitionMaxBytes: 1000 },
        { partition: 9, fetchOffset: 0, partitionMaxBytes: 1000 },
      ]
      const topics =
        version >= 13
          ? [
              { topicId: topicId(), partitions: wanted },
              { topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', partitions: wanted },
            ]
          : [
              { topic: 'there', partitions: wanted },
              { topic: 'missing', partitions: wanted },
            ]
      const request = { maxWaitMs: 1, minBytes: 1, maxBytes: 1000, topics }
      return version >= 7
        ? [
            { ...request, sessionEpoch: 0 },
            { ...request, sessionEpoch: 7, sessionId: 5 },
            { ...request, isolationLevel: 1 },
          ]
        : [request]
    },
    2: (version) =>
      [-1, -2, 0, 1e15, ...(version >= 7 ? [-3] : []), -99].map((timestamp) => ({
        replicaId: -1,
        topics: [
          {
            name: 'there',
            partitions: [
              { partitionIndex: 0, timestamp },
              { partitionIndex: 9, timestamp },
            ],
          },
        ],
      })),
    3: (version) => [
      { topics: version === 0 ? [] : null },
      {
        topics: [{ name: 'there' }, { name: 'bad/name' }, { name: 'missing' }],
        ...(version >= 4 && { allowAutoTopicCreation: false }),
      },
      ...(version >= 12
        ? [
            {
              topics: [
                { name: null, topicId: topicId() },
                { name: null, topicId: 'AAAAAAAAAAAAAAAAAAAAAQ' },
              ],
            },
          ]
        : []),
    ],
    8: (version) =>
      ['', 'unknown'].map((memberId) => ({
        groupId: 'committing',
        memberId,
        generationIdOrMemberEpoch: memberId === '' ? -1 : 5,
        ...(version <= 4 && { retentionTimeMs: 1000 }),
        topics: ['there', 'missing'].map((name) => ({
          name,
          partitions: [0, 9].map((partitionIndex) => ({ partitionIndex, committedOffset: 1, committedMetadata: 'm' })),
        })),
      })),
    9: (version) => {
      const topics = [{ name: 'there', partitionIndexes: [0, 9] }]
      if (version < 8)
        return [{ groupId: 'committing', topics }, ...(version >= 2 ? [{ groupId: 'g', topics: null }] : [])]
      return [
        {
          groups: [
            { groupId: 'committing', topics },
            { groupId: 'g', topics: null, ...(version >= 9 && { memberId: 'm', memberEpoch: 3 }) },
          ],
        },
      ]
    },
    10: (version) =>
      [0, 1, 7].slice(0, version === 0 ? 1 : 3).map((keyType) => ({
        ...(version >= 1 && { keyType }),
        ...(version >= 4 ? { coordinatorKeys: ['a', 'b'] } : { key: 'a' }),
      })),
    11: (version) =>
      ['all', '', 'all'].map((groupId, i) => ({
        groupId,
        sessionTimeoutMs: i === 2 ? 1 : 10_000,
        ...(version >= 1 && { rebalanceTimeoutMs: 1000 }),
        // From version 4 on, a first join is answered at once with a member id; before, it waits for the rebalance.
        memberId: version >= 4 ? '' : 'unknown',
        protocolType: 'consumer',
        protocols: [{ name: 'range', metadata: Buffer.alloc(6) }],
      })),
    12: () => ['all', ''].map((groupId) => ({ groupId, generationId: 1, memberId: 'unknown' })),
    13: (version) =>
      ['all', ''].map((groupId) => ({
        groupId,
        ...(version >= 3 ? { members: [{ memberId: 'unknown', groupInstanceId: null }] } : { memberId: 'unknown' }),
      })),
    14: () => ['all', ''].map((groupId) => ({ groupId, generationId: 1, memberId: 'unknown', assignments: [] })),
    15: (version) => [
      { groups: ['committing', 'nobody', ''], ...(version >= 3 && { includeAuthorizedOperations: true }) },
    ],
    16: (version) => [
      {},
      ...(version >= 4 ? [{ statesFilter: ['Empty', 'no such'] }] : []),
      ...(version >= 5 ? [{ typesFilter: ['classic'] }] : []),
    ],
    18: (version) => [version >= 3 ? { clientSoftwareName: 'test', clientSoftwareVersion: '1' } : {}],
    19: (version) => [
      {
        topics: [
          {
            name: `made-${version}`,
            numPartitions: 1,
            replicationFactor: 1,
            configs: [{ name: 'retention.ms', value: '1000' }],
          },
          { name: 'there', numPartitions: 1, replicationFactor: 1 },
        ],
        timeoutMs: 5000,
      },
      {
        topics: [
          { name: `bad`, numPartitions: 0, replicationFactor: 1 },
          { name: 'x', numPartitions: 1, replicationFactor: 9 },
        ],
        timeoutMs: 5000,
        validateOnly: true,
      },
    ],
    20: (version) => [
      version >= 6
        ? { topics: [{ name: `made-2` }, { name: null, topicId: 'AAAAAAAAAAAAAAAAAAAAAQ' }], timeoutMs: 5000 }
        : { topicNames: [`made-${version + 2}`, 'missing'], timeoutMs: 5000 },
    ],
    21: () => [
      {
        topics: [
          { name: 'there', partitions: [-1, 99].map((offset, partitionIndex) => ({ partitionIndex, offset })) },
          { name: 'missing', partitions: [{ partitionIndex: 0, offset: 0 }] },
        ],
        timeoutMs: 1000,
      },
    ],
    22: (version) => [
      { transactionalId: null, transactionTimeoutMs: 1000 },
      { transactionalId: 't', transactionTimeoutMs: 1000 },
      ...(version >= 3 ? [{ transactionalId: null, producerId: 3, producerEpoch: 1 }] : []),
    ],
    23: () => [
      {
        topics: [
          {
            topic: 'there',
            partitions: [
              { partition: 0, leaderEpoch: 0 },
              { partition: 9, leaderEpoch: 0 },
            ],
          },
        ],
      },
    ],
    32: (version) => [
      {
        resources: [2, 4, 8, 16, 32, 99].map((resourceType) => ({
          resourceType,
          resourceName: resourceType === 2 ? 'there' : '0',
          configurationKeys: null,
        })),
        includeSynonyms: true,
        ...(version >= 3 && { includeDocumentation: true }),
      },
    ],
    33: () => [
      {
        resources: [
          { resourceType: 2, resourceName: 'there', configs: [{ name: 'retention.ms', value: '2000' }] },
          { resourceType: 4, resourceName: '0', configs: [] },
          { resourceType: 32, resourceName: 'g', configs: [] },
        ],
        validateOnly: false,
      },
    ],
    35: () => [{ topics: null }, { topics: [{ topic: 'there', partitions: [0, 9] }] }],
    37: (version) => [
      {
        topics: [
          { name: 'there', count: 3 + version, assignments: null },
          { name: 'missing', count: 3, assignments: null },
        ],
        timeoutMs: 5000,
      },
    ],
    42: () => [{ groupsNames: ['committing', 'nobody', ''] }],
    43: (version) => [
      ...(version >= 1 ? [{ topicPartitions: null }, { electionType: 9, topicPartitions: null }] : []),
      { topicPartitions: [{ topic: 'there', partitions: [0, 9] }] },
    ],
    44: () => [
      {
        resources: [
          {
            resourceType: 2,
            resourceName: 'there',
            configs: [{ name: 'cleanup.policy', configOperation: 2, value: 'compact' }],
          },
          { resourceType: 2, resourceName: 'missing', configs: [{ name: 'no.such', configOperation: 0, value: '1' }] },
          { resourceType: 4, resourceName: '', configs: [{ name: 'broker.rack', configOperation: 0, value: '1' }] },
          { resourceType: 8, resourceName: '0', configs: [] },
        ],
      },
    ],
    45: (version) => [
      {
        timeoutMs: 1000,
        ...(version >= 1 && { allowReplicationFactorChange: false }),
        topics: [
          { name: 'there', partitions: [null, [0], [1]].map((replicas, i) => ({ partitionIndex: i % 2, replicas })) },
          { name: 'missing', partitions: [{ partitionIndex: 0, replicas: [0] }] },
        ],
      },
    ],
    46: () => [{ topics: null }, { topics: [{ name: 'there', partitionIndexes: [0, 9] }] }],
    48: () => [
      { components: [], strict: false },
      { components: [{ entityType: 'user', matchType: 2, match: null }], strict: true },
      { components: [{ entityType: 'planet', matchType: 0, match: 'a' }] },
    ],
    49: () => [
      {
        entries: [
          { entity: [{ entityType: 'ip', entityName: null }], ops: [{ key: 'connection_creation_rate', value: 9 }] },
          { entity: [{ entityType: 'ip', entityName: 'x' }], ops: [{ key: 'no.such', value: 9 }] },
        ],
      },
    ],
    50: () => [{ users: null }, { users: [{ name: 'a' }, { name: 'b' }, { name: 'b' }] }],
    47: () =>
      ['committing', 'nobody', ''].map((groupId) => ({
        groupId,
        topics: [{ name: 'there', partitions: [{ partitionIndex: 0 }, { partitionIndex: 9 }] }],
      })),
    60: (version) => [{}, ...(version >= 1 ? [{ endpointType: 2 }, { endpointType: 9 }] : [])],
    61: () => [{ topics: [{ name: 'there', partitionIndexes: [0, 9] }] }],
    68: (version) => {
      const join = {
        groupId: 'modern',
        memberId: 'm',
        memberEpoch: 0,
        rebalanceTimeoutMs: 1000,
        subscribedTopicNames: ['there', 'missing'],
        topicPartitions: [],
      }
      return [
        join,
        { groupId: 'modern', memberId: 'm', memberEpoch: 99 },
        { groupId: 'nobody', memberId: 'm', memberEpoch: 1 },
        { groupId: '', memberId: 'm', memberEpoch: 1 },
        ...(version >= 1 ? [{ ...join, subscribedTopicRegex: '(' }] : [{ ...join, memberId: '' }]),
        { groupId: 'modern', memberId: 'm', memberEpoch: -1 },
        { ...join, subscribedTopicNames: ['there'] },
      ]
    },
    69: () => [{ groupIds: ['modern', 'committing', 'nobody', ''], includeAuthorizedOperations: true }],
    74: (version) => [{}, ...(version >= 1 ? [{ resourceTypes: [2, 4, 32] }, { resourceTypes: [99] }] : [])],
    75: () => [
      { topics: [] },
      { topics: [{ name: 'there' }, { name: 'missing' }], responsePartitionLimit: 1 },
      { topics: [], cursor: { topicName: 'there', partitionIndex: 1 } },
    ],
  }

  it('of every API is answered without an unexpected error', async () => {
    const { apiKeys } = await cluster.call([apiVersionsRequest, apiVersionsResponse], 4, {
      clientSoftwareName: 'test',
      clientSoftwareVersion: '1',
    })
    assert.deepEqual(
      apiKeys.map(({ apiKey }) => apiKey).sort((a, b) => a - b),
      Object.keys(requests).map(Number),
    )
    for (const { apiKey, minVersion, maxVersion } of apiKeys) {
      const messages = apiMessages(apiKey)
      assert.ok(messages)
      for (let version = Math.max(minVersion, messages.request.versions.first); version <= maxVersion; version++) {
        for (const body of requests[apiKey]?.(version) ?? []) {
          unexpected.length = 0
          await cluster.call([messages.request, messages.response], version, body)
          assert.deepEqual(unexpected, [], `${apiName(apiKey)} v${version} ${JSON.stringify(body)}`)
        }
      }
    }
  })

  it('of every API has an error response for the whole request', async () => {
    const { apiKeys } = await cluster.call([apiVersionsRequest, apiVersionsResponse], 4, {
      clientSoftwareName: 'test',
      clientSoftwareVersion: '1',
    })
    for (const { apiKey, minVersion, maxVersion } of apiKeys) {
      const messages = apiMessages(apiKey)
      assert.ok(messages)
      for (let version = Math.max(minVersion, messages.request.versions.first); version <= maxVersion; version++) {
        for (const body of requests[apiKey]?.(version) ?? []) {
          const response = await cluster.callFailing([messages.request, messages.response], version, body)
          // Where the request names nothing, these have no place for an error.
          const hasPlace = !/"topics":(null|\[\])/.test(JSON.stringify(body))
          if (hasPlace)
            assert.match(
              JSON.stringify(response),
              /"errorCode":-1\b/,
              `${apiName(apiKey)} v${version} ${JSON.stringify(body)}`,
            )
        }
      }
    }
  })

  it('is what docs/protocol.md lists', async () => {
    const { apiKeys } = await cluster.call([apiVersionsRequest, apiVersionsResponse], 4, {
      clientSoftwareName: 'test',
      clientSoftwareVersion: '1',
    })
    const page = readFileSync(join(import.meta.dirname, '../../docs/protocol.md'), 'utf8')
    const listed = [...page.matchAll(/^\| +(\d+) +\| (\w+) +\| (\d+)(?:-(\d+))? +\|/gm)].map(
      ([, key, name, min, max]) => {
        return `${key ?? ''} ${name ?? ''} ${min ?? ''}-${max ?? min ?? ''}`
      },
    )
    assert.deepEqual(
      listed,
      apiKeys.map(({ apiKey, minVersion, maxVersion }) => `${apiKey} ${apiName(apiKey)} ${minVersion}-${maxVersion}`),
    )
  })
})
