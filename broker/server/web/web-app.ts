/**
 * What the web port answers: /healthz and /readyz for probes, /metrics for Prometheus, the page at /, and the JSON API that
 * the page reads (/api/v1). Read-only.
 */
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import express, { type Express, type NextFunction, type Request, type Response, type Router } from 'express'
import { ApiError, notFound } from './api/api-error.ts'
import { describeGroup, listGroups } from './api/groups.ts'
import { overview } from './api/overview.ts'
import { ReadGate, readRecords } from './api/records.ts'
import { describeTopic, listTopics } from './api/topics.ts'
import { MetricsText } from './metrics-text.ts'
import { readPageFiles, type PageFile } from './page-files.ts'
import { isKnownHost, SECURITY_HEADERS } from './security.ts'
import type { WebSources } from './web-sources.ts'

/** Scrapes at once, of which each holds its numbers until it was sent. */
const MAX_SCRAPES = 8

/** `startedMs`: when the broker started, by the monotonic clock. */
export async function createWebApp(sources: WebSources, startedMs: number): Promise<Express> {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.use((request, response, next) => {
    response.set(SECURITY_HEADERS)
    if (request.method === 'GET' || request.method === 'HEAD') next()
    else
      response.set('Allow', 'GET, HEAD').status(405).type('text/plain').send('Only GET and HEAD are answered here.\n')
  })
  app.get('/healthz', (_request, response) => {
    response.type('text/plain').send('ok\n')
  })
  app.get('/readyz', (_request, response) => {
    const reason = sources.notReadyReason()
    response
      .status(reason === undefined ? 200 : 503)
      .type('text/plain')
      .send(`${reason ?? 'ok'}\n`)
  })
  app.get('/metrics', metricsHandler(sources))
  app.use((request, response, next) => {
    const configured = sources.broker.configs.current.get('ottla.web.hosts')
    if (isKnownHost(request.headers.host, [...sources.hosts, ...configured])) next()
    else refuseHost(request, response)
  })
  app.use('/api', apiRouter(sources, startedMs))
  servePage(app, await readPageFiles())
  app.use((_request, response) => {
    response.status(404).type('text/plain').send('There is nothing here. The page is at /.\n')
  })
  app.use(failureHandler(sources))
  return app
}

function refuseHost(request: Request, response: Response): void {
  const host = (request.headers.host ?? '').slice(0, 200)
  response
    .status(421)
    .type('text/plain')
    .send(
      `This broker does not know itself as '${host}'. Open the page by an IP address or as localhost, or add the name to ottla.web.hosts.\n`,
    )
}

function apiRouter(sources: WebSources, startedMs: number): Router {
  const router = express.Router()
  const gate = new ReadGate()
  router.use('/v1', (request, _response, next) => {
    if (sources.isStarting() && request.path !== '/overview') {
      throw new ApiError(503, 'STARTING', 'The broker is starting: it loads its logs.')
    }
    next()
  })
  const answer =
    (view: (request: Request, query: URLSearchParams) => unknown) =>
    async (request: Request, response: Response): Promise<void> => {
      const value = await view(request, new URL(request.url, 'http://localhost').searchParams)
      response.set('Cache-Control', 'no-store').json(value)
    }
  router.get(
    '/v1/overview',
    answer(() => overview(sources, startedMs)),
  )
  router.get(
    '/v1/topics',
    answer((_request, query) => listTopics(sources, query)),
  )
  router.get(
    '/v1/topics/:topic',
    answer((request, query) => describeTopic(sources, param(request, 'topic'), query)),
  )
  router.get(
    '/v1/topics/:topic/records',
    answer((request, query) => readRecords(sources, gate, param(request, 'topic'), query)),
  )
  router.get(
    '/v1/groups',
    answer((_request, query) => listGroups(sources, query)),
  )
  router.get(
    '/v1/groups/:group',
    answer((request) => describeGroup(sources, param(request, 'group'))),
  )
  router.use((request) => {
    throw notFound(`The API has no ${request.baseUrl}${request.path.slice(0, 200)}.`)
  })
  router.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
    if (!(error instanceof ApiError) || response.headersSent) {
      next(error)
      return
    }
    const { status, code, message } = error
    response.set('Cache-Control', 'no-store').status(status).json({ error: { code, message } })
  })
  return router
}

function param(request: Request, name: string): string {
  const value = request.params[name]
  return typeof value === 'string' ? value : ''
}

function metricsHandler(sources: WebSources): (request: Request, response: Response) => Promise<void> {
  const metrics = new MetricsText(sources)
  let scrapes = 0
  return async (request, response) => {
    response.type(metrics.contentType)
    if (request.method === 'HEAD') {
      response.end()
      return
    }
    if (scrapes >= MAX_SCRAPES) {
      response.status(503).type('text/plain').send('Too many scrapes at once.\n')
      return
    }
    scrapes++
    try {
      for (const chunk of await metrics.chunks()) {
        if (response.destroyed) return
        if (response.write(chunk)) await nextTurn()
        else await Promise.race([once(response, 'drain'), once(response, 'close')])
      }
      response.end()
    } finally {
      scrapes--
    }
  }
}

function servePage(app: Express, files: ReadonlyMap<string, PageFile>): void {
  const send = (file: PageFile | undefined, request: Request, response: Response, next: NextFunction): void => {
    if (file === undefined) {
      next()
      return
    }
    // The files may change with the next start of the broker; asking again costs one short answer.
    response.set({ 'Cache-Control': 'no-cache', ETag: file.etag })
    if (request.headers['if-none-match'] === file.etag) response.status(304).end()
    else response.set('Content-Type', file.contentType).send(file.body)
  }
  app.get('/', (request, response, next) => send(files.get('index.html'), request, response, next))
  app.get('/page/:file', (request, response, next) => {
    send(files.get(param(request, 'file')), request, response, next)
  })
}

/** Errors that nobody foresaw (and requests that express can't read): one log line, no details to the client. */
function failureHandler({ logger }: WebSources) {
  return (error: unknown, request: Request, response: Response, next: NextFunction): void => {
    const status = (error as { status?: unknown } | null)?.status
    const isBadRequest = typeof status === 'number' && status >= 400 && status < 500
    if (!isBadRequest)
      logger.error({ path: request.path.slice(0, 200), err: error }, 'a web request failed unexpectedly')
    if (response.headersSent) {
      next(error)
      return
    }
    const message = isBadRequest ? 'The request can not be read.' : 'The broker failed to answer; its log says why.'
    if (request.path.startsWith('/api')) {
      response
        .status(isBadRequest ? status : 500)
        .json({ error: { code: isBadRequest ? 'BAD_REQUEST' : 'INTERNAL', message } })
    } else {
      response
        .status(isBadRequest ? status : 500)
        .type('text/plain')
        .send(`${message}\n`)
    }
  }
}
