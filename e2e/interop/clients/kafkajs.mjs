// usage: node kafkajs.mjs BOOTSTRAP       kafkajs 2 as an interop worker
// kafkajs reads only in groups; its own connection, Fetch request and decoders are used here without a group.
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { requireClient, serve, toBytes, toText } from './worker.mjs'

const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, logLevel, Partitioners } =
  requireClient('kafkajs')
const Cluster = requireClient('kafkajs/src/cluster')
const createSocketFactory = requireClient('kafkajs/src/network/socketFactory')
const { createLogger } = requireClient('kafkajs/src/loggers')
const consoleLog = requireClient('kafkajs/src/loggers/console')
const lz4 = requireClient('lz4-napi')

// kafkajs brings gzip; the others are plugged in, as its documentation tells its users to do.
CompressionCodecs[CompressionTypes.Snappy] = requireClient('kafkajs-snappy')
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: (buffer) => lz4.decompressFrame(buffer),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: (encoder) => promisify(zlib.zstdCompress)(encoder.buffer),
  decompress: (buffer) => promisify(zlib.zstdDecompress)(buffer),
})
const codecs = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

const brokers = [process.argv[2]]
const retry = { retries: 4, initialRetryTime: 100, maxRetryTime: 500 }
const kafka = new Kafka({ clientId: 'interop-kafkajs', brokers, retry, logLevel: logLevel.NOTHING })
const admin = kafka.admin()
await admin.connect()

function headersOf(list) {
  const headers = {}
  for (const [key, value] of list ?? []) (headers[key] ??= []).push(toBytes(value))
  return headers
}

async function write(request) {
  const producer = kafka.producer({
    idempotent: request.idempotent === true,
    maxInFlightRequests: 1,
    createPartitioner: Partitioners.DefaultPartitioner,
    allowAutoTopicCreation: request.autoCreate === true,
  })
  await producer.connect()
  try {
    const messages = request.records.map((record) => ({
      partition: request.partition,
      key: toBytes(record.key),
      value: toBytes(record.value),
      headers: headersOf(record.headers),
      ...(record.timestamp === undefined ? {} : { timestamp: String(record.timestamp) }),
    }))
    const acks = request.acks === undefined ? -1 : Number(request.acks === 'all' ? -1 : request.acks)
    const [result] = await producer.send({ topic: request.topic, acks, compression: codecs[request.codec], messages })
    return { offsets: messages.map((_, index) => Number(result.baseOffset) + index) }
  } finally {
    await producer.disconnect()
  }
}

async function read(request) {
  const cluster = new Cluster({
    logger: createLogger({ level: logLevel.NOTHING, logCreator: consoleLog }),
    socketFactory: createSocketFactory(),
    brokers,
    clientId: 'interop-kafkajs-reader',
    connectionTimeout: 5000,
    requestTimeout: 30000,
    enforceRequestTimeout: true,
    metadataMaxAge: 300000,
    allowAutoTopicCreation: false,
    retry,
    offsets: new Map(),
  })
  await cluster.connect()
  try {
    await cluster.addTargetTopic(request.topic)
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(request.topic, [request.partition]))
    const broker = await cluster.findBroker({ nodeId })
    const records = []
    let fetchOffset = request.offset
    const end = Date.now() + request.timeoutMs
    while (records.length < request.count && Date.now() < end) {
      const response = await broker.fetch({
        maxWaitTime: 200,
        maxBytes: 33554432,
        isolationLevel: 0,
        topics: [
          {
            topic: request.topic,
            partitions: [{ partition: request.partition, fetchOffset: String(fetchOffset), maxBytes: 16777216 }],
          },
        ],
      })
      for (const message of response.responses[0].partitions[0].messages) {
        if (Number(message.offset) < fetchOffset) continue
        fetchOffset = Number(message.offset) + 1
        records.push({
          offset: Number(message.offset),
          timestamp: Number(message.timestamp),
          timestampType: (message.batchContext?.timestampType ?? 0) === 1 ? 'LogAppendTime' : 'CreateTime',
          key: toText(message.key),
          value: toText(message.value),
          headers: Object.entries(message.headers).flatMap(([key, value]) =>
            (Array.isArray(value) ? value : [value]).map((one) => [key, toText(one)]),
          ),
        })
      }
    }
    return { records }
  } finally {
    await cluster.disconnect()
  }
}

