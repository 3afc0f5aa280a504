import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import CachePolicy from 'http-cache-semantics'
import { LRUCache } from 'lru-cache'
import type { EgressResponse } from '#plugins/network/answer.ts'
import type { Hop } from '#plugins/network/request.ts'

/** A few thousand answers of a few kilobytes, which is what services say of a book. */
const CACHE_BYTES_MAX = 32 * 1024 * 1024
const ENTRIES_MAX = 5_000
/** One large answer would push out a hundred that are asked for again. */
const ENTRY_BYTES_MAX = 1024 * 1024
/** What is not there yet may be there tomorrow, however long what is there stays. */
const ABSENT_SECONDS_MAX = 3_600
/** Requests that say themselves what they want of a cache, or want a part, or only want to know whether something has changed. */
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

export interface ResponseCache {
  /** @param secondsMax how old the answer may be */
  find(key: string, secondsMax: number): EgressResponse | undefined
  /** @param seconds for which the service lets it be kept; what it may not be kept for is not kept */
  keep(key: string, response: EgressResponse, seconds: number): void
}

/** Whether the answer to a request may be given again at all. */
export const isCacheable = ({ method, headers }: Hop): boolean =>
  method === 'GET' && !OWN_WAY_HEADERS.some((name) => Object.hasOwn(headers, name))

/**
 * What makes two requests the same: who asks, for what, in which words, with which credentials, and what it may do. Of all that only a hash is kept, for
 * headers may hold secrets.
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
  // Two for each character, as in memory where one of them is no Latin letter.
  2 * (url.length + body.length + headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0)) + 500

/** @param now milliseconds of a clock that never goes back; another one in tests */
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
