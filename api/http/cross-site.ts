import type { IncomingMessage } from 'node:http'

/** Methods that only read. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Whether a page of another site makes a browser change something here. The browser itself adds the cookie, or the name and password
 * that the user typed in once (HTTP Basic), so the credential does not prove that the user wants the request. Signing in and out count as
 * changes too: a page could sign a browser in to another person's account. Sec-Fetch-Site decides or, where browsers do not send it (over
 * plain HTTP), Origin. Programs send neither. Tokens and API keys in headers are exempt: a page cannot make a browser send them without a
 * preflight.
 * @param request.own the origin of this server as the client sees it
 * @param origins allowed origins, as browsers send them; `*` allows any request without a cookie or Authorization header
 */
export function isCrossSite({ method, headers, own }: CrossSiteRequest, origins: readonly string[]): boolean {
  if (method === undefined || SAFE.has(method) || bringsToken(headers)) return false
  const { origin, authorization, cookie } = headers
  if (origin !== undefined && origins.includes(origin)) return false
  if (origin !== undefined && origins.includes('*') && authorization === undefined && cookie === undefined) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && !isOwnPage({ headers: { origin }, own })
}

/**
 * Whether a page of this very server makes the request, which a browser's session needs for changes: its cookie is sent for every page of the same site, and
 * by every program that has it. So it is not enough that no other site is known to ask.
 */
export function isOwnPage({ headers, own }: Omit<CrossSiteRequest, 'method'>): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (site !== undefined) return site === 'same-origin'
  return origin !== undefined && own !== null && hostOf(origin) === hostOf(own)
}

/** Whether a browser's session may make this request: reading always, and changing from a page of this server. */
export const isSafeOrOwn = (request: CrossSiteRequest): boolean => SAFE.has(request.method ?? '') || isOwnPage(request)

/** Why a browser's session was refused. */
export const NOT_OWN_PAGE =
  'The session of a browser makes changes only for pages of this server: the request needs Sec-Fetch-Site: same-origin, or an Origin that is the address of this server. A program should send a token or an API key instead.'

interface CrossSiteRequest extends Pick<IncomingMessage, 'method' | 'headers'> {
  own: string | null
}

/** An empty header does not count: the cookie would authenticate the request. */
const bringsToken = ({ authorization = '', ...headers }: IncomingMessage['headers']): boolean =>
  /^Bearer +\S+ *$/i.test(authorization) || (headers['x-api-key'] ?? '') !== ''

/** Without the scheme, which a proxy may not pass on; null for what is not an address, such as the "null" of pages without an origin. */
const hostOf = (origin: string): string | null => (URL.canParse(origin) ? new URL(origin).host || null : null)
