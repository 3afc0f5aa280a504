import type { IncomingMessage } from 'node:http'
import { BoundedCache } from '#core/foundation/bounded.ts'

/** A valid host; other text could change which path the router sees. */
export const HOST_HEADER = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/**
 * The origin of this server as the client sees it, such as `https://books.example.org`; null if unknown. Headers of proxies count only
 * if the proxy is trusted.
 * @param known.isSecure whether TLS is in front of the server, whatever the headers of the proxy say
 */
export function originOf(request: Pick<IncomingMessage, 'headers'>, known: { isProxy: boolean; isSecure: boolean }): string | null {
  const proxyHeader = (name: string): string | undefined => {
    const value = known.isProxy ? request.headers[name] : undefined
    // The first proxy is the one that the client connects to.
    return (Array.isArray(value) ? value[0] : value)?.split(',')[0]?.trim()
  }
  const forwarded = proxyHeader('x-forwarded-host')
  const host = forwarded !== undefined && HOST_HEADER.test(forwarded) ? forwarded : request.headers.host
  if (host === undefined || !HOST_HEADER.test(host)) return null
  const scheme = known.isSecure || proxyHeader('x-forwarded-proto')?.toLowerCase() === 'https' ? 'https' : 'http'
  return readOrigin(`${scheme}://${host}`)
}

/** Clients use a few names of a server, and parsing one costs as much as finding a route. */
const ORIGINS_BYTES_MAX = 64 * 1024
const origins = new BoundedCache<{ origin: string | null }>({ bytesMax: ORIGINS_BYTES_MAX })

function readOrigin(text: string): string | null {
  const known = origins.get(text)
  if (known) return known.origin
  const origin = URL.canParse(text) ? new URL(text).origin : null
  origins.set(text, { origin })
  return origin
}
