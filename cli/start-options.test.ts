import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseStartOptions, UsageError } from './start-options.ts'

describe('parseStartOptions', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ottla-options-'))
  })
  afterEach(() => {
    rmSync(folder, { recursive: true })
  })

  function fileOf(text: string): string {
    const path = join(folder, 'ottla.yaml')
    writeFileSync(path, text)
    return path
  }

  it('has defaults', async () => {
    assert.deepEqual(await parseStartOptions([]), {
      host: '127.0.0.1',
      advertisedHost: '127.0.0.1',
      port: 9092,
      httpPort: 8080,
      dataDir: './data',
      brokers: 1,
      logLevel: 'info',
      config: {},
    })
  })

  it('takes flags over the file, and merges broker configs', async () => {
    const path = fileOf(
      'port: 9000\nhost: 127.0.0.2\nconfig:\n  num.partitions: 3\n  auto.create.topics.enable: false\n',
    )
    const options = await parseStartOptions([
      '--config',
      path,
      '--port',
      '9001',
      '--set',
      'num.partitions=5',
      '--brokers',
      '3',
    ])
    assert.equal(options?.port, 9001)
    assert.equal(options.host, '127.0.0.2')
    assert.equal(options.brokers, 3)
    assert.deepEqual(options.config, { 'num.partitions': '5', 'auto.create.topics.enable': 'false' })
  })

  it('advertises what it listens on, or what it is told to', async () => {
    assert.equal((await parseStartOptions(['--host', 'localhost']))?.advertisedHost, 'localhost')
    const everywhere = await parseStartOptions(['--host', '0.0.0.0', '--advertised-host', 'kafka.example'])
    assert.deepEqual([everywhere?.host, everywhere?.advertisedHost], ['0.0.0.0', 'kafka.example'])
    const path = fileOf('host: "::"\nadvertisedHost: 10.0.0.7\n')
    assert.equal((await parseStartOptions(['--config', path]))?.advertisedHost, '10.0.0.7')
  })

  it('answers --help with nothing to start', async () => {
    assert.equal(await parseStartOptions(['--help']), undefined)
  })

  for (const [name, args, message] of [
    ['an unknown flag', ['--prot', '1'], /--prot/],
    ['a positional', ['now'], /now/],
    ['an address that is none to connect to', ['--host', '0.0.0.0'], /say with --advertised-host/],
    ['all addresses of IPv6', ['--host', '::'], /say with --advertised-host/],
    ['a wildcard to advertise', ['--advertised-host', '0.0.0.0'], /to connect to, not '0\.0\.0\.0'/],
    ['an advertised host with a space', ['--advertised-host', 'a b'], /to connect to, not 'a b'/],
    ['a flag without its value', ['--port'], /--port/],
    ['a port that is no number', ['--port', '9O92'], /--port must be a whole number from 0 to 65535, not '9O92'/],
    ['ports that run out', ['--port', '65535', '--brokers', '2'], /--port must be a whole number from 0 to 65534/],
    ['no brokers', ['--brokers', '0'], /--brokers must be a whole number from 1/],
    ['a set without a value', ['--set', 'num.partitions'], /--set takes KEY=VALUE/],
    ['an unknown config', ['--set', 'num.partition=3'], /num\.partition.*did you mean num\.partitions/],
    ['a bad config value', ['--set', 'num.partitions=many'], /many.*num\.partitions/],
    ['an unknown level', ['--log-level', 'loud'], /--log-level must be one of/],
    ['an empty host', ['--host='], /--host must not be empty/],
    ['a missing file', ['--config', '/nowhere/ottla.yaml'], /the config file \/nowhere\/ottla\.yaml can't be read/],
  ] as const) {
    it(`refuses ${name}`, async () => {
      await assert.rejects(parseStartOptions(args), (error) => {
        assert.ok(error instanceof UsageError)
        assert.match(error.message, message)
        assert.ok(!error.message.includes('\n'), 'one sentence')
        return true
      })
    })
  }

  for (const [name, text, message] of [
    ['an unknown key', 'prot: 1', /unknown key 'prot'/],
    ['a list', '- 1', /must hold a map/],
    ['a nested value', 'port: [1]', /'port' in .* must be a text/],
    ['broken YAML', 'a: [', /can't be read/],
    ['a config that is no map', 'config: 3', /'config' in .* must be a map/],
  ] as const) {
    it(`refuses a file with ${name}`, async () => {
      await assert.rejects(parseStartOptions(['--config', fileOf(text)]), message)
    })
  }
})
