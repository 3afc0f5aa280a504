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
export class Cors {
  readonly #named: ReadonlySet<string>
  readonly #isOpen: boolean

  /** @param origins as browsers send them, or `*` for any origin, which then cannot use credentials */
  constructor(origins: readonly string[]) {
    this.#named = new Set(origins.filter((origin) => origin !== '*'))
    this.#isOpen = origins.includes('*')
  }

  /** Sets the headers that let a page of the request's origin read the response; none for an origin that is not allowed. */
  allow({ headers: { origin } }: IncomingMessage, response: ServerResponse): void {
    // A cache must not serve one origin the response to another.
    if (this.#named.size > 0) appendVary(response, 'Origin')
    if (origin === undefined || !this.#isAllowed(origin)) return
    if (this.#named.has(origin)) {
      response.setHeader('Access-Control-Allow-Origin', origin)
      response.setHeader('Access-Control-Allow-Credentials', 'true')
    } else response.setHeader('Access-Control-Allow-Origin', '*')
    response.setHeader('Access-Control-Expose-Headers', ANSWER_HEADERS)
  }

  /** Whether the request is a preflight of an allowed origin, which {@link answerPreflight} completes. */
  isPreflight({ method, headers }: IncomingMessage): boolean {
    const { origin } = headers
    return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined && origin !== undefined && this.#isAllowed(origin)
  }

  #isAllowed(origin: string): boolean {
    return this.#isOpen || this.#named.has(origin)
  }
}

export function answerPreflight(response: ServerResponse): void {
  response.setHeader('Access-Control-Allow-Methods', METHODS)
  response.setHeader('Access-Control-Allow-Headers', REQUEST_HEADERS)
  response.setHeader('Access-Control-Max-Age', MAX_AGE_SECONDS)
  response.writeHead(204)
  response.end()
}
