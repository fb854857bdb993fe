/**
 * Compares the group coordinator's records with Kafka's own definitions of them, which are in the
 * `kafka-group-coordinator` jar. As `broker/protocol/messages.conformance.ts`, it needs the jar.
 */
import assert from 'node:assert/strict'
import { KAFKA_VERSION } from '../../../../scripts/kafka-jars.ts'
import {
  assertDescribedAs,
  kafkaDefinitions,
  type KafkaDefinition,
} from '../../../protocol/testing/kafka-definitions.ts'
import { GROUP_RECORD_TYPES, type GroupRecordType } from './group-record.ts'

describe(`the group coordinator's records of Kafka ${KAFKA_VERSION}`, function () {
  this.timeout(300_000)
  let definitions: ReadonlyMap<string, KafkaDefinition>

  before(async () => {
    definitions = await kafkaDefinitions('kafka-group-coordinator')
  })

  for (const type of Object.keys(GROUP_RECORD_TYPES) as GroupRecordType[]) {
    const { id, key, value } = GROUP_RECORD_TYPES[type]
    it(`${type} is described as Kafka defines it`, () => {
      for (const [schema, kind] of [
        [key, 'coordinator-key'],
        [value, 'coordinator-value'],
      ] as const) {
        const definition = definitions.get(schema.name)
        assert.ok(definition !== undefined, `Kafka has no ${schema.name}`)
        assert.equal(definition.type, kind)
        assert.equal(definition.apiKey, id)
        assertDescribedAs(definition, schema)
      }
    })
  }

  it('has commits of before Kafka 0.9 with the same keys', () => {
    const { apiKey, fields } = definitions.get('LegacyOffsetCommitKey') ?? {}
    assert.equal(apiKey, 0)
    assert.deepEqual(fields, definitions.get('OffsetCommitKey')?.fields)
  })
})
