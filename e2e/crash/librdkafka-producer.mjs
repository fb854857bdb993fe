// The same as kafka/java/CrashProducer.java with librdkafka: see there.
// usage: node librdkafka-producer.mjs BOOTSTRAP NAME IDEMPOTENT CODEC RECORDS_PER_SECOND TOPIC:PARTITIONS ...
import { createRequire } from 'node:module'
import { join } from 'node:path'

const requireClient = createRequire(join(process.env.OTTLA_E2E_CLIENTS, 'from-here.js'))
const { CODES, Producer } = requireClient('@confluentinc/kafka-javascript')
const [bootstrap, name, idempotent, codec, perSecond, ...topicArgs] = process.argv.slice(2)
const isIdempotent = idempotent === 'true'
const maxOutstanding = 2000

const producer = new Producer({
  'bootstrap.servers': bootstrap,
  'client.id': name,
  dr_cb: true,
  acks: -1,
  'enable.idempotence': isIdempotent,
  // Without idempotence only one request in flight keeps the order.
  'max.in.flight.requests.per.connection': isIdempotent ? 5 : 1,
  'compression.codec': codec,
  'linger.ms': 5,
  'message.timeout.ms': 600000,
  'socket.timeout.ms': 10000,
  'message.send.max.retries': 1000000,
  'retry.backoff.ms': 50,
  'retry.backoff.max.ms': 200,
  'reconnect.backoff.ms': 20,
  'reconnect.backoff.max.ms': 200,
  ...(process.env.OTTLA_E2E_RDKAFKA_DEBUG ? { event_cb: true, debug: process.env.OTTLA_E2E_RDKAFKA_DEBUG } : {}),
})

const topics = topicArgs.map((text) => {
  const colon = text.lastIndexOf(':')
  return { topic: text.slice(0, colon), sequences: new Array(Number(text.slice(colon + 1))).fill(0) }
})

function valueOf(sequence) {
  const letters = 20 + ((sequence * 7919) % 900)
  let text = `${name} ${sequence} `
  for (let index = 0; index < letters; index++) text += String.fromCharCode(97 + ((sequence + index) % 26))
  return Buffer.from(text)
}

let outstanding = 0
let isStopping = false
process.stdin.on('end', () => (isStopping = true))
process.stdin.resume()

producer.on('delivery-report', (error, report) => {
  outstanding -= 1
  const [topic, partition, sequence] = report.opaque.split(' ')
  process.stdout.write(
    error
      ? `e ${topic} ${partition} ${sequence} ${error.message}\n`
      : `a ${topic} ${partition} ${sequence} ${report.offset}\n`,
  )
})
producer.on('event.error', (error) => {
  // Lost connections are what this suite is about; a fatal error means that the producer gave up for good.
  if (error.code === CODES.ERRORS.ERR__FATAL || error.isFatal) giveUp(error)
})
// OTTLA_E2E_RDKAFKA_DEBUG=eos shows what librdkafka thinks of its sequence numbers.
producer.on('event.log', (event) => console.error(event.message))

function giveUp(error) {
  process.stdout.write(`e - 0 0 fatal: ${error.message}\n`)
  console.error(`gave up for good: ${error.message}`)
  process.exit(1)
}

producer.connect({ timeout: 60000 }, (error) => {
  if (error) {
    console.error(`not connected: ${error.message}`)
    process.exit(1)
  }
  producer.setPollInterval(5)
  const startedMs = performance.now()
  let sent = 0
  const tick = setInterval(() => {
    const due = Math.floor(((performance.now() - startedMs) / 1000) * Number(perSecond))
    while (!isStopping && sent < due && outstanding < maxOutstanding) {
      const { topic, sequences } = topics[sent % topics.length]
      const partition = Math.floor(sent / topics.length) % sequences.length
      const sequence = sequences[partition]++
      try {
        producer.produce(topic, partition, valueOf(sequence), null, null, `${topic} ${partition} ${sequence}`)
      } catch (error) {
        giveUp(error)
      }
      outstanding += 1
      sent += 1
    }
    if (!isStopping || outstanding > 0) return
    clearInterval(tick)
    for (const { topic, sequences } of topics) {
      sequences.forEach((count, partition) => process.stdout.write(`s ${topic} ${partition} ${count}\n`))
    }
    producer.disconnect(5000, () => process.exit(0))
  }, 5)
})
