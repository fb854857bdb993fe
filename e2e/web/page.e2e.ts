/**
 * The page in a real browser: what it shows of a real broker, by mouse and by keys, in light and dark, wide and narrow;
 * that hostile contents stay text; that it loads nothing from elsewhere and nothing goes wrong in the console.
 */
import assert from 'node:assert/strict'
import { LongProcess } from '../lib/process.ts'
import { requireProgram } from '../lib/requirements.ts'
import { sleep } from '../lib/wait.ts'
import type { Tab } from './chromium.ts'
import { world } from './world.ts'

const WIDE = { width: 1280, height: 800 }
const NARROW = { width: 400, height: 800 }
const ORDER = '{"orderId":90071992547409931,"customer":{"name":"Ada","vip":true},"items":["A-1","B-2"],"note":null}'
const HOSTILE_KEY = '<img src=x onerror="globalThis.hacked=1">'
const HOSTILE_VALUE = '</pre><script>globalThis.hacked=2</script><a href="javascript:globalThis.hacked=3">x</a>'

/** Without the first column, which holds the names. */
const CELLS = `[...document.querySelectorAll('main tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))`
const FOCUSED = `document.activeElement?.innerText ?? ''`

describe('the page', () => {
  let tab: Tab
  /** Whether the test makes requests fail on purpose. */
  let mayFail = false

  before(async () => {
    requireProgram('kcat', 'it is the consumer of the groups', ['-V'])
    tab = await world().browser.open()
    await tab.resize(WIDE)
    await tab.prefer('light')
  })
  beforeEach(() => (mayFail = false))
  afterEach(() => {
    const problems = tab.problems.splice(0)
    assert.deepEqual(mayFail ? [] : problems, [])
    const foreign = tab.requests.splice(0).filter((url) => !url.startsWith(`${world().url}/`) && url !== 'about:blank')
    assert.deepEqual(foreign, [], 'requests to elsewhere')
  })

  const open = async (hash: string): Promise<void> => {
    // From another document: else only the hash would change, and nothing be loaded.
    await tab.goto('about:blank')
    await tab.goto(`${world().url}/${hash}`)
  }
  const cells = async (): Promise<string[][]> => (await tab.evaluate(CELLS)) as string[][]
  const hash = async (): Promise<string> => String(await tab.evaluate('location.hash'))

  it('says what to do while there is nothing', async () => {
    await open('#/topics')
    await tab.waitForText('No topics yet')
    await tab.waitForText(`kcat -b ${world().broker.bootstrap}`)
    await open('#/groups')
    await tab.waitForText('No groups yet')
    await tab.waitForText('group.id')
  })

  describe('with topics', () => {
    before(async () => {
      await world().createTopics(['orders'], 3, { 'retention.ms': '3600000' })
      await world().createTopics(['numbers', 'shapes', 'hostile', 'large'])
      const timestamp = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
      const headers = [
        { key: 'trace-id', value: '4bf92f3577b34da6' },
        { key: 'empty', value: null },
      ]
      for (const partition of [0, 1, 2]) {
        const records = Array.from({ length: 4 }, (_, i) => ({
          timestamp: timestamp + partition * 4 + i,
          key: `order-${partition * 4 + i}`,
          value: ORDER,
          headers,
        }))
        await world().produce('orders', partition, { records, compression: 'zstd' })
      }
      const numbers = Array.from({ length: 1000 }, (_, i) => ({ timestamp, key: null, value: String(i + 1) }))
      await world().produce('numbers', 0, { records: numbers })
      await world().produce('shapes', 0, {
        records: [
          { timestamp, key: 'text', value: 'Grüße, 漢字 👍' },
          {
            timestamp,
            key: Buffer.from([0, 0, 0, 42]),
            value: Buffer.from(Array.from({ length: 40 }, (_, i) => i * 6)),
          },
          { timestamp, key: 'tombstone', value: null },
          { timestamp, key: '', value: '' },
        ],
      })
      await world().produce('hostile', 0, {
        records: [
          { timestamp, key: HOSTILE_KEY, value: HOSTILE_VALUE, headers: [{ key: HOSTILE_KEY, value: HOSTILE_VALUE }] },
        ],
      })
      await world().produce('large', 0, {
        records: [{ timestamp, key: 'big', value: `begin ${'x'.repeat(500_000)} end` }],
      })
    })

    it('shows the broker at a glance', async () => {
      await open('')
      await tab.waitForText('Healthy')
      const text = await tab.text('main')
      for (const part of ['Topics', 'Partitions', 'Cluster id', world().broker.bootstrap, 'alive']) {
        assert.ok(text.includes(part), part)
      }
      assert.equal(await tab.evaluate('document.title'), 'Overview – Ottla')
    })

    it('lists topics with what is in them', async () => {
      await open('#/topics')
      await tab.waitForText('numbers')
      const rows = new Map((await cells()).map(([name, ...rest]) => [name, rest]))
      assert.deepEqual(rows.get('numbers')?.slice(0, 2), ['1', '1,000'])
      assert.deepEqual(rows.get('orders')?.slice(0, 2), ['3', '12'])
      // Rates are there with the second look.
      await tab.waitUntil(`${CELLS}.every((cells) => !cells.includes('…'))`)
    })

    it('sorts by a click, filters by keys, and keeps both in the address', async () => {
      await open('#/topics')
      await tab.waitForText('numbers')
      await tab.evaluate(
        `[...document.querySelectorAll('thead button')].find((b) => b.innerText === 'Records').click()`,
      )
      assert.equal((await cells())[0]?.[0], 'numbers')
      assert.equal(
        await tab.evaluate(`document.querySelector('th[aria-sort]').getAttribute('aria-sort')`),
        'descending',
      )
      await tab.press('/')
      assert.equal(await tab.evaluate('document.activeElement?.type'), 'search')
      await tab.type('AR')
      await tab.waitUntil(`${CELLS}.length === 1`)
      assert.equal((await cells())[0]?.[0], 'large')
      assert.equal(await hash(), '#/topics?filter=AR&sort=records&order=desc')
      await open(await hash())
      await tab.waitUntil(`${CELLS}.length === 1`)
      await tab.press('/')
      await tab.type('zzz')
      await tab.waitForText('No topic has “ARzzz” in its name')
      await tab.press('Escape')
      await tab.waitForText('numbers')
      assert.equal(await hash(), '#/topics?sort=records&order=desc')
    })

    it('is walked by keys: down, open, up again', async () => {
      await open('#/topics')
      await tab.waitForText('numbers')
      const names = (await cells()).map(([name]) => name)
      await tab.press('j')
      assert.equal(await tab.evaluate(FOCUSED), names[0])
      await tab.press('ArrowDown')
      await tab.press('j')
      await tab.press('k')
      assert.equal(await tab.evaluate(FOCUSED), names[1])
      const outline = await tab.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)
      assert.equal(outline, 'solid', 'the focus can be seen')
      await tab.press('Enter')
      await tab.waitForText(names[1] ?? '', 'h1')
      await tab.press('Escape')
      await tab.waitForText('Topics', 'h1')
      await tab.press('3')
      await tab.waitForText('Groups', 'h1')
      await tab.press('?')
      await tab.waitUntil(`document.querySelector('dialog').open`)
      await tab.press('Escape')
      await tab.waitUntil(`!document.querySelector('dialog').open`)
      await tab.press('1')
      await tab.waitForText('Overview', 'h1')
    })

    it('shows records: JSON indented with all digits, headers, keys, times, compression', async () => {
      await open('#/topics/orders')
      await tab.waitForText('order-11')
      const rows = await cells()
      const keys = rows.filter((row) => row.length > 2).map((row) => row[3])
      assert.deepEqual(
        keys,
        Array.from({ length: 12 }, (_, i) => `order-${11 - i}`),
        'the newest first',
      )
      await tab.press('j')
      await tab.press('Enter')
      await tab.waitUntil(`document.querySelector('pre.json')`)
      const detail = await tab.text('tr.detail:not([hidden])')
      for (const part of ['partition 2, offset 3', 'zstd', 'CreateTime', 'trace-id', '4bf92f3577b34da6', 'null']) {
        assert.ok(detail.includes(part), `${part} in ${detail}`)
      }
      const json = await tab.text('tr.detail:not([hidden]) pre.json')
      assert.equal(json.replaceAll(/\s/g, ''), ORDER)
      assert.match(json, /\n {2}"orderId": 90071992547409931,\n {2}"customer": \{\n {4}"name": "Ada"/)
      await tab.press('Escape')
      await tab.waitUntil(`document.querySelectorAll('tr.detail:not([hidden])').length === 0`)
    })

    it('shows text, binary, null and empty as what they are', async () => {
      await open('#/topics/shapes/records')
      await tab.waitForText('Grüße, 漢字 👍')
      await tab.waitForText('tombstone')
      const rows = (await cells()).filter((row) => row.length > 2)
      const byOffset = new Map(rows.map((row) => [row[0], [row[3], row[4]]]))
      assert.deepEqual(byOffset.get('0'), ['text', 'Grüße, 漢字 👍'])
      assert.deepEqual(byOffset.get('2'), ['tombstone', 'null'])
      assert.deepEqual(byOffset.get('3'), ['empty', 'empty'])
      assert.equal(byOffset.get('1')?.[0], '00 00 00 2a')
      await tab.evaluate(`[...document.querySelectorAll('button.row-link')].find((b) => b.innerText === '1').click()`)
      await tab.waitForText('00000000  00 06 0c 12 18 1e 24 2a  30 36 3c 42 48 4e 54 5a  ......$*06<BHNTZ')
    })

    it('treats hostile contents as text', async () => {
      await open('#/topics/hostile')
      await tab.waitForText(HOSTILE_KEY)
      await tab.press('j')
      await tab.press('Enter')
      await tab.waitUntil(`document.querySelectorAll('tr.detail pre').length === 3`)
      const shown = await tab.evaluate(`[...document.querySelectorAll('tr.detail pre')].map((pre) => pre.textContent)`)
      assert.deepEqual(shown, [HOSTILE_VALUE, HOSTILE_KEY, HOSTILE_VALUE])
      assert.equal(await tab.evaluate('typeof globalThis.hacked'), 'undefined')
      assert.equal(
        await tab.evaluate(`document.querySelectorAll('main img, main script, main a[href^="javascript"]').length`),
        0,
      )
      // A group or topic of any name may be asked for.
      await open(`#/groups/${encodeURIComponent(HOSTILE_KEY)}`)
      await tab.waitForText('coordinates no group')
      assert.equal(await tab.evaluate('typeof globalThis.hacked'), 'undefined')
      tab.problems.length = 0
    })

    it('cuts large values, and gives them whole when asked', async () => {
      await open('#/topics/large')
      await tab.waitForText('big')
      await tab.press('j')
      await tab.press('Enter')
      await tab.waitForText('Cut: the first 4 KiB of 488 KiB.')
      await tab.evaluate(`[...document.querySelectorAll('tr.detail button')].at(-1).click()`)
      await tab.waitUntil(`document.querySelector('tr.detail pre:last-of-type')?.textContent.length > 0`)
      await tab.waitUntil(`[...document.querySelectorAll('tr.detail pre')].at(-1).textContent.endsWith('x end')`)
    })

    it('shows new records by itself, but not while one is being read', async () => {
      await open('#/topics/numbers')
      await tab.waitForText('999')
      await world().produce('numbers', 0, { records: [{ timestamp: Date.now(), key: null, value: 'just now' }] })
      await tab.waitForText('just now')
      await tab.press('j')
      await tab.press('Enter')
      await tab.waitForText('Paused while a record is open')
      await tab.press('Escape')
      await world().produce('numbers', 0, { records: [{ timestamp: Date.now(), key: null, value: 'and again' }] })
      await tab.waitForText('and again')
    })

    it('reads one partition from an offset on', async () => {
      await open('#/topics/orders/records?partition=1&offset=2')
      await tab.waitForText('order-6')
      assert.deepEqual(
        (await cells()).filter((row) => row.length > 2).map((row) => row[3]),
        ['order-6', 'order-7'],
      )
    })

    it('shows partitions and the configs that differ', async () => {
      await open('#/topics/orders/partitions')
      await tab.waitUntil(`${CELLS}.length === 3`)
      assert.deepEqual((await cells())[2]?.slice(0, 7), ['2', '0', '0', '0', '0', '4', '4'])
      await open('#/topics/orders/configs')
      await tab.waitForText('retention.ms')
      assert.deepEqual(await cells(), [['retention.ms', '3600000', 'this topic']])
      await open('#/topics/numbers/configs')
      await tab.waitForText('All configs have their defaults')
    })

    it('says so where there is no such topic', async () => {
      mayFail = true
      await open('#/topics/none')
      await tab.waitForText("There is no topic 'none'.")
    })

    describe('and a group', () => {
      let consumer: LongProcess
      before(() => {
        const settings = ['client.id=web-test', 'auto.offset.reset=earliest', 'auto.commit.interval.ms=200']
        const flags = settings.flatMap((setting) => ['-X', setting])
        consumer = new LongProcess('kcat', ['-b', world().broker.bootstrap, ...flags, '-q', '-G', 'shipping', 'orders'])
      })
      after(() => consumer.stop())

      it('shows it with its members and its lag', async () => {
        await open('#/groups')
        await tab.waitForText('shipping')
        await tab.waitForText('Stable')
        await tab.press('j')
        await tab.press('Enter')
        await tab.waitForText('shipping', 'h1')
        await tab.waitForText('web-test')
        await tab.waitForText('/127.0.0.1')
        await tab.waitUntil(
          `${CELLS}.filter(([topic, , committed]) => topic === 'orders' && committed === '4').length === 3`,
        )
        await tab.waitForText('orders 0–2')
        await world().keepScreenshot(tab, 'group')
      })

      it('shows how it falls behind once nobody consumes', async () => {
        await consumer.stop()
        await open('#/groups/shipping')
        await tab.waitForText('Empty')
        await tab.waitForText('No members')
        const records = Array.from({ length: 7 }, () => ({ timestamp: Date.now(), key: null, value: 'more' }))
        await world().produce('orders', 1, { records })
        await tab.waitUntil(
          `${CELLS}.some(([topic, partition, , , lag]) => topic === 'orders' && partition === '1' && lag === '7')`,
        )
        const metrics = await (await fetch(`${world().url}/metrics`)).text()
        assert.match(metrics, /^kafka_consumergroup_lag\{consumergroup="shipping",topic="orders",partition="1"\} 7$/m)
        assert.match(metrics, /^kafka_consumergroup_lag_sum\{consumergroup="shipping",topic="orders"\} 7$/m)
        assert.match(metrics, /^kafka_consumergroup_members\{consumergroup="shipping"\} 0$/m)
      })
    })

    it('can be read in light and dark', async () => {
      const grounds = new Set<unknown>()
      for (const scheme of ['light', 'dark'] as const) {
        await tab.prefer(scheme)
        for (const [name, address] of [
          ['overview', '#/'],
          ['topics', '#/topics'],
          ['records', '#/topics/orders'],
        ] as const) {
          await open(address)
          await tab.waitUntil(`document.querySelector('main tbody tr')`)
          if (name === 'records') {
            await tab.press('j')
            await tab.press('Enter')
            await tab.waitUntil(`document.querySelector('pre.json')`)
          }
          // Rates are there with the second look.
          await tab.waitUntil(`[...document.querySelectorAll('.facts dd')].every((fact) => fact.innerText !== '…')`)
          assert.deepEqual(await tab.evaluate(LOW_CONTRAST), [], `${name}, ${scheme}`)
          await world().keepScreenshot(tab, `${name}-${scheme}`)
        }
        grounds.add(await tab.evaluate('getComputedStyle(document.documentElement).backgroundColor'))
      }
      await tab.prefer('light')
      assert.equal(grounds.size, 2)
    })

    it('fits a narrow window', async () => {
      await tab.resize(NARROW)
      try {
        for (const address of ['#/', '#/topics', '#/topics/orders', '#/topics/orders/partitions', '#/groups']) {
          await open(address)
          await tab.waitUntil(`document.querySelector('main h1')`)
          await tab.waitUntil(`document.querySelector('#status').textContent.startsWith('Updated')`)
          const width = await tab.evaluate('document.documentElement.scrollWidth')
          assert.ok(Number(width) <= NARROW.width, `${address} is ${String(width)} wide`)
        }
        await open('#/topics/orders')
        await tab.waitForText('order-11')
        await tab.press('j')
        await tab.press('Enter')
        await tab.waitUntil(`document.querySelector('pre.json')`)
        const width = await tab.evaluate(`document.querySelector('table.records').scrollWidth`)
        assert.ok(Number(width) <= NARROW.width)
        await world().keepScreenshot(tab, 'records-narrow')
      } finally {
        await tab.resize(WIDE)
      }
    })

    it('has names for all that can be pressed, and heads for all tables', async () => {
      for (const address of ['#/', '#/topics', '#/topics/orders', '#/topics/orders/partitions']) {
        await open(address)
        await tab.waitUntil(`document.querySelector('main tbody tr')`)
        assert.deepEqual(await tab.evaluate(NAMELESS), [], address)
      }
    })

    it('rests while nobody can see it', async () => {
      await open('#/topics')
      await tab.waitForText('numbers')
      await tab.evaluate(
        `Object.defineProperty(document, 'hidden', { configurable: true, value: true }); document.dispatchEvent(new Event('visibilitychange'))`,
      )
      await tab.waitForText('Paused', '#status')
      const before = tab.requests.length
      // Longer than it refreshes: that nothing happens can only be seen by waiting.
      await sleep(6500)
      assert.equal(tab.requests.length, before)
      await tab.evaluate(`delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))`)
      await tab.waitForText('Updated', '#status')
      assert.ok(tab.requests.length > before)
    })

    it('is under a policy that would stop what the code let through', async () => {
      mayFail = true
      await open('#/topics')
      await tab.waitForText('numbers')
      const outcome = await tab.evaluate(`(async () => {
        const refused = []
        addEventListener('securitypolicyviolation', (event) => refused.push(event.effectiveDirective))
        try { document.body.innerHTML = '<img src=x onerror="globalThis.hacked = 1">' } catch (error) { refused.push(error.name) }
        const style = document.createElement('p')
        style.setAttribute('style', 'color: red')
        const image = document.createElement('img')
        image.src = 'http://127.0.0.1:9/elsewhere.png'
        try { image.setAttribute('onerror', 'globalThis.hacked = 2') } catch (error) { refused.push('handler') }
        document.body.append(style, image)
        await fetch('http://127.0.0.1:9/').catch(() => refused.push('fetch'))
        await new Promise((resolve) => setTimeout(resolve, 200))
        return { refused, hacked: typeof globalThis.hacked }
      })()`)
      const { refused, hacked } = outcome as { refused: string[]; hacked: string }
      assert.equal(hacked, 'undefined')
      for (const what of ['TypeError', 'handler', 'style-src-attr', 'img-src', 'connect-src', 'fetch']) {
        assert.ok(refused.includes(what), `${what} in ${refused.join()}`)
      }
      // Chromium reports what it was about to ask for, and refused.
      tab.requests.length = 0
    })

    it('says when the broker is gone, and goes on when it is back', async () => {
      mayFail = true
      await open('#/topics')
      await tab.waitForText('numbers')
      await world().broker.stop()
      await tab.waitForText('The broker does not answer. Trying again every 5 seconds.', '#alert')
      assert.ok((await tab.text('main')).includes('numbers'), 'what was known stays')
      await world().broker.start()
      await tab.waitUntil(`document.querySelector('#alert').hidden`, 30_000)
    })

    it('is quick with a thousand topics', async () => {
      for (let i = 0; i < 1000; i += 100) {
        await world().createTopics(Array.from({ length: 100 }, (_, j) => `service-${String(i + j).padStart(4, '0')}`))
      }
      await open('#/topics')
      await tab.waitForText('service-0000')
      const made = await tab.evaluate(`document.querySelectorAll('main tbody tr').length`)
      assert.ok(Number(made) <= 400, `${String(made)} rows at once`)
      const loadMs = Number(await tab.evaluate('performance.now()'))
      assert.ok(loadMs < 5000, `${loadMs} ms`)
      const filterMs = Number(
        await tab.evaluate(`(() => {
          const input = document.querySelector('input[type=search]')
          const start = performance.now()
          for (const text of ['s', 'se', 'service-09', '']) {
            input.value = text
            input.dispatchEvent(new Event('input'))
            document.body.getBoundingClientRect()
          }
          return performance.now() - start
        })()`),
      )
      assert.ok(filterMs < 1000, `${filterMs} ms to filter four times`)
      await tab.evaluate(`(async () => {
        for (let i = 0; i < 40; i++) {
          scrollTo(0, document.body.scrollHeight)
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      })()`)
      await tab.waitForText('service-0999')
      await tab.press('k')
      await tab.evaluate(`scrollTo(0, 0)`)
    })
  })
})

