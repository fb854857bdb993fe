/** The web port: health for probes, metrics for Prometheus. */
import { createServer, type Server } from 'node:http'
import express from 'express'
import type { Registry } from 'prom-client'
import type { Logger } from '../../common/logger.ts'

export interface WebSources {
  /** Undefined: ready. Else why not. */
  readonly notReadyReason: () => string | undefined
  readonly metrics: Registry
}

export class WebServer {
  readonly #server: Server
  readonly #logger: Logger

  constructor(sources: WebSources, logger: Logger) {
    this.#logger = logger
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
      response.type(sources.metrics.contentType).send(await sources.metrics.metrics())
    })
    this.#server = createServer(app)
  }

  /** Resolves with the port. Errors: Node's (`EADDRINUSE`, ...). */
  async listen(host: string, port: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    this.#server.once('error', reject)
    this.#server.listen({ host, port }, () => resolve(undefined))
    await promise
    this.#server.off('error', reject)
    this.#server.on('error', (error) => this.#logger.error({ err: error }, 'the web port failed'))
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : port
  }

  async close(): Promise<void> {
    const closed = Promise.withResolvers<undefined>()
    if (!this.#server.listening) return
    this.#server.close(() => closed.resolve(undefined))
    this.#server.closeAllConnections()
    await closed.promise
  }
}
