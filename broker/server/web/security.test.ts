import assert from 'node:assert/strict'
import { isKnownHost, SECURITY_HEADERS } from './security.ts'

describe('the Host header', () => {
  const isKnown = (host: string | undefined, names: readonly string[] = ['0.0.0.0']): boolean =>
    isKnownHost(host, names)

  it('may be an address, or localhost', () => {
    for (const host of [
      '127.0.0.1:8080',
      '10.1.2.3',
      '[::1]:8080',
      '[fd00::1]',
      'localhost:8080',
      'LOCALHOST',
      'ottla.localhost:80',
      undefined,
    ]) {
      assert.ok(isKnown(host), host ?? 'none')
    }
  })

  it('may be no name that somebody else can let point here', () => {
    for (const host of [
      'evil.example',
      'evil.example:8080',
      'localhost.evil.example',
      '127.0.0.1.evil.example:8080',
      'notlocalhost',
      '',
      '[evil.example]',
      '127.0.0.1:8080.evil.example',
    ]) {
      assert.equal(isKnown(host), false, host)
    }
  })

  it('may be a name that was configured, or that the port listens on', () => {
    assert.ok(isKnown('Broker.Example:8080', ['other', 'broker.example']))
    assert.ok(isKnown('broker.example.', ['broker.example']))
    assert.ok(isKnown('my-machine:8080', ['0.0.0.0', 'my-machine']))
    assert.ok(isKnown('anything', ['a', '*']))
    assert.equal(isKnown('sub.broker.example', ['broker.example']), false)
  })
})

describe('the policy of the page', () => {
  it('allows nothing inline and nothing from elsewhere', () => {
    const policy = SECURITY_HEADERS['Content-Security-Policy'] ?? ''
    assert.doesNotMatch(policy, /unsafe|\*|https?:|data:/)
    for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"]) {
      assert.ok(policy.split('; ').includes(rule), rule)
    }
  })
})
