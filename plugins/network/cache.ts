import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import CachePolicy from 'http-cache-semantics'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { memoryBytes } from '#core/foundation/memory-bytes.ts'
import type { EgressResponse } from '#plugins/network/answer.ts'
import type { Hop } from '#plugins/network/request.ts'

/** A few thousand responses of a few kilobytes, the usual size of the data for a book. */
const CACHE_BYTES_MAX = 32 * 1024 * 1024
const ENTRIES_MAX = 5_000
/** One large response would evict a hundred small ones that are requested again. */
const ENTRY_BYTES_MAX = 1024 * 1024
/** Limit for "not found": the entry may exist tomorrow, even if existing entries stay valid for long. */
const ABSENT_SECONDS_MAX = 3_600
/** Headers of requests that control caches themselves, request a range, or are conditional. */
const UNCACHEABLE_HEADERS = [
  'cache-control',
  'pragma',
  'range',
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
  'if-range',
]

/** Whether the response to a request may be cached at all. */
export const isCacheable = ({ method, headers }: Hop): boolean =>
  method === 'GET' && !UNCACHEABLE_HEADERS.some((name) => Object.hasOwn(headers, name))

/**
 * The key of equal requests: by scope, URL, headers, credentials and rules. Only a hash is stored, because
 * headers may contain secrets.
 */
export const cacheKeyOf = (parts: { scope: string; hop: Hop; credential: unknown; rules: unknown; userAgent: string }): string => {
  const { scope, hop, credential, rules, userAgent } = parts
  const headers = Object.entries(hop.headers).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([scope, hop.method, hop.url.href, headers, credential ?? null, rules, userAgent]))
    .digest('base64url')
}

/** Stands in for a missing expiry: such a response may be cached without end. */
const NO_EXPIRY = 'Fri, 31 Dec 9999 23:59:59 GMT'

/** For how many seconds a service allows to cache its response without revalidation; some thousand years if it states no limit. */
export function cacheableSeconds(headers: IncomingHttpHeaders): number {
  // A response with a cookie is personal, even if it claims to be public. The library recognizes `*` only as the single value of Vary.
  if (headers['set-cookie'] !== undefined || headers['vary']?.includes('*')) return 0
  // Directives are case-insensitive (RFC 9111, 5.2); the library expects lower case.
  const complete = { expires: NO_EXPIRY, ...headers, 'cache-control': headers['cache-control']?.toLowerCase() }
  const policy = new CachePolicy({ headers: {} }, { headers: complete })
  return Math.max(0, Math.round(policy.maxAge() - policy.age()))
}

interface CachedResponse {
  response: EgressResponse
  scope: string
  at: number
  until: number
}

/** Whether a scope is one of a plugin or a user, whose ids begin it; null means every one. */
export function isScopeOf(scope: string, { pluginId, userId }: { pluginId: string | null; userId: string | null }): boolean {
  const [plugin, user] = scope.split('/')
  return (pluginId === null || plugin === pluginId) && (userId === null || user === userId)
}

/** Responses to plugins, in memory. */
export class ResponseCache {
  readonly #entries = new BoundedCache<CachedResponse>({ bytesMax: CACHE_BYTES_MAX, entriesMax: ENTRIES_MAX })
  readonly #now: () => number

  /** @param now milliseconds of a monotonic clock; replaced in tests */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** @param secondsMax maximum age of the response */
  find(key: string, secondsMax: number): EgressResponse | undefined {
    const known = this.#entries.get(key)
    const time = this.#now()
    if (known === undefined || known.until <= time || known.at + secondsMax * 1000 <= time) return undefined
    const { response } = known
    return { ...response, headers: response.headers.map(([name, value]) => [name, value]), cached: true }
  }

  /** @param of.seconds for which the service allows caching; 0 stores nothing */
  store(key: string, response: EgressResponse, { scope, seconds }: { scope: string; seconds: number }): void {
    const { status } = response
    if (status !== 200 && status !== 404) return
    const forSeconds = status === 404 ? Math.min(seconds, ABSENT_SECONDS_MAX) : seconds
    if (forSeconds <= 0) return
    const at = this.#now()
    const entry = { response, scope, at, until: at + forSeconds * 1000 }
    if (memoryBytes(entry) <= ENTRY_BYTES_MAX) this.#entries.set(key, entry)
  }

  /** Drops the responses of these scopes. */
  forget(isMeant: (scope: string) => boolean): void {
    this.#entries.forget(({ scope }) => isMeant(scope))
  }
}
