import { BoundedCache } from '#core/foundation/bounded.ts'
import { TokenBucket } from '#core/foundation/token-bucket.ts'
import type { Settings } from '#core/settings/settings.ts'

/** Some 45,000 clients. Counting cannot stop one with more addresses than this. */
const BUCKETS_BYTES_MAX = 20 * 1024 * 1024

/**
 * Who a request counts for: an authenticated user, or a group of client addresses. `pictures` counts what the browsers of a user show, in their sessions, so
 * that scrolling does not use up the requests of the user. `guessing` counts requests of such a group with wrong
 * keys or passwords: they have the limits of `anonymous` but a bucket of their own, so that neither exhausts the other.
 */
export interface Client {
  kind: 'anonymous' | 'authenticated' | 'pictures' | 'guessing'
  /** User id, or the result of `addressGroup`. */
  id: string
}

/** The state of one bucket, as in the three headers. */
export interface Allowance {
  allowed: boolean
  /** Size of the burst. */
  limit: number
  /** Whole requests left. */
  remaining: number
  /** Whole seconds until the next request is allowed; 0 if one is allowed now. */
  resetSeconds: number
}

/** Token buckets in memory. */
export class RateLimiter {
  readonly #buckets = new BoundedCache<TokenBucket>({ bytesMax: BUCKETS_BYTES_MAX })
  readonly #rates: Settings['rateLimit']
  readonly #now: () => number

  /** @param now seconds of a monotonic clock */
  constructor(rates: Settings['rateLimit'], now: () => number = () => performance.now() / 1000) {
    this.#rates = rates
    this.#now = now
  }

  /** Takes one request from the bucket if it has one. */
  take(client: Client): Allowance {
    return this.#look(client, true)
  }

  /** Reads the state without taking a request; `allowed` says whether there is one. */
  peek(client: Client): Allowance {
    return this.#look(client, false)
  }

  #look(client: Client, take: boolean): Allowance {
    const pace = this.#rates[client.kind === 'guessing' ? 'anonymous' : client.kind]
    const key = `${client.kind} ${client.id}`
    const known = this.#buckets.get(key)
    const bucket = known ?? new TokenBucket(pace, this.#now())
    bucket.refill(pace, this.#now())
    const allowed = take ? bucket.take() : bucket.whole >= 1
    if (take && known === undefined) this.#buckets.set(key, bucket)
    const remaining = bucket.whole
    return {
      allowed,
      limit: pace.burst,
      remaining,
      resetSeconds: remaining > 0 ? 0 : Math.max(1, Math.ceil(bucket.secondsUntil(1, pace))),
    }
  }
}

/** `/health` and the event stream are not limited. @param path of the request, without the query */
export function isExempt(path: string): boolean {
  return path === '/health' || path === '/api/v1/events' || path.startsWith('/api/v1/events/')
}
