/** What the web port answers: /healthz, /readyz and /metrics. */
import express, { type Express } from 'express'
import { createBrokerMetrics, type MetricsSources } from './broker-metrics.ts'

export interface WebSources {
  /** Undefined: ready. Else why not. */
  readonly notReadyReason: () => string | undefined
  readonly metrics: MetricsSources
}

export function createWebApp(sources: WebSources): Express {
  const metrics = createBrokerMetrics(sources.metrics)
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
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
  app.get('/metrics', async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.metrics())
  })
  return app
}
