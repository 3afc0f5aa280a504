import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import CachePolicy from 'http-cache-semantics'
import { LRUCache } from 'lru-cache'
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
const OWN_WAY_HEADERS = [
  'cache-control',
  'pragma',
  'range',
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
  'if-range',
]

interface ResponseCache {
  /** @param secondsMax maximum age of the response */
  find(key: string, secondsMax: number): EgressResponse | undefined
  /** @param seconds for which the service allows caching; 0 stores nothing */
  keep(key: string, response: EgressResponse, seconds: number): void
}

/** Whether the response to a request may be cached at all. */
export const isCacheable = ({ method, headers }: Hop): boolean =>
  method === 'GET' && !OWN_WAY_HEADERS.some((name) => Object.hasOwn(headers, name))

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

/** What does not say for how long it may be kept may be kept without end. */
const UNSAID = 'Fri, 31 Dec 9999 23:59:59 GMT'

/** For how many seconds a service lets its answer be kept, without asking it again; some thousand years where it does not say. */
export function keepableSeconds(headers: IncomingHttpHeaders): number {
  // Who gets a cookie gets an answer of their own, whatever it says of being public; and the library knows `*` only where it stands alone.
  if (headers['set-cookie'] !== undefined || headers['vary']?.includes('*')) return 0
  // Directives are in any case (RFC 9111, 5.2); the library knows them in lower case.
  const said = { expires: UNSAID, ...headers, 'cache-control': headers['cache-control']?.toLowerCase() }
  const policy = new CachePolicy({ headers: {} }, { headers: said })
  return Math.max(0, Math.round(policy.maxAge() - policy.age()))
}

const bytesOf = ({ url, headers, body }: EgressResponse): number =>
  // Two bytes for each character, as in memory for strings with non-Latin characters.
  2 * (url.length + body.length + headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0)) + 500

/** @param now milliseconds of a monotonic clock; replaced in tests */
export function openResponseCache(now: () => number = () => performance.now()): ResponseCache {
  const entries = new LRUCache<string, { response: EgressResponse; at: number; until: number; bytes: number }>({
    max: ENTRIES_MAX,
    maxSize: CACHE_BYTES_MAX,
    maxEntrySize: ENTRY_BYTES_MAX,
    sizeCalculation: ({ bytes }) => bytes,
  })

  return {
    find(key, secondsMax) {
      const known = entries.get(key)
      const time = now()
      if (known === undefined || known.until <= time || known.at + secondsMax * 1000 <= time) return undefined
      const { response } = known
      return { ...response, headers: response.headers.map(([name, value]) => [name, value]), cached: true }
    },

    keep(key, response, seconds) {
      const { status } = response
      if (status !== 200 && status !== 404) return
      const forSeconds = status === 404 ? Math.min(seconds, ABSENT_SECONDS_MAX) : seconds
      if (forSeconds <= 0) return
      const at = now()
      entries.set(key, { response, at, until: at + forSeconds * 1000, bytes: bytesOf(response) })
    },
  }
}
