import assert from 'node:assert/strict'
import { decodeMessage, encodeMessage } from './codec.ts'
import { fetchRequest, fetchResponse } from './messages/01-fetch.ts'
import { listOffsetsRequest } from './messages/02-list-offsets.ts'
import { metadataRequest } from './messages/03-metadata.ts'
import { joinGroupResponse } from './messages/11-join-group.ts'
import { apiVersionsResponse } from './messages/18-api-versions.ts'
import { describeClientQuotasResponse } from './messages/48-describe-client-quotas.ts'
import { consumerGroupHeartbeatResponse } from './messages/68-consumer-group-heartbeat.ts'
import { describeTopicPartitionsRequest } from './messages/75-describe-topic-partitions.ts'
import {
  array,
  bytes,
  data,
  int32,
  int64,
  records,
  string,
  struct,
  type Fields,
  type InputFields,
  type Message,
} from './schema.ts'
import { EncodeError, ProtocolError } from './wire/errors.ts'
import { Reader } from './wire/reader.ts'
import { Writer } from './wire/writer.ts'

function encode<F extends Fields>(message: Message<F>, version: number, input: InputFields<F>): string {
  const writer = new Writer()
  encodeMessage(message, version, writer, input)
  return Buffer.concat(writer.finish()).toString('hex')
}

