import { addressGroup } from '#core/account/address.ts'
import type { KnownParts } from '#core/account/known-devices.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { refuse } from '#core/foundation/errors.ts'

/** One account from one origin: an address, or a device that is known. Nobody mistypes more often in a row; after that, each further failure doubles the pause. */
const ORIGIN = { freeFailures: 5, pauseSecondsMax: 300 }
/** All accounts from one address, behind which there may be a family, a school or an office. */
const ADDRESS = { freeFailures: 20, pauseSecondsMax: 900 }
/**
 * One account from all unknown origins together. One origin alone reaches 12 failures an hour, so using these up takes many origins.
 * Then all of them together may guess once a minute.
 */
const TOTAL = { failures: 60, refillMs: 60_000 }
/** Failures expire after this time; longer than the longest pause. */
const MEMORY_MS = 30 * 60_000
/** Of each kind, some 20,000 entries; a flood of names evicts the oldest first. */
const BYTES_MAX = 10 * 1024 * 1024

interface Entry {
  failures: number
  pending: number
  pausedUntil: number
}

/** Failures that an account has left before it is throttled. */
interface Allowance {
  left: number
  /** When `left` was computed. */
  at: number
  pending: number
}

/** One attempt to sign in; end it exactly once. */
interface LoginAttempt {
  succeed(): void
  fail(): void
  /** Ends it without a result, when the password could not be checked. */
  abandon(): void
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
class FailureCount {
  readonly #entries: BoundedCache<Entry>
  readonly #key: string
  readonly #limit: typeof ORIGIN
  readonly #entry: Entry
  readonly #forgives: boolean
  readonly #now: () => number

  constructor(entries: BoundedCache<Entry>, key: string, options: { limit: typeof ORIGIN; forgives: boolean; now: () => number }) {
    this.#entries = entries
    this.#key = key
    this.#limit = options.limit
    this.#forgives = options.forgives
    this.#now = options.now
    this.#entry = entries.get(key) ?? { failures: 0, pending: 0, pausedUntil: 0 }
    entries.set(key, this.#entry)
  }

  /** Seconds to wait; 0 when the attempt may begin. */
  wait(): number {
    const { failures, pending, pausedUntil } = this.#entry
    const waitMs = pausedUntil - this.#now()
    if (waitMs > 0) return Math.ceil(waitMs / 1000)
    // Unfinished attempts count as failures; otherwise a hundred concurrent ones would all be the first.
    return pending > 0 && failures + pending >= this.#limit.freeFailures ? 1 : 0
  }

  enter(): void {
    this.#entry.pending++
  }

  leave(): void {
    this.#entry.pending--
  }

  fail(): void {
    this.#entry.failures++
    const over = this.#entry.failures - this.#limit.freeFailures
    if (over >= 0) this.#entry.pausedUntil = this.#now() + Math.min(2 ** Math.min(over, 30), this.#limit.pauseSecondsMax) * 1000
    this.#entries.set(this.#key, this.#entry)
  }

  succeed(): void {
    if (this.#forgives) this.#entry.failures = 0
  }
}

/** The failures that one account has left for all unknown origins together. */
class AccountAllowance {
  readonly #entries: BoundedCache<Allowance>
  readonly #account: string
  readonly #entry: Allowance
  readonly #now: () => number

  constructor(entries: BoundedCache<Allowance>, account: string, now: () => number) {
    this.#entries = entries
    this.#account = account
    this.#now = now
    this.#entry = entries.get(account) ?? { left: TOTAL.failures, at: now(), pending: 0 }
    entries.set(account, this.#entry)
  }

  #refill(): void {
    const now = this.#now()
    this.#entry.left = Math.min(TOTAL.failures, this.#entry.left + (now - this.#entry.at) / TOTAL.refillMs)
    this.#entry.at = now
  }

  wait(): number {
    this.#refill()
    const lacking = 1 + this.#entry.pending - this.#entry.left
    return lacking <= 0 ? 0 : Math.max(1, Math.ceil((lacking * TOTAL.refillMs) / 1000))
  }

  enter(): void {
    this.#entry.pending++
  }

  leave(): void {
    this.#entry.pending--
  }

  fail(): void {
    this.#refill()
    this.#entry.left = Math.max(0, this.#entry.left - 1)
    this.#entries.set(this.#account, this.#entry)
  }

  succeed(): void {}
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
  readonly #totals = new BoundedCache<Allowance>({ bytesMax: BYTES_MAX, ttl: 2 * TOTAL.failures * TOTAL.refillMs })

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  #countersOf({ account, address, known }: LoginClient): (FailureCount | AccountAllowance)[] {
    const now = this.#now
    const origin = { limit: ORIGIN, forgives: true, now }
    if (known.device !== null) return [new FailureCount(this.#origins, `${account} device ${known.device}`, origin)]
    const group = addressGroup(address)
    return [
      new FailureCount(this.#origins, `${account} address ${group}`, origin),
      // A success does not reset this count: otherwise the owner of one account could guess at others between two sign-ins of their own.
      new FailureCount(this.#addresses, group, { limit: ADDRESS, forgives: false, now }),
      ...(known.address ? [] : [new AccountAllowance(this.#totals, account, now)]),
    ]
  }

  /** @throws rate_limit_exceeded with the seconds to wait */
  begin(client: LoginClient): LoginAttempt {
    const counters = this.#countersOf(client)
    const wait = Math.max(...counters.map((counter) => counter.wait()))
    if (wait > 0) refuse('rate_limit_exceeded', undefined, { retryAfterSeconds: wait })
    for (const counter of counters) counter.enter()
    const leave = () => {
      for (const counter of counters) counter.leave()
    }
    return {
      succeed() {
        leave()
        for (const counter of counters) counter.succeed()
      },
      fail() {
        leave()
        for (const counter of counters) counter.fail()
      },
      abandon: leave,
    }
  }
}
