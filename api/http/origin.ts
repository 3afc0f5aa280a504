import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'

/** What makes a host in a URL; anything else could change which path the router sees. */
export const HOST = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/**
 * Where the client sees this server, such as `https://books.example.org`; null where it does not say. What proxies tell of it counts only from
 * those that are trusted.
 * @param known.isSecure whether it stands behind TLS, whatever the proxy in front says
 */
export function originOf(request: Pick<IncomingMessage, 'headers'>, known: { isProxy: boolean; isSecure: boolean }): string | null {
  const told = (name: string): string | undefined => {
    const value = known.isProxy ? request.headers[name] : undefined
    // The first proxy is the one that the client speaks to.
    return (Array.isArray(value) ? value[0] : value)?.split(',')[0]?.trim()
  }
  const forwarded = told('x-forwarded-host')
  const host = forwarded !== undefined && HOST.test(forwarded) ? forwarded : request.headers.host
  if (host === undefined || !HOST.test(host)) return null
  const scheme = known.isSecure || told('x-forwarded-proto')?.toLowerCase() === 'https' ? 'https' : 'http'
  return readOrigin(`${scheme}://${host}`)
}

/** Clients call a server by a few names, and taking one apart costs as much as finding its route. */
const ORIGINS_MAX = 100
const origins = new LRUCache<string, { origin: string | null }>({ max: ORIGINS_MAX })

function readOrigin(text: string): string | null {
  const known = origins.get(text)
  if (known) return known.origin
  const origin = URL.canParse(text) ? new URL(text).origin : null
  origins.set(text, { origin })
  return origin
}
