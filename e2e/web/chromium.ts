/**
 * A headless Chromium, driven over its DevTools protocol with Node's own WebSocket: no driver to install, and everything
 * that the browser reports (console, exceptions, requests, refused content) can be asserted on.
 *
 * Flags that matter: no background services (any request is one of the page), and no sandbox where root runs it, which
 * Chromium demands.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MissingRequirementError } from '../lib/requirements.ts'
import { waitFor } from '../lib/wait.ts'

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome']
const START_TIMEOUT_MS = 30_000
const WAIT_TIMEOUT_MS = 15_000

interface Message {
  readonly id?: number
  readonly sessionId?: string
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message: string }
}

/** The name of a Chromium on the PATH that runs; undefined if there is none. */
export function findChromium(): string | undefined {
  return PROGRAMS.find((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0)
}

export class Chromium {
  readonly #process: ChildProcess
  readonly #folder: string
  readonly #socket: WebSocket
  readonly #pending = new Map<number, (message: Message) => void>()
  readonly #tabs = new Map<string, Tab>()
  #lastId = 0

  private constructor(child: ChildProcess, folder: string, socket: WebSocket) {
    this.#process = child
    this.#folder = folder
    this.#socket = socket
    socket.addEventListener('message', (event) => this.#onMessage(JSON.parse(String(event.data)) as Message))
  }

  static async start(): Promise<Chromium> {
    const program = findChromium()
    if (program === undefined) {
      throw new MissingRequirementError(
        'chromium is missing: run `npm run e2e:setup` as root, or install the Debian package chromium (see e2e/README.md)',
      )
    }
    const folder = mkdtempSync(join(tmpdir(), 'ottla-e2e-chromium-'))
    const flags = [
      '--headless=new',
      '--remote-debugging-port=0',
      `--user-data-dir=${folder}`,
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--hide-scrollbars',
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      'about:blank',
    ]
    const child = spawn(program, flags, { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-20_000)))
    const url = await waitFor('Chromium to say where it listens', START_TIMEOUT_MS, () => {
      if (child.exitCode !== null) throw new Error(`Chromium ended with ${child.exitCode}:\n${said}`)
      return /DevTools listening on (ws:\S+)/.exec(said)?.[1]
    })
    const socket = new WebSocket(url)
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve(), { once: true })
      socket.addEventListener('error', () => reject(new Error(`no connection to Chromium at ${url}`)), { once: true })
    })
    return new Chromium(child, folder, socket)
  }

  async open(): Promise<Tab> {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true })
    const tab = new Tab(this, String(sessionId))
    this.#tabs.set(String(sessionId), tab)
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await tab.send(`${domain}.enable`)
    return tab
  }

  /** One command; rejects with what Chromium says. */
  async send(method: string, params: object = {}, sessionId?: string): Promise<Record<string, unknown>> {
    const id = ++this.#lastId
    const answer = await new Promise<Message>((resolve) => {
      this.#pending.set(id, resolve)
      this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }))
    })
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result ?? {}
  }

  async close(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#process.once('exit', () => resolve()))
    if (this.#process.exitCode === null) {
      this.#process.kill('SIGTERM')
      await ended
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }

  #onMessage(message: Message): void {
    const { id, method, params = {}, sessionId } = message
    if (id !== undefined) {
      this.#pending.get(id)?.(message)
      this.#pending.delete(id)
    } else if (method !== undefined && sessionId !== undefined) this.#tabs.get(sessionId)?.onEvent(method, params)
  }
}

export interface Viewport {
  readonly width: number
  readonly height: number
}

export class Tab {
  /** What was wrong: console errors and warnings, exceptions, and log entries (refused by a policy, failed to load). */
  readonly problems: string[] = []
  /** URLs of all requests, in order. */
  readonly requests: string[] = []
  readonly #browser: Chromium
  readonly #sessionId: string

  constructor(browser: Chromium, sessionId: string) {
    this.#browser = browser
    this.#sessionId = sessionId
  }

  send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    return this.#browser.send(method, params, this.#sessionId)
  }

  /** Called by the browser. */
  onEvent(method: string, params: Record<string, unknown>): void {
    switch (method) {
      case 'Network.requestWillBeSent':
        this.requests.push((params['request'] as { url: string }).url)
        break
      case 'Runtime.exceptionThrown':
        this.problems.push(`exception: ${JSON.stringify(params['exceptionDetails']).slice(0, 1000)}`)
        break
      case 'Runtime.consoleAPICalled':
        if (['error', 'warning', 'assert'].includes(String(params['type']))) {
          this.problems.push(`console: ${JSON.stringify(params['args']).slice(0, 1000)}`)
        }
        break
      case 'Log.entryAdded': {
        const { level, text, url } = params['entry'] as { level: string; text: string; url?: string }
        if (level === 'error' || level === 'warning') this.problems.push(`log: ${text} ${url ?? ''}`)
        break
      }
    }
  }

  async goto(url: string): Promise<void> {
    const { errorText } = (await this.send('Page.navigate', { url })) as { errorText?: string }
    if (errorText !== undefined) throw new Error(`${url}: ${errorText}`)
  }

  /** The value of an expression, which may be a promise, evaluated in the page. Throws what it throws. */
  async evaluate(expression: string): Promise<unknown> {
    const { result, exceptionDetails } = (await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })) as { result: { value?: unknown }; exceptionDetails?: { text: string; exception?: { description?: string } } }
    if (exceptionDetails !== undefined) {
      throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`)
    }
    return result.value
  }

  /** Waits until an expression is true in the page. */
  async waitUntil(expression: string, timeoutMs = WAIT_TIMEOUT_MS): Promise<void> {
    try {
      await waitFor(expression, timeoutMs, async () =>
        (await this.evaluate(`Boolean(${expression})`)) === true ? true : undefined,
      )
    } catch (error) {
      throw new Error(`not true in the page: ${expression}\nwhich shows\n${await this.text()}`, { cause: error })
    }
  }

  /** What can be read in the page. */
  async text(selector = 'body'): Promise<string> {
    return String(await this.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`))
  }

  async waitForText(text: string, selector = 'main'): Promise<void> {
    await this.waitUntil(
      `document.querySelector(${JSON.stringify(selector)})?.innerText.includes(${JSON.stringify(text)})`,
    )
  }

  /** Presses and releases a key by its name (`Enter`, `j`, `/`), as a person does. */
  async press(key: string): Promise<void> {
    const known = KEYS[key]
    const text = known === undefined ? key : known.text
    const common = { key, ...(known !== undefined && { windowsVirtualKeyCode: known.code }) }
    await this.send('Input.dispatchKeyEvent', {
      ...common,
      type: text === undefined ? 'rawKeyDown' : 'keyDown',
      ...(text !== undefined && { text }),
    })
    await this.send('Input.dispatchKeyEvent', { ...common, type: 'keyUp' })
  }

  async type(text: string): Promise<void> {
    for (const key of text) await this.press(key)
  }

  async resize({ width, height }: Viewport): Promise<void> {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })
  }

  async prefer(scheme: 'light' | 'dark'): Promise<void> {
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] })
  }

  /** A PNG of what is in the viewport. */
  async screenshot(): Promise<Buffer> {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' })
    return Buffer.from(String(data), 'base64')
  }
}

const KEYS: Readonly<Record<string, { readonly code: number; readonly text?: string }>> = {
  Enter: { code: 13, text: '\r' },
  Escape: { code: 27 },
  Tab: { code: 9 },
  ArrowDown: { code: 40 },
  ArrowUp: { code: 38 },
  Backspace: { code: 8 },
}
