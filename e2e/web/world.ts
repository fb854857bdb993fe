/** What the tests of this suite share: a broker, a client to fill it, a browser to look at it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { produceRequest, produceResponse } from '../../broker/protocol/messages/00-produce.ts'
import { createTopicsRequest, createTopicsResponse } from '../../broker/protocol/messages/19-create-topics.ts'
import { encodeBatch, type EncodeBatchOptions } from '../../broker/protocol/records/encode-batch.ts'
import { RawClient } from '../bad-input/raw-client.ts'
import { freePort } from '../lib/net.ts'
import { OttlaBroker } from '../lib/ottla-broker.ts'
import { makeRunFolder } from '../lib/paths.ts'
import { Chromium, type Tab } from './chromium.ts'

export class World {
  readonly broker: OttlaBroker
  readonly browser: Chromium
  readonly #screenshots: string

  private constructor(broker: OttlaBroker, browser: Chromium, screenshots: string) {
    this.broker = broker
    this.browser = browser
    this.#screenshots = screenshots
  }

  static async open(): Promise<World> {
    // First what may be missing on the machine.
    const browser = await Chromium.start()
    const folder = makeRunFolder('web')
    const screenshots = process.env['OTTLA_E2E_SCREENSHOTS'] ?? join(folder, 'screenshots')
    mkdirSync(screenshots, { recursive: true })
    const broker = await World.startBroker(folder)
    return new World(broker, browser, screenshots)
  }

  static async startBroker(folder: string, config: Readonly<Record<string, string>> = {}): Promise<OttlaBroker> {
    const port = await freePort(2)
    const broker = new OttlaBroker({ folder, config }, port, port + 1)
    await broker.start()
    return broker
  }

  get url(): string {
    return this.broker.webUrl
  }

  async createTopics(names: readonly string[], partitions = 1, configs: Record<string, string> = {}): Promise<void> {
    const client = await RawClient.connect(this.broker.port)
    await client.call([createTopicsRequest, createTopicsResponse], 7, {
      topics: names.map((name) => ({
        name,
        numPartitions: partitions,
        replicationFactor: 1,
        configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
      })),
      timeoutMs: 30_000,
    })
    await client.close()
  }

  async produce(name: string, index: number, batch: EncodeBatchOptions): Promise<void> {
    const client = await RawClient.connect(this.broker.port)
    const { responses } = await client.call([produceRequest, produceResponse], 9, {
      acks: -1,
      timeoutMs: 10_000,
      topicData: [{ name, partitionData: [{ index, records: encodeBatch(batch) }] }],
    })
    await client.close()
    const errorCode = responses[0]?.partitionResponses[0]?.errorCode
    if (errorCode !== 0) throw new Error(`produce to ${name}-${index}: error ${errorCode ?? 'unknown'}`)
  }

  /** Keeps a picture of the tab; `OTTLA_E2E_SCREENSHOTS` names the folder. */
  async keepScreenshot(tab: Tab, name: string): Promise<Buffer> {
    const png = await tab.screenshot()
    writeFileSync(join(this.#screenshots, `${name}.png`), png)
    return png
  }

  async close(): Promise<void> {
    await this.browser.close()
    await this.broker.stop()
  }
}

let current: World | undefined

export function setWorld(opened: World | undefined): void {
  current = opened
}

export function world(): World {
  if (current === undefined) throw new Error('the broker is not running')
  return current
}
