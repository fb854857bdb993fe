/**
 * Compares every message of this broker with Kafka's own definition of it, which is in the `kafka-clients` jar.
 *
 * It needs the jar, and so Maven or a network: `npm run test:conformance`, apart from `npm test`.
 */
import assert from 'node:assert/strict'
import { KAFKA_VERSION } from '../../scripts/kafka-jars.ts'
import { ApiKey, apiName } from './api-keys.ts'
import { allApiMessages } from './registry.ts'
import { assertDescribedAs, kafkaDefinitions, type KafkaDefinition } from './testing/kafka-definitions.ts'

describe(`the messages of Kafka ${KAFKA_VERSION}`, function () {
  this.timeout(300_000)
  let definitions: ReadonlyMap<string, KafkaDefinition>

  before(async () => {
    definitions = await kafkaDefinitions('kafka-clients')
    assert.ok(definitions.size > 150, `only ${definitions.size} definitions in the jar`)
  })

  it('have the API keys of the table', () => {
    const requests = [...definitions.values()].filter(({ type }) => type === 'request')
    for (const { name, apiKey } of requests) assert.equal(`${apiName(apiKey ?? -1)}Request`, name)
    assert.equal(new Set(requests.map(({ apiKey }) => apiKey)).size, Object.keys(ApiKey).length)
  })

  for (const message of allApiMessages.flatMap(({ request, response }) => [request, response])) {
    it(`${message.name} is described as Kafka defines it`, () => {
      const definition = definitions.get(message.name)
      assert.ok(definition !== undefined, 'Kafka has no such message')
      assert.equal(message.apiKey, definition.apiKey)
      assert.equal(message.kind, definition.type)
      assertDescribedAs(definition, message)
    })
  }
})
