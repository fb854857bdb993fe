/**
 * `ottla start`: a complete system in one process. The metadata store is local, the controllers and brokers are the same
 * as everywhere else.
 */
import { dirname, join, resolve } from 'node:path'
import { systemClock } from '../common/clock.ts'
import type { Disk } from '../common/disk.ts'
import { NodeDisk } from '../common/disk-node.ts'
import { createLogger, type Logger } from '../common/logger.ts'
import { randomUuid, systemRandom } from '../common/random.ts'
import { TimingWheel } from '../common/timing-wheel.ts'
import { BrokerConfig } from '../crds/config/resolve.ts'
import { LOCAL_CLUSTER_NAME, type Cluster } from '../crds/cluster.ts'
import { JournalCorruptError } from '../crds/local-store/journal.ts'
import { openLocalStore } from '../crds/local-store/local-store.ts'
import { LOCAL_NAMESPACE, type ObjectRef } from '../crds/resource.ts'
import type { ResourceStore } from '../crds/resource-store.ts'
import { BrokerServer } from '../broker/server/broker-server.ts'
import { DataDirError } from '../broker/storage/log-dir.ts'
import { startControllers } from '../operator/controllers/controller-manager.ts'
import { parseStartOptions, START_USAGE, UsageError, type StartOptions } from './start-options.ts'
import { VERSION } from './version.ts'

const CLUSTER: ObjectRef = { namespace: LOCAL_NAMESPACE, name: LOCAL_CLUSTER_NAME }

/** Runs until SIGTERM or SIGINT; resolves with the exit code. Errors: {@link UsageError} for what the user has to change. */
export async function start(args: readonly string[]): Promise<number> {
  const options = await parseStartOptions(args)
  if (options === undefined) {
    process.stdout.write(START_USAGE)
    return 0
  }
  const logger = createLogger(options.logLevel)
  endOnFatalErrors(logger)
  const stopSignal = nextStopSignal(logger)
  let isStarted = false
  /** A stop before anything is served: the next start recovers as after a kill, which costs less than to finish this one. */
  const endStart = (signal: string): void => {
    if (isStarted) return
    logger.info({ signal }, 'stopped while starting')
    process.exit(0)
  }
  const closers: (() => Promise<void> | void)[] = []
  let isClean = false
  try {
    void stopSignal.then(endStart)
    await run(options, logger, closers)
    isStarted = true
    logger.info({ signal: await stopSignal }, 'stopping')
  } catch (error) {
    throw asUsageError(error, options)
  } finally {
    isClean = await closeAll(closers.reverse(), logger)
  }
  logger.info({}, 'stopped')
  return isClean ? 0 : 1
}

/** Undoes every step, also when one of them fails: then the error that ended the start is the one to tell. */
async function closeAll(closers: readonly (() => Promise<void> | void)[], logger: Logger): Promise<boolean> {
  let isClean = true
  for (const close of closers) {
    try {
      await close()
    } catch (error) {
      isClean = false
      logger.error({ err: error }, 'a part could not be stopped in order')
    }
  }
  return isClean
}

/** Starts everything and says so; pushes what undoes each step to `closers`. */
async function run(options: StartOptions, logger: Logger, closers: (() => Promise<void> | void)[]): Promise<void> {
  const { host, advertisedHost, brokers: brokerCount } = options
  const dataDir = resolve(options.dataDir)
  const disk = new NodeDisk()
  const timers = new TimingWheel(systemClock)
  closers.push(() => timers.close())
  await makeDurableFolder(disk, dataDir)
  const lock = await disk.lock(join(dataDir, '.lock'))
  if (lock === undefined) throw new UsageError(`the data folder ${dataDir} is in use by another process`)
  closers.push(() => lock.release())
  const dependencies = { disk, clock: systemClock, timers, random: systemRandom, logger }
  const store = await openLocalStore({ ...dependencies, folder: join(dataDir, 'metadata') })
  closers.push(() => store.close())
  const config = new BrokerConfig({ staticBroker: options.config })
  const cluster = await ensureCluster(store, brokerCount)
  const controllers = startControllers({ ...dependencies, store, config })
  closers.push(() => controllers.close())

  const brokers = Array.from({ length: brokerCount }, (_, brokerId) => {
    const folder = join(dataDir, `broker-${brokerId}`)
    const portOf = (first: number): number => (first === 0 ? 0 : first + brokerId)
    return new BrokerServer(
      {
        brokerId,
        clusterId: cluster.clusterId,
        folder,
        host,
        advertisedHost,
        port: portOf(options.port),
        httpPort: portOf(options.httpPort),
        version: VERSION,
        config,
      },
      { ...dependencies, store },
    )
  })
  closers.push(async () => {
    await Promise.all(brokers.map((broker) => broker.close()))
  })
  for (const broker of brokers) await broker.listen()
  await growCluster(store, cluster, brokerCount)
  await Promise.all(brokers.map((broker) => broker.join()))
  for (const broker of brokers) broker.serve()
  const addresses = brokers.map(({ port }) => `${advertisedHost}:${port}`).join(',')
  process.stdout.write(
    `Ottla ${VERSION} is ready: Kafka clients at ${addresses}, data in ${dataDir}, web at http://${advertisedHost}:${brokers[0]?.httpPort ?? 0}\n`,
  )
}

