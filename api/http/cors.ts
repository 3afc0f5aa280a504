import type { IncomingMessage, ServerResponse } from 'node:http'
import { appendVary } from '#api/http/response.ts'

/** What our routes understand; a browser asks before it sends any of these. */
const REQUEST_HEADERS =
  'Authorization, Content-Type, X-API-Key, X-Request-Id, Range, If-Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, Last-Event-ID'
/** What a page may read beside the few that it always may. */
const ANSWER_HEADERS =
  'Link, Location, ETag, Retry-After, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Accept-Ranges, Content-Range, Content-Disposition'
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** As long a browser keeps the answer; somebody who changes the setting waits no longer. */
const MAX_AGE_SECONDS = 600

/** Cross-origin requests of browsers (Fetch standard, "CORS protocol"). */
export interface Cors {
  /** Sets the headers that let a page of the request's origin read the answer; nothing for an origin that is not allowed. */
  allow(request: IncomingMessage, response: ServerResponse): void
  /** Whether the request only asks what a page may send, and its origin may: it ends with {@link answerPreflight}. */
  isPreflight(request: IncomingMessage): boolean
}

/** @param origins as browsers send them, or `*` for any, which then brings no credentials */
export function openCors(origins: readonly string[]): Cors {
  const named = new Set(origins.filter((origin) => origin !== '*'))
  const isOpen = origins.includes('*')
  const isAllowed = (origin: string | undefined) => origin !== undefined && (isOpen || named.has(origin))
  return {
    allow(request, response) {
      if (origins.length === 0) return
      const { origin } = request.headers
      // A cache must not give one origin what another was allowed.
      if (named.size > 0) appendVary(response, 'Origin')
      if (!isAllowed(origin)) return
      if (named.has(origin as string)) {
        response.setHeader('Access-Control-Allow-Origin', origin as string)
        response.setHeader('Access-Control-Allow-Credentials', 'true')
      } else response.setHeader('Access-Control-Allow-Origin', '*')
      response.setHeader('Access-Control-Expose-Headers', ANSWER_HEADERS)
    },
    isPreflight: ({ method, headers }) =>
      method === 'OPTIONS' && headers['access-control-request-method'] !== undefined && isAllowed(headers.origin),
  }
}

export function answerPreflight(response: ServerResponse): void {
  response.setHeader('Access-Control-Allow-Methods', METHODS)
  response.setHeader('Access-Control-Allow-Headers', REQUEST_HEADERS)
  response.setHeader('Access-Control-Max-Age', MAX_AGE_SECONDS)
  response.writeHead(204)
  response.end()
}
