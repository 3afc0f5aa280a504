import { LRUCache } from 'lru-cache'
import { addressGroup } from '#core/account/address.ts'
import type { Known } from '#core/account/known-devices.ts'
import { bounded } from '#core/foundation/bounded.ts'
import { refuse } from '#core/foundation/errors.ts'

/** Of one account from one place. Nobody mistypes more often in a row; then each further failure doubles the pause. */
const PLACE = { freeFailures: 5, pauseSecondsMax: 300 }
/** Of all accounts from one address. Behind one there may be a family, a school, an office. */
const ADDRESS = { freeFailures: 20, pauseSecondsMax: 900 }
/**
 * Of one account from all places that it was never signed in from: one place alone comes to 12 an hour, so that it takes many to use these up.
 * Then one guess a minute is left to all of them together.
 */
const TOTAL = { failures: 60, refillMs: 60_000 }
/** Failures are forgotten after this; longer than the longest pause. */
const MEMORY_MS = 30 * 60_000
/** Some megabytes at most; a flood of names drops the oldest first. */
const ENTRIES_MAX = 20_000

interface Entry {
  failures: number
  pending: number
  pausedUntil: number
}

/** Failures that an account has left. */
interface Allowance {
  left: number
  /** When that was counted. */
  at: number
  pending: number
}

/** One attempt to sign in; end it exactly once. */
export interface LoginAttempt {
  succeed(): void
  fail(): void
  /** Ends it without judging, when the password could not be checked. */
  abandon(): void
}

/** Who tries to sign in. */
export interface Guesser {
  /** The same for every name of one account (`findLogin` answers it). */
  account: string
  address: string
  /** What of them is known of this account: a device has a count of its own, an address is not held up by strangers elsewhere. */
  known: Known
}

/**
 * Slows guessing of passwords down: per account and place, per address, and per account in all. Guesses from one place keep nobody out elsewhere; the
 * last count binds only places that the account was never signed in from, and a known device is bound by none but its own. It never says whether the
 * account exists.
 */
export interface LoginThrottle {
  /** @throws rate_limit_exceeded with the seconds to wait */
  begin(who: Guesser): LoginAttempt
}

/** One count that an attempt passes. */
interface Lane {
  /** Seconds to wait; 0 when the attempt may begin. */
  wait(): number
  enter(): void
  leave(): void
  fail(): void
  succeed(): void
}

/** @param now milliseconds of a clock that only goes forward */
export function openLoginThrottle(now: () => number = () => performance.now()): LoginThrottle {
  const places = new LRUCache<string, Entry>({ ...bounded(ENTRIES_MAX), ttl: MEMORY_MS })
  const addresses = new LRUCache<string, Entry>({ ...bounded(ENTRIES_MAX), ttl: MEMORY_MS })
  // Full again after an hour, so kept for longer.
  const totals = new LRUCache<string, Allowance>({ ...bounded(ENTRIES_MAX), ttl: 2 * TOTAL.failures * TOTAL.refillMs })

  function countLane(cache: LRUCache<string, Entry>, key: string, limit: typeof PLACE, forgives: boolean): Lane {
    const entry = cache.get(key) ?? { failures: 0, pending: 0, pausedUntil: 0 }
    cache.set(key, entry)
    return {
      wait() {
        const waitMs = entry.pausedUntil - now()
        if (waitMs > 0) return Math.ceil(waitMs / 1000)
        // Attempts still in the air count as failures, else a hundred at once would all be the first.
        return entry.pending > 0 && entry.failures + entry.pending >= limit.freeFailures ? 1 : 0
      },
      enter: () => void entry.pending++,
      leave: () => void entry.pending--,
      fail() {
        entry.failures++
        const over = entry.failures - limit.freeFailures
        if (over >= 0) entry.pausedUntil = now() + Math.min(2 ** Math.min(over, 30), limit.pauseSecondsMax) * 1000
        cache.set(key, entry)
      },
      succeed() {
        if (forgives) entry.failures = 0
      },
    }
  }

  function totalLane(account: string): Lane {
    const entry = totals.get(account) ?? { left: TOTAL.failures, at: now(), pending: 0 }
    totals.set(account, entry)
    const refill = () => {
      entry.left = Math.min(TOTAL.failures, entry.left + (now() - entry.at) / TOTAL.refillMs)
      entry.at = now()
    }
    return {
      wait() {
        refill()
        const lacking = 1 + entry.pending - entry.left
        return lacking <= 0 ? 0 : Math.max(1, Math.ceil((lacking * TOTAL.refillMs) / 1000))
      },
      enter: () => void entry.pending++,
      leave: () => void entry.pending--,
      fail() {
        refill()
        entry.left = Math.max(0, entry.left - 1)
        totals.set(account, entry)
      },
      succeed: () => {},
    }
  }

  function lanesOf({ account, address, known }: Guesser): Lane[] {
    if (known.device !== null) return [countLane(places, `${account} device ${known.device}`, PLACE, true)]
    const group = addressGroup(address)
    return [
      countLane(places, `${account} address ${group}`, PLACE, true),
      // It keeps its count: else whoever owns one account could guess at the others between two logins of their own.
      countLane(addresses, group, ADDRESS, false),
      ...(known.address ? [] : [totalLane(account)]),
    ]
  }

  return {
    begin(who) {
      const lanes = lanesOf(who)
      const wait = Math.max(...lanes.map((lane) => lane.wait()))
      if (wait > 0) refuse('rate_limit_exceeded', undefined, { retryAfterSeconds: wait })
      for (const lane of lanes) lane.enter()
      const leave = () => {
        for (const lane of lanes) lane.leave()
      }
      return {
        succeed() {
          leave()
          for (const lane of lanes) lane.succeed()
        },
        fail() {
          leave()
          for (const lane of lanes) lane.fail()
        },
        abandon: leave,
      }
    },
  }
}
