import { LRUCache } from 'lru-cache'
import { bounded } from '#core/foundation/bounded.ts'
import { TokenBucket } from '#core/foundation/token-bucket.ts'
import type { Settings } from '#core/settings/settings.ts'

/** About 10 MB when full. Whoever can bring more addresses than this is not stopped by counting them. */
const BUCKETS_MAX = 50_000

/**
 * Who a request counts for: a verified user, or the group of addresses it came from. `guessing` are requests of such a group whose
 * keys or passwords turned out wrong: they have the limits of `anonymous` and a bucket of their own, so that neither can be used up
 * for the other.
 */
export interface Client {
  kind: 'anonymous' | 'authenticated' | 'guessing'
  /** User id, or what `addressGroup` made of the address. */
  id: string
}

/** The state of one bucket as the three headers say it. */
export interface Allowance {
  allowed: boolean
  /** Size of the burst. */
  limit: number
  /** Whole requests left. */
  remaining: number
  /** Whole seconds until there is a request again; 0 when there is one. */
  resetSeconds: number
}

/** Token buckets in memory. */
export interface RateLimiter {
  /** Takes one request from the bucket if there is one. */
  take(client: Client): Allowance
  /** Looks without taking; `allowed` tells whether there is one. */
  peek(client: Client): Allowance
}

/** @param now seconds of a clock that only goes forward */
export function openRateLimiter(rates: Settings['rateLimit'], now: () => number = () => performance.now() / 1000): RateLimiter {
  const buckets = new LRUCache<string, TokenBucket>(bounded(BUCKETS_MAX))

  function look(client: Client, take: boolean): Allowance {
    const pace = rates[client.kind === 'guessing' ? 'anonymous' : client.kind]
    const key = `${client.kind} ${client.id}`
    const bucket = buckets.get(key) ?? new TokenBucket(pace, now())
    bucket.refill(pace, now())
    const allowed = take ? bucket.take() : bucket.whole >= 1
    if (take) buckets.set(key, bucket)
    const remaining = bucket.whole
    return {
      allowed,
      limit: pace.burst,
      remaining,
      resetSeconds: remaining > 0 ? 0 : Math.max(1, Math.ceil(bucket.secondsUntil(1, pace))),
    }
  }

  return { take: (client) => look(client, true), peek: (client) => look(client, false) }
}

/** `/health` and the event stream are never limited. @param path of the request, without the query */
export function isExempt(path: string): boolean {
  return path === '/health' || path === '/api/v1/events' || path.startsWith('/api/v1/events/')
}
