/** The web port as HTTP: what is refused, what browsers are told, what the API and the metrics answer. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { makeRunFolder } from '../lib/paths.ts'
import { World, world } from './world.ts'

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** With node:http, since fetch sends no other Host than that of the URL. */
function ask(path: string, { method = 'GET', host }: { method?: string; host?: string } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = host === undefined ? {} : { Host: host }
    request(`${world().url}${path}`, { method, headers }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => (body += text))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
    })
      .on('error', reject)
      .end()
  })
}

function errorOf({ body }: Answer): { code: string; message: string } {
  return (JSON.parse(body) as { error: { code: string; message: string } }).error
}

describe('the web port', () => {
  before(async () => {
    await world().createTopics(['http.test'], 2)
    await world().produce('http.test', 0, { records: [{ timestamp: Date.now(), key: 'k', value: 'v' }] })
  })

  it('gives the page and its files, which may be kept but must be asked for', async () => {
    const page = await ask('/')
    assert.equal(page.status, 200)
    assert.match(String(page.headers['content-type']), /text\/html/)
    assert.doesNotMatch(page.body, /(src|href)="https?:|<script>|style="| on[a-z]+="/)
    for (const [, path] of page.body.matchAll(/(?:src|href)="(\/[^"#]+)"/g)) {
      const file = await ask(path ?? '')
      assert.equal(file.status, 200, path ?? '')
      assert.equal(file.headers['cache-control'], 'no-cache')
      assert.match(String(file.headers['etag']), /^"/)
    }
  })

  it('has a strict policy on everything it gives', async () => {
    for (const path of ['/', '/page/app.js', '/api/v1/overview', '/metrics', '/none']) {
      const { headers } = await ask(path)
      assert.match(String(headers['content-security-policy']), /default-src 'none';.*frame-ancestors 'none'/)
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['access-control-allow-origin'], undefined)
      assert.equal(headers['x-powered-by'], undefined)
    }
  })

  it('answers GET and HEAD alone', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      for (const path of ['/', '/api/v1/topics/http.test', '/metrics']) {
        const answer = await ask(path, { method })
        assert.deepEqual([answer.status, answer.headers['allow']], [405, 'GET, HEAD'])
      }
    }
    for (const path of ['/', '/metrics', '/api/v1/overview']) {
      const answer = await ask(path, { method: 'HEAD' })
      assert.deepEqual([answer.status, answer.body], [200, ''])
    }
  })

  it('refuses names that are not its own, but not to probes and scrapes', async () => {
    const port = new URL(world().url).port
    for (const path of ['/', '/api/v1/topics', '/page/app.js']) {
      const answer = await ask(path, { host: `evil.example:${port}` })
      assert.equal(answer.status, 421)
      assert.match(answer.body, /ottla\.web\.hosts/)
      assert.equal((await ask(path, { host: `localhost:${port}` })).status, 200)
    }
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      assert.equal((await ask(path, { host: 'ottla.monitoring.svc' })).status, 200)
    }
  })

  it('says in JSON what an API request lacks', async () => {
    const cases: [string, number, RegExp][] = [
      ['/api/v1/topics/none', 404, /no topic 'none'/],
      ['/api/v1/groups/none', 404, /no group 'none'/],
      ['/api/v1/none', 404, /The API has no \/api\/v1\/none/],
      ['/api', 404, /The API has no/],
      ['/api/v1/topics?limit=x', 400, /limit must be an integer/],
      ['/api/v1/topics/http.test/records?partition=9', 400, /no partition 9/],
      ['/api/v1/topics/%E0%A4%A', 400, /can not be read/],
    ]
    for (const [path, status, message] of cases) {
      const answer = await ask(path)
      assert.equal(answer.status, status, path)
      assert.match(errorOf(answer).message, message)
    }
    assert.equal((await ask('/none')).status, 404)
    assert.equal((await ask('/page/..%2fweb-app.ts')).status, 404)
    assert.equal((await ask('/page/tsconfig.json')).status, 404)
  })

  it('gives records as they are', async () => {
    const answer = await ask('/api/v1/topics/http.test/records?partition=0&offset=0')
    const { records } = JSON.parse(answer.body) as { records: { key: { shown: string }; value: { shown: string } }[] }
    assert.deepEqual([records[0]?.key.shown, records[0]?.value.shown], ['k', 'v'])
    assert.equal(answer.headers['cache-control'], 'no-store')
  })

  it('gives metrics that Prometheus can read, each family once', async () => {
    const { body, headers } = await ask('/metrics')
    assert.match(String(headers['content-type']), /text\/plain; version=0\.0\.4/)
    const families = new Set<string>()
    let family = ''
    for (const line of body.split('\n')) {
      const type = /^# TYPE (\S+) (counter|gauge|histogram|summary)$/.exec(line)
      if (type !== null) {
        family = type[1] ?? ''
        assert.ok(!families.has(family), `${family} twice`)
        families.add(family)
      } else if (line !== '' && !line.startsWith('#')) {
        assert.match(
          line,
          /^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-z_]+="([^"\\\n]|\\[\\"n])*",?)*\})? (-?[\d.e+-]+|NaN|[+-]Inf)$/,
        )
        assert.ok(line.startsWith(family), `${line} under ${family}`)
      }
    }
    for (const name of ['kafka_topic_partition_current_offset', 'kafka_consumergroup_lag', 'kafka_brokers']) {
      assert.ok(families.has(name), name)
    }
    assert.match(body, /^kafka_topic_partition_current_offset\{topic="http.test",partition="0"\} 1$/m)
  })

  it('shows no records where that is switched off', async () => {
    const broker = await World.startBroker(makeRunFolder('web-off'), { 'ottla.web.records.enable': 'false' })
    try {
      const response = await fetch(`${broker.webUrl}/api/v1/topics/any/records`)
      assert.equal(response.status, 403)
      assert.match(await response.text(), /RECORDS_DISABLED/)
    } finally {
      await broker.stop()
    }
  })
})
