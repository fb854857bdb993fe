import assert from 'node:assert/strict'
import { SeededRandom } from '../../../../common/random.ts'
import { decodeMessage } from '../../../protocol/codec.ts'
import { encodeBatch } from '../../../protocol/records/encode-batch.ts'
import { RecordCursor } from '../../../protocol/records/record.ts'
import { Reader } from '../../../protocol/wire/reader.ts'
import { ZERO_UUID } from '../../../protocol/wire/uuid.ts'
import { groupRecordSerde } from './group-record-serde.ts'
import type { GroupRecord } from './group-record.ts'
import { decodeOffsetCommit } from './offset-commit-decoder.ts'
import { offsetCommitKey, offsetCommitValue } from './schemas.ts'

const TOPIC_ID = 'AQIDBAUGBwgJCgsMDQ4PEA'
const COMMIT_KEY = '0001000567726f7570000674c3b870696300000007'
const key = { group: 'group', topic: 'tøpic', partition: 7 }
const commit = {
  offset: 4_294_967_297,
  leaderEpoch: 3,
  metadata: 'm',
  commitTimestamp: 1_700_000_000_001,
  expireTimestamp: -1,
  topicId: TOPIC_ID,
}
const member = {
  memberId: 'a',
  groupInstanceId: 'i',
  clientId: 'c',
  clientHost: '/127.0.0.1',
  rebalanceTimeout: 300_000,
  sessionTimeout: 45_000,
  subscription: Buffer.from([1, 2, 3]),
  assignment: Buffer.from([4, 5]),
}
const group = {
  protocolType: 'consumer',
  generation: 5,
  protocol: 'range',
  leader: 'a',
  currentStateTimestamp: 1_700_000_000_000,
  members: [member],
}

interface Golden {
  readonly name: string
  readonly key: string
  readonly value: string | null
  readonly record: GroupRecord
}

/** Bytes that Kafka 4.3.1 writes for these records, in the versions that are written here. */
const written: readonly Golden[] = [
  {
    name: 'OffsetCommit',
    key: COMMIT_KEY,
    value: '0004000000010000000100000003026d0000018bcfe568010100100102030405060708090a0b0c0d0e0f10',
    record: { type: 'OffsetCommit', key, value: commit },
  },
  {
    name: 'OffsetCommit without a topic id',
    key: COMMIT_KEY,
    value: '000300000001000000010000000300016d0000018bcfe56801',
    record: { type: 'OffsetCommit', key, value: { ...commit, topicId: ZERO_UUID } },
  },
  {
    name: 'OffsetCommit that expires when its client says',
    key: COMMIT_KEY,
    value: '0001000000010000000100016d0000018bcfe568010000018bcfe56802',
    record: {
      type: 'OffsetCommit',
      key,
      value: { ...commit, leaderEpoch: -1, expireTimestamp: 1_700_000_000_002, topicId: ZERO_UUID },
    },
  },
  { name: 'OffsetCommit removed', key: COMMIT_KEY, value: null, record: { type: 'OffsetCommit', key, value: null } },
  {
    name: 'GroupMetadata',
    key: '0002000567726f7570',
    value:
      '00030008636f6e73756d657200000005000572616e67650001610000018bcfe5680000000001000161000169000163000a2f3132372e302e302e31000493e00000afc800000003010203000000020405',
    record: { type: 'GroupMetadata', key: { group: 'group' }, value: group },
  },
  {
    name: 'GroupMetadata of an empty group',
    key: '0002000567726f7570',
    value: '00030008636f6e73756d657200000006ffffffffffffffffffffffff00000000',
    record: {
      type: 'GroupMetadata',
      key: { group: 'group' },
      value: { ...group, generation: 6, protocol: null, leader: null, currentStateTimestamp: -1, members: [] },
    },
  },
  {
    name: 'ConsumerGroupMetadata',
    key: '0003000567726f7570',
    value: '000000000009010008fffffffffffffffe',
    record: { type: 'ConsumerGroupMetadata', key: { groupId: 'group' }, value: { epoch: 9, metadataHash: -2 } },
  },
  {
    name: 'ConsumerGroupMemberMetadata',
    key: '0005000567726f757000016d',
    value: '00000002720263032f680302780279047a2e2a0000000508756e69666f726d0100110100000006020672616e67650307080000',
    record: {
      type: 'ConsumerGroupMemberMetadata',
      key: { groupId: 'group', memberId: 'm' },
      value: {
        instanceId: null,
        rackId: 'r',
        clientId: 'c',
        clientHost: '/h',
        subscribedTopicNames: ['x', 'y'],
        subscribedTopicRegex: 'z.*',
        rebalanceTimeoutMs: 5,
        serverAssignor: 'uniform',
        classicMemberMetadata: {
          sessionTimeoutMs: 6,
          supportedProtocols: [{ name: 'range', metadata: Buffer.from([7, 8]) }],
        },
      },
    },
  },
  {
    name: 'ConsumerGroupTargetAssignmentMetadata',
    key: '0006000567726f7570',
    value: '0000000000040100080000018bcfe56803',
    record: {
      type: 'ConsumerGroupTargetAssignmentMetadata',
      key: { groupId: 'group' },
      value: { assignmentEpoch: 4, assignmentTimestamp: 1_700_000_000_003 },
    },
  },
  {
    name: 'ConsumerGroupTargetAssignmentMember',
    key: '0007000567726f757000016d',
    value: '0000020102030405060708090a0b0c0d0e0f10040000000000000001000000020000',
    record: {
      type: 'ConsumerGroupTargetAssignmentMember',
      key: { groupId: 'group', memberId: 'm' },
      value: { topicPartitions: [{ topicId: TOPIC_ID, partitions: [0, 1, 2] }] },
    },
  },
  {
    name: 'ConsumerGroupCurrentMemberAssignment',
    key: '0008000567726f757000016d',
    value:
      '0000000000020000000101020102030405060708090a0b0c0d0e0f10030000000000000001010009030000000200000003020102030405060708090a0b0c0d0e0f1002000000050000',
    record: {
      type: 'ConsumerGroupCurrentMemberAssignment',
      key: { groupId: 'group', memberId: 'm' },
      value: {
        memberEpoch: 2,
        previousMemberEpoch: 1,
        state: 1,
        assignedPartitions: [{ topicId: TOPIC_ID, partitions: [0, 1], assignmentEpochs: [2, 3] }],
        partitionsPendingRevocation: [{ topicId: TOPIC_ID, partitions: [5], assignmentEpochs: null }],
      },
    },
  },
  {
    name: 'ConsumerGroupRegularExpression',
    key: '0010000567726f75700003612e2a',
    value: '000003036161036162000000000000000c000000000000002200',
    record: {
      type: 'ConsumerGroupRegularExpression',
      key: { groupId: 'group', regularExpression: 'a.*' },
      value: { topics: ['aa', 'ab'], version: 12, timestamp: 34 },
    },
  },
]

