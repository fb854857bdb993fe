// usage: node platformatic.mjs BOOTSTRAP       @platformatic/kafka as an interop worker
import { pathToFileURL } from 'node:url'
import { requireClient, serve, toBytes, toText } from './worker.mjs'

const { Admin, Consumer, Producer } = await import(pathToFileURL(requireClient.resolve('@platformatic/kafka')).href)
const bootstrapBrokers = [process.argv[2]]
const shared = { clientId: 'interop-platformatic', bootstrapBrokers, retries: 4, retryDelay: 200 }
const admin = new Admin(shared)

async function write(request) {
  const producer = new Producer({ ...shared, autocreateTopics: request.autoCreate === true })
  try {
    const messages = request.records.map((record) => ({
      topic: request.topic,
      partition: request.partition,
      key: toBytes(record.key),
      value: toBytes(record.value),
      // A Map keyed by buffers, so that a header name may come twice.
      headers: new Map((record.headers ?? []).map(([key, value]) => [Buffer.from(key), toBytes(value)])),
      ...(record.timestamp === undefined ? {} : { timestamp: BigInt(record.timestamp) }),
    }))
    const result = await producer.send({
      messages,
      acks: request.acks === undefined || request.acks === 'all' ? -1 : Number(request.acks),
      compression: request.codec,
      idempotent: request.idempotent === true,
    })
    const base = Number(result.offsets.find((o) => o.partition === request.partition).offset)
    return { offsets: messages.map((_, index) => base + index) }
  } finally {
    await producer.close()
  }
}

async function read(request) {
  const consumer = new Consumer({ ...shared, groupId: 'unused' })
  try {
    consumer.topics.trackAll(request.topic)
    const metadata = await consumer.metadata({ topics: [request.topic] })
    const topic = metadata.topics.get(request.topic)
    const leader = topic.partitions[request.partition].leader
    const records = []
    let fetchOffset = BigInt(request.offset)
    const end = Date.now() + request.timeoutMs
    while (records.length < request.count && Date.now() < end) {
      const response = await consumer.fetch({
        node: leader,
        maxWaitTime: 200,
        maxBytes: 33554432,
        minBytes: 1,
        isolationLevel: 0,
        topics: [
          {
            topicId: topic.id,
            partitions: [
              {
                partition: request.partition,
                fetchOffset,
                currentLeaderEpoch: -1,
                lastFetchedEpoch: -1,
                partitionMaxBytes: 16777216,
              },
            ],
          },
        ],
      })
      for (const batch of response.responses[0]?.partitions[0]?.records ?? []) {
        for (const record of batch.records) {
          const offset = batch.firstOffset + BigInt(record.offsetDelta)
          if (offset < fetchOffset) continue
          fetchOffset = offset + 1n
          const isAppendTime = (batch.attributes & 8) !== 0
          records.push({
            offset: Number(offset),
            timestamp: Number(isAppendTime ? batch.maxTimestamp : batch.firstTimestamp + record.timestampDelta),
            timestampType: isAppendTime ? 'LogAppendTime' : 'CreateTime',
            key: toText(record.key),
            value: toText(record.value),
            headers: record.headers.map(([key, value]) => [key.toString(), toText(value)]),
          })
        }
      }
    }
    return { records }
  } finally {
    await consumer.close(true)
  }
}

const operations = {
  write,
  read,
  createTopic: async (r) => {
    const assignments = r.assignments?.map((brokers, partition) => ({ partition, brokers }))
    await admin.createTopics({
      topics: [r.topic],
      ...(assignments === undefined
        ? { partitions: r.partitions ?? -1, replicas: r.replicationFactor ?? -1 }
        : { partitions: -1, replicas: -1, assignments }),
      configs: Object.entries(r.config ?? {}).map(([name, value]) => ({ name, value })),
    })
  },
  createPartitions: async (r) => {
    const topics = [{ name: r.topic, count: r.count, assignments: null }]
    await admin.createPartitions({ topics, validateOnly: r.validateOnly === true })
  },
  deleteTopic: async (r) => admin.deleteTopics({ topics: [r.topic] }),
  listTopics: async () => admin.listTopics(),
  describeTopic: async (r) => {
    const metadata = await admin.metadata({ topics: [r.topic], forceUpdate: true })
    const topic = metadata.topics.get(r.topic)
    const partitions = topic.partitions.map((p, partition) => ({ partition, leader: p.leader, replicas: p.replicas }))
    return { topicIdHex: topic.id.replaceAll('-', ''), partitions }
  },
  describeConfig: async (r) => {
    const [answer] = await admin.describeConfigs({
      includeSynonyms: true,
      includeDocumentation: true,
      resources: [{ resourceType: r.broker ? 4 : 2, resourceName: r.topic, configurationKeys: null }],
    })
    const sources = {
      1: 'DYNAMIC_TOPIC_CONFIG',
      2: 'DYNAMIC_BROKER_CONFIG',
      3: 'DYNAMIC_DEFAULT_BROKER_CONFIG',
      4: 'STATIC_BROKER_CONFIG',
      5: 'DEFAULT_CONFIG',
    }
    return Object.fromEntries(
      answer.configs.map((c) => [c.name, { value: c.value, source: sources[c.configSource], readOnly: c.readOnly }]),
    )
  },
  alterConfig: async (r) => {
    const change =
      r.value === null ? { name: r.key, configOperation: 1 } : { name: r.key, configOperation: 0, value: r.value }
    await admin.incrementalAlterConfigs({
      resources: [{ resourceType: 2, resourceName: r.topic, configs: [change] }],
    })
  },
  listOffset: async (r) => {
    const special = { earliest: -2n, latest: -1n, maxTimestamp: -3n }
    const partitions = [{ partitionIndex: r.partition, timestamp: special[r.at] ?? BigInt(r.at) }]
    const [topic] = await admin.listOffsets({ topics: [{ name: r.topic, partitions }] })
    const found = topic.partitions[0]
    return { offset: Number(found.offset), timestamp: Number(found.timestamp), leaderEpoch: found.leaderEpoch }
  },
  describeCluster: async () => {
    const metadata = await admin.metadata({ topics: [], forceUpdate: true })
    const nodes = [...metadata.brokers].map(([id, broker]) => ({ id, host: broker.host, port: broker.port }))
    return { clusterId: metadata.id, nodes }
  },
}

function describeError(error) {
  // It reports the errors of single records too, as unknown ones; the partition's own error says more.
  const found = []
  const pending = [error]
  while (pending.length > 0) {
    const next = pending.shift()
    if (next?.apiId !== undefined) found.push(next.apiId)
    if (Array.isArray(next?.errors)) pending.push(...next.errors)
    if (next?.cause) pending.push(next.cause)
  }
  return found.find((id) => id !== 'UNKNOWN_SERVER_ERROR') ?? found[0] ?? error?.code ?? 'UNKNOWN'
}

await serve(operations, describeError, () => admin.close())
