import type { IncomingMessage, ServerResponse } from 'node:http'
import { appendVary } from '#api/http/response.ts'

/** The request headers that routes use; a browser asks for permission before it sends any of these. */
const REQUEST_HEADERS =
  'Authorization, Content-Type, X-API-Key, X-Request-Id, Range, If-Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, Last-Event-ID'
/** The response headers that a page may read besides those that are always allowed. */
const ANSWER_HEADERS =
  'Link, Location, ETag, Retry-After, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Accept-Ranges, Content-Range, Content-Disposition'
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** How long a browser caches the preflight; a changed setting takes effect after this time. */
const MAX_AGE_SECONDS = 600

/** Cross-origin requests of browsers (Fetch standard, "CORS protocol"). */
export interface Cors {
  /** Sets the headers that let a page of the request's origin read the response; none for an origin that is not allowed. */
  allow(request: IncomingMessage, response: ServerResponse): void
  /** Whether the request is a preflight of an allowed origin, which {@link answerPreflight} completes. */
  isPreflight(request: IncomingMessage): boolean
}

/** @param origins as browsers send them, or `*` for any origin, which then cannot use credentials */
export function openCors(origins: readonly string[]): Cors {
  const named = new Set(origins.filter((origin) => origin !== '*'))
  const isOpen = origins.includes('*')
  const isAllowed = (origin: string | undefined) => origin !== undefined && (isOpen || named.has(origin))
  return {
    allow(request, response) {
      if (origins.length === 0) return
      const { origin } = request.headers
      // A cache must not serve one origin the response to another.
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