/** Makes a folder, and its parents where they are missing, so that a power loss can't take them away again. */
async function makeDurableFolder(disk: Disk, folder: string): Promise<void> {
  const parent = dirname(folder)
  if (parent === folder || (await disk.stat(folder)) !== undefined) return
  await makeDurableFolder(disk, parent)
  await disk.makeFolder(folder)
  await disk.syncFolder(parent)
}

/** Makes the Cluster at the first start. */
async function ensureCluster(store: ResourceStore, brokerCount: number): Promise<Cluster['spec']> {
  const cluster =
    (await store.get('Cluster', CLUSTER)) ??
    (await store.create({
      kind: 'Cluster',
      metadata: CLUSTER,
      spec: { clusterId: randomUuid(systemRandom), brokers: brokerCount, config: {}, nextProducerId: 0 },
    }))
  const known = cluster.spec.brokers
  if (brokerCount < known) {
    throw new UsageError(
      `the data folder holds the data of ${known} brokers, and --brokers ${brokerCount} would leave some out: start with --brokers ${known}`,
    )
  }
  return cluster.spec
}

/** Records that there are more brokers now, once they have their ports: from then on they can't be left out any more. */
async function growCluster(store: ResourceStore, { brokers }: Cluster['spec'], brokerCount: number): Promise<void> {
  if (brokerCount === brokers) return
  await store.patch('Cluster', CLUSTER, [
    { op: 'test', path: '/spec/brokers', value: brokers },
    { op: 'replace', path: '/spec/brokers', value: brokerCount },
  ])
}

function nextStopSignal(logger: Logger): Promise<string> {
  const { promise, resolve: stop } = Promise.withResolvers<string>()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    let count = 0
    process.on(signal, () => {
      if (++count === 1) stop(signal)
      else {
        logger.warn({ signal }, 'ending at once, without a clean stop')
        process.exit(1)
      }
    })
  }
  return promise
}

/** A bug must not leave a process behind that half works: one log line, then the end. */
function endOnFatalErrors(logger: Logger): void {
  const end = (error: unknown): void => {
    logger.error({ err: error }, 'fatal error; the process ends')
    process.exit(1)
  }
  process.on('uncaughtException', end)
  process.on('unhandledRejection', end)
}

/** Errors that the user can mend, as one sentence. */
function asUsageError(error: unknown, { host, dataDir }: StartOptions): unknown {
  if (error instanceof DataDirError || error instanceof JournalCorruptError)
    return new UsageError(error.message, { cause: error })
  const { code, port, path, message } = error as { code?: string; port?: number; path?: string; message?: string }
  switch (code) {
    case 'EADDRINUSE':
      return new UsageError(`port ${port ?? '?'} on ${host} is in use; choose another with --port or --http-port`, {
        cause: error,
      })
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new UsageError(`this machine has no address '${host}' to listen on; choose another with --host`, {
        cause: error,
      })
    case 'EACCES':
      return new UsageError(
        port === undefined ? `no permission for ${path ?? dataDir}` : `no permission to listen on port ${port}`,
        { cause: error },
      )
    case 'ENOSPC':
    case 'EDQUOT':
      return new UsageError(`there is no room on the disk of the data folder ${dataDir}: free some and start again`, {
        cause: error,
      })
    case 'ERR_SQLITE_ERROR':
    case 'ENOENT':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'EROFS':
      return new UsageError(`the data folder ${dataDir} can't be used: ${message ?? code}`, { cause: error })
    default:
      return error
  }
}