/** What Kafka wrote in other versions. */
const alsoRead: readonly Golden[] = [
  {
    name: 'OffsetCommit version 0',
    key: COMMIT_KEY,
    value: '0000000000010000000100016d0000018bcfe56801',
    record: { type: 'OffsetCommit', key, value: { ...commit, leaderEpoch: -1, topicId: ZERO_UUID } },
  },
  {
    name: 'OffsetCommit version 2',
    key: COMMIT_KEY,
    value: '0002000000010000000100016d0000018bcfe56801',
    record: { type: 'OffsetCommit', key, value: { ...commit, leaderEpoch: -1, topicId: ZERO_UUID } },
  },
  {
    name: 'OffsetCommit version 4 without a topic id',
    key: COMMIT_KEY,
    value: '0004000000010000000100000003026d0000018bcfe5680100',
    record: { type: 'OffsetCommit', key, value: { ...commit, topicId: ZERO_UUID } },
  },
  {
    name: 'OffsetCommit of before Kafka 0.9',
    key: '0000000567726f7570000674c3b870696300000007',
    value: '0000000000010000000100016d0000018bcfe56801',
    record: { type: 'OffsetCommit', key, value: { ...commit, leaderEpoch: -1, topicId: ZERO_UUID } },
  },
  {
    name: 'GroupMetadata version 1',
    key: '0002000567726f7570',
    value:
      '00010008636f6e73756d657200000005000572616e676500016100000001000161000163000a2f3132372e302e302e31000493e00000afc800000003010203000000020405',
    record: {
      type: 'GroupMetadata',
      key: { group: 'group' },
      value: { ...group, currentStateTimestamp: -1, members: [{ ...member, groupInstanceId: null }] },
    },
  },
  {
    name: 'GroupMetadata version 4',
    key: '0002000567726f7570',
    value:
      '000409636f6e73756d6572000000050672616e676502610000018bcfe56800020261026902630b2f3132372e302e302e31000493e00000afc8040102030304050000',
    record: { type: 'GroupMetadata', key: { group: 'group' }, value: group },
  },
  {
    name: 'a hash that no number holds',
    key: '0003000567726f7570',
    value: '0000000000090100087fedcba987654321',
    record: { type: 'ConsumerGroupMetadata', key: { groupId: 'group' }, value: { epoch: 9, metadataHash: Infinity } },
  },
]