const operations = {
  write,
  read,
  createTopic: async (r) => {
    const created = await admin.createTopics({
      validateOnly: r.validateOnly === true,
      waitForLeaders: r.validateOnly !== true,
      topics: [
        {
          topic: r.topic,
          ...(r.assignments
            ? {
                numPartitions: -1,
                replicationFactor: -1,
                replicaAssignment: r.assignments.map((replicas, partition) => ({ partition, replicas })),
              }
            : { numPartitions: r.partitions ?? -1, replicationFactor: r.replicationFactor ?? -1 }),
          configEntries: Object.entries(r.config ?? {}).map(([name, value]) => ({ name, value })),
        },
      ],
    })
    // kafkajs turns exactly one refusal into a value.
    if (!created) throw Object.assign(new Error('exists'), { type: 'TOPIC_ALREADY_EXISTS' })
  },
  createPartitions: async (r) => {
    const topicPartitions = [{ topic: r.topic, count: r.count }]
    await admin.createPartitions({ validateOnly: r.validateOnly === true, topicPartitions })
  },
  deleteTopic: async (r) => admin.deleteTopics({ topics: [r.topic] }),
  listTopics: async () => admin.listTopics(),
  describeTopic: async (r) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [r.topic] })
    return {
      partitions: topics[0].partitions
        .map((p) => ({ partition: p.partitionId, leader: p.leader, replicas: p.replicas }))
        .sort((a, b) => a.partition - b.partition),
    }
  },
  describeConfig: async (r) => {
    const type = r.broker ? ConfigResourceTypes.BROKER : ConfigResourceTypes.TOPIC
    const answer = await admin.describeConfigs({ includeSynonyms: true, resources: [{ type, name: r.topic }] })
    const sources = {
      1: 'DYNAMIC_TOPIC_CONFIG',
      2: 'DYNAMIC_BROKER_CONFIG',
      3: 'DYNAMIC_DEFAULT_BROKER_CONFIG',
      4: 'STATIC_BROKER_CONFIG',
      5: 'DEFAULT_CONFIG',
    }
    return Object.fromEntries(
      answer.resources[0].configEntries.map((e) => [
        e.configName,
        { value: e.configValue, source: sources[e.configSource] ?? String(e.configSource), readOnly: e.readOnly },
      ]),
    )
  },
  // The old request, which replaces all settings of the topic.
  alterConfig: async (r) => {
    const configEntries = r.value === null ? [] : [{ name: r.key, value: r.value }]
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: r.topic, configEntries }]
    await admin.alterConfigs({ resources })
  },
  listOffset: async (r) => {
    if (r.at === 'earliest' || r.at === 'latest') {
      const found = (await admin.fetchTopicOffsets(r.topic)).find((p) => p.partition === r.partition)
      return { offset: Number(r.at === 'earliest' ? found.low : found.high) }
    }
    const found = (await admin.fetchTopicOffsetsByTimestamp(r.topic, Number(r.at))).find(
      (p) => p.partition === r.partition,
    )
    return { offset: Number(found.offset) }
  },
  describeCluster: async () => {
    const cluster = await admin.describeCluster()
    return {
      clusterId: cluster.clusterId,
      nodes: cluster.brokers.map((b) => ({ id: b.nodeId, host: b.host, port: b.port })),
    }
  },
}

function describeError(error) {
  const inner = error?.errors?.[0] ?? error?.cause ?? error
  return inner?.type ?? error?.type ?? inner?.name ?? 'UNKNOWN'
}

await serve(operations, describeError, () => admin.disconnect())
