/**
 * What keeps the page, which shows contents that anybody may have produced, from doing harm:
 * - the policy of its content: scripts and styles of its own files alone, no other origin, no frame around it;
 * - no other origin can read the API (there are no CORS headers), and none can pose as this one by letting its name
 *   point here (DNS rebinding): the Host header must be an address or a name that is known here;
 * - nothing changes state, and only GET and HEAD are answered.
 */
import { isIP } from 'node:net'

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/**
 * Whether a browser that sends this Host header was led here by a name that is ours: one of `names`, of which `*` stands
 * for all. Addresses can't be rebound, and
 * `localhost` is resolved by the browser itself. Without a Host header it is no browser.
 */
export function isKnownHost(hostHeader: string | undefined, names: readonly string[]): boolean {
  if (hostHeader === undefined || names.includes('*')) return true
  const host = hostName(hostHeader)
  if (isIP(host) !== 0 || host === 'localhost' || host.endsWith('.localhost')) return true
  return names.some((name) => name.toLowerCase() === host)
}

/** `[::1]:8080` -> `::1`, `Broker.Example.:8080` -> `broker.example` */
function hostName(hostHeader: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(hostHeader)
  if (bracketed !== null) return bracketed[1] ?? ''
  return hostHeader.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
}