/** Texts whose contrast to what is behind them is below 4.5 (WCAG AA). */
const LOW_CONTRAST = `(() => {
  const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number)
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    return 0.2126 * x + 0.7152 * y + 0.0722 * z
  }
  const ground = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor)
      if (color.length === 3 || color[3] === 1) return color
    }
    return [255, 255, 255]
  }
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement
    if (walker.currentNode.textContent.trim() === '' || element.closest('[hidden], dialog, .skip, script, noscript') !== null) continue
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))]
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    if (contrast < 4.5) found.push(element.tagName + '.' + element.className + ' ' + contrast.toFixed(2) + ' ' + walker.currentNode.textContent.slice(0, 30))
  }
  return [...new Set(found)]
})()`

/** Controls without a name, table heads without a scope, tables without a caption, pictures without a text. */
const NAMELESS = `[
  ...[...document.querySelectorAll('button, a[href]')].filter((e) => (e.innerText || e.textContent || e.getAttribute('aria-label') || '').trim() === ''),
  ...[...document.querySelectorAll('input, select')].filter((e) => e.labels.length === 0 && !e.getAttribute('aria-label')),
  ...[...document.querySelectorAll('th')].filter((e) => !e.hasAttribute('scope')),
  ...[...document.querySelectorAll('table')].filter((e) => e.caption === null),
  ...[...document.querySelectorAll('img')].filter((e) => !e.hasAttribute('alt')),
].map((e) => e.outerHTML.slice(0, 200))`
