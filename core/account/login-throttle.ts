import { addressGroup } from '#core/account/address.ts'
import type { KnownParts } from '#core/account/known-devices.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { refuse } from '#core/foundation/errors.ts'
import { TokenBucket } from '#core/foundation/token-bucket.ts'

/** One account from one origin: an address, or a device that is known. Nobody mistypes more often in a row; after that, each further failure doubles the pause. */
const ORIGIN = { freeFailures: 5, pauseSecondsMax: 300 }
/** All accounts from one address, behind which there may be a family, a school or an office. */
const ADDRESS = { freeFailures: 20, pauseSecondsMax: 900 }
/**
 * One account from all unknown origins together. One origin alone reaches 12 failures an hour, so using these up takes many origins.
 * Then all of them together may guess once a minute.
 */
const TOTAL = { perSecond: 1 / 60, burst: 60 }
/** Failures expire after this time; longer than the longest pause. */
const MEMORY_MS = 30 * 60_000
/** Of each kind, some 20,000 entries; a flood of names evicts the oldest first. */
const BYTES_MAX = 10 * 1024 * 1024

interface Entry {
  failures: number
  pending: number
  pausedUntil: number
}

/** What decides whether an attempt may begin, and remembers its outcome. */
interface Counter {
  entry: { pending: number }
  /** Seconds to wait; 0 when the attempt may begin. */
  wait(): number
  fail(): void
  succeed(): void
}

/** Failures that an account has left before it is throttled. */
interface Allowance {
  left: TokenBucket
  pending: number
}

/** The client that tries to sign in. */
interface LoginClient {
  /** The same for every name of one account (`findLogin` returns it). */
  account: string
  address: string
  /** What is recorded about the client: a known device has a count of its own, and failures from unknown addresses do not throttle a known address. */
  known: KnownParts
}

/** The failures of one account from one origin, or of one address. */
function failureCount(
  entries: BoundedCache<Entry>,
  key: string,
  { limit, forgives, now }: { limit: typeof ORIGIN; forgives: boolean; now: () => number },
): Counter {
  const entry = entries.get(key) ?? { failures: 0, pending: 0, pausedUntil: 0 }
  entries.set(key, entry)
  return {
    entry,
    wait() {
      const waitMs = entry.pausedUntil - now()
      if (waitMs > 0) return Math.ceil(waitMs / 1000)
      // Unfinished attempts count as failures; otherwise a hundred concurrent ones would all be the first.
      return entry.pending > 0 && entry.failures + entry.pending >= limit.freeFailures ? 1 : 0
    },
    fail() {
      entry.failures++
      const over = entry.failures - limit.freeFailures
      if (over >= 0) entry.pausedUntil = now() + Math.min(2 ** Math.min(over, 30), limit.pauseSecondsMax) * 1000
      entries.set(key, entry)
    },
    succeed() {
      if (forgives) entry.failures = 0
    },
  }
}

/** The failures that one account has left for all unknown origins together. */
function accountAllowance(entries: BoundedCache<Allowance>, account: string, now: () => number): Counter {
  const entry = entries.get(account) ?? { left: new TokenBucket(TOTAL, now() / 1000), pending: 0 }
  const { left } = entry
  entries.set(account, entry)
  return {
    entry,
    wait() {
      left.refill(TOTAL, now() / 1000)
      const needed = 1 + entry.pending
      return left.whole >= needed ? 0 : Math.ceil(left.secondsUntil(needed, TOTAL))
    },
    fail() {
      left.refill(TOTAL, now() / 1000)
      left.take()
      entries.set(account, entry)
    },
    succeed() {},
  }
}

/**
 * Slows down password guessing: per account and origin, per address, and per account in total. Failures from one origin do not throttle other origins;
 * the total binds only origins from which the account never signed in, and a known device is bound by its own count only. The throttle never reveals
 * whether the account exists.
 */
export class LoginThrottle {
  readonly #now: () => number
  readonly #origins = new BoundedCache<Entry>({ bytesMax: BYTES_MAX, ttl: MEMORY_MS })
  readonly #addresses = new BoundedCache<Entry>({ bytesMax: BYTES_MAX, ttl: MEMORY_MS })
  // Full again after an hour, so entries live longer than that.
  readonly #totals = new BoundedCache<Allowance>({ bytesMax: BYTES_MAX, ttl: 2 * 60 * 60_000 })

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  #countersOf({ account, address, known }: LoginClient): Counter[] {
    const now = this.#now
    const origin = { limit: ORIGIN, forgives: true, now }
    if (known.device !== null) return [failureCount(this.#origins, `${account} device ${known.device}`, origin)]
    const group = addressGroup(address)
    return [
      failureCount(this.#origins, `${account} address ${group}`, origin),
      // A success does not reset this count: otherwise the owner of one account could guess at others between two sign-ins of their own.
      failureCount(this.#addresses, group, { limit: ADDRESS, forgives: false, now }),
      ...(known.address ? [] : [accountAllowance(this.#totals, account, now)]),
    ]
  }

  /**
   * Checks a password. An error of the check counts neither as a failure nor as a success.
   * @returns what the check found; null for a wrong password
   * @throws rate_limit_exceeded with the seconds to wait, in which case nothing was checked
   */
  async attempt<Found extends object>(client: LoginClient, check: () => Promise<Found | null>): Promise<Found | null> {
    const counters = this.#countersOf(client)
    const wait = Math.max(...counters.map((counter) => counter.wait()))
    if (wait > 0) refuse('rate_limit_exceeded', undefined, { retryAfterSeconds: wait })
    for (const { entry } of counters) entry.pending++
    let found: Found | null
    try {
      found = await check()
    } finally {
      for (const { entry } of counters) entry.pending--
    }
    for (const counter of counters) {
      if (found) counter.succeed()
      else counter.fail()
    }
    return found
  }
}
