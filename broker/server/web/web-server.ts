/**
 * The web port: health for probes, metrics for Prometheus, a page and its API for people.
 *
 * The port is taken at the start; what answers on it is loaded with the first request, since most of the time that a
 * broker needs to start would go there.
 */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { Logger } from '../../../common/logger.ts'
import type { WebSources } from './web-sources.ts'

/** A connection that takes or sends nothing for so long is closed, also in the middle of an answer. */
const IDLE_TIMEOUT_MS = 30_000
const MAX_CONNECTIONS = 200

export class WebServer {
  readonly #server: Server
  readonly #startedMs: number
  readonly #sources: WebSources
  readonly #logger: Logger
  #app: Promise<RequestListener> | undefined

  constructor(sources: WebSources) {
    this.#sources = sources
    this.#logger = sources.logger
    this.#startedMs = sources.clock.monotonicMs()
    this.#server = createServer((request, response) => {
      this.#app ??= this.#load()
      this.#app.then(
        (app) => app(request, response),
        (error: unknown) => {
          this.#logger.error({ err: error }, 'the web port can not answer')
          response.writeHead(500).end()
        },
      )
    })
    this.#server.timeout = IDLE_TIMEOUT_MS
    this.#server.maxConnections = MAX_CONNECTIONS
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

  async #load(): Promise<RequestListener> {
    const { createWebApp } = await import('./web-app.ts')
    return createWebApp(this.#sources, this.#startedMs)
  }
}