describe('group record serde', () => {
  for (const { name, key: keyHex, value, record } of written) {
    it(`writes ${name} as Kafka does`, () => {
      const encoded = groupRecordSerde.encode(record)
      assert.equal(encoded.key.toString('hex'), keyHex)
      assert.equal(encoded.value?.toString('hex') ?? null, value)
    })
  }

  for (const { name, key: keyHex, value, record } of [...written, ...alsoRead]) {
    it(`reads ${name}`, () => {
      assert.deepEqual(decode(Buffer.from(keyHex, 'hex'), value === null ? null : Buffer.from(value, 'hex')), record)
    })
  }

  it('skips types that it does not know, and records without a key', () => {
    assert.equal(decode(Buffer.from('0011000567726f7570', 'hex'), Buffer.from('0000', 'hex')), undefined)
    assert.equal(decode(Buffer.from('ffff', 'hex'), null), undefined)
    assert.equal(decode(null, Buffer.from('0000', 'hex')), undefined)
  })

  it('refuses versions that it does not know', () => {
    const commitKey = Buffer.from(COMMIT_KEY, 'hex')
    assert.throws(() => decode(commitKey, Buffer.from('000500', 'hex')), /OffsetCommitValue of unknown version 5/)
    assert.throws(() => decode(commitKey, Buffer.from('ffff00', 'hex')), /OffsetCommitValue of unknown version -1/)
  })

  it('refuses what is cut off', () => {
    for (const { key: keyHex, value, name } of written) {
      const whole = Buffer.from(keyHex, 'hex')
      for (let length = 0; length < whole.length; length++)
        assert.throws(() => decode(whole.subarray(0, length), null), `the key of ${name}, ${length} bytes`)
      const wholeValue = Buffer.from(value ?? '', 'hex')
      for (let length = 0; length < wholeValue.length; length++)
        assert.throws(() => decode(whole, wholeValue.subarray(0, length)), `${name}, ${length} bytes`)
    }
  })

  it('keeps no view of what it read', () => {
    for (const { key: keyHex, value, record } of written) {
      const cursor = cursorOf(Buffer.from(keyHex, 'hex'), value === null ? null : Buffer.from(value, 'hex'))
      const decoded = groupRecordSerde.decode(cursor)
      cursor.records.fill(0xee)
      assert.deepEqual(decoded, record)
    }
  })

  it('reads every commit at once as the codec does', () => {
    const random = new SeededRandom(5)
    let atOnce = 0
    for (let i = 0; i < 5000; i++) {
      const bytes = randomCommit(random)
      // One of two is damaged, somewhere.
      const damaged = random.next() < 0.5 ? bytes.key : (bytes.value ?? bytes.key)
      if (random.next() < 0.5) damaged[Math.floor(random.next() * damaged.length)] = Math.floor(random.next() * 256)
      const cursor = cursorOf(bytes.key, bytes.value)
      const fast = decodeOffsetCommit(cursor)
      if (fast === undefined) continue
      atOnce++
      assert.deepEqual(fast.key, decodeMessage(offsetCommitKey, 0, new Reader(bytes.key.subarray(2))))
      const value = bytes.value ?? Buffer.alloc(0)
      const version = value.readInt16BE(0)
      assert.deepEqual(fast.value, decodeMessage(offsetCommitValue, version, new Reader(value.subarray(2))))
    }
    assert.ok(atOnce > 2000, `${atOnce} of 5000`)
  })
})

function cursorOf(recordKey: Buffer | null, value: Buffer | null): RecordCursor {
  const cursor = RecordCursor.of(encodeBatch({ records: [{ timestamp: 0, key: recordKey, value }] }), 0)
  assert.ok(cursor.next())
  return cursor
}

function decode(recordKey: Buffer | null, value: Buffer | null): GroupRecord | undefined {
  return groupRecordSerde.decode(cursorOf(recordKey, value))
}

function randomCommit(random: SeededRandom): { readonly key: Buffer; readonly value: Buffer | null } {
  const upTo = (end: number): number => Math.floor(random.next() * end)
  const name = (): string => 'näme-of-a-thing'.slice(upTo(3), 3 + upTo(12)).repeat(1 + upTo(8))
  return groupRecordSerde.encode({
    type: 'OffsetCommit',
    key: { group: name(), topic: name(), partition: upTo(100) },
    value: {
      offset: upTo(2 ** 40),
      leaderEpoch: upTo(10) - 1,
      metadata: upTo(3) === 0 ? name() : '',
      commitTimestamp: 1_700_000_000_000 + upTo(1000),
      expireTimestamp: upTo(10) === 0 ? upTo(2 ** 40) : -1,
      topicId: upTo(3) === 0 ? ZERO_UUID : Buffer.alloc(16, 1 + upTo(5)).toString('base64url'),
    },
  })
}