function decode(message: Message, version: number, hex: string): unknown {
  const reader = new Reader(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
  const decoded = decodeMessage(message, version, reader)
  assert.equal(reader.remaining, 0)
  return decoded
}

/** The bytes are the encoding of the input, and what they decode to encodes to the same bytes again. */
function assertGolden<F extends Fields>(
  message: Message<F>,
  version: number,
  input: InputFields<F>,
  hex: string,
): void {
  assert.equal(encode(message, version, input), hex.replaceAll(' ', ''))
  const decoded = decode(message, version, hex) as InputFields<F>
  assert.equal(encode(message, version, decoded), hex.replaceAll(' ', ''))
}

const TOPIC_ID = 'AQIDBAUGBwgJCgsMDQ4PEA'
const TOPIC_ID_HEX = '0102030405060708090a0b0c0d0e0f10'

describe('the bytes of', () => {
  it('ApiVersionsResponse, fixed and flexible, with tagged fields', () => {
    const apiKeys = [{ apiKey: 1, minVersion: 4, maxVersion: 17 }]
    assertGolden(apiVersionsResponse, 0, { apiKeys }, '0000 00000001 0001 0004 0011')
    // Compact count, a tag section per entry, throttle time, no tagged fields.
    assertGolden(apiVersionsResponse, 3, { apiKeys }, '0000 02 0001 0004 0011 00 00000000 00')
    assertGolden(
      apiVersionsResponse,
      3,
      {
        apiKeys,
        finalizedFeaturesEpoch: 5,
        supportedFeatures: [{ name: 'f', minVersion: 1, maxVersion: 2 }],
      },
      // Two tagged fields: tag 0 of 8 bytes, tag 1 of 8 bytes.
      '0000 02 0001 0004 0011 00 00000000 02 00 08 02 0266 0001 0002 00 01 08 0000000000000005',
    )
  })

  it('MetadataRequest, with null topics, with names that are not ASCII, and by id', () => {
    assertGolden(metadataRequest, 1, { topics: null }, 'ffffffff')
    assertGolden(metadataRequest, 9, { topics: null, allowAutoTopicCreation: true }, '00 01 00 00 00')
    assertGolden(metadataRequest, 1, { topics: [{ name: 'té' }] }, '00000001 0003 74c3a9')
    assertGolden(
      metadataRequest,
      12,
      { topics: [{ topicId: TOPIC_ID, name: null }] },
      `02 ${TOPIC_ID_HEX} 00 00 01 00 00`,
    )
  })

  it('FetchResponse, with a tagged struct and an offset beyond 32 bits', () => {
    assertGolden(
      fetchResponse,
      12,
      {
        throttleTimeMs: 1,
        sessionId: 7,
        responses: [
          {
            topic: 'a',
            partitions: [
              {
                partitionIndex: 2,
                highWatermark: 2 ** 32 + 2,
                logStartOffset: 3,
                abortedTransactions: null,
                divergingEpoch: { epoch: 4, endOffset: 10 },
                records: Buffer.alloc(0),
              },
            ],
          },
        ],
      },
      '00000001 0000 00000007 02 0261 02 00000002 0000 0000000100000002 ffffffffffffffff 0000000000000003 00' +
        'ffffffff 01 01 00 0d 00000004 000000000000000a 00 00 00',
    )
  })

  it('FetchRequest, whose high watermark has no limit by default', () => {
    assertGolden(
      fetchRequest,
      15,
      { clusterId: 'c', replicaState: { replicaId: 3, replicaEpoch: 9 }, maxWaitMs: 500, minBytes: 1 },
      '000001f4 00000001 7fffffff 00 00000000 ffffffff 01 01 01 02 00 02 0263 01 0d 00000003 0000000000000009 00',
    )
    const partition = (highWatermark: number): InputFields<typeof fetchRequest.fields> => ({
      topics: [{ partitions: [{ highWatermark }] }],
    })
    const upToTags =
      '00000000 00000000 7fffffff 00 00000000 ffffffff 02 00000000000000000000000000000000 02' +
      '00000000 ffffffff 0000000000000000 ffffffff ffffffffffffffff 00000000'
    assertGolden(fetchRequest, 18, partition(5), `${upToTags} 01 01 08 0000000000000005 00 01 01 00`)
    assertGolden(fetchRequest, 18, partition(Infinity), `${upToTags} 00 00 01 01 00`)
  })

  it('nullable structs', () => {
    const input = { topics: [{ name: 't' }], responsePartitionLimit: 10 }
    assertGolden(describeTopicPartitionsRequest, 0, input, '02 0274 00 0000000a ff 00')
    assertGolden(
      describeTopicPartitionsRequest,
      0,
      { ...input, cursor: { topicName: 't', partitionIndex: 3 } },
      '02 0274 00 0000000a 01 0274 00000003 00 00',
    )
    assertGolden(
      consumerGroupHeartbeatResponse,
      0,
      {
        memberId: 'm',
        memberEpoch: 2,
        heartbeatIntervalMs: 3000,
        assignment: { topicPartitions: [{ topicId: TOPIC_ID, partitions: [0, 1] }] },
      },
      `00000000 0000 00 026d 00000002 00000bb8 01 02 ${TOPIC_ID_HEX} 03 00000000 00000001 00 00 00`,
    )
  })

  it('floating-point numbers', () => {
    assertGolden(
      describeClientQuotasResponse,
      1,
      { entries: [{ entity: [{ entityType: 'user', entityName: null }], values: [{ key: 'k', value: 1.5 }] }] },
      '00000000 0000 01 02 02 05 75736572 00 00 02 026b 3ff8000000000000 00 00 00',
    )
  })
})

describe('decoding', () => {
  it('gives every field, with the defaults of those that the version lacks', () => {
    assert.deepEqual(decode(listOffsetsRequest, 1, 'ffffffff 00000000'), {
      replicaId: -1,
      isolationLevel: 0,
      topics: [],
      timeoutMs: 0,
    })
  })

  it('gives the objects of all versions the same keys in the same order', () => {
    const keys = (version: number, hex: string): string[] =>
      Object.keys(decode(metadataRequest, version, hex) as object)
    assert.deepEqual(keys(0, '00000000'), keys(12, '01 00 00 00'))
  })

  it('skips unknown tagged fields', () => {
    const known = decode(metadataRequest, 12, '01 00 00 00')
    assert.deepEqual(decode(metadataRequest, 12, '01 00 00 02 05 03 aabbcc 8101 00'), known)
  })

  it('refuses a tagged field whose size is not that of its value', () => {
    const message = data({ name: 'Sample', versions: '0', flexible: '0+', fields: { value: int32('0+', { tag: 0 }) } })
    assert.deepEqual(decode(message, 0, '01 00 04 00000007'), { value: 7 })
    assert.throws(() => decode(message, 0, '01 00 05 0000000700'), ProtocolError)
    assert.throws(() => decode(message, 0, '01 00 03 00000007'), ProtocolError)
  })

  it('refuses null where the version does not allow it', () => {
    assert.throws(() => decode(metadataRequest, 0, 'ffffffff'), /MetadataRequest v0, byte 4: an array is null/)
  })

  it('checks counts before it allocates', () => {
    const heap = process.memoryUsage().heapUsed
    for (const count of ['7fffffff', '10000000', '80000000', 'fffffffe']) {
      assert.throws(() => decode(metadataRequest, 1, count), ProtocolError)
    }
    assert.throws(() => decode(metadataRequest, 12, 'ffffffff0f'), ProtocolError)
    assert.throws(() => decode(metadataRequest, 12, 'ffffffff7f'), /varint/)
    assert.ok(process.memoryUsage().heapUsed - heap < 50e6)
  })

  it('gives views of the frame', () => {
    const message = data({ name: 'Sample', versions: '0', fields: { value: records('0+', { nullable: true }) } })
    const frame = Buffer.from('00000002aabb', 'hex')
    const { value } = decodeMessage(message, 0, new Reader(frame))
    frame[4] = 0xcc
    assert.equal(value?.[0], 0xcc)
  })

  it('says which message, version and byte is wrong', () => {
    assert.throws(() => decode(metadataRequest, 12, '02 01'), {
      name: 'ProtocolError',
      message: /^MetadataRequest v12, byte 1: /,
    })
  })
})

describe('encoding', () => {
  it('refuses a value in a field that the version lacks, unless it is the default or the field is ignorable', () => {
    assert.throws(() => encode(metadataRequest, 0, { topics: [], includeTopicAuthorizedOperations: true }), {
      name: 'EncodeError',
      message: /MetadataRequest v0 has no field 'includeTopicAuthorizedOperations'/,
    })
    assert.equal(encode(metadataRequest, 0, { topics: [], includeTopicAuthorizedOperations: false }), '00000000')
    // The throttle time is ignorable.
    assert.equal(encode(apiVersionsResponse, 0, { throttleTimeMs: 5 }), '0000' + '00000000')
  })

  it('names the field within its structs', () => {
    const input = { responses: [{ partitions: [{ divergingEpoch: { epoch: 1 } }] }] }
    assert.throws(() => encode(fetchResponse, 11, input), /'responses\.partitions\.divergingEpoch'/)
  })

  it('compares structs, arrays and bytes with their defaults by content', () => {
    const message = data({
      name: 'Sample',
      versions: '0-1',
      fields: {
        structure: struct('1+', { number: int64('1+', { default: -1 }), text: string('1+') }),
        list: array('1+', 'int32'),
        blob: bytes('1+'),
        batch: records('1+', { nullable: true }),
      },
    })
    assert.equal(encode(message, 0, { structure: { number: -1, text: '' }, list: [], blob: Buffer.alloc(0) }), '')
    assert.throws(() => encode(message, 0, { structure: { text: 'x' } }), EncodeError)
    assert.throws(() => encode(message, 0, { list: [1] }), EncodeError)
    assert.throws(() => encode(message, 0, { blob: Buffer.alloc(1) }), EncodeError)
    assert.throws(() => encode(message, 0, { batch: Buffer.alloc(1) }), EncodeError)
  })

  it('refuses null where the version does not allow it', () => {
    assert.throws(() => encode(metadataRequest, 0, { topics: null }), EncodeError)
    assert.throws(() => encode(joinGroupResponse, 6, { protocolName: null }), EncodeError)
    assert.doesNotThrow(() => encode(joinGroupResponse, 7, { protocolName: null }))
  })

  it('refuses values that their type cannot hold', () => {
    const partition = (partitionIndex: number, highWatermark: number): string =>
      encode(fetchResponse, 4, { responses: [{ partitions: [{ partitionIndex, highWatermark }] }] })
    assert.throws(() => partition(2 ** 31, 0), EncodeError)
    assert.throws(() => partition(0.5, 0), EncodeError)
    assert.throws(() => partition(0, 2 ** 53), EncodeError)
    assert.throws(() => partition(0, NaN), EncodeError)
    assert.throws(() => encode(metadataRequest, 10, { topics: [{ topicId: 'short' }] }), EncodeError)
    assert.throws(() => encode(metadataRequest, 1, { topics: [{ name: 'x'.repeat(0x8000) }] }), EncodeError)
  })

  it('keeps a large value of a tagged field in one piece with its size', () => {
    const message = data({ name: 'Sample', versions: '0', flexible: '0+', fields: { value: bytes('0+', { tag: 3 }) } })
    const value = Buffer.alloc(20_000, 7)
    const expected = '01' + '03' + 'a39c01' + 'a19c01' + value.toString('hex')
    assert.equal(encode(message, 0, { value }), expected)
    assert.deepEqual(decode(message, 0, expected), { value })
  })
})
