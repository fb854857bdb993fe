// usage: node confluent-javascript.mjs BOOTSTRAP       @confluentinc/kafka-javascript (librdkafka) as an interop worker
import { KafkaCodeError, requireClient, serve, toBytes, toText } from './worker.mjs'

const library = requireClient('@confluentinc/kafka-javascript')
const { AdminClient, CODES, KafkaConsumer, Producer } = library
const bootstrap = { 'bootstrap.servers': process.argv[2], 'client.id': 'interop-confluent-javascript' }
const names = new Map(Object.entries(CODES.ERRORS).map(([name, code]) => [code, name.replace(/^ERR_/, '')]))

const connected = (client) =>
  new Promise((resolve, reject) =>
    client.connect({ timeout: 10000 }, (error) => (error ? reject(error) : resolve(client))),
  )
const call = (start) =>
  new Promise((resolve, reject) => start((error, value) => (error ? reject(error) : resolve(value))))
const disconnected = (client) => new Promise((resolve) => client.disconnect(() => resolve()))

const admin = AdminClient.create(bootstrap)
let consumer
async function reader() {
  if (consumer !== undefined) return consumer
  const settings = {
    ...bootstrap,
    'group.id': 'unused',
    'enable.auto.commit': false,
    'check.crcs': true,
    'fetch.message.max.bytes': 16777216,
    'fetch.max.bytes': 33554432,
    'receive.message.max.bytes': 67108864,
  }
  consumer = await connected(new KafkaConsumer(settings, { 'auto.offset.reset': 'error' }))
  consumer.setDefaultConsumeTimeout(100)
  return consumer
}

async function write(request) {
  const producer = new Producer({
    ...bootstrap,
    dr_cb: true,
    'compression.codec': request.codec,
    'enable.idempotence': request.idempotent === true,
    'linger.ms': 50,
    'message.max.bytes': 33554432,
    'message.timeout.ms': 30000,
    'allow.auto.create.topics': request.autoCreate === true,
    acks: request.acks === undefined || request.acks === 'all' ? -1 : Number(request.acks),
  })
  const offsets = new Array(request.records.length)
  let pending = request.records.length
  let failure
  const done = new Promise((resolve) => {
    producer.on('delivery-report', (error, report) => {
      if (error) failure ??= error
      else offsets[report.opaque] = report.offset
      if (--pending === 0) resolve()
    })
  })
  await connected(producer)
  producer.setPollInterval(5)
  for (const [index, record] of request.records.entries()) {
    const headers = (record.headers ?? []).map(([key, value]) => ({ [key]: toBytes(value) }))
    producer.produce(
      request.topic,
      request.partition,
      toBytes(record.value),
      toBytes(record.key),
      record.timestamp ?? null,
      index,
      headers,
    )
  }
  await done
  await disconnected(producer)
  if (failure) throw failure
  return { offsets }
}

async function read(request) {
  const client = await reader()
  client.assign([{ topic: request.topic, partition: request.partition, offset: request.offset }])
  const records = []
  const end = Date.now() + request.timeoutMs
  while (records.length < request.count && Date.now() < end) {
    const messages = await call((done) => client.consume(request.count - records.length, done))
    for (const message of messages) {
      records.push({
        offset: message.offset,
        timestamp: message.timestamp,
        key: toText(message.key),
        value: toText(message.value),
        headers: (message.headers ?? []).flatMap((header) =>
          Object.entries(header).map(([key, value]) => [key, toText(value)]),
        ),
      })
    }
  }
  client.unassign()
  return { records }
}

const operations = {
  write,
  read,
  createTopic: (r) =>
    call((done) =>
      admin.createTopic(
        {
          topic: r.topic,
          num_partitions: r.partitions ?? -1,
          replication_factor: r.replicationFactor ?? -1,
          config: r.config ?? {},
        },
        10000,
        done,
      ),
    ),
  createPartitions: (r) => call((done) => admin.createPartitions(r.topic, r.count, 10000, done)),
  deleteTopic: (r) => call((done) => admin.deleteTopic(r.topic, 10000, done)),
  listTopics: () => call((done) => admin.listTopics({ timeout: 10000 }, done)),
  describeTopic: async (r) => {
    const [topic] = await call((done) => admin.describeTopics([r.topic], { timeout: 10000 }, done))
    if (topic.error) throw topic.error
    return {
      topicIdBits: [topic.topicId?.mostSignificantBits, topic.topicId?.leastSignificantBits].map(String),
      partitions: topic.partitions.map((p) => ({
        partition: p.partition,
        leader: p.leader?.id ?? -1,
        replicas: p.replicas.map((n) => n.id),
      })),
    }
  },
  listOffset: async (r) => {
    const { OffsetSpec } = library.RdKafka ?? library.KafkaJS ?? {}
    const special = { earliest: -2, latest: -1, maxTimestamp: -3 }
    const spec =
      OffsetSpec === undefined
        ? { timestamp: special[r.at] ?? Number(r.at) }
        : new OffsetSpec(special[r.at] ?? Number(r.at))
    const [found] = await call((done) =>
      admin.listOffsets([{ topic: r.topic, partition: r.partition, offset: spec }], { timeout: 10000 }, done),
    )
    if (found.error) throw found.error
    return { offset: found.offset, timestamp: found.timestamp, leaderEpoch: found.leaderEpoch }
  },
}

function describeError(error) {
  if (error instanceof KafkaCodeError) return error.kafka
  const name = names.get(error?.code)
  return name ?? String(error?.code ?? error?.name ?? 'UNKNOWN')
}

await serve(operations, describeError, async () => {
  if (consumer) await disconnected(consumer)
  admin.disconnect()
})
