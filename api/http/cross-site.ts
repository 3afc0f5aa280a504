import type { IncomingMessage } from 'node:http'

/** Methods that change nothing. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Whether a page of another site makes a browser change something here. The browser adds what it keeps for this server by itself, be it a cookie or the name
 * and password that somebody typed in once (HTTP Basic), so whose request it is says nothing; a sign-in would put them into an account of a stranger, and
 * the end of a session is a change too. What browsers say of where a request comes from decides: Sec-Fetch-Site, and where they do not say that
 * (over plain HTTP) Origin. Programs say neither. Nor does it matter for a token or API key in a header of its own, which no page can make a browser
 * send without asking first.
 * @param request.own where the client sees this server
 * @param origins that may, as browsers send them; `*` for any that brings nothing of what a browser keeps
 */
export function isCrossSite({ method, headers, own }: CrossSiteRequest, origins: readonly string[]): boolean {
  if (method === undefined || SAFE.has(method) || bringsToken(headers)) return false
  const { origin, authorization, cookie } = headers
  if (origin !== undefined && origins.includes(origin)) return false
  if (origin !== undefined && origins.includes('*') && authorization === undefined && cookie === undefined) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && (own === null || hostOf(origin) !== hostOf(own))
}

interface CrossSiteRequest extends Pick<IncomingMessage, 'method' | 'headers'> {
  own: string | null
}

/** An empty one is none: the request would be let in by its cookie. */
const bringsToken = ({ authorization = '', ...headers }: IncomingMessage['headers']): boolean =>
  /^Bearer +\S+ *$/i.test(authorization) || (headers['x-api-key'] ?? '') !== ''

/** Without the scheme, which a proxy in front may not tell; null for what is no address, as pages without an origin say. */
const hostOf = (origin: string): string | null => (URL.canParse(origin) ? new URL(origin).host || null : null)
