import assert from 'node:assert/strict'
import { silentLogger } from '../../common/logger.ts'
import { LiveConfig } from './live-config.ts'
import { BrokerConfig } from './resolve.ts'

describe('LiveConfig', () => {
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (fields: object) => warnings.push(JSON.stringify(fields)) }
  beforeEach(() => {
    warnings.length = 0
  })

  it('layers what changes over what was set at the start, and tells who listens', () => {
    const live = new LiveConfig(new BrokerConfig({ staticBroker: { 'num.partitions': '2' } }), logger)
    const heard: [now: number, before: number][] = []
    const stop = live.subscribe((current, previous) => {
      assert.equal(current, live.current)
      heard.push([current.get('num.partitions'), previous.get('num.partitions')])
    })
    live.update({ dynamicDefault: { 'num.partitions': '3' } })
    live.update({ dynamicDefault: { 'num.partitions': '3' }, dynamicBroker: { 'num.partitions': '4' } })
    live.update({ dynamicDefault: { 'num.partitions': '3' }, dynamicBroker: { 'num.partitions': '4' } })
    live.update({})
    stop()
    live.update({ dynamicDefault: { 'num.partitions': '9' } })
    assert.deepEqual(heard, [
      [3, 2],
      [4, 3],
      [2, 4],
    ])
  })

  it('leaves out what can not be in force, with one warning each time that it changes', () => {
    const live = new LiveConfig(new BrokerConfig(), logger)
    const dynamicDefault = { 'num.partitions': '3', 'message.max.bytes': 'x', nonsense: '1', 'broker.rack': 'r' }
    const dynamicBroker = { 'min.insync.replicas': '2', 'log.retention.ms': '5' }
    live.update({ dynamicDefault, dynamicBroker })
    live.update({ dynamicDefault: { ...dynamicDefault }, dynamicBroker })
    assert.deepEqual(live.current.layers.dynamicDefault, { 'num.partitions': '3' })
    assert.deepEqual(live.current.layers.dynamicBroker, { 'log.retention.ms': '5' })
    assert.equal(warnings.length, 4, warnings.join())
  })
})
